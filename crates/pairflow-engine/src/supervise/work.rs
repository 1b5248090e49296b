//! The work for one bubble at a time: a few threads pay debts, the others wait for their turn.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pairflow_core::bubble::{Command, next_deadline};

use super::activity::at_work;
use super::state::{Message, Supervisor};
use crate::engine::{Bubble, Engine, EngineError};
use crate::perform::{Settled, settle};
use crate::process::{Cancel, reap};
use crate::stage::Activity;
use crate::store::StoreError;

/// What one worker has to do.
struct Work {
    bubble: Arc<Bubble>,
    cancel: Cancel,
    fresh: bool,
    tick: bool,
    activity: Activity,
    say: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Work {
    fn done(&self) -> Result<Settled, EngineError> {
        self.bubble.insist_own()?;
        if self.fresh
            && let Err(error) = reap(&self.bubble.registry())
        {
            // Groups that an earlier supervisor left behind have no owner now; a process that survives this stays on record.
            (self.say)(&format!("{}: {error}", self.bubble.id));
        }
        if self.tick {
            let state = self.bubble.load()?.state;
            self.bubble.apply(&Command::Tick { active: at_work(&self.bubble, &state, &self.activity) })?;
        }
        settle(&self.bubble, &self.cancel)
    }
}

impl Supervisor {
    /// Looks whether a bubble owes anything, now or as soon as a worker is free.
    pub(super) fn look(&mut self, key: &Path) {
        let Some(entry) = self.entries.get_mut(key).filter(|entry| !entry.leaving) else { return };
        entry.retry = None;
        if let Some(cancel) = entry.working.clone() {
            entry.again = true;
            let Ok(loaded) = entry.bubble.load() else { return };
            // A check can take long; a question that is asked meanwhile is told at once.
            entry.tell(&loaded.state, &self.setup.say);
            // A check of a bubble that has been stopped is of no use to anyone.
            if loaded.state.phase.is_final() {
                cancel.cancel();
            }
            return;
        }
        if self.workers >= self.most_workers {
            if !self.waiting.iter().any(|waits| waits == key) {
                self.waiting.push_back(key.to_owned());
            }
            return;
        }
        if let Err(error) = self.work(key) {
            self.set_back(key, &EngineError::io("cannot begin to work", error));
        }
    }

    fn work(&mut self, key: &Path) -> std::io::Result<()> {
        let Some(entry) = self.entries.get_mut(key) else { return Ok(()) };
        let cancel = Cancel::new()?;
        let (bubble, say) = (entry.bubble.clone(), self.setup.say.clone());
        let work = Work {
            bubble,
            cancel: cancel.clone(),
            fresh: entry.fresh,
            tick: entry.tick,
            activity: entry.activity.clone(),
            say,
        };
        let (out, key) = (self.out.clone(), key.to_owned());
        std::thread::Builder::new().name("worker".to_owned()).spawn(move || {
            let settled = work.done();
            // The loop may have ended; a restart looks again.
            let _ = out.send(Message::Worked(key, Box::new(settled)));
        })?;
        (entry.fresh, entry.tick, entry.again) = (false, false, false);
        entry.working = Some(cancel);
        self.workers += 1;
        Ok(())
    }

    /// The work for a bubble has come to an end.
    pub(super) fn worked(&mut self, key: &Path, settled: Result<Settled, EngineError>) {
        self.workers = self.workers.saturating_sub(1);
        if let Some(entry) = self.entries.get_mut(key) {
            entry.working = None;
            if entry.leaving { self.leave(key) } else { self.judge(key, settled) }
        }
        self.next_waiting();
    }

    fn judge(&mut self, key: &Path, settled: Result<Settled, EngineError>) {
        match settled {
            Ok(settled) => {
                let activity = self.entries.get(key).map(|entry| entry.activity.clone()).unwrap_or_default();
                let deadline = deadline_of(&self.setup.engine, &settled, &activity);
                let kept = self.keep_agent(key, &settled).and_then(|()| self.keep_stage(key, &settled.state));
                let Some(entry) = self.entries.get_mut(key) else { return };
                entry.deadline = deadline;
                entry.tell(&settled.state, &self.setup.say);
                match kept {
                    _ if settled.state.phase.is_final() => self.release(key),
                    Err(error) => self.set_back(key, &error),
                    Ok(()) => {
                        entry.recovered();
                        if entry.again {
                            self.look(key);
                        }
                    }
                }
            }
            Err(error) if is_for_good(&error) => {
                // Nothing can be done here until a person has repaired it, and the repair wakes us.
                (self.setup.say)(&format!("{}: {error}", key.display()));
                self.release(key);
            }
            // Its own failed write may have touched the log, so only time or a caller brings the next attempt.
            Err(error) => self.set_back(key, &error),
        }
    }

    /// Tries again later what failed now.
    pub(super) fn set_back(&mut self, key: &Path, error: &EngineError) {
        let Some(entry) = self.entries.get_mut(key).filter(|entry| !entry.leaving) else { return };
        let failure = error.to_string();
        if entry.set_back(failure.clone()) {
            (self.setup.say)(&format!("{}: {failure}; it is tried again", key.display()));
        }
    }

    fn next_waiting(&mut self) {
        while self.workers < self.most_workers {
            let Some(key) = self.waiting.pop_front() else { return };
            self.look(&key);
        }
    }
}

/// Whether trying again is of no use: the log is damaged, gone, somebody else's, or of another version.
pub(super) fn is_for_good(error: &EngineError) -> bool {
    match error {
        EngineError::Store(store) => {
            matches!(
                store,
                StoreError::Damaged { .. }
                    | StoreError::Missing { .. }
                    | StoreError::Gone { .. }
                    | StoreError::Foreign { .. }
                    | StoreError::OtherFormat { .. }
            )
        }
        EngineError::NoBubble { .. } => true,
        _ => false,
    }
}

/// When the agent whose turn it is will have been silent for too long, or the turn will have taken too long.
fn deadline_of(engine: &Engine, settled: &Settled, activity: &Activity) -> Option<Instant> {
    let active = settled.state.phase.turn().and_then(|turn| activity.of(&turn.agent));
    let (heard, limit) = next_deadline(&settled.state, active)?;
    let gone = engine.clock.now().since(heard);
    Some(Instant::now() + Duration::from_millis(limit.saturating_sub(gone)))
}
