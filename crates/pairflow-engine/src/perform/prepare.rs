//! Branch, worktree, ports and the setup command: everything a bubble needs before its first turn.

use std::path::Path;
use std::time::Duration;

use pairflow_core::bubble::{BubbleState, Command};
use pairflow_core::facts::{CheckPlace, Outcome, Receipt};
use pairflow_core::log::WorkspaceRecord as Record;

use super::bench::OUTPUT_LIMIT;
use super::check;
use crate::checks::{CheckRun, run_check};
use crate::engine::{Bubble, EngineError, port_variables, sentence};
use crate::git::{Repo, Workspace, observe};
use crate::process::Cancel;
use crate::workspace::{DEFAULT_COUNT, Request, discard, lease, prepare};

/// Prepares the workspace. Whatever goes wrong leaves the bubble startable again.
pub(super) fn perform(bubble: &Bubble, state: &BubbleState, cancel: &Cancel) -> Option<Command> {
    match attempt(bubble, state, cancel) {
        Ok(workspace) => workspace.map(|workspace| Command::WorkspaceReady { workspace }),
        Err(error) => Some(Command::StartFailed { reason: sentence(&error) }),
    }
}

fn attempt(bubble: &Bubble, state: &BubbleState, cancel: &Cancel) -> Result<Option<Record>, EngineError> {
    let repo = Repo::discover(bubble.control.repo())?;
    let prepared = prepare(&Request {
        repo: &repo,
        id: &bubble.id,
        mode: state.rules.work_mode,
        base_branch: &state.rules.base_branch,
        continues: state.rules.continues.as_ref(),
        bubble_branch: &state.rules.bubble_branch,
    })?;
    let ports = lease(&bubble.engine.dirs.state, &bubble.dir(), DEFAULT_COUNT)?;
    let mut record = Record {
        path: prepared.path.display().to_string(),
        git_dir: prepared.git_dir.display().to_string(),
        common_dir: prepared.common_dir.display().to_string(),
        base: prepared.base,
        base_tree: prepared.base_tree,
        port: ports.first,
        ports: ports.count,
        setup: None,
        included: prepared.included,
        ground: prepared.ground,
    };
    let Some(command) = &state.rules.setup else { return Ok(Some(record)) };
    match set_up(bubble, state, &record, command, cancel) {
        Ok(Some(receipt)) => {
            record.setup = Some(receipt);
            let tree = observe(&Workspace::recorded(bubble.control.repo(), &bubble.id, &record))?;
            // Files that the setup command changed are told from what a person changes later.
            record.ground.tree = (tree != record.base_tree).then_some(tree);
        }
        Ok(None) => return Ok(None),
        Err(error) => {
            // Whatever a failed setup left in the files must not meet the next attempt.
            discard(&repo, &bubble.id)?;
            return Err(error);
        }
    }
    Ok(Some(record))
}

/// Runs the setup command once, with its own receipt; nothing comes of it when it is cancelled.
pub(crate) fn set_up(
    bubble: &Bubble,
    state: &BubbleState,
    record: &Record,
    command: &str,
    cancel: &Cancel,
) -> Result<Option<Receipt>, EngineError> {
    // A setup command may change the tree; that is what it is for. Only its exit counts.
    let unchanged = || Ok(record.base_tree.clone());
    let run = CheckRun {
        name: "setup",
        command,
        workspace: Path::new(&record.path),
        place: CheckPlace::Worktree,
        tree: &record.base_tree,
        timeout: Duration::from_secs(state.rules.check_timeout_secs),
        max_output: OUTPUT_LIMIT,
        env: &bubble.check_env(port_variables(record.port, record.ports))?,
        registry: Some(bubble.control.runtime(&bubble.id).join("processes")),
        observe: &unchanged,
        changed_files: &|_, _| Vec::new(),
    };
    let Ok(checked) = run_check(&run, cancel) else { return Ok(None) };
    let receipt = check::keep(bubble, checked)?;
    let why = match &receipt.outcome {
        Outcome::Passed => return Ok(Some(receipt)),
        Outcome::CouldNotCheck { why } => format!("could not be run: {why}"),
        Outcome::Failed { timed_out: true, .. } => "was stopped, because its time was up".to_owned(),
        Outcome::Failed { .. } => format!("failed: {}", receipt.tail.lines().last().unwrap_or("it printed nothing")),
    };
    Err(EngineError::Effect(format!("the setup command '{command}' {why}")))
}
