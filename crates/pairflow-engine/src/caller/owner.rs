//! For which bubble a process was started, and by whom.

use std::path::{Path, PathBuf};

use pairflow_core::ids::{AgentId, BubbleId, Party};
use pairflow_core::log::Warning;
use pairflow_core::safe::safe_line;

use crate::engine::{Bubble, ControlDir, Engine};
use crate::process::{JobKind, ProcessRecord, records};

/// How much is shown of what a job is, in columns.
const WHAT: usize = 80;

/// The bubble for which a process was started, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The bubble's repository.
    pub repo: PathBuf,
    /// The bubble.
    pub bubble: BubbleId,
    /// Who has started it.
    pub started: Started,
    /// Whether that is more than what the process says about itself.
    pub proven: bool,
}

/// Who has started a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// This agent.
    Agent(AgentId),
    /// pairflow itself, for the bubble: what it is, in words for a person, and what for.
    Job(String, JobKind),
}

impl Owner {
    /// Whether it is this bubble.
    pub(crate) fn is(&self, repo: &Path, bubble: &BubbleId) -> bool {
        self.bubble == *bubble && self.repo == repo
    }

    /// Whether it is an agent, and not a check or another command.
    pub(crate) fn is_agent(&self) -> bool {
        matches!(self.started, Started::Agent(_) | Started::Job(_, JobKind::Agent))
    }

    /// Returns who has started the process, in words for a person.
    pub fn name(&self) -> String {
        match &self.started {
            Started::Agent(agent) => agent.to_string(),
            Started::Job(what, _) => format!("`{}`", safe_line(what, WHAT)),
        }
    }

    /// Records in the bubble that `command` was tried from there and refused, unless that is not proven.
    pub fn warn(&self, engine: &Engine, command: &str, reason: String) {
        if !self.proven {
            return;
        }
        let party = match &self.started {
            Started::Agent(own) => Party::Agent(own.clone()),
            Started::Job(..) => Party::Orchestrator,
        };
        if let Ok(bubble) = engine.bubble(&self.repo, &self.bubble) {
            bubble.warn_about(party, command, reason);
        }
    }
}

impl Bubble {
    /// Records that `command` was tried and refused for `reason`, by somebody who is not known.
    pub fn warn_of_outsider(&self, command: &str, reason: String) {
        self.warn_about(Party::Orchestrator, command, reason);
    }

    fn warn_about(&self, party: Party, command: &str, reason: String) {
        let warning = Warning { command: command.to_owned(), reason, unmet: Vec::new() };
        // The refusal stands whether or not it can be recorded.
        let _ = self.warn_party(party, warning);
    }
}

/// Returns the directory beneath `runtime` with the records of what runs in the panes: one directory an agent.
pub(crate) fn pane_records(runtime: &Path) -> PathBuf {
    runtime.join("panes")
}

/// Everybody who is on record for one bubble.
pub(super) fn recorded(repo: &Path, bubble: &BubbleId) -> Vec<(Owner, ProcessRecord)> {
    let runtime = ControlDir::of(repo).runtime(bubble);
    let owner = |started| Owner { repo: repo.to_owned(), bubble: bubble.clone(), started, proven: true };
    let jobs = records(&runtime.join("processes")).unwrap_or_default().into_iter();
    let mut found: Vec<_> =
        jobs.map(|record| (owner(Started::Job(record.what.clone(), record.kind)), record)).collect();
    for pane in names::<AgentId>(&pane_records(&runtime)) {
        let own = records(&pane_records(&runtime).join(pane.as_str())).unwrap_or_default().into_iter();
        found.extend(own.map(|record| (owner(Started::Agent(pane.clone())), record)));
    }
    found
}

/// Returns the names in a directory that can be names of a `T`.
pub(super) fn names<T: std::str::FromStr>(dir: &Path) -> Vec<T> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
