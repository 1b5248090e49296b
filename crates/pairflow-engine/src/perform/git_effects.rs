//! Effects on branch and worktree: the workspace before the first turn, the merge of the base branch, the commit of exactly
//! the approved tree.

use std::path::Path;
use std::time::Duration;

use pairflow_core::bubble::{BubbleState, Command, CommitOrder, Phase, Turn};
use pairflow_core::facts::{CheckPlace, Outcome, Receipt};
use pairflow_core::ids::Party;
use pairflow_core::log::{CommitIdentity, Conflict, Person, WorkspaceRecord as Record};

use super::checkout::OUTPUT_LIMIT;
use super::checks::store_output;
use super::turn::snapshot_record;
use crate::checks::{CheckRun, run_check};
use crate::engine::{Bubble, EngineError, port_variables, sentence};
use crate::git::{
    self, CommitRequest, GitError, Repo, UpdateRequest, Updated, Worktree, commit, commit_identity, keep, observe,
};
use crate::process::Cancel;
use crate::workspace::{DEFAULT_COUNT, WorkspaceRequest, discard, lease, prepare};

/// Prepares the workspace. After a failure the bubble can be started again.
pub(super) fn prepare_workspace(bubble: &Bubble, state: &BubbleState, cancel: &Cancel) -> Option<Command> {
    match try_prepare(bubble, state, cancel) {
        Ok(workspace) => workspace.map(|workspace| Command::WorkspaceReady { workspace }),
        Err(error) => Some(Command::StartFailed { reason: sentence(&error) }),
    }
}

fn try_prepare(bubble: &Bubble, state: &BubbleState, cancel: &Cancel) -> Result<Option<Record>, EngineError> {
    let repo = Repo::discover(bubble.control.repo())?;
    let prepared = prepare(&WorkspaceRequest {
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
            let tree = observe(&Worktree::recorded(bubble.control.repo(), &bubble.id, &record))?;
            // Distinguishes changes of the setup command from later ones of a person.
            record.ground.tree = (tree != record.base_tree).then_some(tree);
        }
        Ok(None) => return Ok(None),
        Err(error) => {
            // The next attempt must not find files of a failed setup.
            discard(&repo, &bubble.id)?;
            return Err(error);
        }
    }
    Ok(Some(record))
}

/// Runs the setup command once, with its own receipt; returns `None` if it was cancelled.
pub(crate) fn set_up(
    bubble: &Bubble,
    state: &BubbleState,
    record: &Record,
    command: &str,
    cancel: &Cancel,
) -> Result<Option<Receipt>, EngineError> {
    // A setup command may change files; only its exit code counts.
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
    let receipt = store_output(bubble, checked)?;
    let why = match &receipt.outcome {
        Outcome::Passed => return Ok(Some(receipt)),
        Outcome::CouldNotCheck { why } => format!("could not be run: {why}"),
        Outcome::Failed { timed_out: true, .. } => "timed out".to_owned(),
        Outcome::Failed { .. } => format!("failed: {}", receipt.tail.lines().last().unwrap_or("it printed nothing")),
    };
    Err(EngineError::Effect(format!("the setup command '{command}' {why}")))
}

/// The longest list of files in conflict in the log, in bytes.
const CONFLICT_LIMIT: usize = 200 * 1024;

/// Merges the base branch into the worktree, as the person's change. A conflict changes nothing and names the files.
pub(super) fn update_from_base(bubble: &Bubble, state: &BubbleState) -> Command {
    match try_update(bubble, state) {
        Ok(command) => command,
        Err(EngineError::Git(GitError::UpdateConflict { base, files })) => {
            report_conflict(bubble, state, Conflict { base, files })
        }
        Err(error) => Command::UpdateFailed { reason: sentence(&error), conflict: None },
    }
}

fn try_update(bubble: &Bubble, state: &BubbleState) -> Result<Command, EngineError> {
    let workspace = bubble.workspace(state)?;
    let mut snapshots = Vec::new();
    let mut state = state.clone();
    let base_branch = &state.rules.base_branch;
    let wanted =
        UpdateRequest { base_branch, resolved: state.gate.resolved.as_ref(), number: state.evidence.snapshots + 1 };
    let updated = git::update(&workspace, &wanted)?;
    if !updated.moved {
        return Err(EngineError::Effect(format!(
            "{base_branch} has no new commits since this bubble was created; there is nothing to merge"
        )));
    }
    // Changes of an interrupted turn stay the agent's.
    let interrupted = state.phase.turn().filter(|turn| turn.is_open()).map(Turn::author);
    let same_patch = is_same_patch(&workspace, &state, &updated)?;
    if let Some(author) = interrupted.filter(|_| state.tree() != Some(&updated.before)) {
        let taken = keep(&workspace, updated.before, state.evidence.snapshots + 1)?;
        let before = snapshot_record(bubble, &state, author, taken)?;
        state.evidence.snapshot = Some(before.clone());
        state.evidence.snapshots += 1;
        snapshots.push(before);
    }
    if let Some(record) = &mut state.evidence.workspace {
        record.base = updated.base.clone();
        record.base_tree = updated.base_tree.clone();
    }
    let taken = keep(&bubble.workspace(&state)?, updated.tree, state.evidence.snapshots + 1)?;
    snapshots.push(snapshot_record(bubble, &state, Some(Party::Human), taken)?);
    Ok(Command::UpdateMade { base: updated.base, base_tree: updated.base_tree, snapshots, same_patch })
}

/// Whether the recorded work is the same change after the merge as before.
pub(crate) fn is_same_patch(workspace: &Worktree, state: &BubbleState, updated: &Updated) -> Result<bool, GitError> {
    let Some(record) = state.evidence.workspace.as_ref().filter(|_| state.tree() == Some(&updated.before)) else {
        return Ok(false);
    };
    let (before, after) = ((&record.base_tree, &updated.before), (&updated.base_tree, &updated.tree));
    git::same_change(&workspace.git(), before, after)
}

/// Reports a conflict, with the steps to resolve it.
fn report_conflict(bubble: &Bubble, state: &BubbleState, conflict: Conflict) -> Command {
    let (id, base) = (&bubble.id, &state.rules.base_branch);
    let worktree = state.evidence.workspace.as_ref().map_or("", |record| record.path.as_str());
    let shown = conflict.files.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match conflict.files.len().saturating_sub(20) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first = conflict.files.first().map_or("FILE", String::as_str);
    let at = conflict.base.short();
    let reason = format!(
        "{base} and the work of {id} conflict in {shown}{more}; nothing was changed. Edit these files in {worktree} so \
         that each holds both changes (`git show {at}:{first}` prints the side of {base}; all other files are merged \
         for you), then: pairflow update {id} --resolved"
    );
    let fits = conflict.files.iter().map(String::len).sum::<usize>() <= CONFLICT_LIMIT;
    Command::UpdateFailed { reason, conflict: fits.then_some(conflict) }
}

/// Makes the commit that the log orders, and records the result. For a caller that holds the lock of the verb.
pub(crate) fn commit_now(bubble: &Bubble) -> Result<(), EngineError> {
    let state = bubble.durable()?.state;
    let Phase::Approved(approval) = &state.phase else { return Ok(()) };
    let Some(order) = &approval.commit else { return Ok(()) };
    bubble.apply(&make_commit(bubble, &state, order)).map(drop)
}

/// Makes the commit, unless the person's own command is making it: signatures need that person's environment.
pub(super) fn commit_approved(
    bubble: &Bubble,
    state: &BubbleState,
    order: &CommitOrder,
) -> Result<Option<Command>, EngineError> {
    let committing = bubble.exclusively("commit")?;
    Ok(committing.map(|_held| make_commit(bubble, state, order)))
}

/// Makes the commit. A failure is recorded, and the commit can be tried again.
fn make_commit(bubble: &Bubble, state: &BubbleState, order: &CommitOrder) -> Command {
    match try_commit(bubble, state, order) {
        Ok(command) => command,
        Err(error) => Command::CommitFailed { reason: sentence(&error) },
    }
}

fn try_commit(bubble: &Bubble, state: &BubbleState, order: &CommitOrder) -> Result<Command, EngineError> {
    let Phase::Approved(approval) = &state.phase else {
        return Err(EngineError::BadInput("nothing is approved".to_owned()));
    };
    let workspace = bubble.workspace(state)?;
    if order.hooks && state.about.identity.is_none() {
        return Err(GitError::HooksUnknown(bubble.id.clone()).into());
    }
    let identity = committer(state, order, &workspace)?;
    let made = commit(&CommitRequest {
        workspace: &workspace,
        tree: &approval.request.tree,
        branch: &state.rules.bubble_branch,
        message: &order.message,
        hooks: order.hooks,
        identity: identity.as_ref(),
    })?;
    Ok(Command::CommitMade { commit: made.commit, old_tip: made.old_tip })
}

/// Returns who commits: as recorded, else as ordered; `None` for git's current identity.
fn committer(
    state: &BubbleState,
    order: &CommitOrder,
    workspace: &Worktree,
) -> Result<Option<CommitIdentity>, EngineError> {
    let Some(author) = &order.author else { return Ok(state.about.identity.clone()) };
    let identity = match &state.about.identity {
        Some(recorded) => recorded.clone(),
        None => CommitIdentity { author: None, committer: None, ..commit_identity(&workspace.repo()?)? },
    };
    let or_author = |person: Option<Person>| person.or_else(|| Some(author.clone()));
    let (author, committer) = (or_author(identity.author), or_author(identity.committer));
    Ok(Some(CommitIdentity { author, committer, ..identity }))
}
