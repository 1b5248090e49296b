//! Pays what is owed, one debt after the other, until nothing is left but running agents.

use std::time::Duration;

use pairflow_core::bubble::{BubbleState, Command, Effect, Refusal, owed};
use pairflow_core::time::BackOff;

use super::bench::{Bench, Site};
use super::check::Wanted;
use super::reproduce::{self, Reproducer};
use super::{check, commit, open, prepare, snapshot, update};
use crate::engine::{Bubble, EngineError, sentence};
use crate::process::Cancel;
use crate::store::StoreError;
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
    let mut bench = None;
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
        bench = bench.filter(|_| matches!(effect, Effect::RunCheck { .. } | Effect::RunReproducer { .. }));
        match pay(bubble, &state, effect, &mut bench, cancel) {
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

/// Performs one effect and returns the command that reports it; nothing if it was cancelled.
fn perform(
    bubble: &Bubble,
    state: &BubbleState,
    effect: &Effect,
    bench: &mut Option<Bench>,
    cancel: &Cancel,
) -> Result<Option<Command>, EngineError> {
    let site = Site { bubble, state, cancel, attended: true };
    match effect {
        Effect::PrepareWorkspace => Ok(prepare::perform(bubble, state, cancel)),
        Effect::TakeSnapshot { author, number } => snapshot::perform(bubble, state, author.clone(), *number).map(Some),
        Effect::RunCheck { check, place } => check::perform(site, &Wanted { check, place: *place }, bench),
        Effect::RunReproducer { finding, command } => {
            reproduce::perform(site, &Reproducer { finding: *finding, command }, bench)
        }
        Effect::OpenTurn { turn } => open::perform(bubble, state, *turn).map(Some),
        Effect::Update => Ok(Some(update::perform(bubble, state))),
        Effect::Commit(order) => commit::perform(bubble, state, order),
        Effect::RecordDone => Ok(Some(Command::RecordDone)),
        Effect::RunAgent { .. } | Effect::Deliver { .. } => Ok(None),
    }
}

/// Pays one debt. Returns whether there was anything to report.
fn pay(
    bubble: &Bubble,
    state: &BubbleState,
    effect: &Effect,
    bench: &mut Option<Bench>,
    cancel: &Cancel,
) -> Result<bool, EngineError> {
    let Some(command) = perform(bubble, state, effect, bench, cancel)? else { return Ok(false) };
    match bubble.apply(&command) {
        Ok(_) => Ok(true),
        // Someone else reported it first, or a person has decided otherwise in the meantime: look again.
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
    let gone = matches!(error, EngineError::Git(git) if matches!(git, crate::git::GitError::NotARepository { .. } | crate::git::GitError::NoMainCheckout { .. }));
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
