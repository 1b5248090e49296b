//! What can go wrong with tmux, and how panes and sessions are named.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, io};

/// Why tmux did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    /// There is no tmux on the search path.
    #[error(
        "tmux was not found; install tmux 3.2 or newer (`apt install tmux`, `dnf install tmux`, `brew install tmux`) \
         and make sure that it is on PATH"
    )]
    NotInstalled,
    /// This tmux lacks what we need.
    #[error("{found} is too old; install tmux 3.2 or newer")]
    TooOld {
        /// What it said of itself.
        found: String,
    },
    /// No server listens on the socket: it was never started, or has died with everything in it.
    #[error("no tmux server is running on {}", .socket.display())]
    NoServer {
        /// The socket.
        socket: PathBuf,
    },
    /// The pane is gone; a person may have closed it.
    #[error("there is no pane {pane}")]
    NoPane {
        /// The pane that was meant.
        pane: PaneId,
    },
    /// The pane exists, but no program reads its input.
    #[error("pane {pane} takes no input: its program has ended, or its input is off")]
    Deaf {
        /// The pane that was meant.
        pane: PaneId,
    },
    /// tmux did not answer in time; the client was killed.
    #[error("tmux {call} did not end within {millis} ms and was killed")]
    TimedOut {
        /// What was asked.
        call: String,
        /// How long it was waited for.
        millis: u128,
    },
    /// tmux refused.
    #[error("tmux {call} failed{}: {stderr}", .code.map_or_else(|| " by a signal".to_owned(), |code| format!(" with {code}")))]
    Failed {
        /// What was asked.
        call: String,
        /// The exit code; nothing if a signal ended it.
        code: Option<i32>,
        /// What it said, cut.
        stderr: String,
    },
    /// tmux gave an undocumented answer.
    #[error("unexpected answer of tmux {call}: {said:?}")]
    Unexpected {
        /// What was asked.
        call: String,
        /// The beginning of the answer.
        said: String,
    },
    /// The caller gave something that must not reach tmux.
    #[error("cannot pass this to tmux: {why}")]
    Refused {
        /// What is wrong with it.
        why: String,
    },
    /// A file, a directory or a program could not be used.
    #[error("cannot {what} {}: {source}", .path.display())]
    Io {
        /// What was tried, as a verb.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl TmuxError {
    pub(super) fn io(what: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { what, path: path.to_owned(), source: source.into() }
    }

    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self::Refused { why: why.into() }
    }

    pub(super) fn unexpected(call: &str, said: &str) -> Self {
        Self::Unexpected { call: call.to_owned(), said: said.chars().take(200).collect() }
    }
}

/// A pane's name, such as `%3`: unique as long as the server lives, and never used again by it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PaneId(String);

impl PaneId {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no name of a pane.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a pane is named by `%` and a number")]
pub struct BadPaneId;

impl FromStr for PaneId {
    type Err = BadPaneId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.strip_prefix('%').ok_or(BadPaneId)?;
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        if digits && (1..=10).contains(&number.len()) { Ok(Self(text.to_owned())) } else { Err(BadPaneId) }
    }
}

/// Names the session `name` and no other.
pub(super) fn exact(name: &str) -> String {
    format!("={name}")
}

/// Names the current window, or pane, of the session `name` and of no other.
pub(super) fn inside(name: &str) -> String {
    format!("={name}:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_percent_sign_and_a_number_name_a_pane() {
        for text in ["", "%", "3", "%x", "%1 ", "=a:", "%1.2", "%-1", "%+1"] {
            assert_eq!(text.parse::<PaneId>(), Err(BadPaneId), "{text:?}");
        }
        assert_eq!("%30".parse::<PaneId>().unwrap().to_string(), "%30");
    }
}
