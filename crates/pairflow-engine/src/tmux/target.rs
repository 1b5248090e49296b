//! What a call is about: a pane by its id, a session by its exact name.

use std::fmt;
use std::str::FromStr;

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
