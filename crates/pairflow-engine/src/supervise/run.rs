//! The supervisor's loop, and a single pass over one repository without it.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pairflow_core::bubble::Command;

use super::socket::listen;
use super::state::{Setup, SupervisedBubble, Supervisor, SupervisorEvent};
use super::watch::LogWatcher;
use super::watch::last_seen;
use crate::caller::Namespaces;
use crate::engine::{Bubble, Engine, EngineError};
use crate::local_socket::{Server, private_dir};
use crate::perform::{BubbleLock, Settled, settle};
use crate::process::Cancel;
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
