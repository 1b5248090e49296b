//! pairflow runs the bubble's own commands on exactly the newest snapshot and keeps what they printed.

use std::time::Duration;

use pairflow_core::bubble::{BubbleState, Command};
use pairflow_core::facts::{CheckPlace, Outcome, Receipt};
use pairflow_core::ids::CommitId;
use pairflow_core::rules::{Check, ChecksIn};

use super::baseline::{Known, passed_before};
use super::bench::{Bench, Errand, OUTPUT_LIMIT, Site, named};
use super::{documents, red_green};
use crate::checks::{CheckRun, Checked, run_check};
use crate::engine::{Bubble, EngineError, port_variables};
use crate::git::observe;

/// A check that is to be run.
pub(super) struct Wanted<'a> {
    /// Which.
    pub(super) check: &'a Check,
    /// Where.
    pub(super) place: CheckPlace,
}

/// Runs one check; nothing comes of it when it is cancelled. The checkout is left on `bench` for what follows.
pub(super) fn perform(
    site: Site<'_>,
    wanted: &Wanted<'_>,
    bench: &mut Option<Bench>,
) -> Result<Option<Command>, EngineError> {
    let Site { bubble, state, .. } = site;
    let (check, place) = (wanted.check, wanted.place);
    let Some(workspace) = &state.evidence.workspace else { return Ok(None) };
    let (tree, commit) = match &state.evidence.snapshot {
        Some(snapshot) if place != CheckPlace::Base => (&snapshot.tree, &snapshot.commit),
        _ => (&workspace.base_tree, &workspace.base),
    };
    let errand = Errand { name: &check.name, command: &check.command, tree };
    let known = Known::of(bubble, state, errand);
    let checked = match check {
        check if check.command == Check::BUILT_IN => Some(documents::check(bubble, state, check, tree)?),
        check if check.name == Check::RED_GREEN => {
            // It takes the same checkout to the base and sets it up there.
            *bench = None;
            red_green::check(site, check)?
        }
        _ if place == CheckPlace::Base && known.passed() => Some(passed_before(errand)),
        _ if state.rules.checks_in == ChecksIn::Worktree => in_worktree(site, errand, place)?,
        _ => run(site, errand, (commit, place), bench)?,
    };
    let Some(checked) = checked else { return Ok(None) };
    // What pairflow reads out of the tree by itself is as good anywhere.
    let receipt = Receipt { place, ..keep(bubble, checked)? };
    if place == CheckPlace::Base {
        known.note(&receipt);
    } else {
        write_output(bubble, state, &receipt)?;
    }
    Ok(Some(Command::Checked { receipt }))
}

/// Runs a command on a checkout of `commit`.
fn run(
    site: Site<'_>,
    errand: Errand<'_>,
    (commit, place): (&CommitId, CheckPlace),
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
fn in_worktree(site: Site<'_>, errand: Errand<'_>, place: CheckPlace) -> Result<Option<Checked>, EngineError> {
    let Site { bubble, state, cancel, .. } = site;
    let workspace = bubble.workspace(state)?;
    workspace.connected()?;
    // Before the first turn there may be files that the setup command made.
    let ready = if place == CheckPlace::Base { observe(&workspace)? } else { errand.tree.clone() };
    let ports = state.evidence.workspace.as_ref().map(|record| port_variables(record.port, record.ports));
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
        timeout: Duration::from_secs(state.rules.check_timeout_secs),
        max_output: OUTPUT_LIMIT,
        env: &bubble.check_env(ports.unwrap_or_default())?,
        registry: Some(bubble.registry()),
        observe: &now,
        changed_files: &|_, now| named(&workspace, &ready, now),
    };
    Ok(run_check(&run, cancel).ok())
}

/// Stores the output by its hash and completes the receipt.
pub(super) fn keep(bubble: &Bubble, checked: Checked) -> Result<Receipt, EngineError> {
    let name = bubble.artifacts().put_hashed("checks", "txt", &checked.output)?;
    Ok(Receipt { output: Some(format!("artifact://{name}")), ..checked.receipt })
}

/// Adds the result to `artifacts/round-<nnn>.tests.txt`.
fn write_output(bubble: &Bubble, state: &BubbleState, receipt: &Receipt) -> Result<(), EngineError> {
    let name = format!("round-{:03}.tests.txt", state.rounds.round);
    let mut text = state.evidence.superseded.iter().chain(&state.evidence.receipts).map(paragraph).collect::<String>();
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
