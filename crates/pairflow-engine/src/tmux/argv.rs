//! Words for tmux: commands in a row, and the words of a program that must arrive as they are.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::error::TmuxError;

/// Commands that tmux does one after the other, until one of them fails.
#[derive(Debug, Default)]
pub(super) struct Script {
    words: Vec<OsString>,
    names: Vec<String>,
}

impl Script {
    /// Begins with one command.
    pub(super) fn of<W: AsRef<OsStr>>(command: impl IntoIterator<Item = W>) -> Self {
        Self::default().then(command)
    }

    /// Adds a command.
    pub(super) fn then<W: AsRef<OsStr>>(mut self, command: impl IntoIterator<Item = W>) -> Self {
        if !self.words.is_empty() {
            self.words.push(";".into());
        }
        let begins = self.words.len();
        self.words.extend(command.into_iter().map(|word| literal(word.as_ref())));
        self.names.extend(self.words.get(begins).map(|word| word.to_string_lossy().into_owned()));
        self
    }

    /// Returns the words for the command line of a client.
    pub(super) fn words(&self) -> &[OsString] {
        &self.words
    }

    /// Returns what is asked, for an error: the names of the commands alone.
    pub(super) fn call(&self) -> String {
        let mut names = self.names.clone();
        names.dedup();
        names.join(", ")
    }
}

/// Returns the words with which tmux starts `argv` without a shell.
pub(super) fn program(argv: &[String]) -> Result<Vec<String>, TmuxError> {
    match argv {
        [] => Err(TmuxError::refused("a program without a name")),
        words if words.iter().any(|word| word.contains('\0')) => Err(TmuxError::refused("a word with a zero byte")),
        // A single word would be a line for the default shell, whatever that is.
        [word] => Ok(["/bin/sh", "-c", r#"exec "$0""#, word].map(String::from).to_vec()),
        words => Ok(words.to_vec()),
    }
}

/// A word that ends with a semicolon ends a command, unless a backslash stands before it; tmux drops that one.
fn literal(word: &OsStr) -> OsString {
    let mut bytes = word.as_bytes().to_vec();
    if bytes.last() == Some(&b';') {
        bytes.insert(bytes.len() - 1, b'\\');
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_parted_by_semicolons_and_words_are_not() {
        let script = Script::of(["set", "a;", ";", r"\;", "b;c"]).then(["list-panes"]);
        assert_eq!(script.words(), ["set", r"a\;", r"\;", r"\\;", "b;c", ";", "list-panes"]);
        assert_eq!(script.call(), "set, list-panes");
    }

    #[test]
    fn one_word_is_not_left_to_the_default_shell() {
        let words = |argv: &[&str]| program(&argv.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&["a b; c"]).unwrap(), ["/bin/sh", "-c", r#"exec "$0""#, "a b; c"]);
        assert_eq!(words(&["a", "b"]).unwrap(), ["a", "b"]);
        assert!(matches!(words(&[]), Err(TmuxError::Refused { .. })));
        assert!(matches!(words(&["a", "b\0"]), Err(TmuxError::Refused { .. })));
    }
}
