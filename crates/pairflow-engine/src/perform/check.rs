//! pairflow runs the bubble's own commands on the newest snapshot and keeps what they printed.

use std::time::Duration;

use pairflow_core::facts::Receipt;
use pairflow_core::ids::TreeId;
use pairflow_core::log::Workspace as Record;
use pairflow_core::rules::Check;
use pairflow_core::unit::{Command, Unit};

use super::{documents, red_green};
use crate::checks::{CheckRun, Checked, run_check};
use crate::config::person_layer;
use crate::engine::{Bubble, EngineError, ports};
use crate::git::{changes, observe};
use crate::process::Cancel;

/// How much of a check's output is kept, in bytes.
pub(super) const OUTPUT_LIMIT: usize = 4 * 1024 * 1024;

/// Runs one check; nothing comes of it when it is cancelled.
pub(super) fn perform(
    bubble: &Bubble,
    unit: &Unit,
    check: &Check,
    cancel: &Cancel,
) -> Result<Option<Command>, EngineError> {
    let Some(tree) = unit.tree() else { return Ok(None) };
    let checked = match check {
        check if check.command == Check::BUILT_IN => Some(documents::check(bubble, unit, check, tree)?),
        check if check.name == Check::RED_GREEN => red_green::check(bubble, unit, check, cancel)?,
        check => run(bubble, unit, check, tree, cancel)?,
    };
    let Some(checked) = checked else { return Ok(None) };
    let receipt = keep(bubble, checked)?;
    write_output(bubble, unit, &receipt)?;
    Ok(Some(Command::Checked { receipt }))
}

impl Bubble {
    /// Returns what checks and the setup command get on top of the few variables that every job inherits: the leased
    /// ports, and those variables of this process that the person's own file names.
    pub(crate) fn check_env(&self, workspace: Option<&Record>) -> Result<Vec<(String, String)>, EngineError> {
        let own = person_layer(&self.engine.dirs.config).map_err(|error| EngineError::Effect(error.to_string()))?;
        let named = own.check_env.map(|set| set.value).unwrap_or_default();
        let named = named.into_iter().filter_map(|name| Some((name.clone(), std::env::var(&name).ok()?)));
        Ok(named.chain(workspace.map(ports).unwrap_or_default()).collect())
    }
}

/// Runs a command in the workspace and sees whether it changed the tree.
fn run(
    bubble: &Bubble,
    unit: &Unit,
    check: &Check,
    tree: &TreeId,
    cancel: &Cancel,
) -> Result<Option<Checked>, EngineError> {
    let workspace = bubble.workspace(unit)?;
    workspace.connected()?;
    let env = bubble.check_env(unit.workspace.as_ref())?;
    let observe = || observe(&workspace).map_err(|error| error.to_string());
    let names = |from: &TreeId, to: &TreeId| match changes(&workspace.git(), from, to) {
        Ok(changes) => changes.into_iter().map(|change| change.path).collect(),
        Err(error) => vec![format!("(git could not name them: {error})")],
    };
    let run = CheckRun {
        name: &check.name,
        command: &check.command,
        workspace: &workspace.path,
        tree,
        timeout: Duration::from_secs(unit.rules.check_timeout_secs),
        max_output: OUTPUT_LIMIT,
        env: &env,
        registry: Some(bubble.control.runtime(&bubble.id).join("processes")),
        observe: &observe,
        changed_files: &names,
    };
    Ok(run_check(&run, cancel).ok())
}

/// Stores the output by its hash and completes the receipt.
pub(super) fn keep(bubble: &Bubble, checked: Checked) -> Result<Receipt, EngineError> {
    let name = bubble.artifacts().put_hashed("checks", "txt", &checked.output)?;
    Ok(Receipt { output: Some(format!("artifact://{name}")), ..checked.receipt })
}

/// Adds the result to `artifacts/round-<nnn>.tests.txt`.
fn write_output(bubble: &Bubble, unit: &Unit, receipt: &Receipt) -> Result<(), EngineError> {
    let name = format!("round-{:03}.tests.txt", unit.round);
    let mut text = unit.superseded.iter().chain(&unit.receipts).map(paragraph).collect::<String>();
    text.push_str(&paragraph(receipt));
    Ok(bubble.log().project_artifact(&name, text.as_bytes())?)
}

fn paragraph(receipt: &Receipt) -> String {
    use pairflow_core::facts::Outcome;
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
