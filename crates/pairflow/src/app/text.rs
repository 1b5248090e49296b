//! Text that a command is given: on the command line, in a file, on stdin, or written in an editor.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::app::{App, editor};
use crate::exit::CommandError;
use pairflow_engine::regular;

/// The most that is read of a text, in bytes.
pub const TEXT_LIMIT: u64 = 8 * 1024 * 1024;

/// Where a text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// The text itself.
    Words(String),
    /// Whatever is piped in.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl App {
    /// Returns a message: the words themselves, or for `-` what is piped in. An empty one is a usage error.
    pub fn message(&self, option: &str, words: &str) -> Result<String, CommandError> {
        let given = if words == "-" { Given::Stdin } else { Given::Words(words.to_owned()) };
        self.read(option, &given)
    }

    /// Returns the text of a file, or for `-` what is piped in.
    pub fn file_or_stdin(&self, option: &str, name: &str) -> Result<String, CommandError> {
        let given = if name == "-" { Given::Stdin } else { Given::File(self.resolve(Path::new(name))?) };
        self.read(option, &given)
    }

    /// Returns a task: text, `@file`, an existing file, `-`, or without any, what the person writes in an editor.
    ///
    /// `before` is the command line up to the text, for the line that goes on from a mistake.
    pub fn task(&self, before: &str, words: Option<&str>) -> Result<String, CommandError> {
        let task = match words {
            Some(words) => self.locate(words).and_then(|given| self.read("the task", &given)),
            None if self.interactive() => editor::compose(self),
            None => Err(CommandError::usage("there is no task.")),
        };
        task.map_err(|error| error.or_next(format_args!("{before} \"what to do\"")))
    }

    /// Finds out where the text of a task comes from.
    fn locate(&self, words: &str) -> Result<Given, CommandError> {
        if words == "-" {
            return Ok(Given::Stdin);
        }
        if let Some(name) = words.strip_prefix('@') {
            return Ok(Given::File(self.resolve(Path::new(name))?));
        }
        // Not only regular files: `--task <(command)` names a pipe, which is refused with a sentence and not taken for
        // the task itself.
        let file = |path: &PathBuf| path.metadata().is_ok_and(|found| !found.is_dir());
        if let Some(path) = self.resolve(Path::new(words)).ok().filter(file) {
            return Ok(Given::File(path));
        }
        if names_a_file(words) {
            let message =
                format!("there is no file {words}, and a task of that one word would tell nobody what to do.");
            return Err(CommandError::usage(message));
        }
        Ok(Given::Words(words.to_owned()))
    }

    fn read(&self, option: &str, given: &Given) -> Result<String, CommandError> {
        let (name, text) = match given {
            Given::Words(words) => (option.to_owned(), words.clone()),
            Given::Stdin => ("stdin".to_owned(), limited("stdin", &mut *self.stdin.borrow_mut())?),
            Given::File(path) => {
                let name = path.display().to_string();
                let mut file = regular::open(path).map_err(|error| cannot_read(&name, &error))?;
                let text = limited(&name, &mut file)?;
                (name, text)
            }
        };
        if text.trim().is_empty() {
            return Err(CommandError::usage(format_args!("the text of {name} is empty.")));
        }
        Ok(text)
    }
}

/// Whether a word looks like the name of a text file rather than like a task.
fn names_a_file(words: &str) -> bool {
    let lower = words.to_ascii_lowercase();
    let ending = [".md", ".markdown", ".txt"].iter().any(|ending| lower.ends_with(ending));
    let path = words.contains('/') && !words.contains("://");
    !words.contains(char::is_whitespace) && (ending || path)
}

fn limited(name: &str, source: &mut dyn Read) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    source.take(TEXT_LIMIT + 1).read_to_end(&mut bytes).map_err(|error| cannot_read(name, &error))?;
    if bytes.len() as u64 > TEXT_LIMIT {
        return Err(CommandError::usage(format_args!("{name} is longer than the 8 MiB that a text may have.")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::usage(format_args!("{name} is not UTF-8 text: the byte at offset {at} fits nowhere."))
    })
}

fn cannot_read(name: &str, error: &io::Error) -> CommandError {
    let message = format!("cannot read {name}: {error}.");
    match error.kind() {
        io::ErrorKind::InvalidInput => {
            CommandError::usage(format_args!("{message} To pass the output of a command, pipe it in and write -."))
        }
        _ => CommandError::world(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Grammar;
    use crate::exit::Exit;
    use crate::world::World;

    const NEW: &str = "pairflow new";

    fn app(cwd: &Path, stdin: &[u8]) -> App {
        let stdin = Box::new(io::Cursor::new(stdin.to_vec()));
        let world = World { cwd: Some(cwd.to_owned()), stdin, ..World::empty() };
        App::split(world, Grammar::empty()).0
    }

    #[test]
    fn a_task_is_text_or_a_file_or_stdin() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("task.md"), "from the file\n").unwrap();
        let app = app(dir.path(), b"from stdin");
        assert_eq!(app.task(NEW, Some("fix it")).unwrap(), "fix it");
        assert_eq!(app.task(NEW, Some("task.md")).unwrap(), "from the file\n");
        assert_eq!(app.task(NEW, Some("@task.md")).unwrap(), "from the file\n");
        assert_eq!(app.task(NEW, Some("-")).unwrap(), "from stdin");
        assert_eq!(app.task(NEW, Some(".")).unwrap(), ".", "a directory is no text file");
    }

    #[test]
    fn a_missing_file_is_named_only_when_a_file_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let app = app(dir.path(), b"");
        assert_eq!(app.task(NEW, Some("see nothing.md")).unwrap(), "see nothing.md");
        for name in ["nothing.md", "docs/nothing", "./NOTES.TXT"] {
            let error = app.task(NEW, Some(name)).unwrap_err();
            assert_eq!(error.exit, Exit::Usage, "{name}");
            assert!(error.message.contains(name) && error.hint.is_some(), "{error}");
        }
        let error = app.task(NEW, Some("@nothing.md")).unwrap_err();
        assert_eq!(error.exit, Exit::WorldFailed);
        assert!(error.message.contains("nothing.md"), "{error}");
    }

    #[test]
    fn empty_huge_and_binary_texts_are_refused_with_a_sentence() {
        let dir = tempfile::tempdir().unwrap();
        let empty = app(dir.path(), b" \n").message("--message", "-").unwrap_err();
        assert_eq!((empty.exit, empty.message.as_str()), (Exit::Usage, "the text of stdin is empty."));
        let binary = app(dir.path(), b"ab\xff").message("--message", "-").unwrap_err();
        assert_eq!(binary.message, "stdin is not UTF-8 text: the byte at offset 2 fits nowhere.");
        let huge = vec![b'x'; usize::try_from(TEXT_LIMIT).unwrap() + 1];
        let huge = app(dir.path(), &huge).message("--message", "-").unwrap_err();
        assert_eq!(huge.message, "stdin is longer than the 8 MiB that a text may have.");
        let exact = vec![b'x'; usize::try_from(TEXT_LIMIT).unwrap()];
        assert!(app(dir.path(), &exact).message("--message", "-").is_ok());
    }

    #[test]
    fn without_a_task_and_without_a_terminal_nobody_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(app(dir.path(), b"").task(NEW, None).unwrap_err().exit, Exit::Usage);
    }
}
