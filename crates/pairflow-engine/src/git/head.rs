//! Which branch a worktree is on, by reading one file: cheap enough for every hand-over.

use std::path::Path;

use pairflow_core::ids::CommitId;

/// What a worktree's HEAD says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// It is on this branch.
    Branch(String),
    /// It is on a commit and on no branch.
    Detached(CommitId),
    /// There is no HEAD, or it cannot be understood.
    Missing,
}

/// Reads the HEAD of the worktree whose git directory this is.
pub fn head(git_dir: &Path) -> Head {
    let Ok(text) = crate::regular::read_text(&git_dir.join("HEAD")) else { return Head::Missing };
    let text = text.trim_end();
    if let Some(branch) = text.strip_prefix("ref: refs/heads/") {
        return Head::Branch(branch.to_owned());
    }
    let hex = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hex { Head::Detached(CommitId(text.to_owned())) } else { Head::Missing }
}
