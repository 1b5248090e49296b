//! One connection: reads requests, keeps them in the record, and sends what the scripts say.

use std::io::{self, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::claude::Claude;
use super::codex::Codex;
use super::gate::Gates;
use super::http::{self, Message, Whole};
use super::read;
use super::record::{Answered, Record, Request};
use super::reply::{Ending, Part, Reply};
use super::scripts::Scripts;
use super::seen::{Kind, Seen};
use super::wire::{Ids, Wire, event};

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
            Some(read::claude(body, message.header("x-claude-code-session-id").unwrap_or_default()))
        }
        ("POST", "/v1/responses") => Some(read::codex(body, message.header("thread-id").unwrap_or_default())),
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
