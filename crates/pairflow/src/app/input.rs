//! What a person says to a command: text on the command line, in a file, on stdin or in an editor; answers and keys.

use std::io;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use pairflow_engine::regular;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use crate::app::App;
use crate::exit::CommandError;
use crate::out::Out;

/// The most that is read of a text, in bytes.
pub const TEXT_LIMIT: u64 = 8 * 1024 * 1024;

/// Where a text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextSource {
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
        let given = if words == "-" { TextSource::Stdin } else { TextSource::Words(words.to_owned()) };
        self.read(option, &given)
    }

    /// Returns the text of a file, or for `-` what is piped in.
    pub fn file_or_stdin(&self, option: &str, name: &str) -> Result<String, CommandError> {
        let given = if name == "-" { TextSource::Stdin } else { TextSource::File(self.resolve(Path::new(name))?) };
        self.read(option, &given)
    }

    /// Returns a task: text, `@file`, an existing file, `-`, or without any, what the person writes in an editor.
    ///
    /// `before` is the command line up to the text, for the next step after a mistake.
    pub fn task(&self, before: &str, words: Option<&str>) -> Result<String, CommandError> {
        let task = match words {
            Some(words) => self.locate(words).and_then(|given| self.read("the task", &given)),
            None if self.interactive() => compose_task(self),
            None => Err(CommandError::usage("the task is missing.")),
        };
        task.map_err(|error| error.or_next(format_args!("{before} \"what to do\"")))
    }

    /// Finds out where the text of a task comes from.
    fn locate(&self, words: &str) -> Result<TextSource, CommandError> {
        if words == "-" {
            return Ok(TextSource::Stdin);
        }
        if let Some(name) = words.strip_prefix('@') {
            return Ok(TextSource::File(self.resolve(Path::new(name))?));
        }
        // Not only regular files: `--task <(command)` names a pipe, which is refused with a sentence and not taken for
        // the task itself.
        let file = |path: &PathBuf| path.metadata().is_ok_and(|found| !found.is_dir());
        if let Some(path) = self.resolve(Path::new(words)).ok().filter(file) {
            return Ok(TextSource::File(path));
        }
        if names_a_file(words) {
            let message = format!("the file {words} does not exist, and one word is not a task.");
            return Err(CommandError::usage(message));
        }
        Ok(TextSource::Words(words.to_owned()))
    }

    fn read(&self, option: &str, given: &TextSource) -> Result<String, CommandError> {
        let (name, text) = match given {
            TextSource::Words(words) => (option.to_owned(), words.clone()),
            TextSource::Stdin => ("stdin".to_owned(), read_limited("stdin", &mut *self.stdin.borrow_mut())?),
            TextSource::File(path) => {
                let name = path.display().to_string();
                let mut file = regular::open(path).map_err(|error| cannot_read(&name, &error))?;
                let text = read_limited(&name, &mut file)?;
                (name, text)
            }
        };
        if text.trim().is_empty() {
            return Err(CommandError::usage(format_args!("{name} is empty.")));
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

fn read_limited(name: &str, source: &mut dyn Read) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    source.take(TEXT_LIMIT + 1).read_to_end(&mut bytes).map_err(|error| cannot_read(name, &error))?;
    if bytes.len() as u64 > TEXT_LIMIT {
        return Err(CommandError::usage(format_args!("{name} is too long; the limit is 8 MiB.")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::usage(format_args!("{name} is not UTF-8 text: invalid byte at offset {at}."))
    })
}

fn cannot_read(name: &str, error: &io::Error) -> CommandError {
    let message = format!("cannot read {name}: {error}.");
    match error.kind() {
        io::ErrorKind::InvalidInput => {
            CommandError::usage(format_args!("{message} To pass the output of a command, pipe it in and write -."))
        }
        _ => CommandError::io(message),
    }
}

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
            match read.map_err(|error| CommandError::io(format_args!("cannot read the answer: {error}.")))? {
                0 if line.is_empty() => return Ok(None),
                0 => break,
                _ if byte[0] == b'\n' => break,
                _ => line.push(byte[0]),
            }
        }
        Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()))
    }

    /// Insists on a yes: given by `--yes`, or by the person at the terminal.
    pub fn require_yes(&self, out: &mut Out, yes: bool, question: &str) -> Result<(), CommandError> {
        self.require_yes_unless(false, out, yes, question)
    }

    /// The same, but `json` asks nothing: what a program reads is no conversation.
    pub fn require_yes_unless(&self, json: bool, out: &mut Out, yes: bool, question: &str) -> Result<(), CommandError> {
        if yes {
            return Ok(());
        }
        if json || !self.interactive() {
            let why = if json { "--json never asks" } else { "There is no terminal to ask on" };
            let message = format!("{question} {why}; add --yes.");
            return Err(CommandError::refused(message).next(format_args!("{} --yes", self.typed)));
        }
        if self.confirm(out, question)? {
            return Ok(());
        }
        Err(CommandError::refused("cancelled; nothing was changed.").next(&self.typed))
    }
}

/// Ctrl-C and Ctrl-D, which arrive as keys while one is waited for.
const END: [u8; 2] = [3, 4];

impl App {
    /// Asks for one key and returns it in lower case; nothing if the person wants no more.
    pub fn key(&self, out: &mut Out, question: &str) -> Result<Option<char>, CommandError> {
        let Some(_raw) = RawTerminal::enter() else {
            let line = self.answer(out, question)?;
            return Ok(line.map(|line| line.chars().next().map_or('\n', |c| c.to_ascii_lowercase())));
        };
        out.ask(question);
        let mut byte = [0];
        let read = self.stdin.borrow_mut().read(&mut byte);
        let read = read.map_err(|error| CommandError::io(format_args!("cannot read a key: {error}.")))?;
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
pub(crate) struct RawTerminal {
    before: Termios,
}

impl RawTerminal {
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

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to put back.
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.before);
    }
}

const TEMPLATE: &str = "

# Describe the task. These three lines are ignored.
# A section 'Acceptance criteria' with a list defines for both agents when the work is done.
# An empty text creates no bubble.
";

/// Opens the editor on an empty task and returns what was written.
pub(crate) fn compose_task(app: &App) -> Result<String, CommandError> {
    let dir = app.temporary_dir();
    let made = tempfile::Builder::new().prefix("pairflow-task-").suffix(".md").tempfile_in(&dir);
    let written = made.and_then(|mut file| file.write_all(TEMPLATE.as_bytes()).map(|()| file.into_temp_path()));
    let file = written.map_err(|error| CommandError::cannot("write to", dir.display(), error))?;
    let editor = app.env.text("VISUAL").or_else(|| app.env.text("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    run_editor(&editor, &file)?;
    let text = regular::read_text(&file).map_err(|error| CommandError::cannot("read", file.display(), error))?;
    let task = strip_notes(&text);
    if task.is_empty() {
        return Err(CommandError::refused("the task is empty; no bubble was created."));
    }
    Ok(task)
}

fn run_editor(editor: &str, file: &Path) -> Result<(), CommandError> {
    // Through a shell, because people set EDITOR to a command line such as `code --wait`.
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CommandError::io(format_args!("the editor '{editor}' failed with {status}."))),
        Err(error) => Err(CommandError::io(format_args!("cannot start the editor '{editor}': {error}."))),
    }
}

/// Removes the lines of the template, wherever the text was written; headings stay.
fn strip_notes(text: &str) -> String {
    let own = |line: &&str| TEMPLATE.lines().any(|note| !note.is_empty() && note == line.trim_end());
    text.lines().filter(|line| !own(line)).collect::<Vec<_>>().join("\n").trim().to_owned()
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
        assert_eq!(error.exit, Exit::IoError);
        assert!(error.message.contains("nothing.md"), "{error}");
    }

    #[test]
    fn empty_huge_and_binary_texts_are_refused_with_a_sentence() {
        let dir = tempfile::tempdir().unwrap();
        let empty = app(dir.path(), b" \n").message("--message", "-").unwrap_err();
        assert_eq!((empty.exit, empty.message.as_str()), (Exit::Usage, "stdin is empty."));
        let binary = app(dir.path(), b"ab\xff").message("--message", "-").unwrap_err();
        assert_eq!(binary.message, "stdin is not UTF-8 text: invalid byte at offset 2.");
        let huge = vec![b'x'; usize::try_from(TEXT_LIMIT).unwrap() + 1];
        let huge = app(dir.path(), &huge).message("--message", "-").unwrap_err();
        assert_eq!(huge.message, "stdin is too long; the limit is 8 MiB.");
        let exact = vec![b'x'; usize::try_from(TEXT_LIMIT).unwrap()];
        assert!(app(dir.path(), &exact).message("--message", "-").is_ok());
    }

    #[test]
    fn without_a_task_and_without_a_terminal_nobody_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(app(dir.path(), b"").task(NEW, None).unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn the_notes_are_left_out_and_headings_stay() {
        let text = format!("# Fix the race\n\nIt is in login.{TEMPLATE}");
        assert_eq!(strip_notes(&text), "# Fix the race\n\nIt is in login.");
        assert_eq!(strip_notes(TEMPLATE), "");
        let below = format!("{TEMPLATE}It is in login.\n\n# Not the form\n");
        assert_eq!(strip_notes(&below), "It is in login.\n\n# Not the form", "a text below the notes");
    }
}
