//! Colours, and whether to use them.

use clap::ArgMatches;
use pairflow_core::safe::{safe, safe_line};
use pairflow_core::view::pane::Shade;

use crate::world::Env;

/// What `--color` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorChoice {
    /// On a terminal, unless the environment objects.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// In no case.
    Never,
}

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Paint {
    /// As it is.
    #[default]
    Plain,
    /// Stands out.
    Bold,
    /// Stands back.
    Dim,
    /// Went well.
    Good,
    /// Needs a look.
    Warn,
    /// Went wrong.
    Bad,
}

/// A line put together out of pieces that look different.
#[derive(Debug, Clone, Default)]
pub struct Line {
    pieces: Vec<(Paint, String)>,
}

impl ColorChoice {
    /// Reads the choice from a parsed command line.
    pub fn from_matches(matches: &ArgMatches) -> Self {
        match matches.get_one::<String>("color").map(String::as_str) {
            Some("always") => Self::Always,
            Some("never") => Self::Never,
            _ => Self::Auto,
        }
    }

    /// Whether a stream gets colours.
    pub(crate) fn applies(self, terminal: bool, env: &Env) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                terminal && env.text("NO_COLOR").is_none() && env.text("TERM").is_none_or(|term| term != "dumb")
            }
        }
    }
}

impl Paint {
    /// Returns `text`, painted if `color` says so. The text must be safe already.
    pub(crate) fn wrap(self, text: &str, color: bool) -> String {
        let code = match self {
            Self::Plain => return text.to_owned(),
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
        };
        if color && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

impl From<Shade> for Paint {
    fn from(shade: Shade) -> Self {
        match shade {
            Shade::Plain => Self::Plain,
            Shade::Strong => Self::Bold,
            Shade::Faint => Self::Dim,
            Shade::Good => Self::Good,
            Shade::Warn => Self::Warn,
            Shade::Bad => Self::Bad,
        }
    }
}

impl Line {
    /// Makes an empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds text as it is.
    pub fn plain(self, text: impl AsRef<str>) -> Self {
        self.add(Paint::Plain, text)
    }

    /// Adds text that looks like `paint`. Whatever follows a line feed is marked as quoted: nothing that is told can
    /// pass for a line of pairflow's own.
    pub fn add(self, paint: Paint, text: impl AsRef<str>) -> Self {
        self.lines(paint, text.as_ref(), "\n> ")
    }

    /// Adds a piece that is one line already; the blanks at its ends stay.
    pub(crate) fn piece(mut self, paint: Paint, text: &str) -> Self {
        self.pieces.push((paint, safe(text).replace('\n', " ")));
        self
    }

    /// Adds text whose line feeds are pairflow's own.
    pub(crate) fn own(self, text: impl AsRef<str>) -> Self {
        self.lines(Paint::Plain, text.as_ref(), "\n")
    }

    fn lines(mut self, paint: Paint, text: &str, feed: &str) -> Self {
        self.pieces.push((paint, safe(text).trim_end_matches('\n').replace('\n', feed)));
        self
    }

    /// Adds text that looks like `paint`, on one line and cut to `columns`.
    pub fn fit(mut self, paint: Paint, text: impl AsRef<str>, columns: usize) -> Self {
        self.pieces.push((paint, safe_line(text.as_ref(), columns)));
        self
    }

    pub(crate) fn render(&self, color: bool) -> String {
        self.pieces.iter().map(|(paint, text)| paint.wrap(text, color)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Env {
        Env::Fixed(pairs.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect())
    }

    #[test]
    fn colours_are_for_terminals_whose_owner_does_not_object() {
        assert!(ColorChoice::Auto.applies(true, &env(&[("TERM", "xterm")])));
        assert!(!ColorChoice::Auto.applies(false, &env(&[])));
        assert!(!ColorChoice::Auto.applies(true, &env(&[("NO_COLOR", "1")])));
        assert!(ColorChoice::Auto.applies(true, &env(&[("NO_COLOR", "")])));
        assert!(!ColorChoice::Auto.applies(true, &env(&[("TERM", "dumb")])));
        assert!(ColorChoice::Always.applies(false, &env(&[("NO_COLOR", "1")])));
        assert!(!ColorChoice::Never.applies(true, &env(&[])));
    }

    #[test]
    fn foreign_text_cannot_bring_its_own_colours() {
        let line = Line::new().plain("state ").add(Paint::Bad, "\u{1b}[32mFAILED\u{1b}[0m");
        assert_eq!(line.render(true), "state \u{1b}[31mFAILED\u{1b}[0m");
        assert_eq!(line.render(false), "state FAILED");
    }
}
