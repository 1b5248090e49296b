//! Effects on branch and worktree: the workspace before the first turn, the records of snapshots, the merge of the base
//! branch, the commit of exactly the approved tree.

use std::cmp::Ordering;
use std::path::Path;
use std::time::Duration;

use pairflow_core::bubble::{BubbleState, Command, CommitOrder, Phase, Turn, evolve};
use pairflow_core::facts::{CheckPlace, Counted, FileChange, Outcome, Receipt, Snapshot, Whole};
use pairflow_core::ids::{CommitId, Party, TreeId};
use pairflow_core::log::{Body, CommitIdentity, Conflict, Evidence, Person, WorkspaceRecord as Record};

use super::checkout::OUTPUT_LIMIT;
use super::checks::store_output;
use super::own_checks::weakened_tests;
use crate::checks::{CheckRun, run_check};
use crate::engine::{Bubble, EngineError, port_variables, sentence};
use crate::git::{
    self, CommitRequest, GitCall, GitError, GitHead, KeptSnapshot, Repo, UpdateRequest, Updated, Worktree, changes,
    commit, commit_identity, diff_text, head, ignore_changes, keep, observe,
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

/// The longest diff that is kept as a file, in bytes.
const DIFF_LIMIT: usize = 8 * 1024 * 1024;
/// How many files a snapshot names in the log, and how many bytes they may take there; the rest is in a file.
const LISTED: (usize, usize) = (1000, 200 * 1024);
/// How many changed ignore files a snapshot names.
const IGNORE_FILES: usize = 100;

/// Compares a snapshot's tree with the base and with the snapshot before.
pub(super) fn snapshot_record(
    bubble: &Bubble,
    state: &BubbleState,
    author: Option<Party>,
    taken: KeptSnapshot,
) -> Result<Snapshot, EngineError> {
    let workspace = bubble.workspace(state)?;
    let git = workspace.git();
    let base_tree = match &state.evidence.workspace {
        Some(record) => record.base_tree.clone(),
        None => taken.tree.clone(),
    };
    let changed = changes(&git, &base_tree, &taken.tree)?;
    let since_last = match state.tree() {
        Some(last) if *last != base_tree => changes(&git, last, &taken.tree)?,
        _ => changed.clone(),
    };
    let scope = &state.rules.scope;
    // An implementation must not change the document that it follows.
    let pinned = |path: &String| state.rules.prd.iter().flat_map(|prd| &prd.documents).any(|(one, _)| one == path);
    let outside = changed.iter().map(|change| &change.path).filter(|path| !scope.admits(path) || pinned(path));
    let out_of_scope = outside.cloned().collect();
    let mut ignore_changes = ignore_changes(&workspace, &changed);
    ignore_changes.truncate(IGNORE_FILES);
    let weakened = weakened_tests(&git, (&base_tree, &taken.tree), &changed)?;
    fitting(
        bubble,
        Snapshot {
            tree: taken.tree,
            commit: taken.commit,
            r#ref: taken.r#ref,
            author,
            changed,
            since_last,
            out_of_scope,
            agent_head: agent_head(&workspace, state),
            ignore_changes,
            weakened,
            whole: None,
        },
    )
}

/// Cuts lists that are too long for the log. The whole lists become files named by their hash.
fn fitting(bubble: &Bubble, mut snapshot: Snapshot) -> Result<Snapshot, EngineError> {
    let kept = (fit(&snapshot.changed), fit(&snapshot.since_last), fit(&snapshot.out_of_scope));
    let (changed, since_last, outside) = (&mut snapshot.changed, &mut snapshot.since_last, &mut snapshot.out_of_scope);
    if kept == (changed.len(), since_last.len(), outside.len()) {
        return Ok(snapshot);
    }
    let whole = Whole {
        changed: counted(bubble, changed)?,
        since_last: counted(bubble, since_last)?,
        out_of_scope: outside.len() as u64,
    };
    changed.truncate(kept.0);
    since_last.truncate(kept.1);
    outside.truncate(kept.2);
    snapshot.whole = Some(Box::new(whole));
    Ok(snapshot)
}

/// Returns how many entries from the beginning fit into the log.
fn fit<T: serde::Serialize>(list: &[T]) -> usize {
    let (most, mut room) = LISTED;
    let fits = |one: &&T| {
        let bytes = serde_json::to_vec(one).map_or(usize::MAX, |json| json.len() + 1);
        let left = room.checked_sub(bytes);
        room = left.unwrap_or(0);
        left.is_some()
    };
    list.iter().take(most).take_while(fits).count()
}

/// Stores a list of files, a line each: status, lines added, lines removed, path.
fn counted(bubble: &Bubble, list: &[FileChange]) -> Result<Counted, EngineError> {
    let lines = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let mut text = String::new();
    for FileChange { path, status, added, removed } in list {
        let path = if path.contains(char::is_control) { path.escape_default().to_string() } else { path.clone() };
        text.push_str(&format!("{status}\t{}\t{}\t{path}\n", lines(*added), lines(*removed)));
    }
    let name = bubble.artifacts().put_hashed("files", "txt", text.as_bytes())?;
    let sum = |of: fn(&FileChange) -> Option<u64>| list.iter().filter_map(of).fold(0, u64::saturating_add);
    let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
    Ok(Counted { files: list.len() as u64, added, removed, list: format!("artifact://{name}") })
}

/// Returns the branch tip if agents committed on it. Such commits are recorded, but are not the product.
fn agent_head(workspace: &Worktree, state: &BubbleState) -> Option<CommitId> {
    let GitHead::Branch(branch) = head(&workspace.git_dir) else { return None };
    let tip = workspace.git().run(GitCall::new(["rev-parse", "--verify", "--quiet", &branch])).ok()?.commit().ok()?;
    let base = state.evidence.workspace.as_ref().map(|record| &record.base);
    (Some(&tip) != base).then_some(tip)
}

/// Writes `artifacts/round-<nnn>.diff`: what this round changed, by any author.
pub(super) fn write_diff(
    bubble: &Bubble,
    state: &BubbleState,
    workspace: &Worktree,
    snapshot: &Snapshot,
) -> Result<(), EngineError> {
    let round = state.recorded_round();
    let name = format!("round-{round:03}.diff");
    if snapshot.since_last.is_empty() && bubble.dir().join("artifacts").join(&name).exists() {
        return Ok(());
    }
    let base = state.evidence.workspace.as_ref().map(|record| record.base_tree.clone());
    let Some(before) = trees_around(bubble, round)?.0.or(base) else { return Ok(()) };
    let diff = diff_text(&workspace.git(), &before, &snapshot.tree, DIFF_LIMIT)?;
    Ok(bubble.log().project_artifact(&name, &diff)?)
}

/// Returns the newest recorded trees of the rounds before `round`, and of that round.
pub(crate) fn trees_around(bubble: &Bubble, round: u32) -> Result<(Option<TreeId>, Option<TreeId>), EngineError> {
    let mut state = BubbleState::new(bubble.id.clone());
    let (mut before, mut after) = (None, None);
    for envelope in bubble.log().envelopes()? {
        if let Body::Evidence(Evidence::Snapshot { snapshot }) = &envelope.event.body {
            match state.recorded_round().cmp(&round) {
                Ordering::Less => before = Some(snapshot.tree.clone()),
                Ordering::Equal => after = Some(snapshot.tree.clone()),
                Ordering::Greater => {}
            }
        }
        state = evolve(state, &envelope);
    }
    Ok((before, after))
}
