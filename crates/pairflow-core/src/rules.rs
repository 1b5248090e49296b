//! The rules in force for one bubble: its configuration once every layer has been resolved, as recorded in the log.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::gates::document::DocumentCheck;
use crate::ids::{AgentId, CommitId};

/// What a bubble was configured with when it was created or last started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The rules of the loop, by the name of their policy. No configuration key sets it: a bubble is always `strict`.
    #[serde(default = "strict", skip_serializing_if = "is_strict")]
    pub policy: String,
    /// The version of the policy's rules, as recorded when the bubble was created or started. A later recorded line may move a
    /// running bubble to another version.
    #[serde(default = "first_version")]
    pub policy_version: u32,
    /// The agents of the initial seats.
    pub agents: Agents,
    /// The branch that the bubble is cut from.
    pub base_branch: String,
    /// The commit of an earlier bubble whose work goes on here, merged with the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<CommitId>,
    /// The branch that the bubble works on.
    pub bubble_branch: String,
    /// How the bubble is kept apart from the repository.
    pub work_mode: WorkMode,
    /// How many rounds there may be before a person decides.
    pub max_rounds: u32,
    /// How long an agent may be silent.
    pub watchdog_timeout_minutes: u32,
    /// How long one turn may take, however busy its agent is.
    #[serde(default = "an_hour")]
    pub max_turn_minutes: u32,
    /// Whether a reviewer starts with a clean context.
    pub reviewer_context_mode: ContextMode,
    /// How agents are run.
    pub driver: DriverKind,
    /// The script of the agents, an absolute path, for the `script` driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// What agents in panes may do without asking.
    #[serde(default)]
    pub permissions: Permissions,
    /// Whether the beginning of what each program shows in its pane is kept in files, for diagnostics.
    #[serde(default)]
    pub capture_output: bool,
    /// How agents are started that pairflow does not know, and what is added for those that it does.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents_custom: BTreeMap<AgentId, CustomAgent>,
    /// How the person is told that something waits. The address of a webhook is a secret, so no log has it.
    #[serde(default)]
    pub notifications: Notifications,
    /// The commands that pairflow runs on every snapshot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// What a person has to try by hand; required when there is no check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manual_checks: Vec<String>,
    /// The command that runs once in a new worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// How long one check may run.
    pub check_timeout_secs: u64,
    /// Where checks run.
    #[serde(default)]
    pub checks_in: ChecksIn,
    /// Which paths the bubble may change.
    #[serde(default)]
    pub scope: Scope,
    /// How much is reviewed.
    #[serde(default, skip_serializing_if = "ReviewDepth::is_standard")]
    pub review_depth: ReviewDepth,
    /// The fewest looks before work is accepted; size and risk of the work may need more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min_looks: u32,
    /// Paths whose minor findings have to be answered: core logic, security, data integrity; globs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risk: Vec<String>,
    /// What the bubble makes.
    #[serde(default)]
    pub kind: BubbleKind,
    /// The documents that a document bubble is about; empty means the Markdown files that it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<String>,
    /// The approved document that an implementation follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prd: Option<Prd>,
    /// The briefs that the repository's own templates make, by the name of the template; no file's key sets it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub templates: BTreeMap<String, String>,
    /// What opens an editor; `{{worktree_path}}` is replaced.
    pub open_command: String,
}

/// How long a turn may take in bubbles that were made before it could be configured.
fn an_hour() -> u32 {
    60
}

/// The agents of the two seats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agents {
    /// Starts as implementer.
    pub implementer: AgentId,
    /// Starts as reviewer.
    pub reviewer: AgentId,
    /// Takes the second review, if there is a third agent; the seats then stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_reviewer: Option<AgentId>,
}

/// One command that has to pass on a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// `test`, `typecheck` or `lint`.
    pub name: String,
    /// The command line, run by a shell in the worktree.
    pub command: String,
}

impl Check {
    /// The check that new tests fail on the base.
    pub const RED_GREEN: &'static str = "red-green";
    /// What stands for the command of a check that pairflow does by itself.
    pub const BUILT_IN: &'static str = "built in";

    /// The checks of a document, which pairflow does by itself.
    pub fn of_documents() -> Vec<Self> {
        let check = |check: DocumentCheck| Self { name: check.name().to_owned(), command: Self::BUILT_IN.to_owned() };
        DocumentCheck::ALL.into_iter().map(check).collect()
    }

    /// Whether it follows from other settings and is not configured by itself.
    pub fn is_own(&self) -> bool {
        self.command == Self::BUILT_IN || self.name == Self::RED_GREEN
    }
}

/// A value of the configuration that a person changed while the bubble was under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigChange {
    /// The key, with its table.
    pub key: String,
    /// What it was; null for nothing.
    pub old: serde_json::Value,
    /// What it is from here on; null for nothing.
    pub new: serde_json::Value,
}

/// Which paths a bubble may change; globs, relative to the root of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// Only these; empty means everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Never these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

/// How much is reviewed; the later, the stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ReviewDepth {
    /// As many looks as size and risk of the work need.
    #[default]
    Standard,
    /// Besides, acceptance tests from the task alone before the first cut, and a first look by every agent, each without
    /// knowing what the others found.
    Thorough,
}

impl ReviewDepth {
    /// Returns the name that configuration files use.
    pub fn name(self) -> &'static str {
        self.into()
    }

    fn is_standard(&self) -> bool {
        *self == Self::Standard
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What a bubble makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum BubbleKind {
    /// Code, for a task that has no document behind it.
    #[default]
    Code,
    /// Code that follows an approved document.
    Implementation,
    /// A document: requirements, a design, a plan.
    Document,
}

/// An approved document, pinned by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prd {
    /// The bubble that it comes from, or its path.
    pub source: String,
    /// The documents, with the SHA-256 of each.
    pub documents: Vec<(String, String)>,
    /// How they were approved; nothing in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<PrdApproval>,
}

/// How the document was approved that an implementation follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrdApproval {
    /// A document bubble made it, and a person approved that.
    Bubble,
    /// The person confirmed it when the implementation was created.
    Person,
}

impl Prd {
    /// The copy of a pinned document beneath `artifacts/`, by its SHA-256.
    pub fn artifact(sha256: &str) -> String {
        format!("prd/{sha256}.md")
    }

    /// Says how it was approved, as the end of a sentence.
    pub fn approval(&self) -> String {
        match self.approved {
            Some(PrdApproval::Bubble) => format!("approved in bubble {}", self.source),
            Some(PrdApproval::Person) => "confirmed by the person when the bubble was created".to_owned(),
            None => "no approval is recorded".to_owned(),
        }
    }
}

/// How a bubble is kept apart from the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkMode {
    /// A git worktree that shares the object store.
    Worktree,
    /// A full clone.
    Clone,
}

/// Where checks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChecksIn {
    /// In a checkout that belongs to pairflow.
    #[default]
    Checkout,
    /// In the agents' worktree, for repositories that are too large to be checked out twice.
    Worktree,
}

/// Whether a reviewer starts with a clean context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextMode {
    /// A new agent session for every review.
    Fresh,
    /// One agent session for all reviews.
    Persistent,
}

/// How agents are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DriverKind {
    /// Interactive agents in the panes of a tmux session.
    Tmux,
    /// Deterministic agents out of a file.
    Script,
    /// Nothing is started; agents join with `pairflow bubble env`.
    External,
}

impl DriverKind {
    /// Returns the name that configuration files use.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Agents {
    /// Whether `agent` has a place in this bubble.
    pub fn contain(&self, agent: &AgentId) -> bool {
        self.all().any(|one| one == agent)
    }

    /// Returns every agent, each once.
    pub fn all(&self) -> impl Iterator<Item = &AgentId> {
        let second = (self.reviewer != self.implementer).then_some(&self.reviewer);
        std::iter::once(&self.implementer).chain(second).chain(self.second_reviewer.as_ref())
    }

    /// Whether both seats are held by the same agent.
    pub fn same_model(&self) -> bool {
        self.implementer == self.reviewer
    }
}

impl Scope {
    /// Whether the bubble may change `path`.
    pub fn admits(&self, path: &str) -> bool {
        let hits = |globs: &[String]| globs.iter().any(|glob| fast_glob::glob_match(glob, path));
        let own = path == ".pairflow" || path.starts_with(".pairflow/");
        !own && (self.allow.is_empty() || hits(&self.allow)) && !hits(&self.deny)
    }
}

fn strict() -> String {
    "strict".to_owned()
}

fn first_version() -> u32 {
    1
}

fn is_strict(policy: &String) -> bool {
    *policy == strict()
}

impl Rules {
    /// Returns the names of the checks that are new in `after`, gone, or run another command or in another place.
    pub fn changed_checks(&self, after: &Self) -> BTreeSet<String> {
        let elsewhere = self.checks_in != after.checks_in;
        let changed = |all: &[Check], one: &Check| elsewhere || !all.contains(one);
        let gone = self.checks.iter().filter(|check| changed(&after.checks, check));
        let new = after.checks.iter().filter(|check| changed(&self.checks, check));
        gone.chain(new).map(|check| check.name.clone()).collect()
    }
}

impl Default for Rules {
    fn default() -> Self {
        let agent = |name: &str| name.parse().expect("the names of the default agents are valid");
        Self {
            policy: strict(),
            policy_version: first_version(),
            agents: Agents { implementer: agent("codex"), reviewer: agent("claude"), second_reviewer: None },
            base_branch: String::new(),
            continues: None,
            bubble_branch: String::new(),
            work_mode: WorkMode::Worktree,
            max_rounds: 8,
            watchdog_timeout_minutes: 5,
            max_turn_minutes: an_hour(),
            reviewer_context_mode: ContextMode::Fresh,
            driver: DriverKind::External,
            script: None,
            permissions: Permissions::default(),
            capture_output: false,
            agents_custom: BTreeMap::new(),
            notifications: Notifications::default(),
            checks: Vec::new(),
            manual_checks: Vec::new(),
            setup: None,
            check_timeout_secs: 1800,
            checks_in: ChecksIn::Checkout,
            scope: Scope::default(),
            review_depth: ReviewDepth::Standard,
            min_looks: 0,
            risk: Vec::new(),
            kind: BubbleKind::Code,
            documents: Vec::new(),
            prd: None,
            templates: BTreeMap::new(),
            open_command: "cursor {{worktree_path}}".to_owned(),
        }
    }
}

/// What agents in panes may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// Look around and call pairflow; every change is asked about.
    Ask,
    /// Change files of the worktree, call pairflow and run the bubble's checks.
    #[default]
    Edits,
    /// Everything; only where a sandbox holds the agent.
    All,
}

/// One `[agent.NAME]` of the configuration: an agent of its own, or what is added to a known one of that name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomAgent {
    /// The program and its arguments; empty means that a known agent is only added to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Arguments that are added to every start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The program and its arguments that go on with an earlier conversation; `{session}` stands for its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resume: Vec<String>,
    /// How the first prompt gets there.
    #[serde(default)]
    pub prompt: PromptBy,
    /// Which hooks it understands, if that was said: a known agent has its own, any other one none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HookKind>,
    /// The names of variables of the person that it gets as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
}

/// How the first prompt reaches an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptBy {
    /// As the last argument.
    #[default]
    Argument,
    /// Pasted into its pane.
    Paste,
}

/// Whose hooks an agent understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookKind {
    /// Those of Claude Code, by `--settings`.
    Claude,
    /// Those of Codex, by `-c`.
    Codex,
    /// None: it is heard of by its commands alone.
    None,
}

/// How the person is told that something waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notifications {
    /// Whether anything is sounded, shown or sent.
    pub enabled: bool,
    /// Whether the status view rings the terminal's bell when no sound can be played.
    pub bell: bool,
    /// Whether a notification appears on the desktop.
    pub desktop: bool,
    /// The sound file for a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_human_sound: Option<String>,
    /// The sound file for convergence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub converged_sound: Option<String>,
}

impl Default for Notifications {
    fn default() -> Self {
        Self { enabled: true, bell: true, desktop: false, waiting_human_sound: None, converged_sound: None }
    }
}
