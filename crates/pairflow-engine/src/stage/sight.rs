//! What a pane shows right now, as far as it says whether anything may be typed there.

use std::time::Instant;

use pairflow_core::ids::AgentId;
use pairflow_core::unit::{Command, Hindrance};

use super::play::{Play, StageError};
use super::seat::{SeatNow, Status};
use super::tell::LOOK;
use crate::driver::{Dialog, dialog_on};
use crate::tmux::PaneId;

/// How many lines from its end a screen is looked at. Both programs show dialogs, and that they work, down there; what
/// stands above can be anybody's words.
const FOOT: usize = 25;

/// What a look at a pane finds.
pub(super) enum Sight {
    /// Nothing waits for a person; the end of the screen.
    Free(String),
    /// A dialog waits for a person.
    Dialog(Dialog),
    /// Something waits for a person, though no dialog is seen.
    Blocked,
}

impl SeatNow {
    /// Whether the program still waits for a person, though no dialog is on its screen. There is no event for a dialog
    /// that was left with Esc; so one that has not been there for a while is over, if it would be known by its words.
    fn still_blocked(&mut self, now: Instant) -> bool {
        match self.status {
            Status::Permission if self.kept.dialogs.is_empty() => true,
            // A hook says that there will be a dialog a moment before there is one.
            Status::Permission => now - *self.clear.get_or_insert(now) < LOOK,
            _ => false,
        }
    }
}

impl Play {
    /// Looks at a pane. Whatever is typed is typed right after a look.
    pub(super) fn sight(&mut self, agent: &AgentId, pane: &PaneId) -> Result<Sight, StageError> {
        let screen = self.screen(pane)?;
        let held = self.holds_for(agent);
        let now = self.bubble().engine.clock.now().ts;
        let seat = self.seat(agent);
        let dialog = dialog_on(&screen, &seat.kept.dialogs).cloned();
        if held || dialog.is_some() {
            seat.clear = None;
            return Ok(dialog.map_or(Sight::Blocked, Sight::Dialog));
        }
        if seat.still_blocked(Instant::now()) {
            return Ok(Sight::Blocked);
        }
        seat.clear = None;
        if seat.is_blocked() {
            seat.becomes(Status::Unknown, now);
        }
        Ok(Sight::Free(screen))
    }

    /// Looks at a pane and returns the end of its screen if nothing there waits for a person. A person is asked about a
    /// dialog.
    pub(super) fn free_screen(&mut self, agent: &AgentId, pane: &PaneId) -> Result<Option<String>, StageError> {
        match self.sight(agent, pane)? {
            Sight::Free(screen) => return Ok(Some(screen)),
            Sight::Dialog(dialog) if !self.holds_for(agent) => self.found(agent, &dialog),
            Sight::Dialog(_) | Sight::Blocked => {}
        }
        Ok(None)
    }

    /// Has a person asked about a dialog, once as long as it is there.
    fn found(&mut self, agent: &AgentId, dialog: &Dialog) {
        let now = self.bubble().engine.clock.now().ts;
        if self.seat(agent).becomes(Status::Dialog, now) {
            let what = format!("{} ({})", dialog.name, dialog.advice);
            self.report(&Command::Hindered { agent: agent.clone(), by: Hindrance::Dialog, what });
        }
    }

    /// Looks at the pane of a program that nobody looked after for a while: what it asked for then reached nobody.
    pub(super) fn look_for_dialog(&mut self, agent: &AgentId) -> Result<(), StageError> {
        let Some(pane) = self.living(agent).filter(|_| !self.seats.get(agent).is_some_and(SeatNow::is_blocked)) else {
            return Ok(());
        };
        self.free_screen(agent, &pane).map(drop)
    }

    /// Whether an agent that waits for a person has its dialog on the screen. What cannot be seen is not there.
    pub(super) fn still_shows_dialog(&self, agent: &AgentId) -> bool {
        let Some(seat) = self.seats.get(agent).filter(|seat| seat.is_blocked()) else { return false };
        let screen = self.living(agent).and_then(|pane| self.screen(&pane).ok());
        screen.is_some_and(|screen| dialog_on(&screen, &seat.kept.dialogs).is_some())
    }

    fn screen(&self, pane: &PaneId) -> Result<String, StageError> {
        let screen = self.room.as_ref().map_or(Ok(String::new()), |room| room.tmux.capture(pane))?;
        Ok(foot(&screen))
    }
}

/// The last lines of a screen that are not empty.
fn foot(screen: &str) -> String {
    let lines: Vec<&str> = screen.lines().rev().filter(|line| !line.trim().is_empty()).take(FOOT).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn words_far_above_the_end_of_a_screen_are_nobodys_dialog() {
        let words = "Trust this folder? Trust and continue";
        let dialog = Dialog { name: "trust".to_owned(), marks: vec![words.to_owned()], advice: String::new() };
        let screen = |below: usize| format!("{words}\n{}\n\n", "a line\n\n".repeat(below));
        assert!(dialog.is_on(&foot(&screen(FOOT - 1))));
        assert!(!dialog.is_on(&foot(&screen(FOOT))));
    }

    #[test]
    fn a_permission_is_over_when_no_dialog_was_seen_for_a_while_if_one_would_be_known() {
        let now = Instant::now();
        let (soon, late) = (now + LOOK - Duration::from_millis(1), now + LOOK);
        let mut seat = SeatNow { status: Status::Permission, ..SeatNow::default() };
        assert!([now, soon, late].iter().all(|at| seat.still_blocked(*at)), "nobody knows its dialogs");
        seat.kept.dialogs.push(Dialog { name: String::new(), marks: Vec::new(), advice: String::new() });
        assert_eq!([now, soon, late].map(|at| seat.still_blocked(at)), [true, true, false]);
        seat.status = Status::Dialog;
        assert!(!seat.still_blocked(now), "it was seen on the screen, and is not there any more");
    }
}
