//! Which bubbles are in the supervisor's care, from the day they are found to the end of the last process for them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pairflow_core::ids::BubbleId;

use super::entry::Entry;
use super::state::{Message, Supervisor};
use super::work::is_for_good;
use crate::engine::{Bubble, EngineError};
use crate::perform::Care;
use crate::stage::Stage;
use crate::store::StoreError;

impl Supervisor {
    /// Takes every unfinished bubble of every known repository into care, and every one for which anything still runs.
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
                    // The process that recorded its end may not have lived to end its agents.
                    Ok(state) => !state.phase.is_final() || entry.bubble.has_left(),
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
        (self.setup.say)(&format!("{what}: {error}; it is tried again"));
        if self.search.is_none() {
            self.search = Some(Instant::now() + self.searches.pause());
        }
    }

    /// Takes a bubble into care, or looks at it again.
    pub(super) fn take_on(&mut self, repo: &Path, id: &BubbleId) {
        // A bubble that is not on record as this user's is never looked at.
        if matches!(self.setup.engine.registry().find(repo, id), Ok(None)) {
            return (self.setup.say)(&format!("{id}: it is foreign, so nothing is done for it; pairflow adopt {id}"));
        }
        let bubble = match self.setup.engine.bubble(repo, id) {
            Ok(bubble) => bubble,
            Err(error @ EngineError::Store(StoreError::Foreign { .. })) => return (self.setup.say)(&error.to_string()),
            Err(error) if is_for_good(&error) => return,
            // It cannot be seen just now; the first look at it tries again.
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
        match Care::take(&bubble, Duration::ZERO) {
            Ok(Some(care)) => self.take_in(bubble, care),
            Ok(None) => self.wait_for(bubble),
            Err(error) => self.search_later(id.as_str(), &error),
        }
    }

    fn take_in(&mut self, bubble: Bubble, care: Care) {
        let entry = Entry::new(bubble, care);
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

    /// Leaves a bubble to the process that has it in care, and waits for the end of that one.
    fn wait_for(&mut self, bubble: Bubble) {
        let (id, key) = (bubble.id.clone(), bubble.dir());
        (self.setup.say)(&format!("{id}: another process looks after it; this one takes over when that one ends"));
        let (bubble, out) = (Arc::new(bubble), self.out.clone());
        let wait = move || {
            let care = Care::wait(&bubble);
            let place = (bubble.control.repo().to_owned(), bubble.id.clone());
            // The loop may have ended; then the lock goes with the message.
            let _ = out.send(Message::Freed(place, Box::new(care)));
        };
        match std::thread::Builder::new().name("care".to_owned()).spawn(wait) {
            Ok(_) => drop(self.elsewhere.insert(key)),
            Err(error) => self.search_later(id.as_str(), &EngineError::io("cannot wait for a lock", error)),
        }
    }

    /// The process that had the bubble in care is gone.
    pub(super) fn freed(&mut self, repo: &Path, id: &BubbleId, care: Result<Care, EngineError>) {
        let bubble = self.setup.engine.handle(repo, id);
        self.elsewhere.remove(&bubble.dir());
        if !bubble.dir().exists() {
            return;
        }
        match care {
            Ok(care) => {
                (self.setup.say)(&format!("{id}: taken over"));
                self.take_in(bubble, care);
            }
            Err(error) => self.search_later(id.as_str(), &error),
        }
    }

    /// A file of a bubble was touched.
    pub(super) fn touched(&mut self, path: &Path) {
        let key = path.parent().unwrap_or(path).to_owned();
        if let Some(entry) = self.entries.get(&key) {
            // After a failure the clock says when to look again: the touch may be our own failed write.
            if entry.retry.is_none() {
                self.look(&key);
            }
        } else if self.entries.contains_key(path) && !path.exists() {
            self.release(path);
        }
    }

    /// Gives a bubble out of care as soon as all that runs for it has ended, and ends that.
    pub(super) fn release(&mut self, key: &Path) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.leaving = true;
        (entry.deadline, entry.retry) = (None, None);
        entry.end_agent();
        self.closing.extend(entry.stage.take().map(Stage::leave));
        if let Some(cancel) = &entry.working {
            cancel.cancel();
        }
        self.watch.forget(key);
        self.leave(key);
    }

    /// Lets go of a bubble that is on its way out, if nothing runs for it any more.
    pub(super) fn leave(&mut self, key: &Path) {
        if self.entries.get(key).is_some_and(|entry| entry.leaving && entry.is_idle()) {
            self.entries.remove(key);
        }
    }
}
