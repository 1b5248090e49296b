//! The home itself: directories, repository, and calls of the program in them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::{Ran, temporary_dir, write_program};
use crate::wait::following;

/// Where a debug build of the program reads time limits from.
pub const TEST_LIMITS: &str = "PAIRFLOW_TEST_LIMITS";

/// A temporary home with a repository of one commit on `main`, in which agents join by themselves unless a test says
/// otherwise. Dropping it stops its supervisor.
pub struct Home {
    dir: TempDir,
    program: PathBuf,
    env: Vec<(String, String)>,
    limits: String,
    /// The repository.
    pub repo: PathBuf,
}

impl Home {
    /// Makes a home for the program at `program`, usually `env!("CARGO_BIN_EXE_pairflow")`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self::within(temporary_dir(), program)
    }

    /// Makes a home that does not lie in memory: below `/dev` the sandbox of Codex shows a program nothing.
    pub fn on_disk(program: impl Into<PathBuf>) -> Self {
        Self::within(TempDir::with_prefix("pf-").expect("a temporary directory can be made"), program)
    }

    fn within(dir: TempDir, program: impl Into<PathBuf>) -> Self {
        let root = dir.path().canonicalize().expect("a new directory has a path");
        for name in ["programs", "home", "run", "state", "config", "tmp", "work/repo"] {
            std::fs::create_dir_all(root.join(name)).expect("a new directory is writable");
        }
        let identity = "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n";
        std::fs::write(root.join("home/.gitconfig"), identity).expect("a new directory is writable");
        // The agents of most tests are the tests themselves; those with panes say so.
        let home =
            Self { repo: root.join("work/repo"), dir, program: program.into(), env: Vec::new(), limits: String::new() };
        home.configure("");
        home.git(&["init", "--quiet", "--initial-branch=main"]);
        home.commit("README.md", "# Repository\n", "first commit");
        home
    }

    /// Returns the directory that everything lies in.
    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Has everything run with these variables, too; they take the place of the home's own.
    pub fn set_env(&mut self, env: Vec<(String, String)>) {
        self.env = env;
    }

    /// Has everything from here on run with these time limits, such as `screen_look=200`.
    pub fn set_limits(&mut self, limits: &str) {
        limits.clone_into(&mut self.limits);
    }

    /// Runs the program in the repository.
    pub fn pairflow(&self, args: &[&str]) -> Ran {
        self.finish(self.command(args))
    }

    /// Runs the program in the directory `dir`.
    pub fn pairflow_in(&self, dir: &Path, args: &[&str]) -> Ran {
        let mut command = self.command(args);
        command.current_dir(dir);
        self.finish(command)
    }

    /// Returns the program with its arguments, not started yet: in the repository, without input, in a clean
    /// environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.clean(&self.program);
        command.args(args).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    #[track_caller]
    pub fn finish(&self, mut command: Command) -> Ran {
        Ran::of(&command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}")))
    }

    /// Runs git in the repository and returns what it printed, without the last line feed.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.repo, args)
    }

    /// Runs git in the directory `dir`.
    #[track_caller]
    pub fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let mut command = self.clean(Path::new("git"));
        command.current_dir(dir).args(args);
        self.finish(command).ok().stdout.trim_end_matches('\n').to_owned()
    }

    /// Writes a file of the repository and commits it.
    #[track_caller]
    pub fn commit(&self, path: &str, text: &str, message: &str) {
        let file = self.repo.join(path);
        let parent = file.parent().expect("a file of the repository lies in a directory");
        std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&file, text)).expect("the repository is writable");
        self.git(&["add", "--", path]);
        self.git(&["commit", "--quiet", "-m", message]);
    }

    /// Sets what the person's own configuration says, besides that agents join by themselves.
    #[track_caller]
    pub fn configure(&self, text: &str) {
        let dir = self.root().join("config/pairflow");
        let text = format!("driver = \"external\"\n{text}");
        let written = std::fs::create_dir_all(&dir).and_then(|()| std::fs::write(dir.join("config.toml"), text));
        written.expect("the home is writable");
    }

    /// Puts a program before all others of its name: a script for `sh`.
    #[track_caller]
    pub fn install(&self, name: &str, script: &str) {
        write_program(&self.root().join("programs").join(name), &format!("#!/bin/sh\n{script}\n"));
    }

    /// Returns `status --json` of a bubble.
    #[track_caller]
    pub fn status(&self, bubble: &str) -> Value {
        self.pairflow(&["status", bubble, "--json"]).ok().json()
    }

    /// Returns the path of a bubble's log.
    pub fn log(&self, bubble: &str) -> PathBuf {
        self.file(bubble, "transcript.ndjson")
    }

    /// Returns the path of a file of a bubble.
    pub fn file(&self, bubble: &str, name: &str) -> PathBuf {
        self.repo.join(".pairflow/bubbles").join(bubble).join(name)
    }

    /// Waits for the question about checks that fail on the base, calls that a known failure, and waits for the turn.
    #[track_caller]
    pub fn base_fails(&self, bubble: &str, agent: &str) -> Value {
        self.wait_for_state(bubble, "WAITING_HUMAN");
        self.pairflow(&["reply", bubble, "--message", "the work will bring it"]).ok();
        self.wait_for_turn(bubble, agent)
    }

    /// Waits until `done` says yes to `status --json` of a bubble, and returns that status.
    #[track_caller]
    pub fn wait_for(&self, bubble: &str, done: impl Fn(&Value) -> bool) -> Value {
        match following(&self.log(bubble), || Some(self.status(bubble)).filter(|status| done(status))) {
            Some(status) => status,
            None => panic!("{bubble} never came that far:\n{:#}", self.status(bubble)),
        }
    }

    /// Waits until the bubble is in `state`.
    #[track_caller]
    pub fn wait_for_state(&self, bubble: &str, state: &str) -> Value {
        self.wait_for(bubble, |status| status["state"] == state)
    }

    /// Waits until `agent` may act.
    #[track_caller]
    pub fn wait_for_turn(&self, bubble: &str, agent: &str) -> Value {
        self.wait_for(bubble, |status| {
            status["state"] == "RUNNING" && status["active_agent"] == agent && status["turn_state"] == "open"
        })
    }

    /// Returns a program that sees nothing but this home.
    fn clean(&self, program: &Path) -> Command {
        let root = self.root();
        let mut command = Command::new(program);
        command.env_clear().current_dir(&self.repo);
        let ours = std::env::var_os("PATH").unwrap_or_default();
        let dirs = std::iter::once(root.join("programs")).chain(std::env::split_paths(&ours));
        command.env("PATH", std::env::join_paths(dirs).expect("directories of a path can be joined again"));
        for (name, dir) in [
            ("HOME", "home"),
            ("XDG_RUNTIME_DIR", "run"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CONFIG_HOME", "config"),
            ("TMPDIR", "tmp"),
        ] {
            command.env(name, root.join(dir));
        }
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("TERM", "dumb").env("LC_ALL", "C.UTF-8");
        if !self.limits.is_empty() {
            command.env(TEST_LIMITS, &self.limits);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A supervisor that is not there cannot be stopped, and one that is must not outlive its directories.
        let _ = self.command(&["supervisor", "stop"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
