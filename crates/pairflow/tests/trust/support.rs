//! A home for the program under test, and bubbles in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use pairflow_testkit::home::Home;

pub(crate) use crate::verbs_support::{created, ready, started};

/// The program under test: the one at `PAIRFLOW_BIN`, or the one that was just built.
pub(crate) fn program() -> PathBuf {
    std::env::var_os("PAIRFLOW_BIN").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_pairflow")), PathBuf::from)
}

/// Makes a home for the program under test.
pub(crate) fn home() -> Home {
    Home::new(program())
}

/// Ends the supervisor, so that nothing writes while files are moved.
pub(crate) fn quiet(home: &Home) {
    home.pairflow(&["supervisor", "stop"]).ok();
}

/// Returns the log of a bubble.
pub(crate) fn log_of(repo: &Path, id: &str) -> PathBuf {
    repo.join(".pairflow/bubbles").join(id).join("transcript.ndjson")
}

/// Copies a file or a directory with all that is in it.
#[track_caller]
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

/// Returns the log of a bubble, a line at a time.
pub(crate) fn log(home: &Home, id: &str) -> Vec<serde_json::Value> {
    let path = home.repo.join(".pairflow/bubbles").join(id).join("transcript.ndjson");
    let text = std::fs::read_to_string(path).expect("a bubble has a log");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// Looks again and again until `found` has something; nothing comes back when `limit` has passed.
pub(crate) fn within<T>(limit: Duration, mut found: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + limit;
    loop {
        let result = found();
        if result.is_some() || Instant::now() >= until {
            return result;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Fails where files cannot be given to another user: a test that needs that must not pass without it.
#[track_caller]
pub(crate) fn insist_on_root() {
    assert!(rustix::process::geteuid().is_root(), "only root can give files to another user; run this test as root");
}
