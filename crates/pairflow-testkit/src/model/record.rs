//! The record of everything that was asked, in the order of arrival, and of how each answer ended.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::http::Message;
use super::seen::{Kind, Said, Seen};

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
        // Only the thread that serves the request says so, and once.
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
