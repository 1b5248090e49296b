//! What the log is made of: what pairflow saw (trees, receipts), what agents claimed (`review`), who sat where, and what was
//! accepted.

mod review;

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::gates::TestChange;
use crate::ids::{AgentId, CommitId, FindingId, Party, TreeId};
use crate::rules::Rules;

pub use review::*;

/// The tree that a turn left, kept on a private ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The tree: tracked files plus untracked ones that are not ignored.
    pub tree: TreeId,
    /// A commit of that tree on top of the base.
    pub commit: CommitId,
    /// The ref that holds the tree, `refs/pairflow/<id>/<number>`; in older bubbles it holds the commit.
    pub r#ref: String,
    /// Whose changes it has: those of the turn that it ends, or of `human` if they were found at the start of a turn.
    /// Nothing if more than one party could have made them.
    #[serde(default)]
    pub author: Option<Party>,
    /// Every file that differs from the base, as git lists them.
    pub changed: Vec<FileChange>,
    /// Every file that differs from the snapshot before.
    pub since_last: Vec<FileChange>,
    /// Changed files outside the bubble's scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_scope: Vec<String>,
    /// The branch tip that the worktree was on, if agents committed on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_head: Option<CommitId>,
    /// Changed files that decide which files belong to a tree at all: `.gitignore` and its like, `.git/info/exclude`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore_changes: Vec<String>,
    /// Tests that the change against the base deletes, skips or weakens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<TestChange>,
    /// The counts and the whole lists, if the lists here had to be cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Box<Whole>>,
}

/// How much a snapshot changed, where its own lists are only the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// Against the base.
    pub changed: Counted,
    /// Against the snapshot before.
    pub since_last: Counted,
    /// How many changed files lie outside the bubble's scope.
    pub out_of_scope: u64,
}

/// A list of changed files that is too long for the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// How many files it has.
    pub files: u64,
    /// Lines added in all of them.
    pub added: u64,
    /// Lines removed in all of them.
    pub removed: u64,
    /// The whole list, as `artifact://files/<sha256>.txt`: status, lines added, lines removed, path.
    pub list: String,
}

impl Snapshot {
    /// Returns how much differs from the base, also where the list was cut.
    pub fn against_base(&self) -> (u64, u64, u64) {
        counted(&self.changed, self.whole.as_ref().map(|whole| &whole.changed))
    }

    /// Returns how much differs from the snapshot before, also where the list was cut.
    pub fn against_last(&self) -> (u64, u64, u64) {
        counted(&self.since_last, self.whole.as_ref().map(|whole| &whole.since_last))
    }
}

/// How large a change is, by the lines that it adds and removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Display)]
#[strum(serialize_all = "snake_case")]
pub enum ChangeSize {
    /// At most 50 lines.
    #[default]
    Small,
    /// At most 400 lines, or few lines beside a file whose lines cannot be counted.
    Medium,
    /// More.
    Large,
}

impl ChangeSize {
    const SMALL: u64 = 50;
    const MEDIUM: u64 = 400;
}

impl Snapshot {
    /// Returns how large the change against the base is.
    pub fn size(&self) -> ChangeSize {
        let (_, added, removed) = self.against_base();
        let uncounted = self.changed.iter().any(|file| file.added.is_none() && file.removed.is_none());
        match added.saturating_add(removed) {
            lines if lines > ChangeSize::MEDIUM => ChangeSize::Large,
            lines if lines > ChangeSize::SMALL || uncounted => ChangeSize::Medium,
            _ => ChangeSize::Small,
        }
    }
}

/// Files, lines added and lines removed.
fn counted(listed: &[FileChange], whole: Option<&Counted>) -> (u64, u64, u64) {
    if let Some(whole) = whole {
        return (whole.files, whole.added, whole.removed);
    }
    let sum = |lines: fn(&FileChange) -> Option<u64>| listed.iter().filter_map(lines).fold(0, u64::saturating_add);
    (listed.len() as u64, sum(|file| file.added), sum(|file| file.removed))
}

/// One line of `git diff --numstat` with its status letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The path, relative to the root of the repository.
    pub path: String,
    /// `A`, `M`, `D`, `T`: as git prints it. Renames are shown as a deletion and an addition.
    pub status: char,
    /// Lines added; nothing for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Lines removed; nothing for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
}

/// The result of a check that pairflow ran itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Which check: `test`, `typecheck`, `lint`, `setup`.
    pub check: String,
    /// The command line that ran.
    pub command: String,
    /// The tree it ran on.
    pub tree: TreeId,
    /// What came of it.
    pub outcome: Outcome,
    /// How long it ran.
    pub duration_ms: u64,
    /// The output, beneath `artifacts/`, with its SHA-256 in the name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The last lines of the output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// Where it ran.
    #[serde(default, skip_serializing_if = "CheckPlace::is_worktree")]
    pub place: CheckPlace,
}

/// Where a check ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckPlace {
    /// In the agents' worktree: receipts of older versions, and of bubbles that are configured so.
    #[default]
    Worktree,
    /// In pairflow's own checkout of the tree, in which caches stay from one run to the next.
    Checkout,
    /// In a checkout that had nothing but the tree.
    Fresh,
    /// In pairflow's own checkout of the base, before there was any work.
    Base,
}

impl CheckPlace {
    fn is_worktree(&self) -> bool {
        *self == Self::Worktree
    }
}

/// What came of a check. There are three outcomes, never two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Outcome {
    /// The command ended with 0.
    Passed,
    /// The command ended with something else.
    Failed {
        /// Its exit code; nothing if a signal ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
        /// Whether it was ended because its time was up.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        timed_out: bool,
    },
    /// It could not be run, or it changed the tree: neither a pass nor a finding.
    CouldNotCheck {
        /// Why, as a sentence.
        why: String,
    },
}

impl Outcome {
    /// Whether the check ran and ended with 0.
    pub fn passed(&self) -> bool {
        matches!(self, Self::Passed)
    }
}

/// The proof that a tree was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The policy that accepted it.
    pub policy: String,
    /// The version of that policy's rules.
    pub policy_version: u32,
    /// How many rounds the policy allowed without a person.
    pub max_rounds: u32,
    /// The accepted tree.
    pub tree: TreeId,
    /// The reviews that found nothing severe in this tree, or in one that differs from it by the base alone.
    pub reviews: Vec<CleanReview>,
    /// What the checks said of exactly this tree.
    pub checks: Vec<CheckStand>,
    /// Findings that are still open, none of them severe unless `waived` lists it.
    pub open: Vec<Finding>,
    /// Where every finding of the bubble stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<RowStand>,
    /// Which agent held which seat in which round.
    pub round_role_history: Vec<RoundRoles>,
    /// How many reviews there were in all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub looks: u32,
    /// How many the work needed, for its size and risk; none if the policy does not count them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub looks_needed: u32,
    /// What the person did without at a tie-break: findings that blocked acceptance, and what was missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<String>,
    /// What a reader should know: same model in both seats, agents whose freshness pairflow cannot vouch for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Certificate {
    /// Whether a person accepted the work at a tie-break.
    pub fn by_person(&self) -> bool {
        !self.waived.is_empty()
    }

    /// Whether the person accepted the work although `finding` blocked it.
    pub fn accepted_open(&self, finding: &Finding) -> bool {
        finding.id.is_some_and(|id| {
            let short = format!("{id} {} {}", finding.severity, finding.title);
            self.waived.contains(&short)
        })
    }

    /// The findings that blocked acceptance when a person decided, in short.
    pub fn open_then(&self) -> impl Iterator<Item = &Finding> {
        self.open.iter().filter(|finding| self.accepted_open(finding))
    }

    /// What else was missing when a person decided.
    pub fn missing_then(&self) -> impl Iterator<Item = &str> {
        let open: Vec<_> = self.open_then().filter_map(|finding| finding.id).map(|id| format!("{id} ")).collect();
        let missing = move |what: &&String| !open.iter().any(|id| what.starts_with(id));
        self.waived.iter().filter(missing).map(String::as_str)
    }
}

/// Where one finding stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowStand {
    /// Which one.
    pub id: FindingId,
    /// How severe it is.
    pub severity: Severity,
    /// What it became.
    pub state: RowState,
    /// Whether it is closed.
    pub settled: bool,
}

/// A review that left nothing severe open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CleanReview {
    /// Who reviewed.
    pub agent: AgentId,
    /// In which round.
    pub round: u32,
    /// Whether part of what it reviewed changed in a turn of its own.
    pub own_work: bool,
    /// The tree that it reviewed, if the base was merged since and the change of the work stayed the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
}

impl CleanReview {
    /// What a reader should know of it, each as the end of a sentence.
    pub fn asides(&self) -> Vec<String> {
        let own = self.own_work.then(|| "part of it changed in its own turn".to_owned());
        let before = self
            .tree
            .as_ref()
            .map(|tree| format!("of tree {tree}; the base was merged since and changed no file of this work"));
        own.into_iter().chain(before).collect()
    }
}

/// What one check said of the accepted tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckStand {
    /// Which check.
    pub check: String,
    /// `passed`, `not available` because a person said so, or `waived` with the person's reason.
    pub stand: String,
}

/// Which agent held which seat in a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundRoles {
    /// The round.
    pub round: u32,
    /// The implementer.
    pub implementer: AgentId,
    /// The reviewer.
    pub reviewer: AgentId,
}

/// Where a finding stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RowState {
    /// Claimed, and not answered yet.
    Open,
    /// Said or proven to be fixed.
    Fixed,
    /// The implementer says that it is no fault.
    Disputed,
    /// The person waived it.
    Waived,
    /// Claimed again after it was answered or closed.
    Reopened,
    /// Asks to undo what an earlier row asked for.
    Reversal,
    /// A judge or the person decided that it does not hold.
    Dismissed,
}

impl RowState {
    /// The words for it as people read them. That something is fixed is the implementer's claim until it is closed.
    pub fn told(self, settled: bool) -> &'static str {
        match self {
            Self::Fixed if !settled => "claimed fixed",
            other => other.name(),
        }
    }

    /// The word for it, as programs read it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A seat of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Seat {
    /// Makes the change.
    Implementer,
    /// Reviews it.
    Reviewer,
    /// Decides a dispute between the two, in one turn.
    Judge,
}

/// Who sits where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seats {
    /// Makes the change.
    pub implementer: AgentId,
    /// Reviews it.
    pub reviewer: AgentId,
    /// Decides disputes; without one of its own, the reviewer's agent does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<AgentId>,
}

impl Default for Seats {
    fn default() -> Self {
        Self::chosen(&Rules::default())
    }
}

impl Seats {
    /// Returns the seats that the person chose for the start.
    pub fn chosen(rules: &Rules) -> Self {
        Self { implementer: rules.agents.implementer.clone(), reviewer: rules.agents.reviewer.clone(), judge: None }
    }

    /// Returns who sits in `seat`.
    pub fn agent(&self, seat: Seat) -> &AgentId {
        match seat {
            Seat::Implementer => &self.implementer,
            Seat::Reviewer => &self.reviewer,
            Seat::Judge => self.judge.as_ref().unwrap_or(&self.reviewer),
        }
    }
}
