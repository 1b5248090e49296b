//! The only place that writes to the terminal.
//!
//! Results go to stdout, everything else to stderr. Every text is made safe on its way out; colours are added after that,
//! and only for a terminal.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use clap::builder::StyledStr;
use pairflow_core::safe::{revealed_bytes, safe, safe_line, steers, width};
pub use pairflow_core::view::Tone;
use pairflow_core::view::plain::plain;
use pairflow_core::view::{quoted, wrapped};
use pairflow_engine::clock::Clock;
use serde::Serialize;

use crate::exit::{CommandError, Exit};
use crate::world::{Env, Terminal};

/// The fewest columns that text is wrapped to.
const MIN_COLUMNS: usize = 20;

/// The two streams that a command prints to.
pub struct Out {
    stdout: Box<dyn Write>,
    stderr: Box<dyn Write>,
    terminal: Terminal,
    env: Env,
    color_out: bool,
    color_err: bool,
    progress: bool,
    gone: bool,
    /// The repository that printed command lines must name.
    there: Option<(PathBuf, TakesRepo)>,
}

impl Out {
    /// Makes an output over the two streams.
    pub fn new(stdout: Box<dyn Write>, stderr: Box<dyn Write>, terminal: Terminal, env: Env) -> Self {
        let (color_out, color_err, progress, gone, there) = (false, false, false, false, None);
        let mut out = Self { stdout, stderr, terminal, env, color_out, color_err, progress, gone, there };
        out.configure(ColorChoice::Auto, false);
        out
    }

    /// Applies the output options of the command line.
    pub fn configure(&mut self, color: ColorChoice, progress: bool) {
        self.color_out = uses_color(color, self.terminal.stdout, &self.env);
        self.color_err = uses_color(color, self.terminal.stderr, &self.env);
        self.progress = progress || self.terminal.stderr;
    }

    /// Prints a line of the result; it may have line feeds of its own.
    pub fn line(&mut self, text: fmt::Arguments<'_>) -> Result<(), CommandError> {
        let text = text.to_string();
        self.result(format_args!("{}\n", safe(&text)))
    }

    /// Prints a line of the result with colours.
    pub fn paint(&mut self, line: &TextLine) -> Result<(), CommandError> {
        let text = line.render(self.color_out);
        self.result(format_args!("{text}\n"))
    }

    /// Prints a text beside its label, wrapped at the terminal's width. Whatever follows a line feed is marked as quoted.
    pub fn beside(&mut self, label: &str, tone: Tone, text: &str) -> Result<(), CommandError> {
        let indent = width(label);
        let mut label = label.to_owned();
        for (nth, line) in safe(text).lines().enumerate() {
            let mark = if nth == 0 { "" } else { "> " };
            let pieces = match self.columns() {
                Some(columns) => wrapped(line, columns.saturating_sub(indent + mark.len()).max(MIN_COLUMNS)),
                None => vec![line.to_owned()],
            };
            for piece in pieces {
                let label = std::mem::replace(&mut label, " ".repeat(indent));
                self.paint(&TextLine::new().add(Tone::Faint, label).add(tone, format!("{mark}{piece}")))?;
            }
        }
        Ok(())
    }

    /// Prints a page of our own Markdown as plain text.
    pub fn page(&mut self, markdown: &str) -> Result<(), CommandError> {
        for line in plain(markdown, self.columns()) {
            let tone = if line.heading { Tone::Strong } else { Tone::Plain };
            self.paint(&TextLine::new().add(tone, line.text))?;
        }
        Ok(())
    }

    /// Prints a table as part of the result.
    pub fn grid(&mut self, grid: &Grid) -> Result<(), CommandError> {
        let text = grid.render(self.columns(), self.color_out);
        self.result(format_args!("{text}"))
    }

    /// Prints an object for programs; `schema` is its name and version, such as `status/1`.
    pub fn json<T: Serialize>(&mut self, schema: &str, value: &T) -> Result<(), CommandError> {
        let text = render_json(schema, value)
            .map_err(|error| CommandError::io(format_args!("cannot write {schema} as JSON: {error}.")))?;
        self.result(format_args!("{text}\n"))
    }

    /// Prints exact bytes for another program; on a terminal invisible characters are named.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        if self.terminal.stdout {
            let text = revealed_bytes(bytes);
            return self.result(format_args!("{text}"));
        }
        let written = self.stdout.write_all(bytes);
        self.note_closed(written)
    }

    /// Returns stdout itself, for a scripted agent whose output goes to a file.
    pub(crate) fn stream(&mut self) -> &mut dyn Write {
        &mut *self.stdout
    }

    /// Prints a text that the parser rendered, such as a help page.
    pub fn rendered(&mut self, text: &StyledStr) -> Result<(), CommandError> {
        let plain = text.to_string();
        if self.color_out { self.result(format_args!("{}", text.ansi())) } else { self.result(format_args!("{plain}")) }
    }

    /// Draws lines from the top of the screen; `anew` clears the screen first.
    pub(crate) fn redraw(&mut self, lines: &[TextLine], anew: bool) -> Result<(), CommandError> {
        let clear = if anew { "\u{1b}[2J" } else { "" };
        // The end of each line is cleared after it was written, so that nothing flickers.
        let lines: Vec<_> = lines.iter().map(|line| format!("{}\u{1b}[K", line.render(self.color_out))).collect();
        self.result(format_args!("{clear}\u{1b}[H{}\u{1b}[J", lines.join("\r\n")))?;
        self.flush()
    }

    /// Hides the cursor, or shows it again on a line of its own.
    pub(crate) fn cursor(&mut self, shown: bool) {
        let sequence = if shown { "\u{1b}[?25h\r\n" } else { "\u{1b}[?25l" };
        // A terminal that is gone has no cursor.
        let _ = self.stdout.write_all(sequence.as_bytes()).and_then(|()| self.stdout.flush());
    }

    /// Rings the terminal's bell.
    pub(crate) fn bell(&mut self) -> Result<(), CommandError> {
        self.result(format_args!("\u{7}"))?;
        self.flush()
    }

    /// Prints a note on stderr.
    pub fn note(&mut self, text: fmt::Arguments<'_>) {
        let text = text.to_string();
        self.aside(&TextLine::new().plain(text));
    }

    /// Prints a warning on stderr.
    pub fn warn(&mut self, text: fmt::Arguments<'_>) {
        self.aside(&TextLine::new().add(Tone::Warn, "warning:").plain(" ").plain(text.to_string()));
    }

    /// Prints the next step on stderr.
    pub fn next(&mut self, command: fmt::Arguments<'_>) {
        let command = command.to_string();
        let line =
            self.there.as_ref().map_or_else(|| command.clone(), |(root, takes)| line_for(&command, root, *takes));
        self.aside(&TextLine::new().add(Tone::Faint, "next:").plain(" ").add(Tone::Strong, line));
    }

    /// Makes every next step name this repository, if its command takes one.
    pub(crate) fn name_repository(&mut self, root: PathBuf, takes_repo: TakesRepo) {
        self.there = Some((root, takes_repo));
    }

    /// Reports progress on stderr, if it is a terminal or `--progress` was given.
    pub fn progress(&mut self, text: fmt::Arguments<'_>) {
        if self.progress {
            self.aside(&TextLine::new().add(Tone::Faint, text.to_string()));
        }
    }

    /// Asks without a line feed, so that the answer follows on the same line.
    pub fn ask(&mut self, question: &str) {
        // A question that cannot be shown is never answered with yes: the answer is read from the same terminal.
        let question = TextLine::new().plain(question).render(false);
        let _ = write!(self.stderr, "{question} ").and_then(|()| self.stderr.flush());
    }

    /// Returns the width of the terminal that the result goes to.
    pub fn columns(&self) -> Option<usize> {
        self.terminal.stdout.then(|| self.terminal.columns.map_or(80, usize::from))
    }

    /// Flushes stdout.
    pub fn flush(&mut self) -> Result<(), CommandError> {
        let flushed = self.stdout.flush();
        self.note_closed(flushed)
    }

    /// Returns whether the reader of stdout is gone.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Prints an error: to people on stderr, to programs as JSON on stdout.
    pub(crate) fn error(&mut self, error: &CommandError, json: bool) {
        if error.message.is_empty() {
            return;
        }
        if json && self.json("error/1", &error.view()).and_then(|()| self.flush()).is_ok() {
            return;
        }
        let label = format!("{}:", error.exit.label());
        let line = TextLine::new().add(Tone::Bad, label).plain(" ");
        // Messages of the parser and the configuration have several lines; all others may quote an agent.
        let own = error.exit == Exit::Usage;
        self.aside(&if own { line.own(&error.message) } else { line.plain(&error.message) });
        if let Some(hint) = &error.hint {
            self.next(format_args!("{hint}"));
        }
    }

    fn aside(&mut self, line: &TextLine) {
        // There is nowhere to report that stderr is closed.
        let _ = writeln!(self.stderr, "{}", line.render(self.color_err));
    }

    fn result(&mut self, text: fmt::Arguments<'_>) -> Result<(), CommandError> {
        if self.gone {
            return Ok(());
        }
        let written = self.stdout.write_fmt(text);
        self.note_closed(written)
    }

    /// A closed pipe (`pairflow log | head`) is no error; a full disk is.
    fn note_closed(&mut self, written: io::Result<()>) -> Result<(), CommandError> {
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            Err(error) => Err(CommandError::io(format_args!("cannot write to stdout: {error}."))),
            Ok(()) => Ok(()),
        }
    }
}

#[derive(Serialize)]
struct WithSchema<'a, T: Serialize> {
    schema: &'a str,
    #[serde(flatten)]
    value: &'a T,
}

/// Renders `value`, an object, with `"schema": "pairflow.<schema>"` as its first field.
pub(crate) fn render_json<T: Serialize>(schema: &str, value: &T) -> Result<String, serde_json::Error> {
    debug_assert!(!schema.starts_with("pairflow."), "the prefix is added here");
    let schema = format!("pairflow.{schema}");
    let text = serde_json::to_string_pretty(&WithSchema { schema: &schema, value })?;
    Ok(escape(text))
}

/// Writes characters that could control a terminal as `\u` escapes.
///
/// JSON has no such character outside of strings, and escapes those of ASCII inside of them.
fn escape(text: String) -> String {
    let odd = |c: char| c != '\n' && steers(c);
    if !text.contains(odd) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if odd(c) {
            let mut states = [0; 2];
            for state in c.encode_utf16(&mut states) {
                let _ = write!(escaped, "\\u{state:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Returns a function that reports lines with the time on stderr, from any thread.
pub fn timestamped_reporter(clock: Arc<dyn Clock>) -> Arc<dyn Fn(&str) + Send + Sync> {
    Arc::new(move |text| {
        // There is nowhere to report that stderr is closed.
        let _ = writeln!(std::io::stderr(), "{} {}", clock.now().ts, safe(text));
    })
}

/// Returns whether a command takes `--repo`.
pub(crate) type TakesRepo = fn(&str) -> bool;

/// Adds `--repo` to a command line, so that it means the repository at `root`. A line that names a repository, or whose
/// command takes none, stays the same.
pub(crate) fn line_for(line: &str, root: &Path, takes_repo: TakesRepo) -> String {
    let repo = format!(" --repo {}", quoted(&root.display().to_string()));
    let verb = line.strip_prefix("pairflow ").and_then(|rest| rest.split(' ').next());
    if verb.is_some_and(takes_repo) && !line.contains(" --repo ") && !line.ends_with(" --help") {
        format!("{line}{repo}")
    } else {
        line.to_owned()
    }
}

/// A line made of pieces with a tone each.
#[derive(Debug, Clone, Default)]
pub struct TextLine {
    pieces: Vec<(Tone, String)>,
}

/// Returns whether a stream gets colours.
fn uses_color(choice: ColorChoice, terminal: bool, env: &Env) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            terminal && env.text("NO_COLOR").is_none() && env.text("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// Returns `text` in the style of its tone, if `color` says so. The text must be safe already.
fn styled(tone: Tone, text: &str, color: bool) -> String {
    let style = match tone {
        Tone::Plain => Style::new(),
        Tone::Strong => Style::new().bold(),
        Tone::Faint => Style::new().dimmed(),
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Warn => AnsiColor::Yellow.on_default(),
        Tone::Bad => AnsiColor::Red.on_default(),
    };
    if color && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

impl TextLine {
    /// Makes an empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds text as it is.
    pub fn plain(self, text: impl AsRef<str>) -> Self {
        self.add(Tone::Plain, text)
    }

    /// Adds text. Whatever follows a line feed is marked as quoted, so that foreign text cannot pass for a line of
    /// pairflow.
    pub fn add(self, tone: Tone, text: impl AsRef<str>) -> Self {
        self.lines(tone, text.as_ref(), "\n> ")
    }

    /// Adds text that is one line already; blanks at its ends stay.
    pub(crate) fn piece(mut self, tone: Tone, text: &str) -> Self {
        self.pieces.push((tone, safe(text).replace('\n', " ")));
        self
    }

    /// Adds text of pairflow itself; its line feeds are not marked.
    pub(crate) fn own(self, text: impl AsRef<str>) -> Self {
        self.lines(Tone::Plain, text.as_ref(), "\n")
    }

    fn lines(mut self, tone: Tone, text: &str, feed: &str) -> Self {
        self.pieces.push((tone, safe(text).trim_end_matches('\n').replace('\n', feed)));
        self
    }

    /// Adds text as one line, cut to `columns`.
    pub fn fit(mut self, tone: Tone, text: impl AsRef<str>, columns: usize) -> Self {
        self.pieces.push((tone, safe_line(text.as_ref(), columns)));
        self
    }

    pub(crate) fn render(&self, color: bool) -> String {
        self.pieces.iter().map(|(tone, text)| styled(*tone, text, color)).collect()
    }
}

/// Rows of short texts under a heading.
#[derive(Debug, Clone)]
pub struct Grid {
    heads: Vec<&'static str>,
    rows: Vec<Vec<(Tone, String)>>,
    whole: bool,
}

/// The limit of every cell but the last.
const WIDEST: usize = 64;

impl Grid {
    /// Makes a table without rows.
    pub fn new(heads: &[&'static str]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new(), whole: false }
    }

    /// Shows every cell whole; the terminal wraps long rows.
    pub fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Adds a row; each cell is made safe and folded to one line.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = (Tone, T)>) {
        let cells = cells.into_iter().map(|(tone, text)| (tone, safe_line(text.as_ref(), usize::MAX)));
        self.rows.push(cells.collect());
    }

    /// Renders the table for a terminal of `columns` columns; without a width nothing is cut.
    fn render(&self, columns: Option<usize>, color: bool) -> String {
        let heads: Vec<_> = self.heads.iter().map(|head| (Tone::Faint, (*head).to_owned())).collect();
        let widths: Vec<usize> = (0..self.heads.len()).map(|column| self.width_of(column)).collect();
        let mut text = String::new();
        for row in std::iter::once(&heads).chain(&self.rows) {
            let (mut line, mut used) = (String::new(), 0);
            for (index, ((tone, cell), own)) in row.iter().zip(&widths).enumerate() {
                let last = index + 1 == widths.len();
                let most = match columns {
                    _ if self.whole => usize::MAX,
                    Some(columns) if last => columns.saturating_sub(used).max(8),
                    None if last => usize::MAX,
                    _ => *own,
                };
                let cell = safe_line(cell, most);
                let padding = if last { 0 } else { own.saturating_sub(width(&cell)) + 2 };
                line.push_str(&styled(*tone, &cell, color));
                line.extend(std::iter::repeat_n(' ', padding));
                used += own + 2;
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|(_, text)| width(text));
        cells.max().unwrap_or(0).min(WIDEST).max(width(self.heads[column]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Sample<'a> {
        question: &'a str,
    }

    #[test]
    fn the_schema_comes_first() {
        let text = render_json("status/1", &Sample { question: "why?" }).unwrap();
        assert_eq!(text, "{\n  \"schema\": \"pairflow.status/1\",\n  \"question\": \"why?\"\n}");
    }

    #[test]
    fn harmful_characters_are_escaped_and_keep_their_value() {
        let question = "a\u{1b}[2J\u{9b}1m\u{202e}\u{7f}\u{e0041}\u{feff}é\n";
        let text = render_json("x/1", &Sample { question }).unwrap();
        assert!(!text.chars().any(steers), "{text:?}");
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["question"], question);
    }

    fn env(pairs: &[(&str, &str)]) -> Env {
        Env::Fixed(pairs.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect())
    }

    #[test]
    fn colours_are_for_terminals_whose_owner_does_not_object() {
        assert!(uses_color(ColorChoice::Auto, true, &env(&[("TERM", "xterm")])));
        assert!(!uses_color(ColorChoice::Auto, false, &env(&[])));
        assert!(!uses_color(ColorChoice::Auto, true, &env(&[("NO_COLOR", "1")])));
        assert!(uses_color(ColorChoice::Auto, true, &env(&[("NO_COLOR", "")])));
        assert!(!uses_color(ColorChoice::Auto, true, &env(&[("TERM", "dumb")])));
        assert!(uses_color(ColorChoice::Always, false, &env(&[("NO_COLOR", "1")])));
        assert!(!uses_color(ColorChoice::Never, true, &env(&[])));
    }

    #[test]
    fn foreign_text_cannot_bring_its_own_colours() {
        let line = TextLine::new().plain("state ").add(Tone::Bad, "\u{1b}[32mFAILED\u{1b}[0m");
        assert_eq!(line.render(true), "state \u{1b}[31mFAILED\u{1b}[0m");
        assert_eq!(line.render(false), "state FAILED");
    }

    fn sample() -> Grid {
        let mut grid = Grid::new(&["ID", "STATE", "WHAT"]);
        grid.row([
            (Tone::Strong, "login-race"),
            (Tone::Good, "RUNNING"),
            (Tone::Plain, "fix\nthe \u{1b}[2Jlogin race"),
        ]);
        grid.row([(Tone::Strong, "日本"), (Tone::Plain, "DONE"), (Tone::Plain, "x")]);
        grid
    }

    #[test]
    fn columns_line_up_and_cells_are_safe() {
        let expected = "ID          STATE    WHAT\n\
                        login-race  RUNNING  fix the login race\n\
                        日本        DONE     x\n";
        assert_eq!(sample().render(None, false), expected);
    }

    #[test]
    fn a_table_to_be_read_whole_is_never_cut() {
        let mut grid = Grid::new(&["KEY", "VALUE"]).whole();
        grid.row([(Tone::Plain, "k".repeat(WIDEST + 6)), (Tone::Plain, "v".repeat(90))]);
        let text = grid.render(Some(33), false);
        assert!(text.contains(&format!("{}  {}", "k".repeat(WIDEST + 6), "v".repeat(90))), "{text}");
    }

    #[test]
    fn the_last_column_is_cut_to_the_terminal() {
        let text = sample().render(Some(33), false);
        assert!(text.contains("fix the log…\n"), "{text}");
        assert!(text.lines().all(|line| width(line) <= 33), "{text}");
    }
}
