//! Whose process it is that calls at a seat's socket: its own agent's, somebody else's, or nobody's that is known.
//!
//! Agents of a bubble run as the same user, so a socket's file lets each of them in. But the kernel says which process
//! has connected, and its ancestors say who has started it. Where the kernel does not tell, everybody fits.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use pairflow_core::ids::{AgentId, BubbleId, Party};
use pairflow_core::log::Warning;
use pairflow_core::view::safe::safe_line;

use super::address::{pane_records, seat_path};
use crate::engine::{Bubble, Control, Denial};
use crate::process::{Lineage, Record, records};

/// How much is shown of what a job is, in columns.
const WHAT: usize = 80;

/// The process at the other end of a connection.
pub(super) struct Caller(Lineage);

/// Who has started a process that is not the seat's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stranger {
    repo: PathBuf,
    bubble: BubbleId,
    who: Who,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Who {
    /// The agent in this seat.
    Agent(AgentId),
    /// A check, or another command that is run for the bubble.
    Job(String),
}

impl Caller {
    /// Looks at who has connected. Nothing comes back for a process of another user: the socket's mode keeps it out as
    /// well, but root ignores that one.
    #[cfg(target_os = "linux")]
    pub(super) fn of(stream: &UnixStream) -> Option<Self> {
        let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
        let own = peer.uid == rustix::process::getuid();
        own.then(|| Self(Lineage::of(rustix::process::Pid::as_raw(Some(peer.pid)))))
    }

    /// Elsewhere nobody is asked who it is.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn of(_: &UnixStream) -> Option<Self> {
        Some(Self(Lineage::Untold))
    }

    /// Whether it was gone before it could be looked at. Nobody knows then whose it was.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.0, Lineage::Gone)
    }

    /// Returns who has started it, if that is somebody else than the agent `agent` of `bubble`.
    pub(super) fn stranger(&self, bubble: &Bubble, agent: &AgentId) -> Option<Stranger> {
        if !matches!(self.0, Lineage::Known { .. }) {
            return None;
        }
        let near = recorded(bubble.control.repo(), &bubble.id);
        // Almost every caller is known at once, so the other bubbles are looked at only for one who is not.
        let (far, found);
        let whose = match self.0.born_of(&near) {
            Some(known) => known,
            None => {
                far = others(bubble);
                found = self.0.born_of(&far).or_else(|| self.0.marked_by(&near)).or_else(|| self.0.marked_by(&far));
                found?
            }
        };
        let own = whose.0.bubble == bubble.id && whose.0.repo == bubble.control.repo();
        Some(whose.0.clone()).filter(|one| !own || one.who != Who::Agent(agent.clone()))
    }
}

impl Stranger {
    /// Tells it that it may not speak through the socket of `agent`, and what it can do.
    pub(super) fn denial(&self, bubble: &Bubble, agent: &AgentId) -> Denial {
        let here = self.bubble == bubble.id && self.repo == bubble.control.repo();
        let of = |id: &BubbleId| if here { String::new() } else { format!(" of bubble {id}") };
        let message = format!(
            "this is the socket of {agent}{}, and the caller belongs to {}{}",
            of(&bubble.id),
            self.name(),
            of(&self.bubble)
        );
        match &self.who {
            Who::Agent(own) => {
                let socket = seat_path(&Control::of(&self.repo), &self.bubble, own);
                Denial::refused(format!("{message}, who has a socket of its own."))
                    .next(format!("PAIRFLOW_AGENT={own} PAIRFLOW_SOCKET='{}' pairflow brief", socket.display()))
            }
            Who::Job(_) => Denial::refused(format!("{message}; what such a command has to say is how it ends."))
                .next(format!("pairflow status {}", self.bubble)),
        }
    }

    /// Records in the stranger's own bubble that it tried `verb` in the name of `agent` of `bubble`.
    pub(super) fn warn(&self, verb: &str, bubble: &Bubble, agent: &AgentId) {
        let reason = format!("{} has called through the socket of {agent} of bubble {}", self.name(), bubble.id);
        let warning = Warning { command: verb.to_owned(), reason, unmet: Vec::new(), explanation_asked: false };
        let party = match &self.who {
            Who::Agent(own) => Party::Agent(own.clone()),
            Who::Job(_) => Party::Orchestrator,
        };
        // The refusal stands whether or not it can be recorded.
        let _ = bubble.engine.bubble(&self.repo, &self.bubble).and_then(|own| own.warn_party(party, warning));
    }

    fn name(&self) -> String {
        match &self.who {
            Who::Agent(agent) => agent.to_string(),
            Who::Job(what) => format!("`{}`", safe_line(what, WHAT)),
        }
    }
}

/// Everybody who is on record for one bubble.
fn recorded(repo: &Path, bubble: &BubbleId) -> Vec<(Stranger, Record)> {
    let runtime = Control::of(repo).runtime(bubble);
    let stranger = |who: Who| Stranger { repo: repo.to_owned(), bubble: bubble.clone(), who };
    let jobs = records(&runtime.join("processes")).unwrap_or_default().into_iter();
    let mut found: Vec<_> = jobs.map(|record| (stranger(Who::Job(record.what.clone())), record)).collect();
    for pane in names::<AgentId>(&pane_records(&runtime)) {
        let own = records(&pane_records(&runtime).join(pane.as_str())).unwrap_or_default().into_iter();
        found.extend(own.map(|record| (stranger(Who::Agent(pane.clone())), record)));
    }
    found
}

/// Everybody who is on record for any other bubble of this user.
fn others(bubble: &Bubble) -> Vec<(Stranger, Record)> {
    let mut repos = bubble.engine.repositories();
    repos.push(bubble.control.repo().to_owned());
    repos.sort();
    repos.dedup();
    let of_repo = |repo: &PathBuf| {
        let ids = names::<BubbleId>(&Control::of(repo).dir().join("runtime"));
        let others = ids.into_iter().filter(|id| *id != bubble.id || repo != bubble.control.repo());
        others.flat_map(|id| recorded(repo, &id)).collect::<Vec<_>>()
    };
    repos.iter().flat_map(of_repo).collect()
}

/// Returns the names in a directory that can be names of a `T`.
fn names<T: std::str::FromStr>(dir: &Path) -> Vec<T> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    /// Not a test of its own: the process that calls and is gone.
    #[test]
    fn inside() {
        if let Some(path) = std::env::var_os("CALL_AT") {
            UnixStream::connect(path).unwrap();
        }
    }

    #[test]
    fn one_who_is_gone_before_it_is_looked_at_is_nobody_that_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "seat::caller::tests::inside"]).env("CALL_AT", &path);
        assert!(child.output().unwrap().status.success());
        let (stream, _) = listener.accept().unwrap();
        assert!(Caller::of(&stream).unwrap().is_gone());
        let _own = UnixStream::connect(&path).unwrap();
        let (stream, _) = listener.accept().unwrap();
        assert!(!Caller::of(&stream).unwrap().is_gone());
    }
}
