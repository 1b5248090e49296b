//! A tmux server of a test's own, with nothing of the user's configuration. Its end is the end of everything in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::wait::within;

/// How long a program may take to end after its pane is gone.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// How long to wait after a paste: Codex takes an Enter that comes with it for a line break.
const AFTER_PASTE: Duration = Duration::from_millis(300);

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A tmux server with a socket of its own. Dropping it kills that server and no other, and waits for
/// what ran in it.
#[derive(Debug)]
pub struct Panes {
    /// The directory of the socket.
    dir: PathBuf,
    /// The name of the socket, unique on this machine.
    name: String,
}

impl Panes {
    /// Describes a server whose socket lies in `dir`; it starts with its first pane.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        Self { dir: dir.into(), name: format!("pf-test-{}-{number}", std::process::id()) }
    }

    /// Starts a program in a pane of its own, with exactly the environment `env`, and returns the pane's id.
    #[track_caller]
    pub fn open(&self, dir: &Path, env: &[(String, String)], words: &[String]) -> String {
        let mut command = self.tmux(&["new-session", "-d", "-x", "200", "-y", "50", "-P", "-F", "#{pane_id}", "-c"]);
        command.arg(dir).args(["--", "/usr/bin/env", "-i"]);
        command.args(env.iter().map(|(name, value)| format!("{name}={value}"))).args(words);
        finish(command).trim_end().to_owned()
    }

    /// Pastes `text` into a pane as one piece, and then presses Enter.
    #[track_caller]
    pub fn say(&self, pane: &str, text: &str) {
        self.paste(pane, text);
        std::thread::sleep(AFTER_PASTE);
        self.press(pane, "Enter");
    }

    /// Pastes `text` into a pane as one piece.
    #[track_caller]
    pub fn paste(&self, pane: &str, text: &str) {
        let mut load = self.tmux(&["load-buffer", "-b", "said", "-"]);
        let mut load = load.stdin(Stdio::piped()).spawn().expect("tmux is installed");
        let mut to = load.stdin.take().expect("the input is a pipe");
        to.write_all(text.as_bytes()).expect("tmux reads its input");
        drop(to);
        assert!(load.wait().expect("tmux ends").success(), "tmux takes no text for a buffer");
        finish(self.tmux(&["paste-buffer", "-p", "-d", "-b", "said", "-t", pane]));
    }

    /// Presses a key in a pane.
    #[track_caller]
    pub fn press(&self, pane: &str, key: &str) {
        finish(self.tmux(&["send-keys", "-t", pane, key]));
    }

    /// Returns what a pane shows.
    #[track_caller]
    pub fn screen(&self, pane: &str) -> String {
        finish(self.tmux(&["capture-pane", "-p", "-t", pane]))
    }

    /// Types `text` into a pane, key by key.
    #[track_caller]
    pub fn type_keys(&self, pane: &str, text: &str) {
        finish(self.tmux(&["send-keys", "-l", "-t", pane, text]));
    }

    /// Returns what a pane shows, with its colours and weights.
    #[track_caller]
    pub fn styled_screen(&self, pane: &str) -> String {
        finish(self.tmux(&["capture-pane", "-p", "-e", "-J", "-t", pane]))
    }

    /// Whether a pane shows the cursor.
    #[track_caller]
    pub fn shows_cursor(&self, pane: &str) -> bool {
        finish(self.tmux(&["display-message", "-p", "-t", pane, "#{cursor_flag}"])).trim_end() == "1"
    }

    /// Closes a pane, and waits for the end of what ran in it.
    #[track_caller]
    pub fn close(&self, pane: &str) {
        let pid = finish(self.tmux(&["display-message", "-p", "-t", pane, "#{pane_pid}"]));
        finish(self.tmux(&["kill-pane", "-t", pane]));
        wait_for_end(pid.trim());
    }

    fn tmux(&self, words: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LANG", "C.UTF-8");
        command.env("HOME", &self.dir).env("TMUX_TMPDIR", &self.dir).env("TERM", "xterm-256color");
        command.args(["-L", &self.name, "-f", "/dev/null"]).args(words).stdin(Stdio::null());
        command
    }
}

impl Drop for Panes {
    fn drop(&mut self) {
        // A server that never started, or whose last pane is closed, is not there to be asked or killed.
        let listed = self.tmux(&["list-panes", "-a", "-F", "#{pane_pid}"]).stderr(Stdio::null()).output();
        let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let _ = self.tmux(&["kill-server"]).stderr(Stdio::null()).status();
        // A CLI writes to its home until its very end; so the home can be removed only after that.
        listed.lines().for_each(wait_for_end);
    }
}

/// Waits until a process has ended, and kills it if it does not want to.
fn wait_for_end(pid: &str) {
    if within(LAST_WORDS, || (!runs(pid)).then_some(())).is_none() {
        let pid = pid.parse().ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
    }
}

/// Whether a process still runs. One that only waits to be counted does not.
fn runs(pid: &str) -> bool {
    let listed = Command::new("ps").args(["-o", "stat=", "-p", pid]).stdin(Stdio::null()).output();
    listed.is_ok_and(|output| output.status.success() && !output.stdout.trim_ascii().starts_with(b"Z"))
}

#[track_caller]
fn finish(mut command: Command) -> String {
    let output: Output = command.output().expect("tmux is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}: {said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}
