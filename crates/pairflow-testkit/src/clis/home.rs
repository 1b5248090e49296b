//! A home for the agent CLIs: it raises no dialog, sends them to the mock model, and trusts the given repositories. Its
//! hooks write one file for each event, in one form for both CLIs.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::{Map, Value, json};

use crate::wait::{PATIENCE, within};

/// The key that both CLIs send. It opens nothing.
const KEY: &str = "test-key-that-opens-nothing";

/// Everything about a home; write it with [`Self::write`], start the CLIs with [`Self::env`] and nothing else.
#[derive(Debug, Clone)]
pub struct AgentHome {
    /// The directory that is `HOME`. Codex warns if it lies in the system's temporary directory.
    pub home: PathBuf,
    /// Where the mock model listens, as `http://127.0.0.1:PORT`.
    pub url: String,
    /// The repositories that are trusted, with all their worktrees.
    pub repos: Vec<PathBuf>,
    /// What Claude Code may do without asking, for example `Bash(pairflow:*)`.
    pub allow: Vec<String>,
    /// The user's own hooks, the same for both CLIs; `null` for none. Codex has to be started with
    /// `--dangerously-bypass-hook-trust` then, as there is no person to review them.
    pub hooks: Value,
}

impl AgentHome {
    /// Describes a home that trusts one repository, allows nothing and has no hooks.
    pub fn new(home: impl Into<PathBuf>, url: impl Into<String>, repo: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), url: url.into(), repos: vec![repo.into()], allow: Vec::new(), hooks: Value::Null }
    }

    /// Writes the files of both CLIs.
    pub fn write(&self) -> io::Result<()> {
        fs::create_dir_all(self.home.join("tmp"))?;
        self.write_claude()?;
        self.write_codex()
    }

    /// Writes `.claude.json` and the settings of Claude Code.
    pub fn write_claude(&self) -> io::Result<()> {
        let trusted = |repo: &PathBuf| (repo.display().to_string(), json!({"hasTrustDialogAccepted": true}));
        let projects: Map<String, Value> = self.repos.iter().map(trusted).collect();
        let state = json!({
            "hasCompletedOnboarding": true, "theme": "dark",
            "hasSeenAutoDefaultNotice": true, "hasSeenAutoDefaultNudge": true,
            // Claude Code knows a key again by its last twenty characters.
            "customApiKeyResponses": {"approved": [&KEY[KEY.len() - 20..]], "rejected": []},
            "projects": projects,
        });
        let mut settings = json!({"permissions": {"defaultMode": "default", "allow": self.allow}});
        if !self.hooks.is_null() {
            settings["hooks"] = self.hooks.clone();
        }
        fs::create_dir_all(self.home.join(".claude"))?;
        fs::write(self.home.join(".claude.json"), state.to_string())?;
        fs::write(self.home.join(".claude/settings.json"), settings.to_string())
    }

    /// Writes `config.toml` and `hooks.json` of Codex.
    pub fn write_codex(&self) -> io::Result<()> {
        let dir = self.home.join(".codex");
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("config.toml"), self.codex_config())?;
        if self.hooks.is_null() {
            return Ok(());
        }
        fs::write(dir.join("hooks.json"), json!({"hooks": self.hooks}).to_string())
    }

    /// Returns the whole environment of a CLI. `bin` comes first in `PATH`, in its order.
    ///
    /// Whatever a CLI asks of the internet goes to the mock as well, by way of a proxy: it refuses, and its record
    /// shows the attempt.
    pub fn env(&self, bin: &[&Path]) -> Vec<(String, String)> {
        let bin = bin.iter().map(|dir| dir.display().to_string() + ":").collect::<String>();
        let home = self.home.display().to_string();
        let all = [
            ("PATH", format!("{bin}/usr/local/bin:/usr/bin:/bin")),
            ("HOME", home.clone()),
            ("TMPDIR", format!("{home}/tmp")),
            ("TERM", "xterm-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("SHELL", "/bin/bash".to_owned()),
            ("HTTP_PROXY", self.url.clone()),
            ("HTTPS_PROXY", self.url.clone()),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
            ("ANTHROPIC_BASE_URL", self.url.clone()),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1".to_owned()),
            ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            ("MOCK_API_KEY", KEY.to_owned()),
        ];
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn codex_config(&self) -> String {
        let quoted = |repo: &PathBuf| Value::String(repo.display().to_string()).to_string();
        let trust = self.repos.iter().map(|repo| format!("[projects.{}]\ntrust_level = \"trusted\"\n", quoted(repo)));
        format!(
            "model = \"mock-model\"\nmodel_provider = \"mock\"\n\
             check_for_update_on_startup = false\nallow_login_shell = false\n\n\
             [model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}/v1\"\nenv_key = \"MOCK_API_KEY\"\n\
             wire_api = \"responses\"\nrequest_max_retries = 1\nstream_max_retries = 1\n\n\
             [analytics]\nenabled = false\n[feedback]\nenabled = false\n\
             [features]\nplugins = false\napps = false\n\
             [tui]\nscreen_reader_detection_done = true\nshow_tooltips = false\n\n{}",
            self.url,
            trust.collect::<String>()
        )
    }
}

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
        // A directory that cannot be read has no events, so the deadline will pass.
        let events = || self.events().unwrap_or_default();
        within(PATIENCE, || Some(events()).filter(|events| done(events))).ok_or_else(events)
    }

    /// Writes under a hidden name first, so that no reader sees half an event.
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
