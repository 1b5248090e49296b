//! Arguments that several commands share, with their help.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pairflow_core::ids::{AgentId, FindingId};
use pairflow_core::log::{Decision, Intent};
use pairflow_core::rules::{Agents, BubbleKind, DriverKind, WorkMode};

/// Which bubble a command is about.
#[derive(Debug, Clone, Default, Args)]
pub struct BubbleArg {
    /// The bubble: its id or a unique beginning of it; optional if only one fits
    #[arg(value_name = "ID", conflicts_with = "id_option")]
    id: Option<String>,
    /// The same as an option
    #[arg(id = "id_option", long = "id", value_name = "ID")]
    id_option: Option<String>,
    /// The repository [default: the one of the current directory]
    #[arg(long, value_name = "PATH")]
    pub repo: Option<PathBuf>,
}

/// Which repository a command is about.
#[derive(Debug, Clone, Default, Args)]
pub struct RepoArg {
    /// The repository [default: the one of the current directory]
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
    /// Accept the work as it is
    Accept,
    /// Continue the loop
    Continue,
    /// The findings hold and have to be fixed
    #[value(alias = "side_with_finding")]
    SideWithFinding,
    /// The findings do not hold and are dismissed
    #[value(alias = "side_with_implementer")]
    SideWithImplementer,
}

/// How a bubble is isolated from the repository.
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
    /// Deterministic agents from a script
    Script,
    /// Start nothing; agents join with `pairflow env`
    External,
}

/// What kind of work a bubble does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// A code change, judged by the repository's checks
    Code,
    /// Code that follows an approved document, named with `--prd`
    Implementation,
    /// A document, judged by pairflow's own checks
    Document,
}

/// The rules of a bubble's loop.
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
    DecisionArg => Decision { Accept, Continue, SideWithFinding, SideWithImplementer },
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

/// Parses `F1=text`: what is said about one finding.
pub(crate) fn about_finding(text: &str) -> Result<(FindingId, String), String> {
    let form = || "write it as FINDING=TEXT, e.g. F1='cargo test login'".to_owned();
    let (id, said) = text.split_once('=').ok_or_else(form)?;
    let id = id.trim().parse::<FindingId>().map_err(|why| format!("'{id}': {why}"))?;
    Ok((id, nonempty(said)?))
}

/// Parses a text that must not be empty.
pub(crate) fn nonempty(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("the text is empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// How a new bubble is set up.
#[derive(Debug, Clone, Args)]
pub struct SetupArgs {
    /// The repository [default: the one of the current directory]
    #[arg(long, value_name = "PATH")]
    pub repo: Option<PathBuf>,
    /// The branch to start from [default: the current one]
    #[arg(long, value_name = "BRANCH")]
    pub base: Option<String>,
    /// The two agents, e.g. `codex,claude`; a third one does the second review
    #[arg(long, value_name = "IMPLEMENTER,REVIEWER", value_parser = pair)]
    pub pair: Option<Agents>,
    /// What kind of work it is
    #[arg(long, value_name = "KIND")]
    pub kind: Option<KindArg>,
    /// The approved document that an implementation follows: a document bubble, or a committed file that you confirm
    #[arg(long, value_name = "BUBBLE|FILE", value_parser = nonempty)]
    pub prd: Option<String>,
    /// Confirm that the file named with `--prd` is approved, by the SHA-256 of its content (12 characters suffice)
    #[arg(long, value_name = "SHA256", requires = "prd", value_parser = nonempty)]
    pub prd_approved: Option<String>,
    /// A file that a document bubble writes [default: the Markdown files that it changes] (can be repeated)
    #[arg(long = "document", value_name = "PATH", value_parser = nonempty)]
    pub documents: Vec<String>,
    /// The rules of the loop
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<PolicyArg>,
    /// Review thoroughly: acceptance tests from the task first, then a first look by every agent on its own
    #[arg(long)]
    pub thorough: bool,
    /// The number of rounds before a person decides
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_rounds: Option<u32>,
    /// How the bubble is isolated from the repository
    #[arg(long, value_name = "MODE")]
    pub work_mode: Option<WorkModeArg>,
    /// How agents run
    #[arg(long, value_name = "DRIVER")]
    pub driver: Option<DriverArg>,
    /// The script of the agents; implies `--driver script`
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// How the work is checked
    #[command(flatten)]
    pub checks: CheckArgs,
}

/// How the work of a new bubble is checked.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Checks")]
pub struct CheckArgs {
    /// The command that tests the work
    #[arg(long, value_name = "COMMAND", value_parser = nonempty, allow_hyphen_values = true)]
    pub test: Option<String>,
    /// The command that checks the types
    #[arg(long, value_name = "COMMAND", value_parser = nonempty, allow_hyphen_values = true)]
    pub typecheck: Option<String>,
    /// The command that lints the work
    #[arg(long, value_name = "COMMAND", value_parser = nonempty, allow_hyphen_values = true)]
    pub lint: Option<String>,
    /// The command that runs once in each new worktree
    #[arg(long, value_name = "COMMAND", value_parser = nonempty, allow_hyphen_values = true)]
    pub setup: Option<String>,
    /// There are no tests; requires --manual-check
    #[arg(long, requires = "manual_check", conflicts_with_all = ["test", "typecheck", "lint"])]
    pub no_tests: bool,
    /// Something for a person to try by hand (can be repeated)
    #[arg(long, value_name = "WHAT", value_parser = nonempty, allow_hyphen_values = true)]
    pub manual_check: Vec<String>,
    /// Accept the detected commands without asking
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Trust the repository's commands and templates if they have this hash
    #[arg(long, value_name = "HASH")]
    pub trust: Option<String>,
}
