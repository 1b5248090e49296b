//! Why a findings file is refused: where it is wrong, what is wrong there, and what to do.

use std::fmt;

use crate::log::MAX_FINDINGS;

/// The longest piece of the file that a message repeats, in characters.
const MAX_QUOTE: usize = 60;

/// Why a text is no findings file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {wrong}")]
pub struct BadFeedback {
    /// Where it is wrong.
    pub at: Place,
    /// What is wrong there.
    pub wrong: Wrong,
}

/// A place in a findings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The text as a whole.
    Whole,
    /// A position in the text, both from 1; column 0 is the end of the line before.
    Text {
        /// The line.
        line: usize,
        /// The column, in bytes.
        column: usize,
    },
    /// A value, as a path from the top: `/issues/3/severity`.
    Value(String),
}

/// What is wrong with a findings file, and the next step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It is longer than any review.
    #[error("{bytes} bytes are too many, {limit} are the most; keep the gravest findings and shorten their texts")]
    TooLarge {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// It is not one JSON object.
    #[error("{what}; write one JSON object and nothing after it")]
    Json {
        /// What the JSON reader says.
        what: String,
    },
    /// A key occurs more than once in an object.
    #[error("the key '{key}' is there twice; keep one of the two")]
    TwiceTheKey {
        /// The key.
        key: String,
    },
    /// There is more than one fenced block.
    #[error("there is more than one fenced block; leave only the one with the findings")]
    ManyBlocks,
    /// A fenced block has no end.
    #[error("the fenced block is never closed; end it with a line of ``` or write the JSON without a fence")]
    OpenBlock,
    /// A fenced block is of another language.
    #[error("the fenced block is marked '{info}'; mark it ```json")]
    OtherBlock {
        /// What it is marked with.
        info: String,
    },
    /// The prose around the block could be JSON too.
    #[error("there is a brace outside of the fenced block; write the JSON object alone, without prose around it")]
    BraceOutside,
    /// No key tells which form it is.
    #[error(
        "none of 'findings', 'verdict', 'decision', 'challenger_approved' is there; a review that found nothing is \
         {{\"findings\": []}}"
    )]
    NoForm,
    /// Keys of two forms are there.
    #[error("'{one}' and '{other}' belong to different forms; keep to one of them")]
    Mixed {
        /// A key of the one.
        one: &'static str,
        /// A key of the other.
        other: &'static str,
    },
    /// A key is missing.
    #[error("'{key}' is missing; add it")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A key that the form does not have.
    #[error("there is no such key; there are {known}")]
    UnknownKey {
        /// The keys that it has.
        known: String,
    },
    /// A value of another type.
    #[error("{expected} is expected here, not {found}; replace it")]
    Type {
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A word that is not in the list.
    #[error("'{found}' is not known here; write one of {known}")]
    Word {
        /// The word.
        found: String,
        /// The list.
        known: &'static str,
    },
    /// A text without a word.
    #[error("this is empty; write the text that belongs here")]
    Empty,
    /// A text that is too long.
    #[error("{bytes} bytes are too many, {limit} are the most; shorten it")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// Too many findings.
    #[error("{count} findings are too many, {MAX_FINDINGS} are the most; keep the gravest")]
    TooMany {
        /// How many there are.
        count: usize,
    },
    /// A path that leads out of the repository, or nowhere.
    #[error("'{path}' is no path inside the repository; write it relative to the root, without '..'")]
    File {
        /// The path.
        path: String,
    },
    /// A line that no file has.
    #[error("lines are counted from 1; write the number of the line")]
    Line,
    /// The last line comes before the first.
    #[error("the last line comes before the first; correct one of them")]
    LineOrder,
    /// A line of no file.
    #[error("a line needs its file; add 'file', or leave the line out")]
    LineAlone,
    /// A command that no shell can run.
    #[error("a command cannot hold a NUL character; remove it")]
    Nul,
    /// A name that no row of the ledger has.
    #[error("'{found}' names no finding; write F1, F2, … as `pairflow findings` shows them")]
    Id {
        /// The name.
        found: String,
    },
    /// One row is confirmed and opened again.
    #[error("'{id}' is also in 'confirm'; keep it in one of the two")]
    Both {
        /// The row.
        id: String,
    },
    /// An approval that is not one yet.
    #[error("an approval has no conditions; say request_changes, or leave the list empty if they are met")]
    Conditional,
}

impl BadFeedback {
    pub(super) fn whole(wrong: Wrong) -> Self {
        Self { at: Place::Whole, wrong }
    }

    pub(super) fn value(path: &str, wrong: Wrong) -> Self {
        Self { at: Place::Value(path.to_owned()), wrong }
    }

    pub(super) fn line(line: usize, wrong: Wrong) -> Self {
        Self { at: Place::Text { line, column: 1 }, wrong }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("findings file"),
            Self::Text { line, column } => write!(f, "line {line}, column {column}"),
            Self::Value(path) if path.is_empty() => f.write_str("/"),
            Self::Value(path) => f.write_str(path),
        }
    }
}

/// Repeats a piece of the file in a message: short, on one line, with nothing that a terminal would obey.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_QUOTE).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_QUOTE).is_some() {
        shown.push('…');
    }
    shown
}
