//! A real tmux server for one test: a home, a configuration and a socket of its own, and nothing left of it afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pairflow_engine::tmux::{Ensured, Pane, PaneId, SessionPlan, Tmux};
use pairflow_testkit::wait::wait_until;

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
