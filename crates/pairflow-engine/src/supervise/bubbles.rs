//! The bubbles of the supervisor: how they are found, locked and released, and the work for them. A few worker threads
//! carry out what bubbles owe; other bubbles wait.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pairflow_core::bubble::{Command, next_deadline};
use pairflow_core::ids::BubbleId;

use super::state::{SupervisedBubble, Supervisor, SupervisorEvent};
use super::watch::at_work;
use crate::engine::{Bubble, Engine, EngineError};
use crate::perform::{BubbleLock, Settled, settle};
use crate::process::{Cancel, reap};
use crate::session::{Activity, SessionHandle};
use crate::store::StoreError;

impl Supervisor {
    /// Takes on every unfinished bubble of every known repository, and every one for which anything still runs.
    pub(super) fn find_all(&mut self) {
        self.search = None;
        for repo in self.setup.engine.repositories() {
            let listed = match self.setup.engine.list(&repo) {
                Ok(listed) => listed,
                Err(error) => {
                    self.search_later(&repo.display().to_string(), &error);
                    continue;
                }
            };
            for entry in listed {
                if entry.foreign.is_some() {
                    continue;
                }
                let unfinished = match &entry.state {
                    // The process that recorded its end may have died before it ended the agents.
                    Ok(state) => !state.phase.is_final() || entry.bubble.has_process_records(),
                    Err(error) => !is_for_good(error),
                };
                if unfinished && !self.entries.contains_key(&entry.bubble.dir()) {
                    self.take_on(&repo, &entry.bubble.id);
                }
            }
        }
        if self.search.is_none() {
            self.searches.reset();
        }
    }

    fn search_later(&mut self, what: &str, error: &EngineError) {
        (self.setup.say)(&format!("{what}: {error}; pairflow tries again"));
        if self.search.is_none() {
            self.search = Some(Instant::now() + self.searches.pause());
        }
    }

    /// Takes on a bubble, or looks at it again.
    pub(super) fn take_on(&mut self, repo: &Path, id: &BubbleId) {
        // A bubble that is not registered as this user's is never looked at.
        if matches!(self.setup.engine.registry().find(repo, id), Ok(None)) {
            return (self.setup.say)(&format!(
                "{id}: foreign, so pairflow does nothing for it; next: pairflow adopt {id}"
            ));
        }
        let bubble = match self.setup.engine.bubble(repo, id) {
            Ok(bubble) => bubble,
            Err(error @ EngineError::Store(StoreError::Foreign { .. })) => return (self.setup.say)(&error.to_string()),
            Err(error) if is_for_good(&error) => return,
            // It cannot be read just now; the first look at it tries again.
            Err(_) => self.setup.engine.handle(repo, id),
        };
        let key = bubble.dir();
        if let Some(entry) = self.entries.get_mut(&key) {
            if std::mem::take(&mut entry.leaving) {
                self.watch(&key);
            }
            return self.look(&key);
        }
        if self.elsewhere.contains(&key) {
            return;
        }
        match BubbleLock::take(&bubble, Duration::ZERO) {
            Ok(Some(lock)) => self.take_in(bubble, lock),
            Ok(None) => self.wait_for(bubble),
            Err(error) => self.search_later(id.as_str(), &error),
        }
    }

    fn take_in(&mut self, bubble: Bubble, lock: BubbleLock) {
        let entry = SupervisedBubble::new(bubble, lock);
        let key = entry.key();
        self.entries.insert(key.clone(), entry);
        self.watch(&key);
        self.look(&key);
    }

    fn watch(&mut self, key: &Path) {
        if let Err(error) = self.watch.add(key) {
            (self.setup.say)(&format!("{}: cannot watch its log: {error}", key.display()));
        }
    }

    /// Leaves a bubble to the process that has locked it, and waits until it is released.
    fn wait_for(&mut self, bubble: Bubble) {
        let (id, key) = (bubble.id.clone(), bubble.dir());
        (self.setup.say)(&format!("{id}: another process looks after it; waiting until that one ends"));
        let (bubble, out) = (Arc::new(bubble), self.out.clone());
        let wait = move || {
            let lock = BubbleLock::wait(&bubble);
            let place = (bubble.control.repo().to_owned(), bubble.id.clone());
            // The loop may have ended; then the lock goes with the message.
            let _ = out.send(SupervisorEvent::Freed(place, Box::new(lock)));
        };
        match std::thread::Builder::new().name("care".to_owned()).spawn(wait) {
            Ok(_) => drop(self.elsewhere.insert(key)),
            Err(error) => self.search_later(id.as_str(), &EngineError::io("cannot wait for a lock", error)),
        }
    }

    /// Another process has released the bubble.
    pub(super) fn freed(&mut self, repo: &Path, id: &BubbleId, lock: Result<BubbleLock, EngineError>) {
        let bubble = self.setup.engine.handle(repo, id);
        self.elsewhere.remove(&bubble.dir());
        if !bubble.dir().exists() {
            return;
        }
        match lock {
            Ok(lock) => {
                (self.setup.say)(&format!("{id}: taken over"));
                self.take_in(bubble, lock);
            }
            Err(error) => self.search_later(id.as_str(), &error),
        }
    }

    /// A file of a bubble was touched.
    pub(super) fn touched(&mut self, path: &Path) {
        let key = path.parent().unwrap_or(path).to_owned();
        if let Some(entry) = self.entries.get(&key) {
            // After a failure the retry timer decides: the event may be our own failed write.
            if entry.retry.is_none() {
                self.look(&key);
            }
        } else if self.entries.contains_key(path) && !path.exists() {
            self.release(path);
        }
    }

    /// Ends all that runs for a bubble, and releases it when that is gone.
    pub(super) fn release(&mut self, key: &Path) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.leaving = true;
        (entry.deadline, entry.retry) = (None, None);
        entry.end_agent();
        self.closing.extend(entry.session.take().map(SessionHandle::leave));
        if let Some(cancel) = &entry.working {
            cancel.cancel();
        }
        self.watch.forget(key);
        self.leave(key);
    }

    /// Removes a bubble that is being released, if nothing runs for it any more.
    pub(super) fn leave(&mut self, key: &Path) {
        if self.entries.get(key).is_some_and(|entry| entry.leaving && entry.is_idle()) {
            self.entries.remove(key);
        }
    }
}

/// The job of one worker.
struct SettleJob {
    bubble: Arc<Bubble>,
    cancel: Cancel,
    fresh: bool,
    tick: bool,
    activity: Activity,
    say: Arc<dyn Fn(&str) + Send + Sync>,
}

impl SettleJob {
    fn run(&self) -> Result<Settled, EngineError> {
        self.bubble.insist_own()?;
        if self.fresh
            && let Err(error) = reap(&self.bubble.registry())
        {
            // Processes of an earlier supervisor have no owner now; one that survives this stays on record.
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
    /// Has a worker look at a bubble, now or as soon as one is free.
    pub(super) fn look(&mut self, key: &Path) {
        let Some(entry) = self.entries.get_mut(key).filter(|entry| !entry.leaving) else { return };
        entry.retry = None;
        if let Some(cancel) = entry.working.clone() {
            entry.again = true;
            let Ok(loaded) = entry.bubble.load() else { return };
            // A check can take long; a person is notified of a question meanwhile.
            entry.tell(&loaded.state, &self.setup.say);
            // The checks of a stopped bubble are useless.
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
            self.set_back(key, &EngineError::io("cannot start a worker", error));
        }
    }

    fn work(&mut self, key: &Path) -> std::io::Result<()> {
        let Some(entry) = self.entries.get_mut(key) else { return Ok(()) };
        let cancel = Cancel::new()?;
        let (bubble, say) = (entry.bubble.clone(), self.setup.say.clone());
        let work = SettleJob {
            bubble,
            cancel: cancel.clone(),
            fresh: entry.fresh,
            tick: entry.tick,
            activity: entry.activity.clone(),
            say,
        };
        let (out, key) = (self.out.clone(), key.to_owned());
        std::thread::Builder::new().name("worker".to_owned()).spawn(move || {
            let settled = work.run();
            // The loop may have ended; a restart looks again.
            let _ = out.send(SupervisorEvent::Worked(key, Box::new(settled)));
        })?;
        (entry.fresh, entry.tick, entry.again) = (false, false, false);
        entry.working = Some(cancel);
        self.workers += 1;
        Ok(())
    }

    /// A worker is done with a bubble.
    pub(super) fn worked(&mut self, key: &Path, settled: Result<Settled, EngineError>) {
        self.workers = self.workers.saturating_sub(1);
        if let Some(entry) = self.entries.get_mut(key) {
            entry.working = None;
            if entry.leaving { self.leave(key) } else { self.on_settled(key, settled) }
        }
        self.next_waiting();
    }

    fn on_settled(&mut self, key: &Path, settled: Result<Settled, EngineError>) {
        match settled {
            Ok(settled) => {
                let activity = self.entries.get(key).map(|entry| entry.activity.clone()).unwrap_or_default();
                let deadline = deadline_of(&self.setup.engine, &settled, &activity);
                let kept = self.keep_agent(key, &settled).and_then(|()| self.keep_session(key, &settled.state));
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
                // A person has to repair it first, and the repair wakes the supervisor.
                (self.setup.say)(&format!("{}: {error}", key.display()));
                self.release(key);
            }
            // Our own failed write may have touched the log, so only the timer or a caller brings the next attempt.
            Err(error) => self.set_back(key, &error),
        }
    }

    /// Schedules a retry.
    pub(super) fn set_back(&mut self, key: &Path, error: &EngineError) {
        let Some(entry) = self.entries.get_mut(key).filter(|entry| !entry.leaving) else { return };
        let failure = error.to_string();
        if entry.set_back(failure.clone()) {
            (self.setup.say)(&format!("{}: {failure}; pairflow tries again", key.display()));
        }
    }

    fn next_waiting(&mut self) {
        while self.workers < self.most_workers {
            let Some(key) = self.waiting.pop_front() else { return };
            self.look(&key);
        }
    }
}

/// Whether a retry is useless: the log is damaged, gone, foreign, or of another format.
fn is_for_good(error: &EngineError) -> bool {
    use StoreError::{Damaged, Foreign, Gone, Missing, OtherFormat};
    let store = |error: &StoreError| {
        matches!(error, Damaged { .. } | Missing { .. } | Gone { .. } | Foreign { .. } | OtherFormat { .. })
    };
    matches!(error, EngineError::NoBubble { .. }) || matches!(error, EngineError::Store(error) if store(error))
}

/// Returns when the agent that has the turn will have been silent, or will have taken, too long.
fn deadline_of(engine: &Engine, settled: &Settled, activity: &Activity) -> Option<Instant> {
    let active = settled.state.phase.turn().and_then(|turn| activity.of(&turn.agent));
    let (heard, limit) = next_deadline(&settled.state, active)?;
    let gone = engine.clock.now().since(heard);
    Some(Instant::now() + Duration::from_millis(limit.saturating_sub(gone)))
}
