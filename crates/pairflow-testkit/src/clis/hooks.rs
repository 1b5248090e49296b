//! Hooks that write down what the CLIs tell them: one file an event, in one form for both.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::wait::{PATIENCE, within};

/// The events that both CLIs know. Codex says `SessionStart` only with the first prompt.
const EVENTS: [&str; 6] =
    ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest", "Stop"];

/// A directory that hooks write their events to.
#[derive(Debug, Clone)]
pub struct HookLog {
    dir: PathBuf,
}

impl HookLog {
    /// Makes the directory.
    pub fn new(dir: impl Into<PathBuf>) -> std::io::Result<Self> {
        let log = Self { dir: dir.into() };
        std::fs::create_dir_all(&log.dir)?;
        Ok(log)
    }

    /// Returns the value of `hooks` in the settings of either CLI that has every event written down.
    pub fn hooks(&self) -> Value {
        let hooks: Map<String, Value> =
            EVENTS.iter().map(|name| ((*name).to_owned(), entry(&self.command()))).collect();
        Value::Object(hooks)
    }

    /// Returns the events so far, in the order in which the hooks were started.
    pub fn events(&self) -> std::io::Result<Vec<Value>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.dir)? {
            let path = entry?.path();
            files.extend(is_whole(&path).then_some(path));
        }
        files.sort();
        files.iter().map(|file| Ok(serde_json::from_slice(&std::fs::read(file)?)?)).collect()
    }

    /// Waits until `done` says yes to the events so far, and returns them. If it never does, they are the error.
    pub fn wait_for(&self, done: impl Fn(&[Value]) -> bool) -> Result<Vec<Value>, Vec<Value>> {
        // A directory that cannot be read has no events, and the deadline says so.
        let events = || self.events().unwrap_or_default();
        within(PATIENCE, || Some(events()).filter(|events| done(events))).ok_or_else(events)
    }

    /// Writes under a hidden name first, so that nobody reads half an event.
    fn command(&self) -> String {
        let dir = self.dir.display();
        format!("at=$(date +%s%N)-$$; cat > '{dir}'/.$at && mv '{dir}'/.$at '{dir}'/$at")
    }
}

fn entry(command: &str) -> Value {
    json!([{"hooks": [{"type": "command", "command": command, "timeout": 10}]}])
}

fn is_whole(path: &Path) -> bool {
    path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."))
}
