//! Carries out what a bubble owes, one effect after the other, and the lock under which that happens. The effects at the
//! ends of a turn are here: the snapshot of its tree on a private ref, and the opening of the next turn.
//!
//! Two supervisors of one user can run, as when two shells name different runtime directories. Only the process that holds
//! a bubble's lock starts its agents and checks; the kernel releases the lock with its holder.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::bubble::{BubbleState, Command, Effect, HeadSeen, Refusal, WorktreeSeen, found_author, owed};
use pairflow_core::ids::Party;
use pairflow_core::time::BackOff;
use pairflow_core::view::messages::{message_file, message_name};

use super::checkout::{Context, KeptCheckouts};
use super::checks::run_one;
use super::git_effects::{commit_approved, prepare_workspace, snapshot_record, update_from_base, write_diff};
use super::proofs::{run_reproducer, test_fix};
use crate::engine::{Bubble, EngineError, sentence};
use crate::git::{GitError, GitHead, changes, head, observe, take};
use crate::process::{Cancel, reap};
use crate::store::StoreError;
use crate::store::storage::{Guard, LockMode};
use crate::workspace::{make_scratch, remove_checkout, remove_scratch};

/// How often an effect is tried before a person is asked.
const TRIES: u32 = 3;
/// How long to wait before an effect is tried again.
const PAUSES: BackOff = BackOff::new(Duration::from_millis(50), Duration::from_secs(1));

/// The result of [`settle`].
#[derive(Debug, Clone)]
pub struct Settled {
    /// The state afterwards.
    pub state: BubbleState,
    /// What is still owed: agents to keep running, or nothing.
    pub left: Vec<Effect>,
}

/// Carries out what is owed until only agents are left to run, or until cancelled.
pub fn settle(bubble: &Bubble, cancel: &Cancel) -> Result<Settled, EngineError> {
    let mut pauses = PAUSES;
    let mut kept = KeptCheckouts::default();
    let mut paid = None;
    loop {
        let state = bubble.durable()?.state;
        if paid.take().is_some_and(|before| before == state) {
            // An effect that is owed but whose result is refused would be repeated for ever.
            let why = "the result of an owed effect was refused".to_owned();
            report(bubble, &EngineError::Effect(why))?;
            return Ok(Settled { left: owed(&state), state });
        }
        let debts = owed(&state);
        let payable = debts.iter().find(|effect| !effect.lasts());
        let Some(effect) = payable.filter(|_| !cancel.is_cancelled()) else {
            if state.phase.is_final() {
                // What remains is removed with the bubble.
                let _ = remove_checkout(bubble.control.repo(), &bubble.id);
                let _ = remove_scratch(bubble.control.repo(), &bubble.id);
            }
            return Ok(Settled { state, left: debts });
        };
        // Checkouts are kept between consecutive commands only.
        if !matches!(effect, Effect::RunCheck { .. } | Effect::RunReproducer { .. } | Effect::TestFix(_)) {
            kept = KeptCheckouts::default();
        }
        match pay(bubble, &state, effect, &mut kept, cancel) {
            Ok(true) => {
                pauses.reset();
                paid = Some(state);
            }
            Ok(false) => return Ok(Settled { left: owed(&state), state }),
            Err(error) if is_of_the_log(&error) => return Err(error),
            Err(error) => {
                let pause = pauses.pause();
                if pauses.attempts() >= TRIES {
                    if !report(bubble, &error)? {
                        // A question is open already; the person's answer brings the next attempt.
                        return Ok(Settled { left: owed(&state), state });
                    }
                    pauses.reset();
                } else {
                    std::thread::sleep(pause);
                }
            }
        }
    }
}

/// Performs one effect and records its result. Returns whether there was one; a cancelled effect has none.
fn pay(
    bubble: &Bubble,
    state: &BubbleState,
    effect: &Effect,
    kept: &mut KeptCheckouts,
    cancel: &Cancel,
) -> Result<bool, EngineError> {
    let context = Context { bubble, state, cancel, locked: true };
    let command = match effect {
        Effect::PrepareWorkspace => prepare_workspace(bubble, state, cancel),
        Effect::TakeSnapshot { author, number } => Some(take_snapshot(bubble, state, author.clone(), *number)?),
        Effect::RunCheck { check, place } => run_one(context, (check, *place), &mut kept.newest)?,
        Effect::RunReproducer { finding, command } => run_reproducer(context, (*finding, command), &mut kept.newest)?,
        Effect::TestFix(fix) => test_fix(context, fix, kept)?,
        Effect::OpenTurn { turn } => Some(open_turn(bubble, state, *turn)?),
        Effect::Update => Some(update_from_base(bubble, state)),
        Effect::Commit(order) => commit_approved(bubble, state, order)?,
        Effect::RecordDone => Some(Command::RecordDone),
        Effect::RunAgent { .. } | Effect::Deliver { .. } => None,
    };
    let Some(command) = command else { return Ok(false) };
    match bubble.apply(&command) {
        Ok(_) => Ok(true),
        // It was reported already, or a person has decided otherwise in the meantime: look again.
        Err(EngineError::Refused { refusal, .. }) if is_late(&refusal) => Ok(true),
        Err(error) => Err(error),
    }
}

fn is_late(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::NotOwed | Refusal::WrongState { .. } => true,
        Refusal::LostRace(inner) => is_late(inner),
        _ => false,
    }
}

/// Whether the log itself failed, so that no question can be recorded either.
fn is_of_the_log(error: &EngineError) -> bool {
    // A report that is too large is no failure of the disk: a person is asked.
    matches!(error, EngineError::Store(store) if !matches!(store, StoreError::TooLarge { .. }))
}

/// Asks a person about an effect that keeps failing, or ends the bubble if its repository is gone.
///
/// Returns whether anything new was recorded.
fn report(bubble: &Bubble, error: &EngineError) -> Result<bool, EngineError> {
    let gone = matches!(error, EngineError::Git(GitError::NotARepository { .. } | GitError::NoMainCheckout { .. }));
    let reason = sentence(error);
    let command = if gone {
        Command::GiveUp { reason }
    } else {
        let reason = format!("{reason}. Fix it, then go on with 'pairflow resume {}'.", bubble.id);
        Command::Trouble { reason }
    };
    match bubble.apply(&command) {
        Ok(applied) => Ok(applied.id.is_some()),
        Err(EngineError::Refused { refusal, .. }) if is_late(&refusal) => Ok(false),
        Err(error) => Err(error),
    }
}

/// How long a command waits for another process to release a bubble.
const PATIENCE: Duration = Duration::from_secs(10);

/// The lock of a bubble, held by this process until it is dropped.
#[derive(Debug)]
pub(crate) struct BubbleLock(#[expect(dead_code, reason = "held for its drop alone")] Guard);

impl BubbleLock {
    /// Locks the bubble; `None` if another process holds the lock for all of `patience`.
    pub(crate) fn take(bubble: &Bubble, patience: Duration) -> Result<Option<Self>, EngineError> {
        let disk = &bubble.engine.disk;
        disk.create_dir(&bubble.control.locks()).map_err(StoreError::from)?;
        let guard = disk.lock(&path(bubble), LockMode::Exclusive, patience).map_err(StoreError::from)?;
        Ok(guard.map(Self))
    }

    /// Locks the bubble for processes of this command, and ends those that have no supervisor.
    pub(crate) fn alone(bubble: &Bubble) -> Result<Self, EngineError> {
        let id = &bubble.id;
        let care = Self::take(bubble, PATIENCE)?.ok_or_else(|| {
            EngineError::Effect(format!("another process works for bubble {id}; see 'pairflow status {id}'"))
        })?;
        reap(&bubble.registry()).map_err(|error| EngineError::Effect(error.to_string()))?;
        Ok(care)
    }

    /// Waits until the bubble is released, and locks it. Sleeps in the kernel meanwhile.
    pub(crate) fn wait(bubble: &Bubble) -> Result<Self, EngineError> {
        let path = path(bubble);
        let failed = |error| EngineError::io(format!("cannot lock {}", path.display()), error);
        loop {
            let file = crate::regular::open_to_lock(&path).map_err(failed)?;
            file.lock().map_err(failed)?;
            // A file that was replaced meanwhile does not count: others would lock the new one.
            if is_named(&file, &path).map_err(failed)? {
                return Ok(Self(Box::new(file)));
            }
        }
    }
}

fn path(bubble: &Bubble) -> PathBuf {
    bubble.control.locks().join(format!("{}.care", bubble.id))
}

fn is_named(file: &std::fs::File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(changed_paths) => Ok((own.dev(), own.ino()) == (changed_paths.dev(), changed_paths.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

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
    if state.phase.turn().is_some_and(|turn| turn.acceptance) {
        make_scratch(bubble.control.repo(), &bubble.id)?;
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
