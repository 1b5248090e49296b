//! A hermetic home for the real program: a temporary directory with everything that pairflow looks for, a repository in
//! it, and the binary under test. No configuration of the machine reaches it, and nothing remains of it.
//!
//! The directory is in memory where the machine has room: a test syncs as often as the product does, and what a sync is
//! worth is shown on simulated disks and by a trace of the real one. Processes are found by their environment, which a
//! child keeps even when its parent ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::fs::{StatVfsMountFlags, statvfs};
use serde_json::Value;
use tempfile::TempDir;

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

/// Where Linux keeps files in memory.
const MEMORY: &str = "/dev/shm";
/// How much room there has to be. Containers often have 64 MiB, which is not enough for all tests at once.
const ROOM: u64 = 2 << 30;

/// Makes a temporary directory in memory, or else where the machine wants temporary files.
///
/// # Panics
/// If none can be made.
#[track_caller]
pub fn temporary_dir() -> TempDir {
    let made =
        if has_room(Path::new(MEMORY)) { TempDir::with_prefix_in("pf-", MEMORY) } else { TempDir::with_prefix("pf-") };
    made.expect("a temporary directory can be made")
}

/// Whether programs can be written to `dir` and started there, and there is enough room for them.
fn has_room(dir: &Path) -> bool {
    statvfs(dir).is_ok_and(|found| {
        let unfit = StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY;
        !found.f_flag.intersects(unfit) && found.f_bavail.saturating_mul(found.f_frsize) >= ROOM
    })
}

/// Writes an executable file.
///
/// Another process does it: had this one the file open, each program that another test starts in that moment would
/// hold it, too, and the kernel refuses to run a file that someone may still write to ("text file busy").
#[track_caller]
pub fn write_program(path: &Path, text: &str) {
    let line = r#"printf '%s' "$1" > "$2" && chmod 755 "$2""#;
    let ended = Command::new("sh").args(["-c", line, "sh", text]).arg(path).status().expect("there is a shell");
    assert!(ended.success(), "{} cannot be written", path.display());
}

/// Returns the processes that work for a bubble: those that name both it and its repository.
pub fn processes_of(repo: &Path, bubble: &str) -> Vec<String> {
    let (repo, id) = (format!("PAIRFLOW_REPO={}", repo.display()), format!("PAIRFLOW_BUBBLE={bubble}"));
    processes(|environ| {
        let has = |wanted: &str| environ.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes());
        has(&repo) && has(&id)
    })
}

/// Returns the processes whose environment names `dir`: everything that was started with it as its place.
pub fn processes_in(dir: &Path) -> Vec<String> {
    let wanted = dir.display().to_string();
    processes(|environ| String::from_utf8_lossy(environ).contains(&wanted))
}

/// Returns number and command line of each process whose environment `ours` says yes to.
fn processes(ours: impl Fn(&[u8]) -> bool) -> Vec<String> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let line = |process: PathBuf| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        format!("{}: {}", process.display(), String::from_utf8_lossy(&line).replace('\0', " "))
    };
    all.filter(|process| std::fs::read(process.join("environ")).is_ok_and(|bytes| ours(&bytes))).map(line).collect()
}

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The exit code; 128 and the number of the signal if one ended it.
    pub code: i32,
    /// What it printed as its result.
    pub stdout: String,
    /// What else it said.
    pub stderr: String,
}

impl Ran {
    /// Reads what a process left.
    pub fn of(output: &Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let code = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or_default());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Insists that the call ended with 0.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.ends(0)
    }

    /// Insists that the call ended with `code`.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Insists that one of the two streams contains `part`.
    #[track_caller]
    pub fn says(self, part: &str) -> Self {
        let said = self.stdout.contains(part) || self.stderr.contains(part);
        assert!(said, "{part:?} is missing in stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Returns the result as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let parsed = serde_json::from_str(&self.stdout);
        parsed.unwrap_or_else(|error| panic!("{error} in stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_room_or_without_programs_is_not_taken() {
        assert!(!has_room(Path::new("/nowhere")));
        assert!(!has_room(Path::new("/proc")));
        assert!(temporary_dir().path().is_dir());
    }
}
