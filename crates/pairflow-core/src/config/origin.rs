//! Where a value was set, and mistakes with their place in a file. All mistakes of a file are reported at once.

use std::fmt;
use std::ops::Range;

use serde::{Serialize, Serializer};

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
pub enum ConfigSource {
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
    File(ConfigSource, FilePlace),
    /// It is recorded in the bubble's log.
    Log(LogLine),
    /// The command line set it.
    Flag,
}

/// The line of a log that a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLine {
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
        Self { value, origin: Origin::Log(LogLine { seq: 0, by: "create" }) }
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
            Self::File(ConfigSource::User, _) => 1,
            Self::File(ConfigSource::Repository, _) => 2,
            Self::File(ConfigSource::Bubble, _) | Self::Log(_) => 3,
            Self::Flag | Self::File(ConfigSource::Setting, _) => 4,
        }
    }

    /// Whether a value from here was chosen for one bubble, not for all of them.
    pub(super) fn is_for_one_bubble(&self) -> bool {
        self.strength() >= 3
    }

    /// Returns the place in a file, if the value came from one.
    pub fn place(&self) -> Option<&FilePlace> {
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

/// One mistake in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Where it is; nothing if it is on the command line.
    pub place: Option<FilePlace>,
    /// What is wrong, as a sentence without its full stop.
    pub message: String,
    /// What to write instead, if that can be said.
    pub hint: Option<String>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlace {
    /// The file, as the reader of a message knows it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The bytes of the file.
    pub span: Range<usize>,
    /// How many characters of the first line it covers, at least one.
    pub width: usize,
    /// The whole first line, safe to print and without the secret part of an address.
    pub line_text: String,
}

/// Every mistake that was found, in the order of the files and their lines. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

/// What is wrong with a value, before its place is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Complaint {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Says where the mistake is.
    pub(super) fn at(self, place: Option<FilePlace>) -> ConfigError {
        ConfigError { place, message: printable(&self.message), hint: self.hint.as_deref().map(printable) }
    }
}

impl FilePlace {
    /// Returns the place of the bytes `span` in `text`, the content of `file`.
    pub fn of(file: &str, text: &str, span: Range<usize>) -> Self {
        let start = boundary(text, span.start);
        let end = boundary(text, span.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        Self {
            file: printable(file),
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            width: text[start..end.min(line_end)].trim_end().chars().count().max(1),
            span: start..end,
            line_text: printable(&veiled(text[line_start..line_end].trim_end())),
        }
    }
}

impl ConfigError {
    /// Returns a mistake at a place in a file.
    pub fn new(place: FilePlace, message: &str) -> Self {
        Complaint::new(message).at(Some(place))
    }

    /// Adds what to write instead.
    pub fn with_hint(self, hint: &str) -> Self {
        Self { hint: Some(printable(hint)), ..self }
    }

    /// Returns the mistake with its line and a mark below the wrong part, over several lines.
    pub fn excerpt(&self) -> String {
        let mut out = format!("error: {}\n", self.message);
        if let Some(FilePlace { file, line, column, width, line_text, .. }) = &self.place {
            let gap = " ".repeat(line.to_string().len());
            let mark = format!("{}{}", " ".repeat(column - 1), "^".repeat(*width));
            out.push_str(&format!("{gap}--> {file}:{line}:{column}\n{gap} |\n{line} | {line_text}\n{gap} | {mark}\n"));
        }
        if let Some(hint) = &self.hint {
            out.push_str(&format!("  = help: {hint}\n"));
        }
        out
    }
}

impl ConfigErrors {
    /// Returns `value` if there is no mistake, otherwise all of them.
    pub fn unless_any<T>(errors: Vec<ConfigError>, value: T) -> Result<T, Self> {
        if errors.is_empty() { Ok(value) } else { Err(Self(errors)) }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{}:{}:{}: ", place.file, place.line, place.column)?;
        }
        f.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, " ({hint})"))
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(f, "{gap}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
impl std::error::Error for ConfigErrors {}

fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Returns `text` on one line, without anything that a terminal would obey or that would reorder what is read.
fn printable(text: &str) -> String {
    let steers = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .map(|c| match c {
            '\t' | '\n' => ' ',
            c if c.is_control() || steers(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// Returns a line of a file with stars in place of whatever may be the secret part of an address.
fn veiled(line: &str) -> String {
    let value = line.find("webhook").and_then(|at| Some(at + line[at..].find('=')? + 1));
    if let Some(from) = value {
        return line[..from].to_owned() + &stars(&line[from..]);
    }
    let mut parts = line.split("://");
    let before = parts.next().unwrap_or_default().to_owned();
    parts.fold(before, |out, part| {
        let end = part.find(ends_address).unwrap_or(part.len());
        let host = if part[..end].contains('@') { 0 } else { part[..end].find(['/', '?', '#']).unwrap_or(end) };
        out + "://" + &part[..host] + &stars(&part[host..end]) + &part[end..]
    })
}

fn ends_address(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'')
}

/// Keeps the width, so that a mark below the line still fits.
fn stars(text: &str) -> String {
    text.chars().map(|c| if ends_address(c) { c } else { '*' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_counted_in_characters_and_lines() {
        let text = "a = 1\r\nß = \"xyz\"\r\n";
        let at = text.find("\"xyz\"").unwrap();
        let place = FilePlace::of("f.toml", text, at..at + 5);
        assert_eq!((place.line, place.column, place.width), (2, 5, 5));
        let error = ConfigError::new(place, "no").with_hint("write 1");
        assert_eq!(error.to_string(), "f.toml:2:5: no (write 1)");
        let shown = "error: no\n --> f.toml:2:5\n  |\n2 | ß = \"xyz\"\n  |     ^^^^^\n  = help: write 1\n";
        assert_eq!(error.excerpt(), shown);
    }

    #[test]
    fn a_mistake_on_the_command_line_has_no_place() {
        let error = Complaint::new("no").at(None);
        assert_eq!((error.to_string().as_str(), error.excerpt().as_str()), ("no", "error: no\n"));
    }

    #[test]
    fn a_terminal_is_never_steered_by_a_configuration() {
        let text = "a = \"\u{1b}[2J\u{202e}\"";
        let error = ConfigError::new(FilePlace::of("f.toml", text, 4..text.len()), "bad \u{7}\n");
        assert!(!error.excerpt().contains(['\u{1b}', '\u{7}', '\u{202e}']));
    }

    #[test]
    fn a_span_beyond_the_text_or_inside_a_character_is_pulled_back() {
        let place = FilePlace::of("f", "ß", 1..99);
        assert_eq!((place.line, place.column, place.span), (1, 1, 0..2));
        assert_eq!(FilePlace::of("f", "", 3..7).span, 0..0);
    }

    #[test]
    fn a_line_that_is_shown_keeps_the_secret_and_its_width() {
        let lines = [
            ("webhook = \"htp//s3cret\" # mine", "webhook = \"***********\" * ****"),
            ("notifications.webhook = 's3cret'", "notifications.webhook = '******'"),
            ("webhok = \"https://h.example/s3cret\"", "webhok = \"https://h.example*******\""),
            ("test = \"curl http://h:1/a http://u:p@h\"", "test = \"curl http://h:1** http://*****\""),
            ("max_rounds = 3", "max_rounds = 3"),
        ];
        for (line, shown) in lines {
            assert_eq!(veiled(line), shown);
            assert_eq!(line.chars().count(), shown.chars().count());
        }
    }
}
