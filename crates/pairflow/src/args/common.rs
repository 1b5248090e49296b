//! Arguments that many commands share, and the words that they take.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pairflow_core::ids::AgentId;
use pairflow_core::log::{Decision, Intent};
use pairflow_core::rules::{Agents, BubbleKind, DriverKind, WorkMode};

/// Which bubble a command is about.
#[derive(Debug, Clone, Default, Args)]
pub struct BubbleArg {
    /// The bubble; the beginning of its id is enough, and none is needed if only one can be meant
    #[arg(value_name = "ID", conflicts_with = "id_option")]
    id: Option<String>,
    /// The same, as an option
    #[arg(id = "id_option", long = "id", value_name = "ID")]
    id_option: Option<String>,
    /// The repository; without it the one around the current directory
    #[arg(long, value_name = "PATH")]
    pub repo: Option<PathBuf>,
}

/// Which repository a command is about.
#[derive(Debug, Clone, Default, Args)]
pub struct RepoArg {
    /// The repository; without it the one around the current directory
    #[arg(long, value_name = "PATH")]
    pub repo: Option<PathBuf>,
}

impl BubbleArg {
    /// A bubble that was named by other means.
    pub fn named(id: Option<String>, repo: Option<PathBuf>) -> Self {
        Self { id, id_option: None, repo }
    }

    /// Returns what was typed for the id.
    pub fn typed(&self) -> Option<&str> {
        self.id.as_deref().or(self.id_option.as_deref())
    }
}

/// What a hand-over asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IntentArg {
    /// Do this
    Task,
    /// Review this
    Review,
    /// Fix this
    #[value(name = "fix_request", alias = "fix-request")]
    FixRequest,
}

/// How a question with a decision is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DecisionArg {
    /// Take it as it is
    Accept,
    /// Go on
    Continue,
}

/// How a bubble is kept apart from the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WorkModeArg {
    /// A git worktree that shares the object store
    Worktree,
    /// A full clone
    Clone,
}

/// How agents are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DriverArg {
    /// Interactive agents in the panes of a tmux session
    Tmux,
    /// Deterministic agents out of a file
    Script,
    /// Nothing is started; agents join with `pairflow env`
    External,
}

/// What kind of work a bubble does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// A change of code, judged by the repository's checks
    Code,
    /// Code that follows an approved document, named with `--prd`
    Implementation,
    /// A document, judged by pairflow's own checks
    Document,
}

/// By which rules a bubble's loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyArg {
    /// Two clean reviews of the same snapshot, by different agents
    Strict,
}

macro_rules! same_names {
    ($($from:ident => $to:ident { $($name:ident),* }),* $(,)?) => {$(
        impl From<$from> for $to {
            fn from(arg: $from) -> Self {
                match arg { $($from::$name => Self::$name),* }
            }
        }
    )*};
}

same_names! {
    IntentArg => Intent { Task, Review, FixRequest },
    DecisionArg => Decision { Accept, Continue },
    WorkModeArg => WorkMode { Worktree, Clone },
    DriverArg => DriverKind { Tmux, Script, External },
    KindArg => BubbleKind { Code, Implementation, Document },
}

/// Parses `--pair A,B` or `--pair A,B,C`.
pub(crate) fn pair(text: &str) -> Result<Agents, String> {
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    let agent = |name: &str| name.parse::<AgentId>().map_err(|why| format!("'{name}': {why}"));
    let (implementer, reviewer, second) = match names[..] {
        [implementer, reviewer] => (implementer, reviewer, None),
        [implementer, reviewer, second] => (implementer, reviewer, Some(second)),
        _ => return Err("a pair is written as IMPLEMENTER,REVIEWER, e.g. codex,claude".to_owned()),
    };
    let second_reviewer = second.map(agent).transpose()?;
    Ok(Agents { implementer: agent(implementer)?, reviewer: agent(reviewer)?, second_reviewer })
}

/// Parses a text that has to say something.
pub(crate) fn said(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("the text is empty".to_owned()) } else { Ok(text.to_owned()) }
}
