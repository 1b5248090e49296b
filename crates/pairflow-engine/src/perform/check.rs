//! pairflow runs the bubble's own commands on exactly the newest snapshot and keeps what they printed.

use std::time::Duration;

use pairflow_core::facts::{Outcome, Place, Receipt};
use pairflow_core::ids::{CommitId, TreeId};
use pairflow_core::rules::{Check, ChecksIn};
use pairflow_core::unit::{Command, Unit};

use super::baseline::{Known, passed_before};
use super::bench::{Bench, Errand, Site};
use super::{documents, red_green};
use crate::checks::{CheckRun, Checked, run_check};
use crate::config::person_layer;
use crate::engine::{Bubble, EngineError, port_variables};
use crate::git::{GitError, Workspace, changes, is_reread, observe};

/// How many files may be read otherwise than the tree has them before a check counts as having changed them.
const REREAD: usize = 100;
/// How much of a check's output is kept, in bytes.
pub(super) const OUTPUT_LIMIT: usize = 4 * 1024 * 1024;

/// A check that is to be run.
pub(super) struct Wanted<'a> {
    /// Which.
    pub(super) check: &'a Check,
    /// Where.
    pub(super) place: Place,
}

/// Runs one check; nothing comes of it when it is cancelled. The checkout is left on `bench` for what follows.
pub(super) fn perform(
    site: Site<'_>,
    wanted: &Wanted<'_>,
    bench: &mut Option<Bench>,
) -> Result<Option<Command>, EngineError> {
    let Site { bubble, unit, .. } = site;
    let (check, place) = (wanted.check, wanted.place);
    let Some(workspace) = &unit.evidence.workspace else { return Ok(None) };
    let (tree, commit) = match &unit.evidence.snapshot {
        Some(snapshot) if place != Place::Base => (&snapshot.tree, &snapshot.commit),
        _ => (&workspace.base_tree, &workspace.base),
    };
    let errand = Errand { name: &check.name, command: &check.command, tree };
    let known = Known::of(bubble, unit, errand);
    let checked = match check {
        check if check.command == Check::BUILT_IN => Some(documents::check(bubble, unit, check, tree)?),
        check if check.name == Check::RED_GREEN => {
            // It takes the same checkout to the base and sets it up there.
            *bench = None;
            red_green::check(site, check)?
        }
        _ if place == Place::Base && known.passed() => Some(passed_before(errand)),
        _ if unit.rules.checks_in == ChecksIn::Worktree => in_worktree(site, errand, place)?,
        _ => run(site, errand, (commit, place), bench)?,
    };
    let Some(checked) = checked else { return Ok(None) };
    // What pairflow reads out of the tree by itself is as good anywhere.
    let receipt = Receipt { place, ..keep(bubble, checked)? };
    if place == Place::Base {
        known.note(&receipt);
    } else {
        write_output(bubble, unit, &receipt)?;
    }
    Ok(Some(Command::Checked { receipt }))
}

impl Bubble {
    /// Returns what checks and the setup command get on top of the few variables that every job inherits: the leased
    /// ports, and those variables of this process that the person's own file names.
    pub(crate) fn check_env(&self, ports: Vec<(String, String)>) -> Result<Vec<(String, String)>, EngineError> {
        let own = person_layer(&self.engine.dirs.config).map_err(|error| EngineError::Effect(error.to_string()))?;
        let named = own.check_env.map(|set| set.value).unwrap_or_default();
        let named = named.into_iter().filter_map(|name| Some((name.clone(), std::env::var(&name).ok()?)));
        Ok(named.chain(ports).collect())
    }
}

/// Runs a command on a checkout of `commit`.
fn run(
    site: Site<'_>,
    errand: Errand<'_>,
    (commit, place): (&CommitId, Place),
    bench: &mut Option<Bench>,
) -> Result<Option<Checked>, EngineError> {
    let mut ready = match Bench::again(bench.take(), site, commit, place)? {
        Ok(ready) => ready,
        Err(unready) => return Ok(unready.receipt(errand)),
    };
    let ran = ready.judge(errand, false, site.cancel)?;
    let unchanged = |ran: &Checked| !matches!(ran.receipt.outcome, Outcome::CouldNotCheck { .. });
    *bench = Some(ready).filter(|_| ran.as_ref().is_some_and(unchanged));
    Ok(ran)
}

/// Runs a command where the agents work, and sees whether the files changed in the meantime.
fn in_worktree(site: Site<'_>, errand: Errand<'_>, place: Place) -> Result<Option<Checked>, EngineError> {
    let Site { bubble, unit, cancel, .. } = site;
    let workspace = bubble.workspace(unit)?;
    workspace.connected()?;
    // Before the first turn there may be files that the setup command made.
    let ready = if place == Place::Base { observe(&workspace)? } else { errand.tree.clone() };
    let ports = unit.evidence.workspace.as_ref().map(|record| port_variables(record.port, record.ports));
    let now = || match observe(&workspace) {
        Ok(now) if now == ready => Ok(errand.tree.clone()),
        other => other.map_err(|error| error.to_string()),
    };
    let run = CheckRun {
        name: errand.name,
        command: errand.command,
        workspace: &workspace.path,
        place,
        tree: errand.tree,
        timeout: Duration::from_secs(unit.rules.check_timeout_secs),
        max_output: OUTPUT_LIMIT,
        env: &bubble.check_env(ports.unwrap_or_default())?,
        registry: Some(bubble.registry()),
        observe: &now,
        changed_files: &|_, now| named(&workspace, &ready, now),
    };
    Ok(run_check(&run, cancel).ok())
}

/// Returns the tree of the files, or why they could not be read.
pub(super) fn look(workspace: &Workspace) -> Result<TreeId, String> {
    observe(workspace).map_err(|error| error.to_string())
}

/// Whether every file of the tree `ready` is still as it was, apart from line ends that git reads otherwise. What was added in a checkout of our own is thrown away, so
/// it does no harm: what was checked was the tree.
pub(super) fn unharmed(workspace: &Workspace, ready: &TreeId) -> Result<bool, String> {
    let now = look(workspace)?;
    if now == *ready {
        return Ok(true);
    }
    let git_says = |error: GitError| error.to_string();
    let changed = changes(&workspace.git(), ready, &now).map_err(git_says)?;
    let touched: Vec<_> = changed.iter().filter(|change| change.status != 'A').collect();
    if touched.len() > REREAD {
        return Ok(false);
    }
    for change in touched {
        if !is_reread(workspace, (ready, &now), &change.path).map_err(git_says)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the files that differ between two trees.
pub(super) fn named(workspace: &Workspace, from: &TreeId, to: &TreeId) -> Vec<String> {
    match changes(&workspace.git(), from, to) {
        Ok(changes) => changes.into_iter().map(|change| change.path).collect(),
        Err(error) => vec![format!("(git could not name them: {error})")],
    }
}

/// Where reproducers run.
pub(super) fn place(unit: &Unit) -> Place {
    match unit.rules.checks_in {
        ChecksIn::Checkout => Place::Checkout,
        ChecksIn::Worktree => Place::Worktree,
    }
}

/// Stores the output by its hash and completes the receipt.
pub(super) fn keep(bubble: &Bubble, checked: Checked) -> Result<Receipt, EngineError> {
    let name = bubble.artifacts().put_hashed("checks", "txt", &checked.output)?;
    Ok(Receipt { output: Some(format!("artifact://{name}")), ..checked.receipt })
}

/// Adds the result to `artifacts/round-<nnn>.tests.txt`.
fn write_output(bubble: &Bubble, unit: &Unit, receipt: &Receipt) -> Result<(), EngineError> {
    let name = format!("round-{:03}.tests.txt", unit.rounds.round);
    let mut text = unit.evidence.superseded.iter().chain(&unit.evidence.receipts).map(paragraph).collect::<String>();
    text.push_str(&paragraph(receipt));
    Ok(bubble.log().project_artifact(&name, text.as_bytes())?)
}

fn paragraph(receipt: &Receipt) -> String {
    let result = match &receipt.outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Failed { timed_out: true, .. } => "failed: its time was up".to_owned(),
        Outcome::Failed { exit: Some(code), .. } => format!("failed with exit code {code}"),
        Outcome::Failed { exit: None, .. } => "failed: ended by a signal".to_owned(),
        Outcome::CouldNotCheck { why } => format!("could not be run: {why}"),
    };
    let (check, command, tree) = (&receipt.check, &receipt.command, &receipt.tree);
    let output = receipt.output.as_deref().unwrap_or("-");
    format!(
        "== {check}: {result} ({} ms)\ncommand: {command}\ntree: {tree}\nwhole output: {output}\n\n{}\n\n",
        receipt.duration_ms, receipt.tail
    )
}
