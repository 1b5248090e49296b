//! One key from the person at the terminal, without the return key.

use std::io::{self, Read};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use crate::app::App;
use crate::exit::CommandError;
use crate::out::Out;

/// Ctrl-C and Ctrl-D, which arrive as keys while one is waited for.
const END: [u8; 2] = [3, 4];

impl App {
    /// Asks for one key and returns it in lower case; nothing if the person wants no more.
    pub fn key(&self, out: &mut Out, question: &str) -> Result<Option<char>, CommandError> {
        let Some(_raw) = Raw::enter() else {
            let line = self.answer(out, question)?;
            return Ok(line.map(|line| line.chars().next().map_or('\n', |c| c.to_ascii_lowercase())));
        };
        out.ask(question);
        let mut byte = [0];
        let read = self.stdin.borrow_mut().read(&mut byte);
        let read = read.map_err(|error| CommandError::world(format_args!("cannot read a key: {error}.")))?;
        if read == 0 || END.contains(&byte[0]) {
            out.note(format_args!(""));
            return Ok(None);
        }
        let key = char::from(byte[0]).to_ascii_lowercase();
        out.note(format_args!("{key}"));
        Ok(Some(key))
    }
}

/// A terminal that hands over every key at once, until this is dropped.
pub(crate) struct Raw {
    before: Termios,
}

impl Raw {
    /// Returns nothing if stdin is no terminal.
    pub(crate) fn enter() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut raw = before.clone();
        // Ctrl-C has to arrive as a key: the process must not end while the terminal is in this mode.
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Drain, &raw).ok()?;
        Some(Self { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to put back.
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.before);
    }
}
