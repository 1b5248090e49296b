//! The two streams of a command, and the rules for each.

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::builder::StyledStr;
use pairflow_core::safe::{revealed_bytes, safe, width};
use pairflow_core::view::plain::plain;
use pairflow_core::view::wrapped;
use serde::Serialize;

use crate::exit::{CommandError, Exit};
use crate::out::{ColorChoice, Grid, Line, Paint, TakesRepo, json, line_for};
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
        let text = json::render(schema, value)
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
