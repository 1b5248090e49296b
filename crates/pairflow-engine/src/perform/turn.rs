//! The ends of a turn: the snapshot of its tree on a private ref, and the opening of the next one with its files.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use pairflow_core::bubble::{BubbleState, Command, HeadSeen, WorktreeSeen, evolve, found_author};
use pairflow_core::facts::{Counted, FileChange, Snapshot, Whole};
use pairflow_core::ids::{CommitId, Party, TreeId};
use pairflow_core::log::{Body, Evidence};
use pairflow_core::view::messages::{message_file, message_name};

use super::own_checks::weakened_tests;
use crate::engine::{Bubble, EngineError};
use crate::git::{
    GitCall, GitError, GitHead, KeptSnapshot, Worktree, changes, diff_text, head, ignore_changes, observe, take,
};
use crate::store::StoreError;

/// The longest diff that is kept as a file, in bytes.
const DIFF_LIMIT: usize = 8 * 1024 * 1024;
/// How many files a snapshot names in the log, and how many bytes they may take there; the rest is in a file.
const LISTED: (usize, usize) = (1000, 200 * 1024);
/// How many changed ignore files a snapshot names.
const IGNORE_FILES: usize = 100;

/// Records the current tree as the work of `author`, if known.
pub(super) fn take_snapshot(
    bubble: &Bubble,
    state: &BubbleState,
    author: Option<Party>,
    number: u64,
) -> Result<Command, EngineError> {
    let workspace = bubble.workspace(state)?;
    let snapshot = snapshot_record(bubble, state, author, take(&workspace, number)?)?;
    write_diff(bubble, state, &workspace, &snapshot)?;
    Ok(Command::SnapshotTaken { snapshot })
}

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

/// Writes `artifacts/round-<nnn>.diff`: what this round changed, whoever changed it.
fn write_diff(
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

/// Compares the worktree with the newest snapshot.
pub fn seen(bubble: &Bubble, state: &BubbleState) -> Result<WorktreeSeen, EngineError> {
    let workspace = bubble.workspace(state)?;
    let tree = observe(&workspace)?;
    let differing = match state.tree() {
        Some(expected) if *expected != tree => {
            changes(&workspace.git(), expected, &tree)?.into_iter().map(|change| change.path).collect()
        }
        _ => Vec::new(),
    };
    Ok(WorktreeSeen { tree, differing })
}

/// Returns which branch the worktree is on; fails if something else is in its place.
pub fn head_seen(bubble: &Bubble, state: &BubbleState) -> Result<HeadSeen, EngineError> {
    if state.evidence.workspace.is_none() {
        return Ok(HeadSeen::Missing);
    }
    let workspace = bubble.workspace(state)?;
    let found = match head(&workspace.git_dir) {
        GitHead::Branch(name) => HeadSeen::Branch(name),
        GitHead::Detached(_) => HeadSeen::Detached,
        GitHead::Missing => return Ok(HeadSeen::Missing),
    };
    match workspace.connected() {
        Err(GitError::WorktreeGone { .. }) => Ok(HeadSeen::Missing),
        other => Ok(other.map(|()| found)?),
    }
}

/// Opens the turn, or takes a snapshot if files have changed since the newest one.
pub(super) fn open_turn(bubble: &Bubble, state: &BubbleState, turn: u32) -> Result<Command, EngineError> {
    let seen = seen(bubble, state)?;
    if state.tree() != Some(&seen.tree) {
        return take_snapshot(bubble, state, found_author(state, &seen.tree), state.evidence.snapshots + 1);
    }
    let slices = write_projections(bubble, state)?;
    Ok(Command::TurnReady { turn, slices })
}

/// Writes the missing message files, the brief of the agent that has the turn, and the briefings of the others. Each can be
/// deleted and is written again.
///
/// Returns how many slices of the change the holder of the turn has to confirm.
pub fn write_projections(bubble: &Bubble, state: &BubbleState) -> Result<u32, EngineError> {
    let dir = bubble.dir().join("artifacts/messages");
    let there: BTreeSet<String> = bubble.engine.disk.list_dir(&dir).map_err(StoreError::from)?.into_iter().collect();
    let mut written = Ok(());
    bubble.log().visit(&mut |envelope| {
        let missing = message_name(&envelope).is_some_and(|name| !there.contains(&name)) && written.is_ok();
        if let Some(file) = missing.then(|| message_file(&envelope)).flatten() {
            written = bubble.log().project_artifact(&format!("messages/{}", file.name), file.text.as_bytes());
        }
    })?;
    written?;
    bubble.write_briefings(state)?;
    bubble.write_brief(state)
}
