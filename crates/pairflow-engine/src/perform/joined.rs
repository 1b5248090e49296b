//! The checks of a merged tree, before it reaches the base branch.

use pairflow_core::bubble::BubbleState;
use pairflow_core::facts::{CheckPlace, Receipt};
use pairflow_core::ids::{CommitId, TreeId};
use pairflow_core::rules::Check;

use super::bench::{Bench, Errand, Site, Unready};
use crate::engine::{Bubble, EngineError};
use crate::process::Cancel;

/// A commit that joins the work with the base branch.
#[derive(Clone, Copy)]
pub(crate) struct Joined<'a> {
    /// The commit.
    pub(crate) commit: &'a CommitId,
    /// Its tree.
    pub(crate) tree: &'a TreeId,
    /// Whether the caller has the bubble in its care.
    pub(crate) attended: bool,
}

/// Runs the setup command and the checks in a fresh checkout of a joined commit. Returns the first that does not pass.
pub(crate) fn check_joined(
    bubble: &Bubble,
    state: &BubbleState,
    joined: Joined<'_>,
    say: &dyn Fn(&str),
) -> Result<Option<Receipt>, EngineError> {
    let cancel = Cancel::new().map_err(|error| EngineError::world("cannot make a pipe", error))?;
    let cancelled = || EngineError::Effect("the checks of the merged tree were cancelled".to_owned());
    let running = |command: &str| say(&format!("running '{command}' on the merged tree"));
    let site = Site { bubble, state, cancel: &cancel, attended: joined.attended };
    state.rules.setup.iter().for_each(|command| running(command));
    let mut bench = match Bench::open(site, joined.commit, CheckPlace::Fresh)? {
        Ok(bench) => bench,
        Err(Unready::NotSetUp(ran)) => return Ok(Some(ran.receipt)),
        Err(Unready::Cancelled) => return Err(cancelled()),
    };
    // What pairflow checks by itself belongs to the work, not to what the base brings along.
    let given_up =
        |name: &String| state.evidence.waived_checks.contains_key(name) || state.evidence.not_available.contains(name);
    let wanted = |check: &&Check| !check.is_own() && !given_up(&check.name);
    for check in state.rules.checks.iter().filter(wanted) {
        running(&check.command);
        let errand = Errand { name: &check.name, command: &check.command, tree: joined.tree };
        let ran = bench.judge(errand, false, &cancel)?.ok_or_else(cancelled)?;
        if !ran.receipt.outcome.passed() {
            return Ok(Some(ran.receipt));
        }
        bench.clear()?;
    }
    Ok(None)
}
