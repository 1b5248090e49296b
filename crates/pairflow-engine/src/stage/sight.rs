//! What a pane shows right now, as far as it says whether anything may be typed there: only where a prompt is known to
//! wait, if it is known how that looks.

use std::time::Instant;

use pairflow_core::bubble::{Command, Hindrance};
use pairflow_core::ids::AgentId;
use pairflow_core::log::QuestionKind;

use super::error::StageError;
use super::notice;
use super::play::Play;
use super::seat::{Kept, SeatNow, Status};
use crate::driver::{Dialog, Screen, dialog_on};
use crate::limits::Limits;
use crate::tmux::PaneId;

/// How many lines from its end a screen is looked at. Both programs show dialogs, and that they work, down there; what
/// stands above can be anybody's words.
const FOOT: usize = 25;
/// What a person is told of it.
const UNKNOWN: &str = "something that pairflow does not know, where no prompt waits";

/// What a look at a pane finds.
pub(super) enum Sight {
    /// Nothing waits for a person.
    Free(Free),
    /// A dialog waits for a person.
    Dialog(Dialog),
    /// Something waits for a person, though no dialog is seen.
    Blocked,
    /// Neither a prompt nor a known dialog.
    Unknown,
}

/// A screen on which a prompt is taken.
pub(super) struct Free {
    /// Its end.
    pub screen: String,
    /// What stands typed there already; nothing if it is not known how that looks.
    pub input: Option<String>,
}

impl Free {
    /// Whether nothing stands there but, at most, the beginning of the notice `number`.
    pub(super) fn takes(&self, number: u64) -> bool {
        self.input.as_ref().is_none_or(|input| input.is_empty() || input.starts_with(&notice::mark(number)))
    }

    /// Whether the notice `number` stands typed there, and nothing before it.
    pub(super) fn holds(&self, number: u64) -> bool {
        let mark = notice::mark(number);
        self.input.as_ref().map_or_else(|| self.screen.contains(&mark), |input| input.starts_with(&mark))
    }

    /// Whether Enter may follow the notice `number`, which was just pasted where nothing stood: it is there, though some
    /// programs show a long paste as `[Pasted …]`, or it is not known how that looks.
    pub(super) fn took(&self, number: u64) -> bool {
        self.input.as_ref().is_none_or(|input| input.starts_with("[Pasted ")) || self.holds(number)
    }
}

/// What a screen says by itself, whatever hooks have said.
#[derive(Debug, PartialEq, Eq)]
enum Shown {
    /// A text may be typed; what is typed already, if it is known how that looks.
    Prompt(Option<String>),
    Dialog(Dialog),
    Unknown,
}

impl Kept {
    /// Says what a screen shows. A long command may push the words of its dialog up, so they count wherever they are
    /// as long as a person is known to be asked, unless a prompt waits below them.
    fn shown(&self, screen: &Screen, blocked: bool) -> Shown {
        let prompt = match &self.composer {
            Some(composer) => composer.input(screen).map(Some),
            None => Some(None),
        };
        let foot = foot(&screen.text);
        let looked_at = if blocked && prompt.is_none() { &screen.text } else { &foot };
        match (dialog_on(looked_at, &self.dialogs), prompt) {
            (Some(dialog), _) => Shown::Dialog(dialog.clone()),
            (None, Some(input)) => Shown::Prompt(input),
            (None, None) => Shown::Unknown,
        }
    }
}

impl SeatNow {
    /// Whether the program still waits for a person, though no dialog is on its screen. There is no event for a dialog
    /// that was left with Esc; so one that has not been there for a while is over, if its end would be seen.
    fn still_blocked(&mut self, now: Instant, limits: Limits) -> bool {
        match self.status {
            Status::Permission if self.kept.dialogs.is_empty() && self.kept.composer.is_none() => true,
            // A hook says that there will be a dialog a moment before there is one.
            Status::Permission => now - *self.clear.get_or_insert(now) < limits.screen_look,
            _ => false,
        }
    }

    /// Whether something unknown has been on the screen for long; then that is counted anew.
    fn is_strange(&mut self, now: Instant, limits: Limits) -> bool {
        let long = now - *self.strange.get_or_insert(now) >= limits.unknown_screen;
        if long {
            self.strange = None;
        }
        long
    }
}

impl Play {
    /// Looks at a pane. Whatever is typed is typed right after a look.
    pub(super) fn sight(&mut self, agent: &AgentId, pane: &PaneId) -> Result<Sight, StageError> {
        let screen = self.screen(agent, pane)?;
        let held = self.holds_for(agent);
        let (now, limits) = (self.bubble().engine.clock.now().ts, self.limits());
        let seat = self.seat(agent);
        let shown = seat.kept.shown(&screen, seat.is_blocked());
        let input = match shown {
            Shown::Prompt(input) if !held => input,
            other => {
                seat.clear = None;
                return Ok(match other {
                    Shown::Dialog(dialog) => Sight::Dialog(dialog),
                    Shown::Unknown if !held => Sight::Unknown,
                    Shown::Unknown | Shown::Prompt(_) => Sight::Blocked,
                });
            }
        };
        if seat.still_blocked(Instant::now(), limits) {
            return Ok(Sight::Blocked);
        }
        (seat.clear, seat.strange) = (None, None);
        if seat.is_blocked() {
            seat.becomes(Status::Unknown, now);
        }
        Ok(Sight::Free(Free { screen: foot(&screen.text), input }))
    }

    /// Looks at a pane and returns what it shows if nothing there waits for a person. A person is asked about a dialog,
    /// and about what stays unknown.
    pub(super) fn free_screen(&mut self, agent: &AgentId, pane: &PaneId) -> Result<Option<Free>, StageError> {
        let limits = self.limits();
        match self.sight(agent, pane)? {
            Sight::Free(free) => return Ok(Some(free)),
            Sight::Dialog(dialog) if !self.holds_for(agent) => {
                self.found(agent, format!("{} ({})", dialog.name, dialog.advice));
            }
            Sight::Unknown if self.seat(agent).is_strange(Instant::now(), limits) => {
                self.found(agent, UNKNOWN.to_owned())
            }
            Sight::Dialog(_) | Sight::Blocked | Sight::Unknown => {}
        }
        Ok(None)
    }

    /// Has a person asked about a dialog, unless they are asked already.
    fn found(&mut self, agent: &AgentId, what: String) {
        let now = self.bubble().engine.clock.now().ts;
        let seat = self.seat(agent);
        seat.becomes(Status::Dialog, now);
        seat.strange = None;
        let mut open = self.state.iter().flat_map(|state| &state.gate.questions);
        if !open.any(|open| open.kind == QuestionKind::Dialog && open.about.as_ref() == Some(agent)) {
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

    /// Whether an agent that waits for a person has its dialog on the screen, or at least no prompt. What cannot be seen
    /// is not there.
    pub(super) fn still_shows_dialog(&self, agent: &AgentId) -> bool {
        let Some(seat) = self.seats.get(agent).filter(|seat| seat.is_blocked()) else { return false };
        let screen = self.living(agent).and_then(|pane| self.screen(agent, &pane).ok());
        screen.is_some_and(|screen| !matches!(seat.kept.shown(&screen, true), Shown::Prompt(_)))
    }

    fn screen(&self, agent: &AgentId, pane: &PaneId) -> Result<Screen, StageError> {
        let Some(room) = &self.room else { return Ok(Screen::default()) };
        let styled = room.tmux.capture_styled(pane)?;
        let composer = self.seats.get(agent).and_then(|seat| seat.kept.composer.as_ref());
        // After the text: whatever opens in between hides the cursor.
        let cursor = composer.is_some_and(|composer| composer.cursor) && room.tmux.shows_cursor(pane)?;
        Ok(Screen::read(&styled, cursor))
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
    use crate::driver::Composer;

    const WORDS: &str = "Trust this folder? Trust and continue";

    fn kept(composer: bool) -> Kept {
        let dialog = Dialog { name: "trust".to_owned(), marks: vec![WORDS.to_owned()], advice: String::new() };
        let composer =
            composer
                .then(|| Composer { marks: vec!["›".to_owned()], ruled: false, cursor: false, hints: Vec::new() });
        Kept { dialogs: vec![dialog], composer, ..Kept::default() }
    }

    fn dialog() -> Shown {
        Shown::Dialog(kept(false).dialogs.remove(0))
    }

    fn screen(below: usize, end: &str) -> Screen {
        Screen::read(&format!("{WORDS}\n{}{end}", "a line\n\n".repeat(below)), false)
    }

    #[test]
    fn words_far_above_the_end_of_a_screen_are_nobodys_dialog() {
        assert_eq!(kept(false).shown(&screen(FOOT - 1, ""), false), dialog());
        let empty = || Shown::Prompt(Some(String::new()));
        assert_eq!(kept(false).shown(&screen(FOOT, ""), false), Shown::Prompt(None));
        assert_eq!(kept(true).shown(&screen(FOOT, "› "), false), empty());
        assert_eq!(kept(true).shown(&screen(FOOT, "› "), true), empty(), "a prompt waits below them");
        let half = Shown::Prompt(Some("/clear".to_owned()));
        assert_eq!(kept(true).shown(&screen(FOOT, "› /clear "), false), half);
        assert_eq!(
            kept(true).shown(&screen(FOOT, "› 1. Yes"), true),
            dialog(),
            "a person is asked, and no prompt waits"
        );
    }

    #[test]
    fn what_is_no_prompt_and_no_known_dialog_is_unknown_if_it_is_known_how_a_prompt_looks() {
        for text in ["", "Something new?\n› 1. Yes", "words"] {
            let screen = Screen::read(text, true);
            assert_eq!(kept(true).shown(&screen, false), Shown::Unknown, "{text}");
            assert_eq!(kept(true).shown(&screen, true), Shown::Unknown, "{text}");
            assert_eq!(kept(false).shown(&screen, false), Shown::Prompt(None), "{text}");
        }
    }

    #[test]
    fn a_notice_is_typed_and_sent_only_where_nothing_else_stands() {
        let with = |input: Option<&str>| Free { screen: "[pairflow 7]".to_owned(), input: input.map(str::to_owned) };
        let seen = |input| {
            let free = with(input);
            (free.takes(7), free.holds(7), free.took(7))
        };
        assert_eq!(seen(Some("")), (true, false, false));
        assert_eq!(seen(Some("[pairflow 7] Round 1")), (true, true, true));
        assert_eq!(seen(Some("[Pasted text #1]")), (false, false, true));
        for other in ["/clear", "/clear [pairflow 7] Round 1", "/mo", "x", "[pairflow 71]"] {
            assert_eq!(seen(Some(other)), (false, false, false), "{other}");
        }
        assert_eq!(seen(None), (true, true, true), "it is not known how it looks");
    }

    #[test]
    fn a_permission_is_over_when_no_dialog_was_seen_for_a_while_if_its_end_would_be_seen() {
        let now = Instant::now();
        let look = Limits::default().screen_look;
        let (soon, late) = (now + look - Duration::from_millis(1), now + look);
        let mut seat = SeatNow { status: Status::Permission, ..SeatNow::default() };
        assert!(
            [now, soon, late].iter().all(|at| seat.still_blocked(*at, Limits::default())),
            "nobody knows its dialogs, or its prompt"
        );
        seat.kept = kept(true);
        assert_eq!([now, soon, late].map(|at| seat.still_blocked(at, Limits::default())), [true, true, false]);
        seat.status = Status::Dialog;
        assert!(!seat.still_blocked(now, Limits::default()), "it was seen on the screen, and is not there any more");
    }

    #[test]
    fn what_is_unknown_for_a_minute_is_strange_once_a_minute() {
        let now = Instant::now();
        let mut seat = SeatNow::default();
        let strange = [0, 2, 59, 60, 62, 121, 122]
            .map(|secs| seat.is_strange(now + Duration::from_secs(secs), Limits::default()));
        assert_eq!(strange, [false, false, false, true, false, false, true]);
    }
}
