//! Questions to the person at the terminal.

use std::io::Read;

use crate::app::App;
use crate::exit::CommandError;
use crate::out::Out;

/// The longest answer that is read, in bytes.
const ANSWER_LIMIT: usize = 4096;

impl App {
    /// Asks for a yes. Anything else, the end of the input included, is a no.
    pub fn confirm(&self, out: &mut Out, question: &str) -> Result<bool, CommandError> {
        let answer = self.answer(out, &format!("{question} [y/N]"))?;
        Ok(answer.is_some_and(|answer| matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes")))
    }

    /// Asks and returns the line that is typed; nothing at the end of the input.
    pub fn answer(&self, out: &mut Out, question: &str) -> Result<Option<String>, CommandError> {
        out.ask(question);
        let mut stdin = self.stdin.borrow_mut();
        let mut line = Vec::new();
        let mut byte = [0];
        // Byte by byte, so that nothing beyond the line is taken from the next reader.
        while line.len() < ANSWER_LIMIT {
            let read = stdin.read(&mut byte);
            match read.map_err(|error| CommandError::world(format_args!("cannot read the answer: {error}.")))? {
                0 if line.is_empty() => return Ok(None),
                0 => break,
                _ if byte[0] == b'\n' => break,
                _ => line.push(byte[0]),
            }
        }
        Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()))
    }

    /// Insists on a yes: given by `--yes`, or by the person at the terminal.
    pub fn insist(&self, out: &mut Out, yes: bool, question: &str) -> Result<(), CommandError> {
        self.insist_unless(false, out, yes, question)
    }

    /// The same, but `json` asks nothing: what a program reads is no conversation.
    pub fn insist_unless(&self, json: bool, out: &mut Out, yes: bool, question: &str) -> Result<(), CommandError> {
        if yes {
            return Ok(());
        }
        if json || !self.interactive() {
            let why = if json { "With --json nothing is asked" } else { "There is no terminal to answer on" };
            let message = format!("{question} {why}; add --yes.");
            return Err(CommandError::refused(message).next(format_args!("{} --yes", self.typed)));
        }
        if self.confirm(out, question)? {
            return Ok(());
        }
        Err(CommandError::refused("you said no, so nothing was done.").next(&self.typed))
    }
}
