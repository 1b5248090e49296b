//! Lets the person write a text in the editor of their choice.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::app::App;
use crate::exit::CommandError;
use pairflow_engine::regular;

const TEMPLATE: &str = "

# Describe the task. These three lines are left out.
# A section 'Acceptance criteria' with a list tells both agents when the work is done.
# An empty text makes no bubble.
";

/// Opens the editor on an empty task and returns what was written.
pub(crate) fn compose(app: &App) -> Result<String, CommandError> {
    let file = TaskFile::create(app)?;
    let editor = app.env.text("VISUAL").or_else(|| app.env.text("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    run(&editor, &file.path)?;
    let text = regular::read_text(&file.path)
        .map_err(|error| CommandError::world(format_args!("cannot read {}: {error}.", file.path.display())))?;
    let task = strip_notes(&text);
    if task.is_empty() {
        return Err(CommandError::refused("the task is empty; no bubble was made."));
    }
    Ok(task)
}

/// A file of this call's own, gone when it is dropped.
struct TaskFile {
    path: PathBuf,
}

impl TaskFile {
    fn create(app: &App) -> Result<Self, CommandError> {
        let dir = app.env.text("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let cannot =
            |path: &Path, error| CommandError::world(format_args!("cannot write {}: {error}.", path.display()));
        for attempt in 0..100 {
            let path = dir.join(format!("pairflow-task-{}-{attempt}.md", std::process::id()));
            match regular::create_new(&path, 0o600) {
                Ok(mut file) => {
                    let made = Self { path };
                    file.write_all(TEMPLATE.as_bytes()).map_err(|error| cannot(&made.path, error))?;
                    return Ok(made);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(cannot(&path, error)),
            }
        }
        Err(CommandError::world(format_args!("there is no free name for a file in {}.", dir.display())))
    }
}

impl Drop for TaskFile {
    fn drop(&mut self) {
        // The text was read; a file that stays behind in the temporary directory harms nobody.
        let _ = fs::remove_file(&self.path);
    }
}

fn run(editor: &str, file: &Path) -> Result<(), CommandError> {
    // Through a shell, because people set EDITOR to a command line such as `code --wait`.
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CommandError::world(format_args!("the editor '{editor}' ended with {status}."))),
        Err(error) => Err(CommandError::world(format_args!("cannot start the editor '{editor}': {error}."))),
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

    #[test]
    fn the_notes_are_left_out_and_headings_stay() {
        let text = format!("# Fix the race\n\nIt is in login.{TEMPLATE}");
        assert_eq!(strip_notes(&text), "# Fix the race\n\nIt is in login.");
        assert_eq!(strip_notes(TEMPLATE), "");
        let below = format!("{TEMPLATE}It is in login.\n\n# Not the form\n");
        assert_eq!(strip_notes(&below), "It is in login.\n\n# Not the form", "a text below the notes");
    }
}
