//! Bubbles that come back: a foreign one is adopted, one whose repository was moved is found, a damaged log is repaired, and
//! a deleted bubble is restored from its archive.

use std::path::{Path, PathBuf};

use pairflow_core::bubble::{BubbleState, adopt, advance, take_up};
use pairflow_core::ids::BubbleId;
use pairflow_core::log::frame::{LineError, LineHash};
use pairflow_core::log::scan::{Damaged, Scan};
use pairflow_core::view::quoted;

use crate::engine::{Bubble, ControlDir, Engine, EngineError, sentence};
use crate::git::{Repo, commit_identity};
use crate::store::{Foreign, ForeignLog, Salvage, StoreError};
use crate::workspace::{
    FormerLocation, clear_archive, move_here, newest_archive, put_files_back, put_refs_back, restore,
};

/// The result of an adoption.
#[derive(Debug, Clone)]
pub struct Adopted {
    /// The state afterwards.
    pub state: BubbleState,
    /// Where the repository was, if it was only moved.
    pub moved_from: Option<PathBuf>,
}

impl Bubble {
    /// Reads a foreign bubble from its log, to show it to the person; `None` if it is this user's.
    ///
    /// Fails for one that cannot be adopted.
    pub fn examine(&self) -> Result<Option<ForeignLog>, EngineError> {
        Ok(self.log.examine()?)
    }

    /// Makes a foreign bubble this user's. The caller has shown it to the person; one that has changed since is refused.
    ///
    /// What was checked, reviewed and approved before does not count, unless the repository was only moved.
    pub fn adopt(&self, shown: &ForeignLog) -> Result<Adopted, EngineError> {
        let repo = Repo::locate(self.control.repo())?;
        repo.insist_on_usable()?;
        if let Foreign::Moved(from) = &shown.why {
            return self.complete_move(shown, from);
        }
        let here = self.control.repo().display().to_string();
        let events = adopt(&shown.state, here, shown.why.to_string(), Some(commit_identity(&repo)?));
        let state = self.log.adopt(shown, &events, self.engine.clock.now())?.into_loaded().state;
        // The person has confirmed the log, not a file that came with it.
        self.write_config(&state)?;
        Ok(Adopted { state, moved_from: None })
    }

    /// Registers the bubble at its new place. Its worktree is moved first: otherwise a new one would be made, and the old one
    /// forgotten.
    fn complete_move(&self, shown: &ForeignLog, from: &Path) -> Result<Adopted, EngineError> {
        let state = &shown.state;
        self.log.complete_move(shown, |places| {
            if state.evidence.workspace.is_some() {
                let workspace = self.workspace(state)?;
                let former = |root: &PathBuf| FormerLocation { worktree: self.worktree_for(root), root: root.clone() };
                move_here(&workspace, &places.iter().map(former).collect::<Vec<_>>())?;
                self.reconnect(&workspace, state)?;
            }
            self.write_config(state)
        })?;
        Ok(Adopted { state: state.clone(), moved_from: Some(from.to_owned()) })
    }

    /// Returns where the worktree is, or was, if the repository lies at `root`.
    pub fn worktree_for(&self, root: &Path) -> PathBuf {
        ControlDir::of(root).files(&self.id).worktree()
    }

    /// Repairs the log. If lines were lost, checks, reviews and approvals do not count any more: the lost lines may have
    /// withdrawn them.
    ///
    /// A log that is not this user's stays foreign.
    pub fn repair(&self) -> Result<RepairOutcome, EngineError> {
        // A log that is too damaged to tell may be this user's.
        let foreign = matches!(self.log().foreign(), Ok(Some(_)));
        let salvage = self.log().repair()?;
        let fell_back = salvage.damage.is_some() && salvage.envelopes > 0;
        if !fell_back || foreign {
            return Ok(RepairOutcome { salvage, paused: false });
        }
        let here = self.control.repo().display().to_string();
        let reason = "the log was repaired, and lines of it were lost".to_owned();
        let taken = self.log().readopt(|state| take_up(state, here, reason), self.engine.clock.now())?;
        Ok(RepairOutcome { salvage, paused: taken.is_some_and(|locked| locked.into_loaded().state.paused) })
    }
}

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairOutcome {
    /// What was kept, and what was given up.
    pub salvage: Salvage,
    /// Whether it was paused: it lost lines that people may have seen, so they decide.
    pub paused: bool,
}

/// The longest log that is restored, in bytes.
const LONGEST: u64 = 1024 * 1024 * 1024;

/// A restored bubble.
pub struct Restored {
    /// The bubble.
    pub bubble: Bubble,
    /// Its state.
    pub state: BubbleState,
    /// Why its worktree could not be made again; its branch is there all the same.
    pub without_worktree: Option<String>,
}

impl Engine {
    /// Restores the bubble `id` as it was when this user deleted it last. After a failure it can be called again.
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

/// Reads an archived log: the hash of its first line, and its state.
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
