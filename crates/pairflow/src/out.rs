//! The only place that writes to the terminal.
//!
//! Results go to stdout, everything else to stderr. Every text is made safe on its way out; colours are added after that,
//! and only for a terminal.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use clap::ArgMatches;
use clap::builder::StyledStr;
use pairflow_core::safe::{revealed_bytes, safe, safe_line, steers, width};
use pairflow_core::view::pane::Shade;
use pairflow_core::view::plain::plain;
use pairflow_core::view::{quoted, wrapped};
use pairflow_engine::clock::Clock;
use serde::Serialize;

use crate::exit::{CommandError, Exit};
use crate::world::{Env, Terminal};

/// How many columns a text gets at least, however narrow the terminal is.
const MIN_COLUMNS: usize = 20;

/// Where a command prints.
pub struct Out {
    stdout: Box<dyn Write>,
    stderr: Box<dyn Write>,
    terminal: Terminal,
    env: Env,
    color_out: bool,
    color_err: bool,
    progress: bool,
    gone: bool,
    /// The repository that printed command lines have to name.
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

    /// Takes over what the command line says about output.
    pub fn configure(&mut self, color: ColorChoice, progress: bool) {
        self.color_out = color.applies(self.terminal.stdout, &self.env);
        self.color_err = color.applies(self.terminal.stderr, &self.env);
        self.progress = progress || self.terminal.stderr;
    }

    /// Prints a line of the result; it may have line feeds of its own.
    pub fn line(&mut self, text: fmt::Arguments<'_>) -> Result<(), CommandError> {
        let text = text.to_string();
        self.result(format_args!("{}\n", safe(&text)))
    }

    /// Prints a line of the result with colours.
    pub fn paint(&mut self, line: &Line) -> Result<(), CommandError> {
        let text = line.render(self.color_out);
        self.result(format_args!("{text}\n"))
    }

    /// Prints a text beside its label, broken between words at the terminal's width. Whatever follows a line feed in the
    /// text is marked as quoted.
    pub fn beside(&mut self, label: &str, paint: Paint, text: &str) -> Result<(), CommandError> {
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
                self.paint(&Line::new().add(Paint::Dim, label).add(paint, format!("{mark}{piece}")))?;
            }
        }
        Ok(())
    }

    /// Prints a page of our own Markdown as plain text.
    pub fn page(&mut self, markdown: &str) -> Result<(), CommandError> {
        for line in plain(markdown, self.columns()) {
            let paint = if line.heading { Paint::Bold } else { Paint::Plain };
            self.paint(&Line::new().add(paint, line.text))?;
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
            .map_err(|error| CommandError::world(format_args!("cannot write {schema} as JSON: {error}.")))?;
        self.result(format_args!("{text}\n"))
    }

    /// Prints exact bytes for another program; on a terminal what is not visible in them is named.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        if self.terminal.stdout {
            let text = revealed_bytes(bytes);
            return self.result(format_args!("{text}"));
        }
        let written = self.stdout.write_all(bytes);
        self.note_closed(written)
    }

    /// Returns the result's stream itself, for a scripted agent: what it prints goes to a file, not to a person.
    pub(crate) fn stream(&mut self) -> &mut dyn Write {
        &mut *self.stdout
    }

    /// Prints a text that the parser rendered, such as a help page.
    pub fn rendered(&mut self, text: &StyledStr) -> Result<(), CommandError> {
        let plain = text.to_string();
        if self.color_out { self.result(format_args!("{}", text.ansi())) } else { self.result(format_args!("{plain}")) }
    }

    /// Shows lines from the top of the screen on, instead of what was there; `anew` clears all of it first.
    pub(crate) fn redraw(&mut self, lines: &[Line], anew: bool) -> Result<(), CommandError> {
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

    /// Says something that is not part of the result.
    pub fn note(&mut self, text: fmt::Arguments<'_>) {
        let text = text.to_string();
        self.aside(&Line::new().plain(text));
    }

    /// Warns of something that does not stop the command.
    pub fn warn(&mut self, text: fmt::Arguments<'_>) {
        self.aside(&Line::new().add(Paint::Warn, "warning:").plain(" ").plain(text.to_string()));
    }

    /// Names the command that goes on from here.
    pub fn next(&mut self, command: fmt::Arguments<'_>) {
        let command = command.to_string();
        let line =
            self.there.as_ref().map_or_else(|| command.clone(), |(root, takes)| line_for(&command, root, *takes));
        self.aside(&Line::new().add(Paint::Dim, "next:").plain(" ").add(Paint::Bold, line));
    }

    /// Has every next step name this repository, if its verb takes one.
    pub(crate) fn speak_of(&mut self, root: PathBuf, takes_repo: TakesRepo) {
        self.there = Some((root, takes_repo));
    }

    /// Says how far a longer command has come, if anybody watches.
    pub fn progress(&mut self, text: fmt::Arguments<'_>) {
        if self.progress {
            self.aside(&Line::new().add(Paint::Dim, text.to_string()));
        }
    }

    /// Asks without a line feed, so that the answer follows on the same line.
    pub fn ask(&mut self, question: &str) {
        // A question that cannot be shown is never answered with yes: the answer is read from the same terminal.
        let question = Line::new().plain(question).render(false);
        let _ = write!(self.stderr, "{question} ").and_then(|()| self.stderr.flush());
    }

    /// Returns the width of the terminal that the result goes to.
    pub fn columns(&self) -> Option<usize> {
        self.terminal.stdout.then(|| self.terminal.columns.map_or(80, usize::from))
    }

    /// Makes sure that what was printed so far can be seen.
    pub fn flush(&mut self) -> Result<(), CommandError> {
        let flushed = self.stdout.flush();
        self.note_closed(flushed)
    }

    /// Whether nobody reads the result any more.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Makes sure that everything is out.
    pub(crate) fn finish(&mut self) -> Result<(), CommandError> {
        let flushed = self.stdout.flush();
        self.note_closed(flushed)
    }

    /// Reports why the command ended badly: to people on stderr, to programs on stdout.
    pub(crate) fn error(&mut self, error: &CommandError, json: bool) {
        if error.message.is_empty() {
            return;
        }
        if json && self.json("error/1", &error.view()).and_then(|()| self.finish()).is_ok() {
            return;
        }
        let label = format!("{}:", error.exit.label());
        let line = Line::new().add(Paint::Bad, label).plain(" ");
        // What the parser and the configuration say comes in several lines; everything else may quote an agent.
        let own = error.exit == Exit::Usage;
        self.aside(&if own { line.own(&error.message) } else { line.plain(&error.message) });
        if let Some(hint) = &error.hint {
            self.next(format_args!("{hint}"));
        }
    }

    fn aside(&mut self, line: &Line) {
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

    /// A reader that has seen enough (`pairflow log | head`) is no error; a full disk is.
    fn note_closed(&mut self, written: io::Result<()>) -> Result<(), CommandError> {
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            Err(error) => Err(CommandError::world(format_args!("cannot write to stdout: {error}."))),
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

/// Writes what could steer a terminal as `\u` escapes: the same value to a program, no power over a screen.
///
/// Outside of strings JSON has no such character, and inside of them all of ASCII's are escaped already.
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

/// Returns a voice for a process that runs on its own.
pub fn herald(clock: Arc<dyn Clock>) -> Arc<dyn Fn(&str) + Send + Sync> {
    Arc::new(move |text| {
        // There is nowhere to report that stderr is closed.
        let _ = writeln!(std::io::stderr(), "{} {}", clock.now().ts, safe(text));
    })
}

/// Says whether a verb takes `--repo`.
pub(crate) type TakesRepo = fn(&str) -> bool;

/// Returns a command line as it has to be typed to mean the repository at `root`. A line that names a repository, or
/// whose verb is about none, is left as it is.
pub(crate) fn line_for(line: &str, root: &Path, takes_repo: TakesRepo) -> String {
    let repo = format!(" --repo {}", quoted(&root.display().to_string()));
    let verb = line.strip_prefix("pairflow ").and_then(|rest| rest.split(' ').next());
    if verb.is_some_and(takes_repo) && !line.contains(" --repo ") && !line.ends_with(" --help") {
        format!("{line}{repo}")
    } else {
        line.to_owned()
    }
}

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

/// Rows of short texts under a heading.
#[derive(Debug, Clone)]
pub struct Grid {
    heads: Vec<&'static str>,
    rows: Vec<Vec<(Paint, String)>>,
    whole: bool,
}

/// No cell but the last of a row is ever wider than this.
const WIDEST: usize = 64;

impl Grid {
    /// Makes a table without rows.
    pub fn new(heads: &[&'static str]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new(), whole: false }
    }

    /// Has every cell shown whole: a long row goes on in the next line of the terminal.
    pub fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Adds a row; cells are made safe, and folded to one line each.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = (Paint, T)>) {
        let cells = cells.into_iter().map(|(paint, text)| (paint, safe_line(text.as_ref(), usize::MAX)));
        self.rows.push(cells.collect());
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Renders the table for a terminal of `columns` columns; without a width nothing is cut.
    pub(crate) fn render(&self, columns: Option<usize>, color: bool) -> String {
        let heads: Vec<_> = self.heads.iter().map(|head| (Paint::Dim, (*head).to_owned())).collect();
        let widths: Vec<usize> = (0..self.heads.len()).map(|column| self.width_of(column)).collect();
        let room = Room { widths: &widths, columns: columns.filter(|_| !self.whole), whole: self.whole };
        let mut text = String::new();
        for row in std::iter::once(&heads).chain(&self.rows) {
            let line = render_row(row, &room, color);
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

/// How much room there is for the cells of a row.
struct Room<'a> {
    widths: &'a [usize],
    /// The width of the terminal, if the last cell is cut to it.
    columns: Option<usize>,
    /// Whether no cell is cut.
    whole: bool,
}

fn render_row(row: &[(Paint, String)], room: &Room<'_>, color: bool) -> String {
    let mut line = String::new();
    let mut used = 0;
    for (index, (paint, text)) in row.iter().enumerate() {
        let last = index + 1 == room.widths.len();
        let own = room.widths.get(index).copied().unwrap_or(WIDEST);
        let room = match room.columns {
            _ if room.whole => usize::MAX,
            Some(columns) if last => columns.saturating_sub(used).max(8),
            None if last => usize::MAX,
            _ => own,
        };
        let cell = safe_line(text, room);
        let padding = if last { 0 } else { own.saturating_sub(width(&cell)) + 2 };
        line.push_str(&paint.wrap(&cell, color));
        line.extend(std::iter::repeat_n(' ', padding));
        used += own + 2;
    }
    line
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

    fn sample() -> Grid {
        let mut grid = Grid::new(&["ID", "STATE", "WHAT"]);
        grid.row([
            (Paint::Bold, "login-race"),
            (Paint::Good, "RUNNING"),
            (Paint::Plain, "fix\nthe \u{1b}[2Jlogin race"),
        ]);
        grid.row([(Paint::Bold, "日本"), (Paint::Plain, "DONE"), (Paint::Plain, "x")]);
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
        grid.row([(Paint::Plain, "k".repeat(WIDEST + 6)), (Paint::Plain, "v".repeat(90))]);
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
