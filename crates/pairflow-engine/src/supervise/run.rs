//! The supervisor's loop: how bubbles are found, locked and released, and the work for them. A few worker threads carry
//! out what bubbles owe; other bubbles wait. [`once`] is a single pass over one repository without the loop.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pairflow_core::bubble::{Command, next_deadline};
use pairflow_core::ids::BubbleId;

use super::socket::listen;
use super::state::{Setup, SupervisedBubble, Supervisor, SupervisorEvent};
use super::watch::{LogWatcher, at_work, last_seen};
use crate::caller::Namespaces;
use crate::engine::{Bubble, Engine, EngineError};
use crate::local_socket::{Server, private_dir};
use crate::perform::{BubbleLock, Settled, settle};
use crate::process::{Cancel, reap};
use crate::session::{Activity, SessionHandle};
use crate::store::StoreError;
use crate::supervisor_client::{Client, SupervisorRequest, SupervisorStatus, take_lock};

/// How long it waits, when it ends, for what it has started.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Runs until told to stop, or until there has been no bubble for a while.
///
/// Fails if another supervisor of the same user is running.
pub fn run(setup: Setup) -> Result<(), EngineError> {
    let dirs = setup.engine.dirs.clone();
    let world = |what: &'static str| move |error| EngineError::io(what, error);
    private_dir(&dirs.runtime).map_err(world("cannot create the supervisor's directory"))?;
    Namespaces::insist(&dirs).map_err(|elsewhere| EngineError::BadInput(elsewhere.to_string()))?;
    setup.engine.insist_private()?;
    let answers = || Client::new(&setup.engine).ask(&SupervisorRequest::Status).is_ok();
    let lock = take_lock(&setup.engine, &answers, &*setup.say)?;
    private_dir(&dirs.state)
        .and_then(|()| Namespaces::record(&dirs))
        .map_err(world("cannot write the supervisor's namespaces"))?;
    let (out, messages) = channel();
    let (asked, touched) = (out.clone(), out.clone());
    let pass_on = move |ask, reply_to| asked.send(SupervisorEvent::Asked(ask, reply_to)).is_ok();
    let listening = listen(setup.engine.clone(), pass_on).map_err(world("cannot listen on the supervisor's socket"))?;
    let watch = LogWatcher::new(move |path| {
        // The loop may have ended; then nobody needs to know.
        let _ = touched.send(SupervisorEvent::Touched(path));
    });
    let watch = watch.map_err(|error| world("cannot watch files")(std::io::Error::other(error)))?;
    let mut supervisor = Supervisor::new(setup, out, watch);
    supervisor.forget_dead_sessions();
    supervisor.find_all();
    supervisor.attend(&messages);
    supervisor.end(listening, &messages);
    drop(lock);
    Ok(())
}

impl Supervisor {
    fn attend(&mut self, messages: &Receiver<SupervisorEvent>) {
        let mut lonely_since = Instant::now();
        loop {
            if !self.is_lonely() {
                lonely_since = Instant::now();
            }
            let lonely = self.is_lonely().then(|| lonely_since + self.setup.engine.limits.idle_supervisor);
            let due = self.entries.values().filter_map(SupervisedBubble::due).chain(self.search).chain(lonely).min();
            let message = match due {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(until) => messages.recv_timeout(until.saturating_duration_since(Instant::now())),
            };
            match message {
                Ok(SupervisorEvent::Asked(SupervisorRequest::Stop, reply_to)) => {
                    return reply_to.tell_and_see(self.reply());
                }
                Ok(message) => self.on_event(message),
                Err(RecvTimeoutError::Timeout) if lonely.is_some_and(|until| until <= Instant::now()) => return,
                Err(RecvTimeoutError::Timeout) => self.tick(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn is_lonely(&self) -> bool {
        self.entries.is_empty() && self.elsewhere.is_empty()
    }

    fn on_event(&mut self, message: SupervisorEvent) {
        match message {
            SupervisorEvent::Touched(path) => self.touched(&path),
            SupervisorEvent::Asked(ask, reply_to) => {
                if let SupervisorRequest::Wake { repo, id, env } = &ask {
                    self.take_on(repo, id);
                    self.set_environment(repo, id, env);
                }
                reply_to.tell(self.reply());
            }
            SupervisorEvent::Worked(key, settled) => self.worked(&key, *settled),
            SupervisorEvent::AgentGone(key, start, ran) => self.agent_gone(&key, start, &ran),
            SupervisorEvent::Freed((repo, id), lock) => self.freed(&repo, &id, *lock),
        }
    }

    fn reply(&self) -> String {
        let reply = SupervisorStatus {
            pid: std::process::id(),
            version: self.setup.version.clone(),
            bubbles: self.entries.len(),
            busy: self.entries.values().filter(|entry| entry.working.is_some()).count(),
            agents: self.entries.values().filter(|entry| entry.agent.is_some() || entry.session.is_some()).count(),
        };
        serde_json::to_string(&reply).expect("a reply has text keys only, so it is always writable as JSON")
    }

    /// Looks at everything that is due.
    fn tick(&mut self) {
        let now = Instant::now();
        if self.search.is_some_and(|at| at <= now) {
            self.find_all();
        }
        let due = |entry: &SupervisedBubble| entry.due().is_some_and(|at| at <= now);
        let keys: Vec<_> = self.entries.iter().filter(|(_, entry)| due(entry)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.tick |= entry.deadline.take_if(|at| *at <= now).is_some();
            }
            self.look(&key);
        }
    }

    /// Ends all work and all agents; the logs hold the rest.
    fn end(&mut self, listening: Server, messages: &Receiver<SupervisorEvent>) {
        // From here on, a command that needs a supervisor starts a new one.
        drop(listening);
        let keys: Vec<_> = self.entries.keys().cloned().collect();
        for key in &keys {
            self.release(key);
        }
        let until = Instant::now() + LAST_WAIT;
        while !self.entries.is_empty() {
            match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(message @ (SupervisorEvent::Worked(..) | SupervisorEvent::AgentGone(..))) => self.on_event(message),
                Ok(SupervisorEvent::Touched(_) | SupervisorEvent::Asked(..) | SupervisorEvent::Freed(..)) => {}
                Err(_) => break,
            }
        }
        while Instant::now() < until && self.closing.iter().any(|one| !one.is_finished()) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A bubble's name and the result for it; `None` if another process has locked it.
pub type SettleResult = (String, Result<Option<Settled>, EngineError>);

/// Settles every bubble of the repository at `repo` once. One that fails does not stop the others.
pub fn once(engine: &Engine, repo: &Path) -> Result<Vec<SettleResult>, EngineError> {
    let cancel = Cancel::new().map_err(|error| EngineError::io("cannot create a pipe", error))?;
    let mut results = Vec::new();
    for listed in engine.list(repo)? {
        let id = listed.bubble.id.to_string();
        if let Some(why) = listed.foreign {
            let foreign = StoreError::Foreign { id: listed.bubble.id.clone(), why };
            results.push((id, Err(foreign.into())));
            continue;
        }
        match listed.state {
            Ok(state) if state.phase.is_final() => {}
            Ok(_) => results.push((id, settle_locked(&listed.bubble, &cancel))),
            Err(error) => results.push((id, Err(error))),
        }
    }
    Ok(results)
}

fn settle_locked(bubble: &Bubble, cancel: &Cancel) -> Result<Option<Settled>, EngineError> {
    let Some(_lock) = BubbleLock::take(bubble, Duration::ZERO)? else { return Ok(None) };
    let active = last_seen(bubble, &bubble.load()?.state);
    bubble.apply(&Command::Tick { active })?;
    settle(bubble, cancel).map(Some)
}

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
