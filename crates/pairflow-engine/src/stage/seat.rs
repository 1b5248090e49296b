//! What is known of one agent's program.

use std::path::PathBuf;
use std::time::Instant;

use pairflow_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::driver::{Composer, Dialog};
use crate::seat::HookCall;
use crate::tmux::PaneId;

/// How an agent's program is, as far as its hooks tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    /// Nothing is known.
    #[default]
    Unknown,
    /// It was started and has not said anything yet.
    Starting,
    /// It waits for a prompt.
    Ready,
    /// It works.
    Busy,
    /// It waits for a permission.
    Permission,
    /// It shows a dialog.
    Dialog,
    /// It has ended.
    Gone,
}

/// Whose words an agent is working on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Prompted {
    /// Nobody's yet.
    #[default]
    Nobody,
    /// Pairflow's notice.
    Pairflow,
    /// A person's who typed into the pane.
    Person,
}

/// One agent's program.
#[derive(Debug, Default)]
pub(super) struct SeatNow {
    pub status: Status,
    /// Since when; nothing if that was before this supervisor.
    pub since: Option<Timestamp>,
    pub pid: Option<i32>,
    /// The program that was started here last, also when it is gone.
    pub begun: Option<i32>,
    pub pane: Option<PaneId>,
    /// How many lines had scrolled out of its pane when it was started here.
    pub history: Option<usize>,
    pub kept: Kept,
    /// The notice that is on its way.
    pub telling: Option<Telling>,
    /// Since when a notice waits for the program to be free.
    pub waiting: Option<Instant>,
    /// Whether it was started to go on with an earlier conversation, and has not taken a prompt since.
    pub resumed: bool,
    /// When its record was last looked at.
    pub read: Option<Instant>,
    /// When hooks last said anything.
    pub heard: Option<Instant>,
    /// Whether it was started here, has hooks, and none of them has said anything yet.
    pub silent: bool,
    /// The turn in which it was started once more, because it had ended before it said anything.
    pub once_more: Option<u32>,
    /// When its briefing was typed.
    pub briefed: Option<Instant>,
    /// Since when no dialog is on its screen, though it is said to wait for a permission.
    pub clear: Option<Instant>,
    /// Since when its screen shows something unknown, though a notice is to be typed there or was not taken yet.
    pub strange: Option<Instant>,
    /// Whether a notice is kept back because a person has typed something there.
    pub held_back: bool,
    /// How often it was interrupted in the present pause.
    pub interrupted: u32,
}

/// What a later supervisor wants to know of a program that it did not start itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub status: Status,
    pub hooks: bool,
    pub dialogs: Vec<Dialog>,
    #[serde(default)]
    pub composer: Option<Composer>,
    /// The mark in the environment of the program that was started last.
    #[serde(default)]
    pub mark: Option<String>,
    #[serde(default)]
    pub sandboxed: bool,
    pub transcript: Option<PathBuf>,
    pub prompted: Prompted,
    /// What it wants a permission for, as long as a hook waits for the answer.
    #[serde(default)]
    pub permit: Option<String>,
    /// The notice that is still to be typed, because the program took none with its start; 0 is the briefing. It is
    /// forgotten before the typing, so that nothing is ever typed twice.
    #[serde(default)]
    pub untyped: Option<u64>,
}

/// A notice on its way.
#[derive(Debug, Clone)]
pub(super) struct Telling {
    pub notice: u64,
    pub by: Way,
    /// Since when the program had the chance to take it.
    pub at: Instant,
    /// How often Enter was pressed for it.
    pub entered: u32,
    /// When the screen is looked at next.
    pub look: Instant,
}

/// How a notice is handed to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As the first prompt, with its start.
    Start,
    /// Still to be pasted, once a program that takes no prompt with its start is there.
    Type,
    /// Pasted into its pane.
    Paste,
}

impl SeatNow {
    /// Notes a new status; says whether it is another one.
    pub(super) fn becomes(&mut self, status: Status, now: Timestamp) -> bool {
        let news = self.status != status;
        if news {
            (self.status, self.since, self.kept.status) = (status, Some(now), status);
        }
        news
    }

    /// Whether what a hook says is about an earlier program, which ends while the next one is started. Not every hook
    /// has the mark of its program in its environment; one without any is believed.
    pub(super) fn is_of_another(&self, call: &HookCall) -> bool {
        call.mark.as_ref().zip(self.kept.mark.as_ref()).is_some_and(|(its, ours)| its != ours)
    }

    /// Whether a person has to do something in the pane before anything else may be typed there.
    pub(super) fn is_blocked(&self) -> bool {
        matches!(self.status, Status::Permission | Status::Dialog)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seat::HookName;

    #[test]
    fn a_hook_is_of_another_program_only_if_both_marks_are_known() {
        let another = |its: Option<&str>, ours: Option<&str>| {
            let (its, ours) = (its.map(str::to_owned), ours.map(str::to_owned));
            let seat = SeatNow { kept: Kept { mark: ours, ..Kept::default() }, ..SeatNow::default() };
            seat.is_of_another(&HookCall { mark: its, ..HookCall::new(HookName::SessionEnd) })
        };
        assert!(another(Some("1.2.3"), Some("1.2.4")));
        assert!(!another(Some("1.2.3"), Some("1.2.3")));
        assert!(![(None, Some("1.2.3")), (Some("1.2.3"), None), (None, None)].iter().any(|(a, b)| another(*a, *b)));
    }
}
