//! The reproducers of findings, run on the newest snapshot in pairflow's own checkout.
//!
//! Before each further one the files are put back, so that no reproducer sees what another one left; what the tree
//! ignores (caches, what the setup command installed) stays.

use pairflow_core::bubble::Command;
use pairflow_core::facts::Outcome;
use pairflow_core::ids::FindingId;

use super::bench::{Bench, Errand, Site, place};
use super::check::keep;
use crate::checks::CheckResult;
use crate::engine::{Bubble, EngineError};

/// A reproducer that is to be run.
pub(super) struct Reproducer<'a> {
    /// The finding that it belongs to.
    pub(super) finding: FindingId,
    /// The command line.
    pub(super) command: &'a str,
}

/// Runs one reproducer; nothing comes of it when it is cancelled. The checkout is left on `bench` for what follows.
pub(super) fn perform(
    site: Site<'_>,
    reproducer: &Reproducer<'_>,
    bench: &mut Option<Bench>,
) -> Result<Option<Command>, EngineError> {
    let Some(snapshot) = &site.state.evidence.snapshot else { return Ok(None) };
    let name = format!("reproducer of {}", reproducer.finding);
    let errand = Errand { name: &name, command: reproducer.command, tree: &snapshot.tree };
    let mut ready = match Bench::again(bench.take(), site, &snapshot.commit, place(site.state))? {
        Ok(ready) => ready,
        Err(unready) => return reproduced(site.bubble, reproducer, unready.receipt(errand)),
    };
    let ran = ready.judge(errand, true, site.cancel)?;
    // What could not be run is tried again with everything made anew.
    let sound = ran.as_ref().is_some_and(|ran| !matches!(ran.receipt.outcome, Outcome::CouldNotCheck { .. }));
    *bench = Some(ready).filter(|_| sound);
    reproduced(site.bubble, reproducer, ran)
}

fn reproduced(
    bubble: &Bubble,
    reproducer: &Reproducer<'_>,
    ran: Option<CheckResult>,
) -> Result<Option<Command>, EngineError> {
    let Some(ran) = ran else { return Ok(None) };
    let receipt = keep(bubble, ran)?;
    Ok(Some(Command::Reproduced { finding: reproducer.finding, receipt }))
}
