//! What a message may point to: artifacts of its bubble, and files of its worktree.

use std::path::{Component, Path};

use pairflow_core::bubble::BubbleState;
use pairflow_core::safe::{safe_line, steers};

use crate::engine::{Bubble, EngineError};

/// How much of a bad name is shown.
const SHOWN: usize = 80;

impl Bubble {
    /// Returns `given` as it stands in `refs`; refuses what is not there and what lies outside.
    pub fn reference(&self, state: &BubbleState, given: &str) -> Result<String, EngineError> {
        // A name that steers a terminal, or breaks a line, could pass for something else wherever it is shown.
        if given.contains(|c: char| c == '\n' || c == '\t' || steers(c)) {
            let shown = safe_line(given, SHOWN);
            return Err(EngineError::BadInput(format!(
                "'{shown}' has control characters in its name; rename the file"
            )));
        }
        if given.starts_with("artifact://") {
            let found = self.artifacts().resolve(given).map_err(|error| EngineError::BadInput(error.to_string()))?;
            return if found.is_file() { Ok(given.to_owned()) } else { Err(missing(given)) };
        }
        if state.evidence.workspace.is_none() {
            return Err(missing(given));
        }
        let workspace = self.workspace(state)?;
        workspace.connected()?;
        let root = workspace.path.canonicalize().map_err(|_| missing(given))?;
        let artifacts = self.dir().join("artifacts");
        let path = root.join(given).canonicalize().map_err(|_| missing(given))?;
        if let Some(name) = beneath(&path, &artifacts) {
            return Ok(format!("artifact://{name}"));
        }
        beneath(&path, &root).filter(|_| path.is_file()).ok_or_else(|| {
            EngineError::BadInput(format!("'{given}' lies outside the worktree and the bubble's artifacts"))
        })
    }
}

/// The path relative to `root`, if it lies beneath it.
fn beneath(path: &Path, root: &Path) -> Option<String> {
    let root = root.canonicalize().ok()?;
    let rest = path.strip_prefix(root).ok()?;
    let plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
    plain.then(|| rest.to_str().map(str::to_owned)).flatten()
}

fn missing(given: &str) -> EngineError {
    EngineError::BadInput(format!("'{given}' is not a file of the worktree or of the bubble's artifacts"))
}
