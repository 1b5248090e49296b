//! What the supervisor last wrote about the agents of a bubble, in `runtime/<id>/seats.json`.

use serde::{Deserialize, Serialize};

use crate::facts::Seat;
use crate::ids::AgentId;
use crate::time::Timestamp;

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
    /// Since when; nothing if nobody knows.
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
    /// Whether it does not go on before a person has answered it in its pane.
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
