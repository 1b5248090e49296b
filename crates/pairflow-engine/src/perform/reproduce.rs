//! The reproducers of findings, run on the newest snapshot in a copy outside the worktree.
//!
//! All reproducers of a tree share one copy, which is set up once. Before each further one its files are put back as
//! they were then, so that no reproducer sees what another one left; what the tree ignores (caches, what the setup
//! command installed) stays.

use pairflow_core::facts::Outcome;
use pairflow_core::ids::{CommitId, FindingId, TreeId};
use pairflow_core::unit::{Command, Unit};

use super::apart::{Apart, Errand};
use super::check::keep;
use crate::checks::Checked;
use crate::engine::{Bubble, EngineError};
use crate::git::{bring_to, forget_index, observe};
use crate::process::Cancel;

/// A reproducer that is to be run.
pub(super) struct Reproducer<'a> {
    /// The finding that it belongs to.
    pub(super) finding: FindingId,
    /// The command line.
    pub(super) command: &'a str,
}

/// A copy of a snapshot, set up, in which one reproducer after the other runs.
pub(super) struct Bench {
    copy: Apart,
    commit: CommitId,
    /// What its files were once it was set up.
    ready: TreeId,
}

/// Runs one reproducer; nothing comes of it when it is cancelled. The copy is left on `bench` for the next one.
pub(super) fn perform(
    bubble: &Bubble,
    unit: &Unit,
    reproducer: &Reproducer<'_>,
    bench: &mut Option<Bench>,
    cancel: &Cancel,
) -> Result<Option<Command>, EngineError> {
    let Some(snapshot) = &unit.snapshot else { return Ok(None) };
    let name = format!("reproducer of {}", reproducer.finding);
    let errand = Errand { name: &name, command: reproducer.command, tree: &snapshot.tree };
    // A copy whose files cannot be put back is made anew.
    let used = bench.take().filter(|bench| bench.commit == snapshot.commit && bench.clear().is_ok());
    let made = match used {
        Some(bench) => Some(Ok(bench)),
        None => Bench::make(Apart::of(bubble, unit, &snapshot.commit)?, &snapshot.commit, errand, cancel)?,
    };
    let checked = match made {
        Some(Ok(ready)) => {
            let ran = ready.copy.run(errand, cancel);
            // What could not be run is tried again in a copy of its own.
            let sound = |ran: &Checked| !matches!(ran.receipt.outcome, Outcome::CouldNotCheck { .. });
            *bench = Some(ready).filter(|_| ran.as_ref().is_some_and(sound));
            ran
        }
        Some(Err(failed)) => Some(failed),
        None => None,
    };
    let Some(checked) = checked else { return Ok(None) };
    let receipt = keep(bubble, checked)?;
    Ok(Some(Command::Reproduced { finding: reproducer.finding, receipt }))
}

impl Bench {
    /// Sets a copy up. If that does not work, what `errand` comes to is returned instead; nothing if it was cancelled.
    fn make(
        copy: Apart,
        commit: &CommitId,
        errand: Errand<'_>,
        cancel: &Cancel,
    ) -> Result<Option<Result<Self, Checked>>, EngineError> {
        match copy.set_up(errand, cancel) {
            None => Ok(None),
            Some(Err(failed)) => Ok(Some(Err(failed))),
            Some(Ok(())) => {
                let ready = observe(&copy.workspace()?)?;
                Ok(Some(Ok(Self { copy, commit: commit.clone(), ready })))
            }
        }
    }

    /// Puts the files back as they were once the copy was set up.
    fn clear(&self) -> Result<(), EngineError> {
        Ok(bring_to(&self.copy.workspace()?, &self.ready)?)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Ok(workspace) = self.copy.workspace() {
            forget_index(&workspace);
        }
    }
}
