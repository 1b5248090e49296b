//! Opens a bubble for a person: its worktree in their editor, or the session of its agents.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use pairflow_core::bubble::BubbleState;
use pairflow_core::log::{Body, Lifecycle};

use crate::config::{LoadError, person_layer};
use crate::engine::{Bubble, EngineError};
use crate::tmux::Tmux;

const PLACEHOLDER: &str = "{{worktree_path}}";

/// What was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedEditor {
    /// The worktree.
    pub worktree: PathBuf,
    /// The command, word by word.
    pub argv: Vec<String>,
}

/// Runs the `open_command` that is in force now and waits for it: the one that the person chose for this bubble while it was
/// under way, else that of the person's own file, else the recorded one.
pub fn open(bubble: &Bubble, state: &BubbleState) -> Result<OpenedEditor, EngineError> {
    let workspace = bubble.workspace(state)?;
    let worktree = &workspace.path;
    if !worktree.is_dir() {
        let (id, path) = (&bubble.id, worktree.display());
        return Err(EngineError::BadInput(format!(
            "the worktree {path} is gone; 'pairflow resume {id}' makes it again"
        )));
    }
    workspace.connected()?;
    let command = command(bubble, state)?;
    let argv = argv(&command, worktree)?;
    let (program, args) =
        argv.split_first().ok_or_else(|| EngineError::BadInput("open_command is empty".to_owned()))?;
    let status =
        Command::new(program).args(args).current_dir(worktree).status().map_err(|error| {
            EngineError::io(format!("cannot start '{program}' of open_command = {command:?}"), error)
        })?;
    if status.success() {
        return Ok(OpenedEditor { worktree: workspace.path, argv });
    }
    Err(EngineError::Effect(format!("'{}' ended with {status}", argv.join(" "))))
}

fn command(bubble: &Bubble, state: &BubbleState) -> Result<String, EngineError> {
    let mut chosen = false;
    bubble.log().visit(&mut |envelope| {
        if let Body::Lifecycle(Lifecycle::Configured { changes, .. }) = &envelope.event.body {
            chosen |= changes.iter().any(|change| change.key == "open_command");
        }
    })?;
    if chosen {
        return Ok(state.rules.open_command.clone());
    }
    let own = match person_layer(&bubble.engine.dirs.config) {
        Ok(layer) => layer.open_command.map(|set| set.value),
        Err(LoadError::Invalid(errors)) => return Err(EngineError::Config(errors)),
        Err(error) => return Err(EngineError::BadInput(error.to_string())),
    };
    Ok(own.unwrap_or_else(|| state.rules.open_command.clone()))
}

/// Splits `command` into words like a shell, without interpreting anything else, and puts the path in.
///
/// The path stays one argument, or part of one, whatever characters it has.
fn argv(command: &str, worktree: &Path) -> Result<Vec<String>, EngineError> {
    let path = worktree.to_str().ok_or_else(|| {
        EngineError::BadInput(format!("the path {} is not UTF-8, so no command can name it", worktree.display()))
    })?;
    let message = message(command)
        .ok_or_else(|| EngineError::BadInput(format!("open_command = {command:?} has a quote that is not closed")))?;
    Ok(message.iter().map(|word| word.replace(PLACEHOLDER, path)).collect())
}

/// Words are parted by blanks; quotes and backslashes keep blanks inside of a word.
fn message(command: &str) -> Option<Vec<String>> {
    let mut message = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(chars.next()?),
            (None, c) if c.is_whitespace() => message.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    message.extend(word);
    quote.is_none().then_some(message)
}

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(50);

impl Bubble {
    /// Returns the command that attaches to the bubble's session, if it exists now. Needs no tmux itself.
    pub fn session(&self, state: &BubbleState) -> Result<Vec<OsString>, EngineError> {
        state.has_panes()?;
        let (tmux, name) = self.terminal();
        if tmux.is_there() { Ok(tmux.attach_argv(&name)) } else { Err(state.no_session().into()) }
    }

    /// Returns the command that attaches to the bubble's session, once it exists.
    ///
    /// Fails for bubbles without a session, and when none appears within `patience`.
    pub fn attachable(&self, state: &BubbleState, patience: Duration) -> Result<Vec<OsString>, EngineError> {
        state.has_panes()?;
        let (tmux, name) = self.terminal();
        let until = Instant::now() + patience;
        loop {
            let there = tmux.has_session(&name);
            if there.map_err(|error| EngineError::Effect(error.to_string()))? {
                return Ok(tmux.attach_argv(&name));
            }
            if Instant::now() >= until {
                return Err(state.no_session().into());
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn terminal(&self) -> (Tmux, String) {
        let tmux = Tmux::new(self.control.tmux_socket(&self.id), crate::process::environment());
        (tmux, self.control.session_name(&self.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(command: &str) -> Vec<String> {
        argv(command, Path::new("/w/a b; rm -rf $HOME")).unwrap()
    }

    #[test]
    fn the_path_is_one_argument_without_shell_interpretation() {
        assert_eq!(split("cursor {{worktree_path}}"), ["cursor", "/w/a b; rm -rf $HOME"]);
        assert_eq!(split("code -n --folder={{worktree_path}}"), ["code", "-n", "--folder=/w/a b; rm -rf $HOME"]);
    }

    #[test]
    fn words_are_split_like_a_shell_does() {
        assert_eq!(split(r#"a 'b c' "d \" e" f\ g '' $X"#), ["a", "b c", "d \" e", "f g", "", "$X"]);
        assert!(message("a 'b").is_none());
        assert!(message("a \\").is_none());
    }
}
