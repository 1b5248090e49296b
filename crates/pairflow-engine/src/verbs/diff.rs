//! What a bubble changed, as a patch or as numbers.

use pairflow_core::facts::FileChange;
use pairflow_core::unit::Unit;

use crate::engine::{Bubble, EngineError};
use crate::git::{changes, diff_stat, diff_text, observe};

/// The longest patch that is printed, in bytes.
const LIMIT: usize = 64 * 1024 * 1024;

/// Which difference is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffOf {
    /// Everything since the base, as the worktree is now.
    Everything,
    /// What one round changed.
    Round(u32),
}

/// A difference.
#[derive(Debug, Clone)]
pub struct Diff {
    /// The patch.
    pub patch: Vec<u8>,
    /// The numbers, as git prints them; empty for a stored round.
    pub stat: String,
    /// The files; empty for a stored round.
    pub files: Vec<FileChange>,
}

/// Returns what the bubble changed.
pub fn diff(bubble: &Bubble, unit: &Unit, of: DiffOf) -> Result<Diff, EngineError> {
    match of {
        DiffOf::Round(round) => {
            let patch = bubble.artifacts().read(&format!("round-{round:03}.diff"))?;
            Ok(Diff { patch, stat: String::new(), files: Vec::new() })
        }
        DiffOf::Everything => {
            let workspace = bubble.workspace(unit)?;
            let record = unit.workspace.as_ref().map(|record| record.base_tree.clone());
            let Some(base) = record else { return Ok(Diff { patch: Vec::new(), stat: String::new(), files: Vec::new() }) };
            let now = match &unit.snapshot {
                Some(snapshot) if !workspace.path.is_dir() => snapshot.tree.clone(),
                _ => observe(&workspace)?,
            };
            let git = workspace.git();
            let patch = diff_text(&git, &base, &now, LIMIT)?;
            Ok(Diff { patch, stat: diff_stat(&git, &base, &now)?, files: changes(&git, &base, &now)? })
        }
    }
}
