//! Logs that an attacker made with a pairflow of its own, cut and edited so that whoever believes them runs the attacker's
//! commands or removes a directory of the victim's.

use std::path::{Path, PathBuf};

use pairflow_core::ids::BubbleId;
use pairflow_core::log::frame::LineHash;
use pairflow_core::log::line::{Expect, decode, encode};
use pairflow_core::log::{Body, Envelope, Lifecycle};
use pairflow_testkit::home::Home;

use crate::support::bubbles::home;

/// The bubble whose log says that its workspace is still to be made: that runs its setup command, agents and checks.
pub(crate) const EVIL: &str = "evil";
/// The bubble whose log names a directory of the victim's as its worktree.
pub(crate) const DOOMED: &str = "doomed";

/// Returns a command that writes down that it ran, in the home of whoever runs it.
pub(crate) fn canary(what: &str) -> String {
    format!("echo {what} >> \"$HOME/canary\"")
}

/// An attacker with a home and a key of its own.
pub(crate) struct Attacker {
    home: Home,
}

impl Attacker {
    /// Makes both bubbles, which run in the attacker's own home.
    pub(crate) fn new() -> Self {
        let home = home();
        let script = home.root().join("agents.yaml");
        let turn = format!("    - - run: '{}'\n      - ask_human: what now?\n", canary("agent"));
        std::fs::write(&script, format!("agents:\n  codex:\n{turn}  claude: []\n")).unwrap();
        home.configure(&format!("[commands]\nsetup = '{}'\n", canary("setup")));
        for id in [EVIL, DOOMED] {
            let create = ["create", "--id", id, "--task", "Be evil", "--test", &canary("check"), "--yes", "--start"];
            let driver = ["--driver", "script", "--script", script.to_str().unwrap()];
            home.pairflow(&[&create[..], &driver[..]].concat()).ok();
            home.wait_for_state(id, "WAITING_HUMAN");
        }
        home.pairflow(&["supervisor", "stop"]).ok();
        Self { home }
    }

    /// Puts the bubbles into the control directory `control` of the repository at `repo`. The worktree of one of them is
    /// `precious`.
    pub(crate) fn plant(&self, control: &Path, repo: &Path, precious: &Path) {
        for id in [EVIL, DOOMED] {
            let (from, to) = (self.home.repo.join(".pairflow/bubbles").join(id), control.join("bubbles").join(id));
            std::fs::create_dir_all(to.join("artifacts")).unwrap();
            let config = std::fs::read_to_string(from.join("bubble.toml")).unwrap();
            let config = config.replace(self.home.repo.to_str().unwrap(), repo.to_str().unwrap());
            std::fs::write(to.join("bubble.toml"), config).unwrap();
            let log = std::fs::read(from.join("transcript.ndjson")).unwrap();
            let mut envelopes = cut_before_workspace(&log, id, usize::from(id == DOOMED));
            for envelope in &mut envelopes {
                aim(envelope, repo, precious);
            }
            std::fs::write(to.join("transcript.ndjson"), written(&envelopes)).unwrap();
        }
    }
}

/// Cuts the log at `path` back to its first `len` bytes, and forgets what else is known of the bubble.
pub(crate) fn roll_back(path: &Path, len: usize) {
    let log = std::fs::read(path).unwrap();
    std::fs::write(path, &log[..len]).unwrap();
    let _ = std::fs::remove_file(path.with_file_name("state.json"));
}

/// Returns how long the log at `path` of the bubble `id` was before its workspace was ready.
pub(crate) fn len_before_workspace(path: &Path, id: &str) -> usize {
    let log = std::fs::read(path).unwrap();
    log.split_inclusive(|byte| *byte == b'\n').take(before_workspace(&log, id)).map(<[u8]>::len).sum()
}

/// Returns where the log of a bubble is in a repository.
pub(crate) fn transcript(repo: &Path, id: &str) -> PathBuf {
    repo.join(".pairflow/bubbles").join(id).join("transcript.ndjson")
}

/// Reads a log up to the line that says that the workspace is ready, and `more` lines.
fn cut_before_workspace(log: &[u8], id: &str, more: usize) -> Vec<Envelope> {
    let mut envelopes = read(log, id);
    envelopes.truncate(before_workspace(log, id) + more);
    envelopes
}

/// How many lines stand before the one that says that the workspace is ready.
fn before_workspace(log: &[u8], id: &str) -> usize {
    let ready = |envelope: &Envelope| matches!(&envelope.event.body, Body::Lifecycle(Lifecycle::WorkspaceReady { .. }));
    read(log, id).iter().position(ready).expect("the bubble was started")
}

/// Has a log point to the victim's repository and to a directory of the victim's.
fn aim(envelope: &mut Envelope, repo: &Path, precious: &Path) {
    match &mut envelope.event.body {
        Body::Lifecycle(Lifecycle::Created { repo: named, .. }) => *named = repo.display().to_string(),
        Body::Lifecycle(Lifecycle::WorkspaceReady { workspace }) => {
            workspace.path = precious.display().to_string();
            workspace.common_dir = repo.join(".git").display().to_string();
            workspace.git_dir = repo.join(".git/worktrees").join(DOOMED).display().to_string();
        }
        _ => {}
    }
}

fn read(log: &[u8], id: &str) -> Vec<Envelope> {
    let id: BubbleId = id.parse().unwrap();
    let mut prev = LineHash::default();
    let lines = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let envelopes = lines.zip(1..).map(|(line, seq)| {
        let envelope = decode(line, &Expect { bubble_id: &id, seq, prev }).unwrap();
        prev = LineHash::of(line);
        envelope
    });
    envelopes.collect()
}

/// Writes a log whose numbers, checksums and chain hold.
fn written(envelopes: &[Envelope]) -> Vec<u8> {
    let (mut log, mut prev) = (Vec::new(), LineHash::default());
    for envelope in envelopes {
        let line = encode(&Envelope { more: 0, ..envelope.clone() }, &prev);
        prev = LineHash::of(&line[..line.len() - 1]);
        log.extend(line);
    }
    log
}
