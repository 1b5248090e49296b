//! A deleted bubble comes back from its archive: log, refs, branch, and the files as they were.

use std::path::Path;

use pairflow_core::bubble::{BubbleState, advance};
use pairflow_core::ids::BubbleId;
use pairflow_core::log::frame::{LineError, LineHash};
use pairflow_core::log::scan::{Damaged, Scan};
use pairflow_core::view::quoted;

use crate::engine::{Bubble, Engine, EngineError, sentence};
use crate::git::Repo;
use crate::store::StoreError;
use crate::workspace::{clear_archive, newest_archive, put_files_back, put_refs_back, restore};

/// The longest log that is restored, in bytes.
const LONGEST: u64 = 1024 * 1024 * 1024;

/// A bubble that is back.
pub struct Restored {
    /// The bubble.
    pub bubble: Bubble,
    /// Its state.
    pub state: BubbleState,
    /// Why its worktree could not be made again; the branch has its commits all the same.
    pub without_worktree: Option<String>,
}

impl Engine {
    /// Brings back the bubble called `id` as it was when this user deleted it last. If it fails, calling it again goes on.
    pub fn restore(&self, root: &Path, id: &BubbleId) -> Result<Restored, EngineError> {
        let repo = Repo::discover(root)?;
        let none = || EngineError::BadInput(format!("there is no archive of a bubble '{id}' in {}", root.display()));
        let archive = newest_archive(root, id).ok_or_else(none)?;
        let log = read_log(&archive)?;
        let (first, former) = examine(id, &archive, &log)?;
        let there = self.handle(root, id).dir().join("transcript.ndjson");
        let put_back = std::fs::symlink_metadata(&there).is_ok();
        if put_back && read_log(there.parent().unwrap_or(root)).ok().as_deref() != Some(&log[..]) {
            return Err(EngineError::Exists { id: id.clone(), repo: root.to_owned(), raced: false });
        }
        if !self.registry().is_retired(root, id, first).map_err(StoreError::from)? {
            return Err(not_deleted_here(root, id, &archive));
        }
        let tree = put_refs_back(&repo, id, &archive, &former.rules.bubble_branch)?;
        if !put_back {
            put_files_back(root, id, &archive)?;
        }
        self.registry().reinstate(root, id, first).map_err(StoreError::from)?;
        let bubble = self.bubble(root, id)?;
        let state = bubble.load()?.state;
        let made = match (&tree, &state.evidence.workspace) {
            (Some(tree), Some(_)) => bubble.workspace(&state).and_then(|workspace| {
                restore(&workspace, &state.rules.bubble_branch, tree).map(drop).map_err(EngineError::from)
            }),
            _ => Ok(()),
        };
        clear_archive(&repo, id, &archive)?;
        Ok(Restored { bubble, state, without_worktree: made.err().map(|error| sentence(&error)) })
    }
}

fn read_log(dir: &Path) -> Result<Vec<u8>, EngineError> {
    let path = dir.join("transcript.ndjson");
    let read = || {
        let mut bytes = Vec::new();
        let file = crate::regular::open(&path)?;
        std::io::Read::read_to_end(&mut std::io::Read::take(file, LONGEST), &mut bytes).map(|_| bytes)
    };
    read().map_err(|error| EngineError::io(format!("cannot read {}", path.display()), error))
}

/// Reads an archived log: the hash of its first line, and the state that it tells.
fn examine(id: &BubbleId, archive: &Path, log: &[u8]) -> Result<(LineHash, BubbleState), EngineError> {
    let damaged = |why: String| EngineError::Effect(format!("the log in {} cannot be used: {why}", archive.display()));
    let end = log.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged("it has no line".to_owned()))?;
    let mut state = BubbleState::new(id.clone());
    let mut scan = Scan::new(id, 0);
    let refused = |error: Damaged| match error.reason {
        LineError::OtherFormat { found, read } => {
            StoreError::OtherFormat { path: archive.join("transcript.ndjson"), found, read, worktree: None }.into()
        }
        _ => damaged(error.to_string()),
    };
    scan.feed(log, &mut |envelope| advance(&mut state, &envelope)).map_err(refused)?;
    Ok((LineHash::of(&log[..end]), state))
}

fn not_deleted_here(root: &Path, id: &BubbleId, archive: &Path) -> EngineError {
    let (from, to) = (archive.display().to_string(), root.join(".pairflow/bubbles").join(id.as_str()));
    EngineError::BadInput(format!(
        "{from} is not the archive of a bubble that you deleted on this machine; to look at it and adopt it all the same: cp -r {} {} && pairflow adopt {id}",
        quoted(&from),
        quoted(&to.display().to_string())
    ))
}
