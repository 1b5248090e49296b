//! The supervisor's loop: events in, work out, nothing remembered that the logs do not say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use pairflow_core::ids::BubbleId;
use pairflow_core::unit::{Command, next_deadline};

use super::client::Reply;
use super::entry::Entry;
use super::socket::{Ask, listen, lock_path, private_dir, socket_path};
use super::watch::Watch;
use crate::driver::AgentDriver;
use crate::engine::{Engine, EngineError};
use crate::perform::{Settled, settle};
use crate::process::{Cancel, Ran};

/// How long a supervisor without any bubble stays.
const LONELY: Duration = Duration::from_secs(30);

/// How long it waits at its end for what it has started.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// What a supervisor is made of.
pub struct Setup {
    /// The engine.
    pub engine: Engine,
    /// How agents are run.
    pub driver: Arc<dyn AgentDriver>,
    /// Where it tells what it does, a line at a time.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
    /// The version to report.
    pub version: String,
}

/// What reaches the loop.
pub(super) enum Message {
    /// A file of a bubble was touched.
    Touched(PathBuf),
    /// Someone asks, and waits for one line.
    Asked(Ask, Sender<String>),
    /// The work for a bubble is done.
    Worked(PathBuf, Box<Result<Settled, EngineError>>),
    /// An agent's process is gone.
    AgentGone(PathBuf, u32, Box<Ran>),
}

/// The loop's own state; all of it can be lost at any moment.
pub(super) struct Supervisor {
    pub(super) setup: Setup,
    pub(super) entries: BTreeMap<PathBuf, Entry>,
    pub(super) out: Sender<Message>,
    watch: Watch,
    waiting: Vec<PathBuf>,
    workers: usize,
    most_workers: usize,
}

/// Runs until told to stop, or until there has been nothing to look after for a while.
///
/// Fails when another supervisor of the same user is there.
pub fn run(setup: Setup) -> Result<(), EngineError> {
    let dirs = setup.engine.dirs.clone();
    let world = |what: &'static str| move |error| EngineError::world(what, error);
    private_dir(&dirs.runtime).map_err(world("cannot make the supervisor's directory"))?;
    let lock = std::fs::File::create(lock_path(&dirs)).map_err(world("cannot open the supervisor's lock"))?;
    if lock.try_lock().is_err() {
        return Err(EngineError::BadInput("a supervisor is already running".to_owned()));
    }
    let (out, messages) = channel();
    listen(&socket_path(&dirs), out.clone()).map_err(world("cannot listen on the supervisor's socket"))?;
    let watch = Watch::new(out.clone()).map_err(|error| world("cannot watch files")(std::io::Error::other(error)))?;
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let mut supervisor = Supervisor {
        setup,
        entries: BTreeMap::new(),
        out,
        watch,
        waiting: Vec::new(),
        workers: 0,
        most_workers: (cores * 2).clamp(4, 16),
    };
    supervisor.find_all();
    supervisor.attend(&messages);
    supervisor.end(&messages);
    drop(lock);
    Ok(())
}

impl Supervisor {
    /// Takes every unfinished bubble of every known repository into care.
    fn find_all(&mut self) {
        for repo in self.setup.engine.repositories() {
            let listed = match self.setup.engine.list(&repo) {
                Ok(listed) => listed,
                Err(error) => {
                    (self.setup.say)(&format!("{}: {error}", repo.display()));
                    continue;
                }
            };
            for entry in listed {
                if entry.unit.as_ref().is_ok_and(|unit| !unit.phase.is_final()) {
                    self.adopt(&repo, &entry.bubble.id);
                }
            }
        }
    }

    fn attend(&mut self, messages: &Receiver<Message>) {
        let mut lonely_since = Instant::now();
        loop {
            if !self.entries.is_empty() {
                lonely_since = Instant::now();
            }
            let deadline = self.entries.values().filter_map(|entry| entry.deadline).min();
            let lonely = self.entries.is_empty().then(|| lonely_since + LONELY);
            let message = match deadline.into_iter().chain(lonely).min() {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(until) => messages.recv_timeout(until.saturating_duration_since(Instant::now())),
            };
            match message {
                Ok(Message::Asked(Ask::Stop, reply)) => {
                    // The caller may be gone already; the end comes anyway.
                    let _ = reply.send(self.reply());
                    return;
                }
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) if self.entries.is_empty() => return,
                Err(RecvTimeoutError::Timeout) => self.tick(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Touched(path) => self.touched(&path),
            Message::Asked(ask, reply) => {
                if let Ask::Wake { repo, id } = &ask {
                    self.adopt(repo, id);
                }
                let _ = reply.send(self.reply());
            }
            Message::Worked(key, settled) => self.worked(&key, *settled),
            Message::AgentGone(key, turn, ran) => self.agent_gone(&key, turn, &ran),
        }
    }

    fn reply(&self) -> String {
        let reply = Reply {
            pid: std::process::id(),
            version: self.setup.version.clone(),
            bubbles: self.entries.len(),
            busy: self.entries.values().filter(|entry| entry.working.is_some()).count(),
            agents: self.entries.values().filter(|entry| entry.agent.is_some()).count(),
        };
        serde_json::to_string(&reply).expect("a reply has text keys only, so it is always writable as JSON")
    }

    /// Takes a bubble into care, or looks at it again.
    fn adopt(&mut self, repo: &Path, id: &BubbleId) {
        let Ok(bubble) = self.setup.engine.bubble(repo, id) else { return };
        let entry = Entry::new(bubble);
        let key = entry.key();
        if !self.entries.contains_key(&key) {
            // Groups that an earlier supervisor left behind belong to nobody now.
            let records = entry.bubble.control.runtime(id).join("processes");
            if let Err(error) = crate::process::reap(&records) {
                (self.setup.say)(&format!("{id}: {error}"));
            }
            if let Err(error) = self.watch.add(&key) {
                (self.setup.say)(&format!("{id}: cannot watch its log: {error}"));
            }
            self.entries.insert(key.clone(), entry);
        }
        self.look(&key);
    }

    fn touched(&mut self, path: &Path) {
        let key = path.parent().unwrap_or(path).to_owned();
        if self.entries.contains_key(&key) {
            self.look(&key);
        } else if self.entries.contains_key(path) && !path.exists() {
            self.release(path);
        }
    }

    /// Looks whether a bubble owes anything, now or as soon as a worker is free.
    pub(super) fn look(&mut self, key: &Path) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        if let Some(cancel) = &entry.working {
            entry.again = true;
            // A check of a bubble that has been stopped is of no use to anyone.
            if entry.bubble.load().is_ok_and(|loaded| loaded.unit.phase.is_final()) {
                cancel.cancel();
            }
            return;
        }
        if self.workers >= self.most_workers {
            if !self.waiting.iter().any(|waits| waits == key) {
                self.waiting.push(key.to_owned());
            }
            return;
        }
        match Cancel::new() {
            Ok(cancel) => self.work(key, cancel),
            Err(error) => (self.setup.say)(&format!("cannot make a pipe: {error}")),
        }
    }

    fn work(&mut self, key: &Path, cancel: Cancel) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.again = false;
        entry.working = Some(cancel.clone());
        let tick = std::mem::take(&mut entry.tick);
        let (bubble, out, key) = (entry.bubble.clone(), self.out.clone(), key.to_owned());
        self.workers += 1;
        let work = move || {
            let ticked = if tick { bubble.apply(&Command::Tick).map(drop) } else { Ok(()) };
            let settled = ticked.and_then(|()| settle(&bubble, &cancel));
            // The loop may have ended; a restart looks again.
            let _ = out.send(Message::Worked(key, Box::new(settled)));
        };
        if std::thread::Builder::new().name("worker".to_owned()).spawn(work).is_err() {
            self.workers -= 1;
        }
    }

    fn worked(&mut self, key: &Path, settled: Result<Settled, EngineError>) {
        self.workers = self.workers.saturating_sub(1);
        let Some(entry) = self.entries.get_mut(key) else { return self.next_waiting() };
        entry.working = None;
        let again = entry.again;
        match settled {
            Ok(settled) => {
                let deadline = deadline_of(&self.setup.engine, &settled);
                entry.deadline = deadline;
                self.keep_agent(key, &settled);
                if settled.unit.phase.is_final() {
                    self.release(key);
                }
            }
            Err(error) => {
                // A damaged or vanished log: leave the bubble alone until someone wakes it.
                (self.setup.say)(&format!("{}: {error}", key.display()));
                self.release(key);
            }
        }
        if again {
            self.look(key);
        }
        self.next_waiting();
    }

    fn next_waiting(&mut self) {
        while self.workers < self.most_workers {
            let Some(key) = self.waiting.pop() else { return };
            self.look(&key);
        }
    }

    /// Lets every bubble whose time is up look at its clock.
    fn tick(&mut self) {
        let now = Instant::now();
        let due: Vec<_> = self.entries.iter().filter(|(_, entry)| entry.deadline.is_some_and(|at| at <= now)).collect();
        let due: Vec<_> = due.into_iter().map(|(key, _)| key.clone()).collect();
        for key in due {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.deadline = None;
                entry.tick = true;
            }
            self.look(&key);
        }
    }

    /// Gives a bubble out of care: its processes end with it.
    fn release(&mut self, key: &Path) {
        if let Some(mut entry) = self.entries.remove(key) {
            entry.end_agent();
            if let Some(cancel) = &entry.working {
                cancel.cancel();
            }
            self.watch.forget(key);
        }
    }

    /// Ends all work and all agents; the logs know the rest.
    fn end(&mut self, messages: &Receiver<Message>) {
        // Nobody can ask any more; whoever wants a supervisor from here on starts the next one.
        let _ = std::fs::remove_file(socket_path(&self.setup.engine.dirs));
        let agents = self.entries.values().filter(|entry| entry.agent.is_some()).count();
        let keys: Vec<_> = self.entries.keys().cloned().collect();
        for key in &keys {
            self.release(key);
        }
        let mut left = agents + self.workers;
        let until = Instant::now() + LAST_WAIT;
        while left > 0 {
            match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Message::Worked(..) | Message::AgentGone(..)) => left -= 1,
                Ok(Message::Touched(_) | Message::Asked(..)) => {}
                Err(_) => return,
            }
        }
    }
}

/// When the agent whose turn it is will have been silent for too long.
fn deadline_of(engine: &Engine, settled: &Settled) -> Option<Instant> {
    let (heard, limit) = next_deadline(&settled.unit)?;
    let gone = engine.clock.now().since(heard);
    Some(Instant::now() + Duration::from_millis(limit.saturating_sub(gone)))
}
