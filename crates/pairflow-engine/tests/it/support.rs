//! A repository in a temporary directory, and a home directory of its own for every test.
//!
//! The code under test reads the person's real configuration. So each test runs in a process of its own whose home is
//! empty but for a name and an address.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pairflow_core::ids::{BubbleId, CommitId};
use pairflow_core::rules::WorkMode;
use pairflow_engine::git::{GitError, Repo, UpdateRequest, Updated, Worktree};
use pairflow_engine::tmux::{Ensured, Pane, PaneId, SessionPlan, Tmux};
use pairflow_engine::workspace::{PreparedWorkspace, WorkspaceError, WorkspaceRequest, prepare};
use pairflow_testkit::wait::wait_until;

const INSIDE: &str = "PAIRFLOW_TEST_HOME";

/// Declares tests that run with a home directory of their own.
macro_rules! hermetic {
    ($($(#[$meta:meta])* fn $name:ident() $body:block)*) => {$(
        #[test]
        $(#[$meta])*
        fn $name() {
            if $crate::support::inside() { $body } else { $crate::support::run_inside(concat!(module_path!(), "::", stringify!($name))) }
        }
    )*};
}

pub(crate) use hermetic;

pub(crate) fn inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

pub(crate) fn run_inside(test: &str) {
    run_inside_with(test, &std::env::var("PATH").unwrap());
}

/// Runs a test of this file again, in a process with an empty home and this search path.
pub(crate) fn run_inside_with(test: &str, path: &str) {
    let home = tempfile::tempdir().unwrap();
    let config = "[user]\n\tname = Pat Person\n\temail = pat@example.com\n[init]\n\tdefaultBranch = main\n";
    std::fs::write(home.path().join(".gitconfig"), config).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = test.strip_prefix("it::").unwrap_or(test);
    command.args(["--exact", test, "--nocapture"]).env("HOME", home.path()).env(INSIDE, "1").env("PATH", path);
    command.env_remove("XDG_CONFIG_HOME").env_remove("GIT_CONFIG_GLOBAL").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// Runs git the way a person would, and returns its answer.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git").current_dir(dir).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Runs git and returns whether it worked.
pub(crate) fn git_ok(dir: &Path, args: &[&str]) -> bool {
    Command::new("git").current_dir(dir).args(args).output().unwrap().status.success()
}

/// Brings the tip of a branch into a worktree.
pub(crate) fn update(workspace: &Worktree, base_branch: &str) -> Result<Updated, GitError> {
    pairflow_engine::git::update(workspace, &UpdateRequest { base_branch, resolved: None, number: 1 })
}

pub(crate) fn write(path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
    let path = path.as_ref();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Writes a script that can be run. A shell does it: while this process has the file open, programs that other tests
/// start would keep it "busy" to the kernel.
pub(crate) fn write_program(path: &Path, script: &str) {
    let line = r#"mkdir -p "${1%/*}" && printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod 755 "$1""#;
    assert!(Command::new("sh").args(["-c", line, "sh"]).arg(path).arg(script).status().unwrap().success());
}

pub(crate) fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// A repository with one commit, in a directory of its own.
pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) repo: Repo,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        std::fs::create_dir(&root).unwrap();
        git(&root, &["init", "--quiet"]);
        write(root.join("a.txt"), "one\ntwo\nthree\nfour\nfive\n");
        write(root.join(".gitignore"), "*.log\n");
        git(&root, &["add", "-A"]);
        git(&root, &["commit", "--quiet", "-m", "first"]);
        let repo = Repo::discover(&root).unwrap();
        Self { dir, repo }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.repo.root
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.root(), args)
    }

    pub(crate) fn commit(&self, file: &str, text: &str) -> CommitId {
        write(self.root().join(file), text);
        self.git(&["add", file]);
        self.git(&["commit", "--quiet", "-m", file]);
        CommitId(self.git(&["rev-parse", "HEAD"]))
    }

    pub(crate) fn try_prepare(&self, id: &str, mode: WorkMode) -> Result<PreparedWorkspace, WorkspaceError> {
        let id: BubbleId = id.parse().unwrap();
        let bubble_branch = &format!("bubble/{id}");
        let repo = &self.repo;
        prepare(&WorkspaceRequest { repo, id: &id, mode, base_branch: "main", continues: None, bubble_branch })
    }

    pub(crate) fn bubble(&self, id: &str) -> Worktree {
        self.workspace(id, WorkMode::Worktree)
    }

    pub(crate) fn workspace(&self, id: &str, mode: WorkMode) -> Worktree {
        self.try_prepare(id, mode).unwrap().workspace(&self.repo, &id.parse().unwrap())
    }

    pub(crate) fn worktrees(&self) -> usize {
        self.git(&["worktree", "list", "--porcelain"]).lines().filter(|line| line.starts_with("worktree ")).count()
    }

    pub(crate) fn has_branch(&self, name: &str) -> bool {
        git_ok(self.root(), &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{name}")])
    }

    pub(crate) fn expected_path(&self, id: &str) -> PathBuf {
        self.root().parent().unwrap().join(".pairflow-worktrees/project").join(id)
    }
}

/// Writes what it reads into the file `$0`, byte for byte. Asks for brackets around pastes, as the agents' screens do.
const READER: &str = r#"stty raw -echo; printf '\033[?2004hready\r\n'; exec cat > "$0""#;

/// A tmux server. Dropping it ends the server, also when the test has failed.
pub(crate) struct Server {
    pub(crate) tmux: Tmux,
    dir: tempfile::TempDir,
}

impl Server {
    /// Describes a server whose person has no configuration.
    pub(crate) fn new() -> Self {
        Self::with_config("")
    }

    /// Describes a server whose person has `config` as `~/.tmux.conf`.
    pub(crate) fn with_config(config: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("pf").tempdir().unwrap();
        fs::write(dir.path().join(".tmux.conf"), config).unwrap();
        let home = dir.path().to_str().unwrap().to_owned();
        let path = std::env::var("PATH").unwrap();
        let env = [("PATH", path), ("HOME", home), ("TERM", "xterm-256color".into()), ("SECRET", "hush".into())];
        let tmux = Tmux::new(dir.path().join("sock"), env.map(|(name, value)| (name.to_owned(), value)));
        Self { tmux, dir }
    }

    /// Returns the home of the person, in which the programs run, too.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns a path in that directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Plans a session with `argv` in its first pane.
    pub(crate) fn plan(&self, name: &str, argv: &[&str]) -> SessionPlan {
        let (cwd, argv) = (self.dir().to_owned(), words(argv));
        SessionPlan { name: name.into(), cwd, argv, width: 200, height: 50, plain: false }
    }

    /// Makes the session `name` with `argv` in its first pane, with the person's configuration.
    #[track_caller]
    pub(crate) fn open(&self, name: &str, argv: &[&str]) -> PaneId {
        match self.tmux.ensure_session(&self.plan(name, argv)).unwrap() {
            Ensured::Made { pane, without_config: None } => pane,
            other => panic!("the session was not made as planned: {other:?}"),
        }
    }

    /// Makes a session whose first pane writes what it reads into the file `out`.
    #[track_caller]
    pub(crate) fn open_reader(&self, name: &str) -> PaneId {
        let pane = self.open(name, &["sh", "-c", READER, "out"]);
        self.shows(&pane, "ready");
        pane
    }

    /// Starts `argv` in a new pane beside `pane`.
    #[track_caller]
    pub(crate) fn split(&self, pane: &PaneId, argv: &[&str]) -> PaneId {
        self.tmux.split(pane, &words(argv), self.dir()).unwrap()
    }

    /// Waits until `pane` shows `text`.
    #[track_caller]
    pub(crate) fn shows(&self, pane: &PaneId, text: &str) {
        wait_until(text, || self.tmux.capture(pane).unwrap().contains(text));
    }

    /// Waits until the file `name` holds exactly `bytes`.
    #[track_caller]
    pub(crate) fn holds(&self, name: &str, bytes: &[u8]) {
        let file = self.path(name);
        wait_until(&format!("{name} holds {:?}", String::from_utf8_lossy(bytes)), || {
            fs::read(&file).is_ok_and(|held| held == bytes)
        });
    }

    /// Returns what tmux says of `pane`.
    #[track_caller]
    pub(crate) fn pane(&self, pane: &PaneId) -> Pane {
        self.tmux.panes().unwrap().into_iter().find(|one| one.id == *pane).expect("the pane is listed")
    }

    /// Waits until the program in `pane` has ended and its end is known.
    #[track_caller]
    pub(crate) fn ended(&self, pane: &PaneId) -> Pane {
        let over = |pane: &Pane| pane.dead && (pane.status.is_some() || pane.signal.is_some());
        wait_until("the program ends", || over(&self.pane(pane)));
        self.pane(pane)
    }

    /// Does with tmux what a person may do; returns what it says, or nothing if it fails.
    pub(crate) fn person(&self, words: &[&str]) -> Option<String> {
        let mut command = Command::new("tmux");
        command.env_clear().env("PATH", std::env::var("PATH").unwrap()).env("HOME", self.dir());
        command.arg("-u").arg("-S").arg(self.tmux.socket()).args(words).stdin(Stdio::null()).stderr(Stdio::null());
        let output = command.output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Returns what `format` is for `pane`.
    #[track_caller]
    pub(crate) fn of(&self, pane: &PaneId, format: &str) -> String {
        self.person(&["display-message", "-p", "-t", pane.as_str(), format]).expect("the pane is there")
    }

    /// Sends `signal` to the server.
    #[track_caller]
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid: i32 = self.person(&["display-message", "-p", "#{pid}"]).unwrap().parse().unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let ended = self.tmux.kill_server();
        if !std::thread::panicking() {
            ended.expect("the server of a test can be ended");
        }
    }
}

/// Returns owned words.
pub(crate) fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|word| (*word).to_owned()).collect()
}
