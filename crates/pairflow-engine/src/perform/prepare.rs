//! Branch, worktree, ports and the setup command: everything a bubble needs before its first turn.

use pairflow_core::facts::Outcome;
use pairflow_core::log::Workspace as Record;
use pairflow_core::rules::Check;
use pairflow_core::unit::{Command, Unit};

use super::check;
use crate::engine::{Bubble, EngineError};
use crate::git::{Repo, Workspace};
use crate::process::Cancel;
use crate::workspace::{DEFAULT_COUNT, Request, lease, prepare};

/// Prepares the workspace. Whatever goes wrong leaves the bubble startable again.
pub(super) fn perform(bubble: &Bubble, unit: &Unit, cancel: &Cancel) -> Option<Command> {
    match attempt(bubble, unit, cancel) {
        Ok(workspace) => workspace.map(|workspace| Command::WorkspaceReady { workspace }),
        Err(error) => Some(Command::StartFailed { reason: sentence(&error) }),
    }
}

fn attempt(bubble: &Bubble, unit: &Unit, cancel: &Cancel) -> Result<Option<Record>, EngineError> {
    let repo = Repo::discover(bubble.control.repo())?;
    let prepared = prepare(&Request {
        repo: &repo,
        id: &bubble.id,
        mode: unit.rules.work_mode,
        base_branch: &unit.rules.base_branch,
        bubble_branch: &unit.rules.bubble_branch,
        root_override: None,
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
    };
    let Some(command) = &unit.rules.setup else { return Ok(Some(record)) };
    let ran = set_up(bubble, unit, &record, command, cancel)?;
    let Some(receipt) = ran else { return Ok(None) };
    record.setup = Some(receipt);
    Ok(Some(record))
}

/// Runs the setup command once, with its own receipt.
fn set_up(
    bubble: &Bubble,
    unit: &Unit,
    record: &Record,
    command: &str,
    cancel: &Cancel,
) -> Result<Option<pairflow_core::facts::Receipt>, EngineError> {
    let mut with_workspace = unit.clone();
    with_workspace.workspace = Some(record.clone());
    let workspace = Workspace::recorded(bubble.control.repo(), &bubble.id, record);
    let setup = Check { name: "setup".to_owned(), command: command.to_owned() };
    let ran = check::run(bubble, &with_workspace, &workspace, &setup, &record.base_tree, cancel);
    let Some(checked) = ran else { return Ok(None) };
    let receipt = check::keep(bubble, checked)?;
    // A setup command may change the tree; that is what it is for. Only its exit counts.
    if let Outcome::Failed { .. } = receipt.outcome {
        return Err(EngineError::Effect(format!(
            "the setup command '{command}' failed: {}",
            receipt.tail.lines().last().unwrap_or("it printed nothing")
        )));
    }
    Ok(Some(receipt))
}

/// An error with its causes as one sentence.
pub(super) fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = next.source();
    }
    text
}
