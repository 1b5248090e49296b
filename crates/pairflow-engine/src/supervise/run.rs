//! The supervisor's loop: events in, work out, nothing remembered that the logs do not say.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::entry::Entry;
use super::socket::listen;
use super::state::{Message, Setup, Supervisor};
use super::watch::Watch;
use crate::caller::Namespaces;
use crate::engine::EngineError;
use crate::local_socket::{Server, private_dir};
use crate::supervisor_client::{Ask, Client, Reply, take_lock};

/// How long it waits at its end for what it has started.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Runs until told to stop, or until there has been nothing to look after for a while.
///
/// Fails when another supervisor of the same user is there.
pub fn run(setup: Setup) -> Result<(), EngineError> {
    let dirs = setup.engine.dirs.clone();
    let world = |what: &'static str| move |error| EngineError::io(what, error);
    private_dir(&dirs.runtime).map_err(world("cannot make the supervisor's directory"))?;
    Namespaces::insist(&dirs).map_err(|elsewhere| EngineError::BadInput(elsewhere.to_string()))?;
    setup.engine.insist_private()?;
    let answers = || Client::new(&setup.engine).ask(&Ask::Status).is_ok();
    let lock = take_lock(&setup.engine, &answers, &*setup.say)?;
    private_dir(&dirs.state)
        .and_then(|()| Namespaces::record(&dirs))
        .map_err(world("cannot write the supervisor's namespaces"))?;
    let (out, messages) = channel();
    let (asked, touched) = (out.clone(), out.clone());
    let pass_on = move |ask, asker| asked.send(Message::Asked(ask, asker)).is_ok();
    let listening = listen(setup.engine.clone(), pass_on).map_err(world("cannot listen on the supervisor's socket"))?;
    let watch = Watch::new(move |path| {
        // The loop may have ended; then nobody needs to know.
        let _ = touched.send(Message::Touched(path));
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
    fn attend(&mut self, messages: &Receiver<Message>) {
        let mut lonely_since = Instant::now();
        loop {
            if !self.is_lonely() {
                lonely_since = Instant::now();
            }
            let lonely = self.is_lonely().then(|| lonely_since + self.setup.engine.limits.idle_supervisor);
            let due = self.entries.values().filter_map(Entry::due).chain(self.search).chain(lonely).min();
            let message = match due {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(until) => messages.recv_timeout(until.saturating_duration_since(Instant::now())),
            };
            match message {
                Ok(Message::Asked(Ask::Stop, asker)) => return asker.tell_and_see(self.reply()),
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) if lonely.is_some_and(|until| until <= Instant::now()) => return,
                Err(RecvTimeoutError::Timeout) => self.tick(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn is_lonely(&self) -> bool {
        self.entries.is_empty() && self.elsewhere.is_empty()
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Touched(path) => self.touched(&path),
            Message::Asked(ask, asker) => {
                if let Ask::Wake { repo, id, env } = &ask {
                    self.take_on(repo, id);
                    self.at_home(repo, id, env);
                }
                asker.tell(self.reply());
            }
            Message::Worked(key, settled) => self.worked(&key, *settled),
            Message::AgentGone(key, start, ran) => self.agent_gone(&key, start, &ran),
            Message::Freed((repo, id), care) => self.freed(&repo, &id, *care),
        }
    }

    fn reply(&self) -> String {
        let reply = Reply {
            pid: std::process::id(),
            version: self.setup.version.clone(),
            bubbles: self.entries.len(),
            busy: self.entries.values().filter(|entry| entry.working.is_some()).count(),
            agents: self.entries.values().filter(|entry| entry.agent.is_some() || entry.stage.is_some()).count(),
        };
        serde_json::to_string(&reply).expect("a reply has text keys only, so it is always writable as JSON")
    }

    /// Looks at everything whose time has come.
    fn tick(&mut self) {
        let now = Instant::now();
        if self.search.is_some_and(|at| at <= now) {
            self.find_all();
        }
        let due = |entry: &Entry| entry.due().is_some_and(|at| at <= now);
        let keys: Vec<_> = self.entries.iter().filter(|(_, entry)| due(entry)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.tick |= entry.deadline.take_if(|at| *at <= now).is_some();
            }
            self.look(&key);
        }
    }

    /// Ends all work and all agents; the logs know the rest.
    fn end(&mut self, listening: Server, messages: &Receiver<Message>) {
        // No caller can ask any more; the next command that needs a supervisor starts a new one.
        drop(listening);
        let keys: Vec<_> = self.entries.keys().cloned().collect();
        for key in &keys {
            self.release(key);
        }
        let until = Instant::now() + LAST_WAIT;
        while !self.entries.is_empty() {
            match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(message @ (Message::Worked(..) | Message::AgentGone(..))) => self.take(message),
                Ok(Message::Touched(_) | Message::Asked(..) | Message::Freed(..)) => {}
                Err(_) => break,
            }
        }
        while Instant::now() < until && self.closing.iter().any(|one| !one.is_finished()) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
