//! What there is to show, and how much room there is for it.

use serde::{Deserialize, Serialize};

use crate::bubble::BubbleState;
use crate::facts::Seat;
use crate::ids::AgentId;
use crate::time::{Moment, Timestamp};
use crate::view::ForeignNotice;
use crate::view::timeline::TimelineRow;

/// Below this many milliseconds a countdown is highlighted.
pub(super) const CLOSE: u64 = 120_000;
/// From this many milliseconds on a count-down shows no seconds.
const HOUR: u64 = 3_600_000;

/// Everything that the view is made of.
#[derive(Debug, Clone, Copy)]
pub struct PaneInput<'a> {
    /// The bubble.
    pub state: &'a BubbleState,
    /// The agents as the supervisor sees them; nothing if it has not said.
    pub seats: Option<&'a [SeatNow]>,
    /// What happened, newest last.
    pub timeline: &'a [TimelineRow],
    /// The time.
    pub now: Moment,
    /// Why the bubble is foreign, if it is: then only its record is shown.
    pub foreign: Option<&'a ForeignNotice>,
    /// What is wrong around the bubble.
    pub alarms: &'a [Alarm],
    /// Whether a supervisor runs that counts how long an agent is silent.
    pub supervised: bool,
    /// Whether the view is a pane of the session, which no key leaves.
    pub pane: bool,
}

/// Something that is wrong around a bubble, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// What.
    pub what: String,
    /// The command that helps, if one does.
    pub next: Option<String>,
}

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

/// Returns in how many milliseconds the silence of the turn's holder becomes a question; nothing while no agent is waited
/// for. The later of what the log and what the supervisor has heard counts.
pub fn silence_left(input: &PaneInput<'_>) -> Option<u64> {
    let (heard, limit) = input.state.silence_ends(active(input))?;
    Some(limit.saturating_sub(input.now.since(heard)))
}

/// Returns after how many seconds the view shows something else, although nothing happened: each second counts only while
/// a count-down shows seconds.
pub fn pace(input: &PaneInput<'_>) -> u64 {
    let seconds = |left: Option<u64>| input.supervised && left.is_some_and(|left| left < HOUR);
    let counted = seconds(silence_left(input)) || seconds(turn_left(input));
    if counted && input.foreign.is_none() { 1 } else { 10 }
}

/// Returns in how many milliseconds the present turn will have taken too long.
pub(super) fn turn_left(input: &PaneInput<'_>) -> Option<u64> {
    let (since, limit) = input.state.turn_ends()?;
    Some(limit.saturating_sub(input.now.since(since)))
}

/// The last sign of life of the turn's holder that the supervisor knows of, as far as it is of this run of the machine.
fn active(input: &PaneInput<'_>) -> Option<Moment> {
    let agent = &input.state.phase.turn()?.agent;
    let seat = input.seats?.iter().find(|seat| seat.agent == *agent)?;
    let up = seat.active.filter(|up| *up <= input.now.up)?;
    let ago = i64::try_from(input.now.up - up).unwrap_or(i64::MAX);
    Some(Moment { ts: Timestamp::from_millis(input.now.ts.millis().saturating_sub(ago)), up })
}

/// An agent as the supervisor sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatNow {
    /// Which agent.
    pub agent: AgentId,
    /// Its seat; nothing for one that waits for its first turn outside of both.
    #[serde(default)]
    pub seat: Option<Seat>,
    /// What it does.
    pub status: SeatStatus,
    /// Since when, if known.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// By which name its session can be taken up again.
    #[serde(default)]
    pub session: Option<String>,
    /// The pane that shows it.
    #[serde(default)]
    pub pane: Option<String>,
    /// Its process.
    #[serde(default)]
    pub pid: Option<i32>,
    /// The notice that it is not known to have.
    #[serde(default)]
    pub notice: Option<u64>,
    /// Whether that notice is kept back because a person has typed something where it belongs.
    #[serde(default)]
    pub held_back: bool,
    /// When it last gave a sign of life, in milliseconds of the machine's uptime.
    #[serde(default)]
    pub active: Option<u64>,
}

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeatStatus {
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
    /// It has ended its turn.
    Stopped,
    /// Its process is gone.
    Gone,
    /// Nobody knows.
    #[default]
    #[serde(other)]
    Unknown,
}

impl SeatStatus {
    /// Returns whether a person has to answer it in its pane.
    pub fn wants_person(self) -> bool {
        matches!(self, Self::Permission | Self::Dialog)
    }

    /// The words for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Busy => "busy",
            Self::Permission => "waits for a permission",
            Self::Dialog => "waits at a dialog",
            Self::Stopped => "stopped",
            Self::Gone => "gone",
            Self::Unknown => "status unknown",
        }
    }
}

/// Reads the file; one that is no such file says nothing.
pub fn seats(json: &str) -> Option<Vec<SeatNow>> {
    serde_json::from_str(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_with_or_without_its_optional_parts() {
        let json = r#"[
            {"agent": "codex", "seat": "implementer", "status": "busy", "since": "2026-02-21T12:00:00Z",
             "session": "abc", "pane": "%1", "pid": 7, "notice": 3, "active": 5000},
            {"agent": "claude", "status": "asleep", "new": true}]"#;
        let read = seats(json).unwrap();
        assert_eq!(
            (read[0].status, read[0].seat, read[0].active),
            (SeatStatus::Busy, Some(Seat::Implementer), Some(5000))
        );
        assert_eq!((read[1].status, read[1].seat, read[1].since), (SeatStatus::Unknown, None, None));
        let again = serde_json::to_string(&read).unwrap();
        assert_eq!(seats(&again).unwrap(), read, "what is written can be read");
    }

    #[test]
    fn every_status_has_a_word_of_its_own() {
        let words = ["starting", "ready", "busy", "permission", "dialog", "stopped", "gone", "unknown"];
        let names: Vec<_> = words
            .iter()
            .map(|word| serde_json::from_str::<SeatStatus>(&format!("\"{word}\"")).unwrap().name())
            .collect();
        let wanted = ["starting", "ready", "busy", "waits for a permission", "waits at a dialog", "stopped", "gone"];
        assert_eq!(names[..7], wanted);
        assert_eq!(names[7], "status unknown");
    }

    #[test]
    fn anything_else_says_nothing() {
        for text in ["", "{}", "[{}]", "[{\"agent\":\"codex\"", "\u{1b}[2J"] {
            assert_eq!(seats(text), None, "{text:?}");
        }
    }
}
