//! Every request in the order of arrival, with how its answer ended; and a request as a script sees it: who asks, and what
//! was said so far, in one form for both CLIs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::http::Message;

/// How the answer to a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// All of it was sent.
    Whole,
    /// The script had it fail: an error status, or a cut stream.
    Failed,
    /// The CLI went away before the end.
    Abandoned,
    /// No script had an answer, or the path is unknown.
    Refused,
}

/// A request, as it came.
#[derive(Debug)]
pub struct Request {
    /// Its place in the order of arrival, from 0.
    pub number: usize,
    /// The method; `CONNECT` if a CLI tried to reach the internet through the proxy of its clean environment.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query, empty if there is none.
    pub query: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    /// The conversation, if an answer of the model was asked for.
    pub seen: Option<Seen>,
    answered: OnceLock<Answered>,
}

impl Request {
    /// Returns the value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON, `null` if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the conversation if the model was asked in earnest and not for a title.
    pub fn turn(&self) -> Option<&Seen> {
        self.seen.as_ref().filter(|seen| !seen.side)
    }

    /// Whether the user has said exactly `text` in it.
    pub fn has_user_text(&self, text: &str) -> bool {
        self.turn().is_some_and(|seen| seen.user_texts().contains(&text))
    }

    /// Returns how the answer ended, `None` while it goes on.
    pub fn answered(&self) -> Option<Answered> {
        self.answered.get().copied()
    }
}

/// All requests of a server.
#[derive(Debug, Default)]
pub(super) struct Record {
    kept: Mutex<Kept>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Kept {
    requests: Vec<Arc<Request>>,
    count: usize,
    /// The last thing that was asked in each conversation, and how often in a row before.
    last: BTreeMap<(Kind, String), (Vec<Said>, usize)>,
}

impl Record {
    /// Keeps a request that has arrived.
    pub(super) fn keep(&self, message: Message, seen: Option<Seen>) -> Arc<Request> {
        let (path, query) = message.target.split_once('?').unwrap_or((&message.target, ""));
        let mut kept = self.lock();
        let request = Arc::new(Request {
            number: kept.count,
            method: message.method,
            path: path.to_owned(),
            query: query.to_owned(),
            headers: message.headers,
            body: message.body,
            seen: seen.map(|seen| kept.counted(seen)),
            answered: OnceLock::new(),
        });
        kept.count += 1;
        kept.requests.push(request.clone());
        drop(kept);
        self.changed.notify_all();
        request
    }

    /// Notes how an answer ended.
    pub(super) fn answer(&self, request: &Request, how: Answered) {
        let kept = self.lock();
        // Only the thread that serves the request sets it, once.
        let _ = request.answered.set(how);
        drop(kept);
        self.changed.notify_all();
    }

    pub(super) fn all(&self) -> Vec<Arc<Request>> {
        self.lock().requests.clone()
    }

    pub(super) fn forget(&self) {
        self.lock().requests.clear();
    }

    /// Waits until `done` says yes; gives back all requests, and whether it ever did.
    pub(super) fn wait(&self, patience: Duration, done: impl Fn(&[Arc<Request>]) -> bool) -> (Vec<Arc<Request>>, bool) {
        let until = Instant::now() + patience;
        let mut kept = self.lock();
        loop {
            if done(&kept.requests) {
                return (kept.requests.clone(), true);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return (kept.requests.clone(), false);
            }
            kept = self.changed.wait_timeout(kept, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Fills in how often the same was asked before.
    fn counted(&mut self, mut seen: Seen) -> Seen {
        if seen.side {
            return seen;
        }
        let last = self.last.entry((seen.kind, seen.session.clone())).or_default();
        if last.0 == seen.said {
            last.1 += 1;
        } else {
            *last = (seen.said.clone(), 0);
        }
        seen.attempt = last.1;
        seen
    }
}

/// Lists requests for a person who wonders what a CLI did.
pub(super) fn list(requests: &[Arc<Request>]) -> String {
    let mut text = String::new();
    for request in requests {
        let _ = write!(text, "\n#{} {} {} {:?}", request.number, request.method, request.path, request.answered());
        let Some(seen) = &request.seen else { continue };
        let last = seen.said.last().map(|said| format!("{said:?}")).unwrap_or_default();
        let last: String = last.chars().take(200).collect();
        let _ = write!(text, " {:?} {} side={} attempt={} … {last}", seen.kind, seen.session, seen.side, seen.attempt);
    }
    text
}

/// Which CLI is asking, told by the protocol that it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Claude Code: Anthropic Messages.
    Claude,
    /// Codex: OpenAI Responses.
    Codex,
}

/// One thing that was said in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Standing instructions, the developer's included.
    System(String),
    /// A text of the user: prompts, and what the CLI adds in the user's name.
    User(String),
    /// A text of the model.
    Assistant(String),
    /// A tool that the model has called.
    Call {
        /// The call's own id.
        id: String,
        /// The tool.
        name: String,
        /// What the tool was given.
        input: Value,
    },
    /// What a tool gave back.
    Result(ToolResult),
}

impl Said {
    fn text(&self) -> Option<&str> {
        match self {
            Self::System(text) | Self::User(text) | Self::Assistant(text) => Some(text),
            Self::Call { .. } | Self::Result(_) => None,
        }
    }

    fn is_models(&self) -> bool {
        matches!(self, Self::Assistant(_) | Self::Call { .. })
    }
}

/// What a tool gave back, as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The call that it belongs to.
    pub call: String,
    /// The text, with everything that the CLI writes around it.
    pub text: String,
    /// Whether the CLI called it an error. Codex never does; its text holds the exit code.
    pub is_error: bool,
}

/// A request for an answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Which CLI asks.
    pub kind: Kind,
    /// The conversation, as the CLI names it.
    pub session: String,
    /// What was said so far, oldest first.
    pub said: Vec<Said>,
    /// Whether the CLI asks for itself, without tools, for example for a title.
    pub side: bool,
    /// How often the very same was asked before in a row: 0 at first, more in retries.
    pub attempt: usize,
}

/// A text of the user, and what has happened since.
#[derive(Debug, Clone, PartialEq)]
pub struct Place<'a> {
    /// The text.
    pub text: &'a str,
    /// How many turns the model has taken since.
    pub turns: usize,
    /// What tools gave back since.
    pub results: Vec<&'a ToolResult>,
}

impl Seen {
    /// Returns every text of the user, verbatim, oldest first.
    pub fn user_texts(&self) -> Vec<&str> {
        self.said.iter().filter(|said| matches!(said, Said::User(_))).filter_map(Said::text).collect()
    }

    /// Returns the standing instructions.
    pub fn system_texts(&self) -> Vec<&str> {
        self.said.iter().filter(|said| matches!(said, Said::System(_))).filter_map(Said::text).collect()
    }

    /// Returns what tools gave back, oldest first.
    pub fn tool_results(&self) -> Vec<&ToolResult> {
        results(&self.said)
    }

    /// Returns the last text of the user that contains `part`, with what has happened since.
    pub fn last_with(&self, part: &str) -> Option<Place<'_>> {
        self.last_where(|text| text.contains(part))
    }

    /// Returns the last text of the user that `fits`, with what has happened since.
    pub fn last_where(&self, fits: impl Fn(&str) -> bool) -> Option<Place<'_>> {
        let at = self.said.iter().rposition(|said| matches!(said, Said::User(text) if fits(text)))?;
        let Said::User(text) = &self.said[at] else { return None };
        let since = &self.said[at + 1..];
        Some(Place { text, turns: turns(since), results: results(since) })
    }
}

fn results(said: &[Said]) -> Vec<&ToolResult> {
    said.iter().filter_map(|said| if let Said::Result(result) = said { Some(result) } else { None }).collect()
}

/// Counts the model's turns. A turn may hold a text and a call: it is a run of what the model said.
fn turns(said: &[Said]) -> usize {
    let starts = |(at, one): &(usize, &Said)| one.is_models() && (*at == 0 || !said[at - 1].is_models());
    said.iter().enumerate().filter(starts).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(said: Vec<Said>) -> Seen {
        Seen { kind: Kind::Claude, session: "s".to_owned(), said, side: false, attempt: 0 }
    }

    fn call() -> Said {
        Said::Call { id: "c".to_owned(), name: "Bash".to_owned(), input: Value::Null }
    }

    fn result(text: &str) -> Said {
        Said::Result(ToolResult { call: "c".to_owned(), text: text.to_owned(), is_error: false })
    }

    #[test]
    fn a_text_and_a_call_in_a_row_are_one_turn() {
        let user = |text: &str| Said::User(text.to_owned());
        let said = vec![user("go"), Said::Assistant("first".to_owned()), call(), result("1"), call(), result("2")];
        let seen = seen(said);
        let place = seen.last_with("go").unwrap();
        assert_eq!((place.turns, place.results.len()), (2, 2));
    }

    #[test]
    fn turns_are_counted_from_the_last_text_that_fits() {
        let user = |text: &str| Said::User(text.to_owned());
        let said = vec![user("go 1"), call(), result("1"), Said::Assistant("done".to_owned()), user("go 2"), user("x")];
        let seen = seen(said);
        assert_eq!(seen.last_with("go").unwrap(), Place { text: "go 2", turns: 0, results: Vec::new() });
        assert_eq!(seen.last_with("go 1").unwrap().turns, 2);
        assert!(seen.last_with("stop").is_none());
    }
}
