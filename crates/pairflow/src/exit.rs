//! How a command ends: the exit codes, and the sentence that goes with each that is not 0.

use std::fmt;

use serde::Serialize;

/// The exit codes. Scripts rely on them: a number never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, and durable.
    Done = 0,
    /// The rules say no.
    Refused = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// Something outside failed: disk, git, a program.
    WorldFailed = 3,
    /// Somebody else was faster; nothing was changed.
    LostRace = 4,
    /// The log is damaged; nothing was changed.
    LogDamaged = 5,
    /// What was waited for did not come in time.
    TimedOut = 6,
    /// A verb that belongs to people was called by an agent.
    HumanVerb = 77,
}

/// Why a command did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandError {
    /// How the process ends.
    pub exit: Exit,
    /// What went wrong, as a sentence.
    pub message: String,
    /// The one command that goes on from here.
    pub hint: Option<String>,
}

/// An error as `--json` prints it.
#[derive(Serialize)]
pub(crate) struct ErrorView<'a> {
    error: ErrorBody<'a>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: u8,
    kind: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl Exit {
    /// Returns the number that the process ends with.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Returns the ending with this number; a number that means nothing is a failure of something outside.
    pub fn of_code(code: u8) -> Self {
        let all =
            [Self::Done, Self::Refused, Self::Usage, Self::LostRace, Self::LogDamaged, Self::TimedOut, Self::HumanVerb];
        all.into_iter().find(|exit| exit.code() == code).unwrap_or(Self::WorldFailed)
    }

    /// Returns the name that stands in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Usage => "usage",
            Self::WorldFailed => "world_failed",
            Self::LostRace => "lost_race",
            Self::LogDamaged => "log_damaged",
            Self::TimedOut => "timed_out",
            Self::HumanVerb => "human_verb",
        }
    }

    /// Returns the word that a message on the terminal starts with.
    pub fn label(self) -> &'static str {
        match self {
            Self::Refused | Self::LostRace | Self::HumanVerb => "refused",
            _ => "error",
        }
    }
}

impl CommandError {
    /// Makes an error that ends the process with `exit`.
    pub fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: message.to_string(), hint: None }
    }

    /// The rules say no.
    pub fn refused(message: impl fmt::Display) -> Self {
        Self::new(Exit::Refused, message)
    }

    /// The command line makes no sense.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Something outside failed.
    pub fn world(message: impl fmt::Display) -> Self {
        Self::new(Exit::WorldFailed, message)
    }

    /// Ends the process with `exit`; what there is to say is part of the result already.
    pub fn told(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    /// Adds the command that goes on from here.
    pub fn next(mut self, command: impl fmt::Display) -> Self {
        self.hint = Some(command.to_string());
        self
    }

    /// Adds the command that goes on from here, unless there is one already.
    pub fn or_next(self, command: impl fmt::Display) -> Self {
        if self.hint.is_some() { self } else { self.next(command) }
    }

    pub(crate) fn view(&self) -> ErrorView<'_> {
        ErrorView {
            error: ErrorBody {
                code: self.exit.code(),
                kind: self.exit.name(),
                message: &self.message,
                hint: self.hint.as_deref(),
            },
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.exit.label(), self.message)
    }
}

impl std::error::Error for CommandError {}
