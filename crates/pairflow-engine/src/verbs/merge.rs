//! The bubble's commit reaches the base branch: checked in a scratch worktree first, never behind anyone's back.

use std::path::Path;
use std::time::Duration;

use pairflow_core::ids::{CommitId, TreeId};
use pairflow_core::log::Person;
use pairflow_core::unit::{Command, Phase, Refusal, Unit};

use crate::checks::{CheckRun, run_check};
use crate::engine::{Bubble, EngineError};
use crate::git::{Advanced, How, MergeRequest, Repo, merge as advance, plan_merge};
use crate::process::Cancel;
use crate::workspace::Scratch;

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeEnd {
    /// The base branch has the work.
    Merged(CommitId),
    /// The person has the base branch checked out; this line does it there.
    Line {
        /// Where.
        at: std::path::PathBuf,
        /// What to type.
        line: String,
    },
}

/// Merges the bubble's commit into the base branch. With `here`, a clean checkout at that path is brought along.
pub fn merge(
    bubble: &Bubble,
    here: Option<&Path>,
    author: Option<&Person>,
    say: &dyn Fn(&str),
) -> Result<MergeEnd, EngineError> {
    let unit = bubble.load()?.unit;
    let Phase::Done(done) = &unit.phase else {
        let why = Some("only a committed bubble can be merged".to_owned());
        let refusal = Refusal::WrongState { state: unit.phase.name(), command: "merge", why };
        return Err(EngineError::Refused { id: bubble.id.clone(), refusal: Box::new(refusal) });
    };
    let repo = Repo::discover(bubble.control.repo())?;
    let request = MergeRequest {
        repo: &repo,
        id: &bubble.id,
        base_branch: &unit.rules.base_branch,
        bubble_branch: &unit.rules.bubble_branch,
        commit: &done.commit,
        author,
    };
    let plan = plan_merge(&request)?;
    match &plan.how {
        How::Conflict(files) => {
            let next = format!("pairflow update {}", bubble.id);
            let files = files.join(", ");
            return Err(EngineError::Effect(format!("the base branch has moved and conflicts in {files}; next: {next}")));
        }
        How::Join(commit) => checked(&repo, &unit, commit, bubble, say)?,
        How::AlreadyIn | How::FastForward(_) => {}
    }
    match advance(&request, &plan, here)? {
        Advanced::Moved(commit) => {
            bubble.apply(&Command::Merged { commit: commit.clone() })?;
            Ok(MergeEnd::Merged(commit))
        }
        Advanced::CheckedOut { at, line } => Ok(MergeEnd::Line { at, line }),
    }
}

/// Runs the bubble's checks on the merged tree; one that does not pass stops the merge.
fn checked(
    repo: &Repo,
    unit: &Unit,
    commit: &CommitId,
    bubble: &Bubble,
    say: &dyn Fn(&str),
) -> Result<(), EngineError> {
    let scratch = Scratch::new(repo, commit)?;
    let cancel = Cancel::new().map_err(|error| EngineError::world("cannot make a pipe", error))?;
    for check in &unit.rules.checks {
        say(&format!("running '{}' on the merged tree", check.command));
        let tree = TreeId(commit.0.clone());
        let unchanged = || Ok(tree.clone());
        let run = CheckRun {
            name: &check.name,
            command: &check.command,
            workspace: scratch.path(),
            tree: &tree,
            timeout: Duration::from_secs(unit.rules.check_timeout_secs),
            max_output: 1024 * 1024,
            env: &[],
            registry: None,
            observe: &unchanged,
            changed_files: &|_, _| Vec::new(),
        };
        let passed = run_check(&run, &cancel).is_ok_and(|checked| checked.receipt.outcome.passed());
        if !passed {
            let (name, id) = (&check.name, &bubble.id);
            return Err(EngineError::Effect(format!(
                "the check '{name}' does not pass on the merged tree; next: pairflow update {id}"
            )));
        }
    }
    Ok(())
}
