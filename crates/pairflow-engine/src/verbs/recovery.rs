//! A foreign bubble becomes this user's, or one's own is found again at the place to which its repository was moved.

use std::path::{Path, PathBuf};

use pairflow_core::bubble::{BubbleState, adopt, advance, take_up};
use pairflow_core::ids::BubbleId;
use pairflow_core::log::frame::{LineError, LineHash};
use pairflow_core::log::scan::{Damaged, Scan};
use pairflow_core::view::quoted;

use crate::engine::{Bubble, Control, Engine, EngineError, sentence};
use crate::git::{Repo, commit_identity};
use crate::store::{Foreign, Salvage, Shown, Standing, StoreError};
use crate::workspace::{Former, clear_archive, move_here, newest_archive, put_files_back, put_refs_back, restore};

/// What became of an adoption.
#[derive(Debug, Clone)]
pub struct Adopted {
    /// The state afterwards.
    pub state: BubbleState,
    /// Where the repository was, if the bubble only was on record for another place.
    pub moved_from: Option<PathBuf>,
}

impl Bubble {
    /// Reads a foreign bubble to show it to the person, from its log alone; nothing if it is this user's.
    ///
    /// Fails for one that cannot be adopted.
    pub fn examine(&self) -> Result<Option<Shown>, EngineError> {
        Ok(self.log.examine()?)
    }

    /// Makes a foreign bubble this user's. The caller has shown it, and was told to go on; one that has changed since is
    /// refused.
    ///
    /// What was checked, reviewed and approved before does not count, unless the repository was only moved.
    pub fn adopt(&self, shown: &Shown) -> Result<Adopted, EngineError> {
        let repo = Repo::locate(self.control.repo())?;
        repo.insist_on_usable()?;
        if let Foreign::Moved { from } = &shown.why {
            return self.settle_in(shown, from);
        }
        let here = self.control.repo().display().to_string();
        let events = adopt(&shown.state, here, shown.why.to_string(), Some(commit_identity(&repo)?));
        let state = self.log.adopt(shown, &events, self.engine.clock.now())?.into_loaded().state;
        // What was shown is what runs: a file that came with the log says nothing.
        self.write_config(&state)?;
        Ok(Adopted { state, moved_from: None })
    }

    /// Puts the bubble on record where it is now. Its worktree comes along first: a record without it would have it made
    /// anew, and the old one would be lost from sight.
    fn settle_in(&self, shown: &Shown, from: &Path) -> Result<Adopted, EngineError> {
        let state = &shown.state;
        self.log.settle_in(shown, |places| {
            if state.evidence.workspace.is_some() {
                let workspace = self.workspace(state)?;
                let former = |root: &PathBuf| Former { worktree: self.worktree_for(root), root: root.clone() };
                move_here(&workspace, &places.iter().map(former).collect::<Vec<_>>())?;
                self.reconnect(&workspace, state)?;
            }
            self.write_config(state)
        })?;
        Ok(Adopted { state: state.clone(), moved_from: Some(from.to_owned()) })
    }

    /// Returns where the worktree is, or was, if the repository lies at `root`.
    pub fn worktree_for(&self, root: &Path) -> PathBuf {
        Control::of(root).files(&self.id).worktree()
    }
}

/// What became of a bubble whose log was repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairOutcome {
    /// What was kept, and what was given up.
    pub salvage: Salvage,
    /// Whether it was paused: it has fallen back behind what people saw of it last, so they decide.
    pub paused: bool,
}

impl Bubble {
    /// Repairs the log. If lines were given up, the bubble is taken over anew: what was checked, reviewed and approved
    /// may have been withdrawn in the lines that are lost.
    ///
    /// A log that is not this user's stays foreign.
    pub fn repair(&self) -> Result<RepairOutcome, EngineError> {
        // One that cannot be judged for its damage may well be this user's.
        let foreign = matches!(self.log().standing(), Ok(Standing::Foreign(_)));
        let salvage = self.log().repair()?;
        let fell_back = salvage.damage.is_some() && salvage.envelopes > 0;
        if !fell_back || foreign {
            return Ok(RepairOutcome { salvage, paused: false });
        }
        let here = self.control.repo().display().to_string();
        let reason = "the log was repaired, and lines of it were given up".to_owned();
        let taken = self.log().take_up(|state| take_up(state, here, reason), self.engine.clock.now())?;
        Ok(RepairOutcome { salvage, paused: taken.is_some_and(|locked| locked.into_loaded().state.paused) })
    }
}

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
    read().map_err(|error| EngineError::world(format!("cannot read {}", path.display()), error))
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
