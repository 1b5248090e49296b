//! Files of bubbles that are copied, moved and given to others.

use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Fails where files cannot be given to another user: a test that needs that must not pass without it.
#[track_caller]
pub(crate) fn insist_on_root() {
    assert!(rustix::process::geteuid().is_root(), "only root can give files to another user; run this test as root");
}
