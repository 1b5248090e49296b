//! The server: one thread for each connection reads requests, records them and sends what the scripts choose.
//!
//! A stream can wait at a [`Gate`] until the test opens it, so that an agent is busy for as long as the test wants.

use std::collections::BTreeMap;
use std::io;
use std::io::{BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::{Message, Whole};
use super::protocols::{Claude, Codex, Ids, Wire, event};
use super::record::{Answered, Record, Request};
use super::record::{Kind, Seen};
use super::reply::Scripts;
use super::reply::{Ending, Part, Reply};
use super::{http, protocols, record};

/// A model on a port of 127.0.0.1. Dropping it ends it, with all streams.
pub struct Mock {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

/// What the threads of all connections use together.
struct Shared {
    answers: Answers,
    closing: AtomicBool,
    connections: Mutex<BTreeMap<usize, TcpStream>>,
}

impl Mock {
    /// Starts a model that answers by `scripts`, on a port that was free.
    pub fn start(scripts: Scripts) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of 127.0.0.1 is free");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared {
            answers: Answers::new(scripts),
            closing: AtomicBool::new(false),
            connections: Mutex::default(),
        });
        let served = shared.clone();
        let acceptor = std::thread::spawn(move || accept(&listener, &served));
        Self { shared, address, acceptor: Some(acceptor) }
    }

    /// Returns where it listens, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns everything that was asked so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Arc<Request>> {
        self.shared.answers.record.all()
    }

    /// Forgets what was asked so far; numbers go on. Long runs need it, as every request repeats its conversation.
    pub fn forget(&self) {
        self.shared.answers.record.forget();
    }

    /// Waits until `done` says yes to the requests so far, and returns them. It is asked again at every request and
    /// every end of an answer.
    #[track_caller]
    pub fn wait_for(&self, done: impl Fn(&[Arc<Request>]) -> bool) -> Vec<Arc<Request>> {
        match self.wait_within(PATIENCE, done) {
            Ok(requests) => requests,
            Err(requests) => panic!("the model never saw it; it saw:{}", record::list(&requests)),
        }
    }

    /// Waits as [`Self::wait_for`] does, for `patience`. If the time runs out, what was seen is the error.
    pub fn wait_within(
        &self,
        patience: Duration,
        done: impl Fn(&[Arc<Request>]) -> bool,
    ) -> Result<Vec<Arc<Request>>, Vec<Arc<Request>>> {
        let (requests, done) = self.shared.answers.record.wait(patience, done);
        if done { Ok(requests) } else { Err(requests) }
    }

    /// Returns the gate `name`. Replies may wait at a gate before a test has asked for it.
    pub fn gate(&self, name: &str) -> Gate {
        self.shared.answers.gates.get(name)
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        self.shared.answers.gates.open_all();
        // The acceptor looks at `closing` only when somebody knocks.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        for connection in self.shared.connections().values() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn connections(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, TcpStream>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, stream) in listener.incoming().enumerate() {
        if shared.closing.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let Ok(handle) = stream.try_clone() else { continue };
        shared.connections().insert(number, handle);
        let shared = shared.clone();
        std::thread::spawn(move || {
            // A connection that breaks is the CLI's affair; what it meant for the answer is in the record.
            let _ = serve(&stream, &shared.answers);
            let _ = stream.shutdown(Shutdown::Both);
            shared.connections().remove(&number);
        });
    }
}

/// How long anything may take that a test waits for.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How often a waiting stream shows that it is alive, and notices that its client is gone.
const BEAT: Duration = Duration::from_millis(250);

/// A gate of one name. It is closed until it is opened.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<Inside>);

#[derive(Debug, Default)]
struct Inside {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    waiting: usize,
}

impl Gate {
    /// Lets everything through, now and from now on.
    pub fn open(&self) {
        self.0.lock().open = true;
        self.0.changed.notify_all();
    }

    /// Holds what comes from now on.
    pub fn close(&self) {
        self.0.lock().open = false;
    }

    /// Returns how many streams stand at the gate.
    pub fn waiting(&self) -> usize {
        self.0.lock().waiting
    }

    /// Waits until a stream stands at the gate.
    #[track_caller]
    pub fn wait_until_reached(&self) {
        let until = Instant::now() + PATIENCE;
        let mut state = self.0.lock();
        while state.waiting == 0 {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no stream came to the gate in {} s", PATIENCE.as_secs());
            state = self.0.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Stands at the gate until it opens. `beat` is called now and then; what it says of a lost listener ends the wait.
    pub(super) fn pass(&self, mut beat: impl FnMut() -> std::io::Result<()>) -> std::io::Result<()> {
        let mut state = self.0.lock();
        state.waiting += 1;
        self.0.changed.notify_all();
        let mut outcome = Ok(());
        while !state.open && outcome.is_ok() {
            let waited = self.0.changed.wait_timeout(state, BEAT).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() {
                drop(state);
                outcome = beat();
                state = self.0.lock();
            }
        }
        state.waiting -= 1;
        outcome
    }
}

impl Inside {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All gates of a server.
#[derive(Debug, Default)]
pub(super) struct Gates(Mutex<BTreeMap<String, Gate>>);

impl Gates {
    pub(super) fn get(&self, name: &str) -> Gate {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().clone()
    }

    pub(super) fn open_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(Gate::open);
    }
}

/// What all connections answer by, and what they were asked.
pub(super) struct Answers {
    scripts: Scripts,
    pub(super) record: Record,
    pub(super) gates: Gates,
}

impl Answers {
    /// Answers by `scripts`; nothing was asked yet.
    pub(super) fn new(scripts: Scripts) -> Self {
        Self { scripts, record: Record::default(), gates: Gates::default() }
    }
}

/// What became of an answer.
struct Sent {
    how: Answered,
    /// Whether the connection can be used again.
    keep: bool,
}

/// Serves a connection until one side ends it.
pub(super) fn serve(stream: &TcpStream, answers: &Answers) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut from = BufReader::new(stream);
    let mut to = stream;
    while let Some(message) = http::read(&mut from, &mut to)? {
        let last = message.is_last();
        let body = serde_json::from_slice(&message.body).unwrap_or_default();
        let seen = look(&message, &body);
        let request = answers.record.keep(message, seen);
        let sent = answer(&request, &body, answers, &mut to);
        answers.record.answer(&request, sent.as_ref().map_or(Answered::Abandoned, |sent| sent.how));
        if last || !sent?.keep {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads the conversation of a request that asks for an answer of the model.
fn look(message: &Message, body: &Value) -> Option<Seen> {
    let path = message.target.split('?').next().unwrap_or_default();
    match (message.method.as_str(), path) {
        ("POST", "/v1/messages") => {
            Some(protocols::claude(body, message.header("x-claude-code-session-id").unwrap_or_default()))
        }
        ("POST", "/v1/responses") => Some(protocols::codex(body, message.header("thread-id").unwrap_or_default())),
        _ => None,
    }
}

fn answer(request: &Request, body: &Value, answers: &Answers, to: &mut impl Write) -> io::Result<Sent> {
    let Some(seen) = &request.seen else { return plain(request, to) };
    let ids = Ids {
        unique: format!("{}_{}", seen.said.len(), request.number),
        model: body["model"].as_str().unwrap_or("mock-model").to_owned(),
    };
    let reply = answers.scripts.answer(seen);
    match (seen.kind, reply) {
        (Kind::Claude, Ok(reply)) if body["stream"] != true && !reply.fails() => {
            whole_message(Claude::new(ids), &reply, answers, to)
        }
        (Kind::Claude, reply) => perform(Claude::new(ids), reply, answers, to),
        (Kind::Codex, reply) => perform(Codex::new(ids), reply, answers, to),
    }
}

/// Answers what is asked beside the model.
fn plain(request: &Request, to: &mut impl Write) -> io::Result<Sent> {
    let tokens = request.body.len() / 4;
    let (status, body) = match (request.method.as_str(), request.path.as_str()) {
        ("HEAD" | "GET", "/api/hello") => (200, json!({"message": "hello"})),
        ("POST", "/v1/messages/count_tokens") => (200, json!({"input_tokens": tokens})),
        ("GET", "/v1/models") => (200, json!({"object": "list", "data": [], "models": []})),
        ("CONNECT", _) => (403, json!({"error": {"message": "this model stays on 127.0.0.1"}})),
        (method, path) => (404, json!({"error": {"message": format!("the mock has no {method} {path}")}})),
    };
    let head_only = request.method == "HEAD";
    http::write(to, &Whole { status, headers: &[], body: &body.to_string(), head_only })?;
    let how = if status == 200 { Answered::Whole } else { Answered::Refused };
    Ok(Sent { how, keep: request.method != "CONNECT" })
}

/// Sends an answer as events.
fn perform(
    mut wire: impl Wire,
    reply: Result<Reply, String>,
    answers: &Answers,
    to: &mut impl Write,
) -> io::Result<Sent> {
    let reply = match reply {
        Ok(reply) => reply,
        Err(why) => {
            let body = wire.error(400, &why).to_string();
            http::write(to, &Whole { status: 400, headers: &[], body: &body, head_only: false })?;
            return Ok(Sent { how: Answered::Refused, keep: true });
        }
    };
    if let Ending::Status { status, headers, body } = &reply.ending {
        let usual = || wire.error(*status, "the script fails here").to_string();
        let body = body.clone().unwrap_or_else(usual);
        http::write(to, &Whole { status: *status, headers, body: &body, head_only: false })?;
        return Ok(Sent { how: Answered::Failed, keep: true });
    }
    http::begin_stream(to)?;
    send(&wire.begin(), to)?;
    for part in &reply.parts {
        match part {
            Part::Text(text) => send(&wire.text(text), to)?,
            Part::Shell(shell) => send(&wire.shell(shell), to)?,
            Part::Read(path) => send(&wire.read(path), to)?,
            Part::Gate(name) => answers.gates.get(name).pass(|| http::write_chunk(to, &wire.beat()))?,
        }
    }
    if reply.ending == Ending::Cut {
        return Ok(Sent { how: Answered::Failed, keep: false });
    }
    send(&wire.end(), to)?;
    http::end_stream(to)?;
    Ok(Sent { how: Answered::Whole, keep: true })
}

/// Sends an answer to Claude Code that did not ask for a stream.
fn whole_message(mut wire: Claude, reply: &Reply, answers: &Answers, to: &mut impl Write) -> io::Result<Sent> {
    for part in &reply.parts {
        match part {
            Part::Text(text) => drop(wire.text(text)),
            Part::Shell(shell) => drop(wire.shell(shell)),
            Part::Read(path) => drop(wire.read(path)),
            Part::Gate(name) => answers.gates.get(name).pass(|| Ok(()))?,
        }
    }
    let body = wire.message().to_string();
    http::write(to, &Whole { status: 200, headers: &[], body: &body, head_only: false })?;
    Ok(Sent { how: Answered::Whole, keep: true })
}

fn send(events: &[Value], to: &mut impl Write) -> io::Result<()> {
    events.iter().try_for_each(|one| http::write_chunk(to, &event(one)))
}
