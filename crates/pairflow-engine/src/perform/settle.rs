//! Pays what is owed, one debt after the other, until nothing is left but running agents.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::bubble::{BubbleState, Command, Effect, Refusal, owed};
use pairflow_core::time::BackOff;

use super::checkout::{CheckDir, Context};
use super::checks::{run_one, run_reproducer};
use super::git_effects::{commit_approved, prepare_workspace, update_from_base};
use super::turn::{open_turn, take_snapshot};
use crate::engine::{Bubble, EngineError, sentence};
use crate::git::GitError;
use crate::process::{Cancel, reap};
use crate::store::StoreError;
use crate::store::storage::{Guard, LockMode};
use crate::workspace::remove_checkout;

/// How often an effect is tried before a person is asked.
const TRIES: u32 = 3;
/// How long to wait before an effect is tried again.
const PAUSES: BackOff = BackOff::new(Duration::from_millis(50), Duration::from_secs(1));

/// How far the debts are paid.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The state afterwards.
    pub state: BubbleState,
    /// What is still owed: agents to be kept running, or nothing.
    pub left: Vec<Effect>,
}

/// Pays what is owed until only agents are left to run, or until cancelled.
pub fn settle(bubble: &Bubble, cancel: &Cancel) -> Result<Settled, EngineError> {
    let mut pauses = PAUSES;
    let mut checkout = None;
    let mut paid = None;
    loop {
        let state = bubble.durable()?.state;
        if paid.take().is_some_and(|before| before == state) {
            // What is refused although it is owed would be done for ever.
            let why = "what was done for it is refused, although it is owed".to_owned();
            report(bubble, &EngineError::Effect(why))?;
            return Ok(Settled { left: owed(&state), state });
        }
        let debts = owed(&state);
        let payable = debts.iter().find(|effect| !effect.lasts());
        let Some(effect) = payable.filter(|_| !cancel.is_cancelled()) else {
            if state.phase.is_final() {
                // What stays behind goes with the bubble itself.
                let _ = remove_checkout(bubble.control.repo(), &bubble.id);
            }
            return Ok(Settled { state, left: debts });
        };
        // It is there for the commands that follow one another, and for nothing else.
        checkout = checkout.filter(|_| matches!(effect, Effect::RunCheck { .. } | Effect::RunReproducer { .. }));
        match pay(bubble, &state, effect, &mut checkout, cancel) {
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
                        // A person is asked already; the next command of theirs brings the next attempt.
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
    checkout: &mut Option<CheckDir>,
    cancel: &Cancel,
) -> Result<bool, EngineError> {
    let context = Context { bubble, state, cancel, locked: true };
    let command = match effect {
        Effect::PrepareWorkspace => prepare_workspace(bubble, state, cancel),
        Effect::TakeSnapshot { author, number } => Some(take_snapshot(bubble, state, author.clone(), *number)?),
        Effect::RunCheck { check, place } => run_one(context, (check, *place), checkout)?,
        Effect::RunReproducer { finding, command } => run_reproducer(context, (*finding, command), checkout)?,
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

/// Whether the log itself cannot be read or written, so that no question can be recorded either.
fn is_of_the_log(error: &EngineError) -> bool {
    // A report that does not fit is no fault of the disk: a person is told, and the bubble goes on waiting.
    matches!(error, EngineError::Store(store) if !matches!(store, StoreError::TooLarge { .. }))
}

/// An effect that fails again and again becomes a question, or the end if nothing can be done.
///
/// Returns whether that was news.
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

/// How long a command waits for another process to let go of a bubble.
const PATIENCE: Duration = Duration::from_secs(10);

/// A bubble in the care of this process; dropping it gives the bubble out of care.
#[derive(Debug)]
pub(crate) struct BubbleLock(#[expect(dead_code, reason = "held for its drop alone")] Guard);

impl BubbleLock {
    /// Takes the bubble into care; nothing if someone else has it for all of `patience`.
    pub(crate) fn take(bubble: &Bubble, patience: Duration) -> Result<Option<Self>, EngineError> {
        let disk = &bubble.engine.disk;
        disk.create_dir(&bubble.control.locks()).map_err(StoreError::from)?;
        let guard = disk.lock(&path(bubble), LockMode::Exclusive, patience).map_err(StoreError::from)?;
        Ok(guard.map(Self))
    }

    /// Takes the bubble into care for processes of this command's own, after the end of those that nobody attends.
    pub(crate) fn alone(bubble: &Bubble) -> Result<Self, EngineError> {
        let id = &bubble.id;
        let care = Self::take(bubble, PATIENCE)?.ok_or_else(|| {
            EngineError::Effect(format!(
                "another process works for bubble {id}; look at it with 'pairflow status {id}'"
            ))
        })?;
        reap(&bubble.registry()).map_err(|error| EngineError::Effect(error.to_string()))?;
        Ok(care)
    }

    /// Waits until the process that has the bubble lets go of it, and takes it into care. Sleeps in the kernel meanwhile.
    pub(crate) fn wait(bubble: &Bubble) -> Result<Self, EngineError> {
        let path = path(bubble);
        let failed = |error| EngineError::world(format!("cannot lock {}", path.display()), error);
        loop {
            let file = crate::regular::open_to_lock(&path).map_err(failed)?;
            file.lock().map_err(failed)?;
            // A file that lost its name meanwhile does not count: others would lock the new one.
            if is_named(&file, &path).map_err(failed)? {
                return Ok(Self(Guard::new(file)));
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
