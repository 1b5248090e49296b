//! The configuration of a bubble that exists: the log says what is in force, `bubble.toml` is where a person edits it.

use std::io;

use pairflow_core::bubble::{BubbleState, Command, Phase};
use pairflow_core::config::{Edit, Layer, Layers, LogLine, Resolved, Subject, changes, render_bubble_toml};
use pairflow_core::log::{Body, Lifecycle};
use pairflow_core::rules::Rules;

use crate::config::{ConfigFiles, LoadError, bubble_file};
use crate::engine::{Bubble, EngineError};

/// How a `bubble.toml` stands to the log.
#[derive(Debug)]
pub enum FileState {
    /// It says what the log says.
    Same,
    /// It is gone; it is written again when the configuration changes.
    Gone,
    /// It says something else.
    Edited(Box<Edit>),
    /// It cannot be used.
    Unusable(LoadError),
}

impl Bubble {
    /// Puts `rules` in force, if the configuration is still the one of `seen`.
    ///
    /// A `bubble.toml` that said what the log says, says it again afterwards; one that was edited is left alone.
    pub fn configure(&self, seen: &BubbleState, rules: &Rules) -> Result<BubbleState, EngineError> {
        let busy = || self.outrun("config", "another process is changing its configuration");
        let _changing = self.exclusively("config")?.ok_or_else(busy)?;
        let before = self.load()?.state;
        if before.rules != seen.rules {
            return Err(self.outrun("config", "its configuration was changed a moment ago"));
        }
        let file = self.file_state(&before)?;
        let state = self.apply(&Command::Configure { rules: Box::new(rules.clone()) })?.state;
        let follows = match file {
            FileState::Same | FileState::Gone => true,
            FileState::Edited(edit) => edit.rules == state.rules,
            FileState::Unusable(_) => false,
        };
        if follows {
            self.write_config(&state)?;
        }
        Ok(state)
    }

    /// Compares the bubble's own file with the log.
    pub fn file_state(&self, state: &BubbleState) -> Result<FileState, EngineError> {
        let repo = self.control.repo();
        let path = bubble_file(repo, &self.id);
        let text = self.rendered(state);
        match crate::regular::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileState::Gone),
            // The usual case costs no parsing.
            Ok(own) if own == text.as_bytes() => return Ok(FileState::Same),
            _ => {}
        }
        let files = ConfigFiles { repo, user: Some(&self.engine.dirs.config), bubble: Some(&self.id) };
        // Before the start the other files still count; afterwards everything that they said is recorded.
        let read = match state.phase {
            Phase::Created => files.load(Layer::default()),
            _ => files.load_bubble().map(|bubble| Layers { bubble, ..Layers::default() }),
        };
        Ok(match read.and_then(|layers| Ok(self.subject(state).edited(&layers)?)) {
            Ok(edit) if edit.changes.is_empty() => FileState::Same,
            Ok(edit) => FileState::Edited(Box::new(edit)),
            Err(error) => FileState::Unusable(error),
        })
    }

    /// Says in one sentence how the bubble's own file differs from what is in force, if that matters.
    pub fn config_differs(&self, state: &BubbleState) -> Option<String> {
        if state.phase.is_final() || state.phase == Phase::Preparing {
            return None;
        }
        let what = if state.phase == Phase::Created { "recorded" } else { "in force" };
        match self.file_state(state).ok()? {
            FileState::Same | FileState::Gone => None,
            FileState::Edited(edit) => {
                let keys: Vec<_> = edit.changes.iter().map(|change| change.key.as_str()).collect();
                Some(format!("bubble.toml differs from what is {what}: {}", keys.join(", ")))
            }
            FileState::Unusable(_) => Some(format!("bubble.toml cannot be read, so nothing of it is {what}")),
        }
    }

    /// The bubble's recorded configuration.
    pub fn subject<'a>(&'a self, state: &'a BubbleState) -> Subject<'a> {
        Subject { id: &self.id, repo: &state.about.repo, rules: &state.rules }
    }

    /// Returns the line of the log that gave each key its value in force.
    pub fn config_lines(&self) -> Result<impl Fn(&str) -> LogLine, EngineError> {
        let mut rules: Option<Rules> = None;
        let mut lines: Vec<(String, LogLine)> = Vec::new();
        let mut first = 0;
        self.log().visit(&mut |envelope| {
            let Body::Lifecycle(fact) = &envelope.event.body else { return };
            let (by, now) = match fact {
                Lifecycle::Created { rules, .. } => ("create", rules),
                Lifecycle::StartRequested { rules } => ("start", rules),
                Lifecycle::Configured { rules, .. } => ("config", rules),
                _ => return,
            };
            match rules.replace((**now).clone()) {
                None => first = envelope.seq,
                Some(before) => {
                    let line = LogLine { seq: envelope.seq, by };
                    lines.extend(changes(&before, now).into_iter().map(|change| (change.key, line)));
                }
            }
        })?;
        Ok(move |key: &str| {
            let newest = lines.iter().rev().find(|(one, _)| one == key).map(|(_, line)| *line);
            newest.unwrap_or(LogLine { seq: first, by: "create" })
        })
    }

    /// Writes `bubble.toml` again as the log has it.
    pub(crate) fn write_config(&self, state: &BubbleState) -> Result<(), EngineError> {
        Ok(self.log().put_config(&self.rendered(state))?)
    }

    fn rendered(&self, state: &BubbleState) -> String {
        let no_tests = state.rules.checks.is_empty();
        let resolved = Resolved { rules: state.rules.clone(), no_tests, explained: Vec::new() };
        render_bubble_toml(&resolved, &self.id, &state.about.repo)
    }
}
