//! A note on what is being made for a bubble, written before it is made: after a crash it tells our leftovers from
//! somebody else's branch or directory.

use std::path::{Path, PathBuf};

use pairflow_core::ids::{BubbleId, CommitId};
use pairflow_core::log::Ground;
use pairflow_core::rules::WorkMode;
use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use crate::git::{Repo, replace};

/// What was begun for a bubble, and whether it was finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) path: PathBuf,
    pub(super) branch: String,
    pub(super) mode: WorkMode,
    pub(super) base: CommitId,
    pub(super) ready: bool,
    pub(super) included: Vec<String>,
    #[serde(default)]
    pub(super) ground: Ground,
}

impl Mark {
    /// Reads the note of a bubble. One that cannot be understood counts as none: then nothing is taken for ours.
    pub(super) fn read(repo: &Repo, id: &BubbleId) -> Option<Self> {
        serde_json::from_slice(&crate::regular::read(&file(repo, id)).ok()?).ok()
    }

    /// Writes the note, for good.
    pub(super) fn write(&self, repo: &Repo, id: &BubbleId) -> Result<(), WorkspaceError> {
        let file = file(repo, id);
        let dir = file.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(dir).map_err(|source| WorkspaceError::io("create", dir, source))?;
        let text = serde_json::to_vec(self).expect("a note holds nothing but text");
        replace(&file, &text).map_err(|source| WorkspaceError::io("write", &file, source))
    }

    /// Removes the note of a bubble.
    pub(super) fn erase(repo: &Repo, id: &BubbleId) -> Result<(), WorkspaceError> {
        let file = file(repo, id);
        match std::fs::remove_file(&file) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(WorkspaceError::io("remove", &file, source))
            }
            _ => Ok(()),
        }
    }
}

fn file(repo: &Repo, id: &BubbleId) -> PathBuf {
    repo.root.join(".pairflow/runtime").join(id.as_str()).join("workspace.json")
}
