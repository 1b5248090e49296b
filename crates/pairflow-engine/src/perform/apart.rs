//! Commands run on a commit in a copy outside the worktree, set up like a bubble's own: what they leave behind is gone
//! with the copy.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::facts::{Outcome, Receipt};
use pairflow_core::ids::{BubbleId, CommitId, TreeId};
use pairflow_core::unit::Unit;

use super::check::OUTPUT_LIMIT;
use crate::checks::{CheckRun, Checked, run_check};
use crate::engine::{Bubble, EngineError};
use crate::git::{Repo, Workspace};
use crate::process::Cancel;
use crate::workspace::Scratch;

/// A copy outside the worktree.
pub(super) struct Apart {
    scratch: Scratch,
    id: BubbleId,
    setup: Option<String>,
    timeout: Duration,
    env: Vec<(String, String)>,
    registry: PathBuf,
}

/// A command to run in a copy, with what its receipt says beside the outcome.
#[derive(Clone, Copy)]
pub(super) struct Errand<'a> {
    /// What is run, by name.
    pub(super) name: &'a str,
    /// The command line.
    pub(super) command: &'a str,
    /// The tree that it is about.
    pub(super) tree: &'a TreeId,
}

impl Apart {
    /// Checks `commit` out beside the bubble's worktree.
    pub(super) fn of(bubble: &Bubble, unit: &Unit, commit: &CommitId) -> Result<Self, EngineError> {
        let repo = Repo::discover(bubble.control.repo())?;
        Ok(Self {
            scratch: Scratch::new(&repo, commit)?,
            id: bubble.id.clone(),
            setup: unit.rules.setup.clone(),
            timeout: Duration::from_secs(unit.rules.check_timeout_secs),
            env: bubble.check_env(unit.workspace.as_ref())?,
            registry: bubble.registry(),
        })
    }

    /// Returns the root of its files.
    pub(super) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// Returns it as the git questions need it.
    pub(super) fn workspace(&self) -> Result<Workspace, EngineError> {
        Ok(self.scratch.workspace(&self.id)?)
    }

    /// Runs the bubble's setup command there. One that does not work means that `errand` could not be run, which is
    /// what is returned then. Returns nothing at all if it was cancelled.
    pub(super) fn set_up(&self, errand: Errand<'_>, cancel: &Cancel) -> Option<Result<(), Checked>> {
        let Some(setup) = &self.setup else { return Some(Ok(())) };
        let ran = self.run(Errand { name: "setup", command: setup, ..errand }, cancel)?;
        if ran.receipt.outcome.passed() {
            return Some(Ok(()));
        }
        let why = format!("the setup command `{setup}` does not work in a copy of the tree");
        let (check, command) = (errand.name.to_owned(), errand.command.to_owned());
        let receipt = Receipt { check, command, outcome: Outcome::CouldNotCheck { why }, ..ran.receipt };
        Some(Err(Checked { receipt, output: ran.output }))
    }

    /// Runs `errand` there, in a copy that is set up. Returns nothing if it was cancelled.
    pub(super) fn run(&self, errand: Errand<'_>, cancel: &Cancel) -> Option<Checked> {
        let run = CheckRun {
            name: errand.name,
            command: errand.command,
            workspace: self.scratch.path(),
            tree: errand.tree,
            timeout: self.timeout,
            max_output: OUTPUT_LIMIT,
            env: &self.env,
            registry: Some(self.registry.clone()),
            // Whatever it changes there is put back or thrown away.
            observe: &|| Ok(errand.tree.clone()),
            changed_files: &|_, _| Vec::new(),
        };
        run_check(&run, cancel).ok()
    }
}
