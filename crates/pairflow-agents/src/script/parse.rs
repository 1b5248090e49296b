//! Reads a script; what is wrong with one is said with file, line and the line itself.

use std::fmt;

use serde_saphyr::{RenderOptions, UserMessageFormatter};

use super::model::Script;

/// What is wrong with a script, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// The name of the file.
    pub file: String,
    /// Line and column, counted from 1, if the fault has a place.
    pub at: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// The line.
    pub snippet: String,
}

impl Script {
    /// Reads a script. `name` is what messages call it.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let script: Self = serde_saphyr::from_str(text).map_err(|error| ScriptError::new(name, text, &error))?;
        Ok(Self { name: name.to_owned(), ..script })
    }
}

impl ScriptError {
    fn new(name: &str, text: &str, error: &serde_saphyr::Error) -> Self {
        let number = |n: u64| usize::try_from(n).unwrap_or_default();
        let at = error.location().map(|place| (number(place.line()), number(place.column()))).filter(|at| at.0 > 0);
        let line = at.and_then(|(line, _)| text.lines().nth(line - 1));
        let options = RenderOptions::new(&UserMessageFormatter);
        let rendered = error.without_snippet().render_with_options(options);
        // The place is said in front of the message; said again behind it, it only hides the message's end.
        let place = at.map(|(line, column)| format!(" at line {line}, column {column}")).unwrap_or_default();
        let message = rendered.strip_suffix(&place).unwrap_or(&rendered).to_owned();
        Self { file: name.to_owned(), at, message, snippet: line.unwrap_or_default().to_owned() }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((line, column)) = self.at else { return write!(f, "{}: {}", self.file, self.message) };
        let gutter = line.to_string().len();
        writeln!(f, "{}:{line}:{column}: {}", self.file, self.message)?;
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{line} | {}", self.snippet)?;
        write!(f, "{:gutter$} | {:indent$}^", "", "", indent = column.saturating_sub(1))
    }
}

impl std::error::Error for ScriptError {}
