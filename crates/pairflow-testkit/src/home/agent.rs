//! An agent that has joined a bubble by itself: the variables that `pairflow env` gave it, and a place to work.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Home, Ran};

/// An external agent of one bubble.
pub struct Agent<'a> {
    home: &'a Home,
    /// What it was given, in the order in which it was given.
    pub env: Vec<(String, String)>,
    /// The worktree of its bubble.
    pub worktree: PathBuf,
}

impl Home {
    /// Has `agent` join `bubble`. Its older variables are void from then on.
    #[track_caller]
    pub fn agent(&self, bubble: &str, agent: &str) -> Agent<'_> {
        let exports = self.pairflow(&["env", bubble, "--agent", agent]).ok().stdout;
        let worktree = self.status(bubble)["worktree"].as_str().map_or_else(|| self.repo.clone(), PathBuf::from);
        Agent { home: self, env: exports.lines().filter_map(export).collect(), worktree }
    }
}

impl Agent<'_> {
    /// Runs the program as this agent, in the worktree.
    pub fn pairflow(&self, args: &[&str]) -> Ran {
        self.home.finish(self.command(args))
    }

    /// Returns the program with its arguments and this agent's environment, not started yet.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.current_dir(&self.worktree).envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    /// Claims convergence, with everything that the person has to know.
    pub fn converged(&self, summary: &str) -> Ran {
        self.pairflow(&["converged", "--summary", summary, "--explain", &self.explanation()])
    }

    /// Reviews without a finding, with everything that the person has to know.
    pub fn agrees(&self, summary: &str) -> Ran {
        self.pairflow(&["pass", "--summary", summary, "--no-findings", "--explain", &self.explanation()])
    }

    /// Writes down what the person has to know, and returns where.
    pub fn explanation(&self) -> String {
        let file = self.home.root().join("tmp/explanation.md");
        let text = "## What changed\nx\n## Why\nx\n## Risks\nx\n## Manual test plan\nx\n";
        std::fs::write(&file, text).expect("the temporary directory is writable");
        file.display().to_string()
    }

    /// Writes a file of the worktree.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.worktree.join(path);
        let parent = path.parent().expect("a file of the worktree lies in a directory");
        std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text)).expect("the worktree is writable");
    }

    /// Returns the value of one of its variables.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }
}

/// Reads a line of the form `export NAME='value'`, where a quote inside of the value is written as `'\''`.
fn export(line: &str) -> Option<(String, String)> {
    let (name, quoted) = line.strip_prefix("export ")?.split_once('=')?;
    let value = quoted.strip_prefix('\'')?.strip_suffix('\'')?.replace("'\\''", "'");
    Some((name.to_owned(), value))
}
