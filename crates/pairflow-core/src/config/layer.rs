//! A value with the place where it was set, and how it is explained.

use std::fmt;

use serde::{Serialize, Serializer};

use super::error::Place;

/// A value, and where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// Where it was set.
    pub origin: Origin,
}

/// A kind of file that sets values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The person's own `config.toml`.
    User,
    /// The repository's `pairflow.toml`.
    Repository,
    /// The bubble's own `bubble.toml`.
    Bubble,
    /// No file: the command line of `config set`.
    Setting,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A file set it.
    File(Source, Place),
    /// It is recorded in the bubble's log.
    Log(Recorded),
    /// The command line set it.
    Flag,
}

/// The line of a log that a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Its number.
    pub seq: u64,
    /// The command that led to it.
    pub by: &'static str,
}

/// Where the value of a key came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The key, with its table.
    pub key: String,
    /// The value; null if there is none.
    pub value: serde_json::Value,
    /// `flag`, `file:line`, `log #seq (command)` or `default`.
    pub source: Origin,
}

/// How strict the loop is. There is one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QualityMode {
    /// Two different agents have to review the same snapshot clean.
    Strict,
}

impl<T> Set<T> {
    /// Returns a value that the command line set.
    pub fn flag(value: T) -> Self {
        Self { value, origin: Origin::Flag }
    }

    /// Returns a value that the log records.
    pub(super) fn recorded(value: T) -> Self {
        // Which line it is follows from the whole log, and is filled in where it is shown.
        Self { value, origin: Origin::Log(Recorded { seq: 0, by: "create" }) }
    }

    /// Returns a value that nobody set.
    pub fn default(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }
}

/// Returns a value as JSON.
pub(super) fn json<T: Serialize>(value: &T) -> serde_json::Value {
    serde_json::to_value(value).expect("names, numbers, truths and lists of texts are JSON")
}

/// Returns a value as it is written in a file.
pub(super) fn toml_value(value: &serde_json::Value) -> String {
    toml::Value::try_from(value).expect("names, numbers, truths and lists of texts are TOML").to_string()
}

impl Explained {
    pub(super) fn of<T: Serialize>(key: String, set: Option<&Set<T>>) -> Self {
        let value = set.map_or(serde_json::Value::Null, |set| json(&set.value));
        Self { key, value, source: set.map_or(Origin::Default, |set| set.origin.clone()) }
    }
}

impl Origin {
    /// Ranks origins: the higher number wins.
    pub(super) fn strength(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File(Source::User, _) => 1,
            Self::File(Source::Repository, _) => 2,
            Self::File(Source::Bubble, _) | Self::Log(_) => 3,
            Self::Flag | Self::File(Source::Setting, _) => 4,
        }
    }

    /// Whether a value from here was chosen for one bubble, not for all of them.
    pub(super) fn is_for_one_bubble(&self) -> bool {
        self.strength() >= 3
    }

    /// Returns the place in a file, if the value came from one.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::File(_, place) => Some(place),
            Self::Default | Self::Log(_) | Self::Flag => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.pad("default"),
            Self::File(_, place) => f.pad(&format!("{}:{}", place.file, place.line)),
            Self::Log(line) => f.pad(&format!("log #{} ({})", line.seq, line.by)),
            Self::Flag => f.pad("flag"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
