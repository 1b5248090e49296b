//! How a command ends: the exit codes, and the error message of each that is not 0.

use std::fmt;

use serde::Serialize;

/// The exit codes. Scripts rely on them: a number never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, and durable.
    Done = 0,
    /// A rule refused it.
    Refused = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The disk, git or another program failed.
    IoError = 3,
    /// Another process was faster; nothing was changed.
    LostRace = 4,
    /// The log is damaged; nothing was changed.
    LogDamaged = 5,
    /// `wait` reached its timeout.
    TimedOut = 6,
    /// An agent called a command for people.
    HumanVerb = 77,
}

/// The exit codes as help and manual pages show them.
pub(crate) const EXIT_CODES: &str = "\
0   done, and durable
1   refused by a rule
2   usage error: the command line is wrong
3   I/O error: the disk, git or another program failed
4   lost a race: another process was faster, and nothing was changed
5   the log is damaged or lost; nothing was changed
6   timed out
77  a command for people was called by an agent";

/// Why a command failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandError {
    /// How the process ends.
    pub exit: Exit,
    /// What went wrong, as a sentence.
    pub message: String,
    /// The next step.
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
    /// Returns the exit code of the process.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Returns the exit with this code; an unknown code is an I/O error.
    pub fn of_code(code: u8) -> Self {
        let all =
            [Self::Done, Self::Refused, Self::Usage, Self::LostRace, Self::LogDamaged, Self::TimedOut, Self::HumanVerb];
        all.into_iter().find(|exit| exit.code() == code).unwrap_or(Self::IoError)
    }

    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Usage => "usage",
            Self::IoError => "io_error",
            Self::LostRace => "lost_race",
            Self::LogDamaged => "log_damaged",
            Self::TimedOut => "timed_out",
            Self::HumanVerb => "human_verb",
        }
    }

    /// Returns the first word of its message on the terminal.
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

    /// Makes a refusal.
    pub fn refused(message: impl fmt::Display) -> Self {
        Self::new(Exit::Refused, message)
    }

    /// Makes a usage error.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Makes an I/O error.
    pub fn io(message: impl fmt::Display) -> Self {
        Self::new(Exit::IoError, message)
    }

    /// Makes an I/O error that names what was tried: `cannot write FILE: no space left.`
    pub(crate) fn cannot(verb: &str, what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::io(format_args!("cannot {verb} {what}: {error}."))
    }

    /// Ends the process with `exit`, without a message: the result contains everything.
    pub fn silent(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    /// Adds the next step.
    pub fn next(mut self, command: impl fmt::Display) -> Self {
        self.hint = Some(command.to_string());
        self
    }

    /// Adds the next step, unless there is one.
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
