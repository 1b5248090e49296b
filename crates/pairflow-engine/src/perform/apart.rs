//! A command run on a commit in a copy outside the worktree, set up like a bubble's own: what it leaves behind is gone
//! with the copy.

use std::time::Duration;

use pairflow_core::facts::{Outcome, Receipt};
use pairflow_core::ids::{CommitId, TreeId};
use pairflow_core::unit::Unit;

use super::check::OUTPUT_LIMIT;
use crate::checks::{CheckRun, Checked, run_check};
use crate::engine::{Bubble, EngineError, ports};
use crate::git::Repo;
use crate::process::Cancel;
use crate::workspace::Scratch;

/// A copy outside the worktree.
pub(super) struct Apart {
    scratch: Scratch,
}

impl Apart {
    /// Checks `commit` out beside the bubble's worktree.
    pub(super) fn of(bubble: &Bubble, commit: &CommitId) -> Result<Self, EngineError> {
        let repo = Repo::discover(bubble.control.repo())?;
        Ok(Self { scratch: Scratch::new(&repo, commit)? })
    }

    /// Returns the root of its files.
    pub(super) fn path(&self) -> &std::path::Path {
        self.scratch.path()
    }

    /// Runs the bubble's setup command there, then `command` as the check called `name` on `tree`. A setup that does
    /// not work means that nothing could be checked. Returns nothing if it was cancelled.
    pub(super) fn run(
        &self,
        bubble: &Bubble,
        unit: &Unit,
        (name, command, tree): (&str, &str, &TreeId),
        cancel: &Cancel,
    ) -> Option<Checked> {
        if let Some(setup) = &unit.rules.setup {
            let ready = self.run_one(bubble, unit, ("setup", setup, tree), cancel)?;
            if !ready.receipt.outcome.passed() {
                let why = format!("the setup command `{setup}` does not work in a copy of the tree");
                let outcome = Outcome::CouldNotCheck { why };
                let receipt = Receipt { check: name.to_owned(), command: command.to_owned(), outcome, ..ready.receipt };
                return Some(Checked { receipt, output: ready.output });
            }
        }
        self.run_one(bubble, unit, (name, command, tree), cancel)
    }

    fn run_one(
        &self,
        bubble: &Bubble,
        unit: &Unit,
        (name, command, tree): (&str, &str, &TreeId),
        cancel: &Cancel,
    ) -> Option<Checked> {
        let run = CheckRun {
            name,
            command,
            workspace: self.scratch.path(),
            tree,
            timeout: Duration::from_secs(unit.rules.check_timeout_secs),
            max_output: OUTPUT_LIMIT,
            env: &unit.workspace.as_ref().map(ports).unwrap_or_default(),
            registry: Some(bubble.registry()),
            // Whatever it changes there is thrown away.
            observe: &|| Ok(tree.clone()),
            changed_files: &|_, _| Vec::new(),
        };
        run_check(&run, cancel).ok()
    }
}
