//! The configuration and commit identity of an existing bubble: the log says what is in force; a person edits `bubble.toml`.

use std::io;

use pairflow_core::bubble::{BubbleState, Command, Phase, decide};
use pairflow_core::config::{Edit, Layer, Layers, LogLine, Resolved, Subject, changes, render_bubble_toml};
use pairflow_core::log::{Body, CommitIdentity, Lifecycle};
use pairflow_core::rules::Rules;

use crate::config::{ConfigFiles, LoadError, bubble_file};
use crate::engine::{Bubble, EngineError};
use crate::git::{Repo, commit_identity, hooks_changed_by_work};

/// How `bubble.toml` compares with the log.
#[derive(Debug)]
pub enum FileState {
    /// It agrees with the log.
    Same,
    /// It is missing; it is written again when the configuration changes.
    Gone,
    /// It differs.
    Edited(Box<Edit>),
    /// It cannot be used.
    Unusable(LoadError),
}

impl Bubble {
    /// Puts `rules` in force, if the configuration is still the one of `seen`.
    ///
    /// A `bubble.toml` that agreed with the log is updated; one that was edited is left alone.
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
        // Before the start the other files still count; afterwards their values are recorded.
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

    /// Describes how the bubble's own file differs from what is in force, if that matters.
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
        render_bubble_toml(&recorded_rules(state), &self.id, &state.about.repo)
    }

    /// Records git's current identity for the bubble's commit.
    pub fn adopt_identity(&self) -> Result<CommitIdentity, EngineError> {
        let identity = self.identity_now()?;
        self.apply(&Command::SetIdentity { identity: identity.clone() })?;
        Ok(identity)
    }

    /// Compares the recorded identity with git's current one; `None` if they agree.
    ///
    /// Shown wherever a person decides on the commit.
    pub fn identity_notice(&self, state: &BubbleState) -> Result<Option<IdentityNotice>, EngineError> {
        let now = self.identity_now()?;
        let Some(recorded) = recorded(state) else {
            let told = |author| IdentityNotice {
                text: format!(
                    "no commit identity was known when the bubble was created; git now has {author}, which is used"
                ),
                changes: Vec::new(),
                next: None,
            };
            return Ok(now.author.map(told));
        };
        let changes = recorded.differences(&now);
        if changes.is_empty() {
            return Ok(None);
        }
        let text = format!(
            "the commit identity has changed since the bubble was created ({}); the recorded identity is used",
            changes.join("; ")
        );
        let set = Command::SetIdentity { identity: now };
        let accepted = decide(state, &set, self.engine.clock.now()).is_ok();
        let next = accepted.then(|| format!("pairflow config set {} identity=current", self.id));
        Ok(Some(IdentityNotice { text, changes, next }))
    }

    /// Names the commit hooks that the bubble's work changes; those of the base are run.
    pub fn hooks_changed_by_work(&self, state: &BubbleState) -> Result<Vec<String>, EngineError> {
        let Some(hooks) = state.about.identity.as_ref().and_then(|identity| identity.hooks.as_ref()) else {
            return Ok(Vec::new());
        };
        let Phase::Approved(approval) = &state.phase else { return Ok(Vec::new()) };
        Ok(hooks_changed_by_work(&self.workspace(state)?, hooks, &approval.request.tree)?)
    }

    /// Completes the order of a commit with who commits, if that is not recorded.
    pub(super) fn with_author(&self, state: &BubbleState, command: &Command) -> Result<Command, EngineError> {
        let mut command = command.clone();
        if let Command::Commit { author: author @ None, .. } = &mut command
            && recorded(state).is_none()
        {
            *author = self.identity_now()?.author;
        }
        Ok(command)
    }

    fn identity_now(&self) -> Result<CommitIdentity, EngineError> {
        Ok(commit_identity(&Repo::locate(self.control.repo())?)?)
    }
}

/// A difference between the recorded commit identity and git's current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityNotice {
    /// All of it, as one sentence.
    pub text: String,
    /// Each difference between the recorded identity and the one that git has now.
    pub changes: Vec<String>,
    /// The command that takes over the new identity; nothing where it would be refused.
    pub next: Option<String>,
}

/// Returns who is recorded to make the commit, if somebody was known.
fn recorded(state: &BubbleState) -> Option<&CommitIdentity> {
    state.about.identity.as_ref().filter(|identity| identity.author.is_some())
}

/// Returns the recorded rules as if they had just been resolved.
pub(super) fn recorded_rules(state: &BubbleState) -> Resolved {
    Resolved { rules: state.rules.clone(), no_tests: state.rules.checks.is_empty(), explained: Vec::new() }
}
