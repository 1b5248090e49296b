//! The messages of the log: one payload type for each message type, verdicts of policies among them.
//!
//! Fields that a newer pairflow adds are ignored here and kept in the line itself, which is never written again.

use serde::{Deserialize, Deserializer, Serialize};

use crate::facts::{Answers, Certificate, Explanation, Finding, Judgement, Receipt, Ruling, Snapshot, Step};
use crate::ids::{AgentId, CommitId, FindingId, TreeId};
use crate::log::{Lifecycle, Payload, Verdict};
use crate::time::Timestamp;

/// Declares the message types: each is a variant of [`Body`] with its payload, and a variant of [`MessageKind`].
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident($payload:ty),)*) => {
        /// A payload, by message type. The eight types of the protocol first, then those that only pairflow writes.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Body {
            $($(#[$doc])* $name($payload),)*
        }

        /// The message types, by their names in the log.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
        pub enum MessageKind {
            $($(#[$doc])* $name,)*
        }

        impl Body {
            /// Returns the message type of this payload.
            pub fn kind(&self) -> MessageKind {
                match self {
                    $(Self::$name(_) => MessageKind::$name,)*
                }
            }

            /// Writes the payload as JSON.
            pub fn to_json(&self) -> String {
                let json = match self {
                    $(Self::$name(payload) => serde_json::to_string(payload),)*
                };
                json.expect("a payload has text keys only, so it is always writable as JSON")
            }
        }

        $(impl From<$payload> for Body {
            fn from(payload: $payload) -> Self {
                Self::$name(payload)
            }
        })*

        impl Payload for Body {
            type Kind = MessageKind;

            const FORMAT: u32 = 2;

            fn kind(&self) -> MessageKind {
                self.kind()
            }

            fn to_json(&self) -> String {
                self.to_json()
            }

            fn read<'de, D: Deserializer<'de>>(kind: MessageKind, json: D) -> Result<Self, D::Error> {
                match kind {
                    $(MessageKind::$name => Deserialize::deserialize(json).map(Self::$name),)*
                }
            }

            fn adopts(&self) -> bool {
                matches!(self, Self::Lifecycle(Lifecycle::Adopted { .. }))
            }
        }
    };
}

messages! {
    /// `TASK`
    Task(Task),
    /// `PASS`
    Pass(Pass),
    /// `HUMAN_QUESTION`
    HumanQuestion(Question),
    /// `HUMAN_REPLY`
    HumanReply(Reply),
    /// `CONVERGENCE`
    Convergence(Convergence),
    /// `APPROVAL_REQUEST`
    ApprovalRequest(ApprovalRequest),
    /// `APPROVAL_DECISION`
    ApprovalDecision(ApprovalDecision),
    /// `DONE_PACKAGE`
    DonePackage(DonePackage),
    /// `LIFECYCLE`
    Lifecycle(Lifecycle),
    /// `EVIDENCE`
    Evidence(Evidence),
    /// `VERDICT`
    Verdict(Verdict),
    /// `CONTROL`
    Control(Control),
    /// `DELIVERY`
    Delivery(Delivery),
    /// `PROTOCOL_WARNING`
    ProtocolWarning(Warning),
}

/// A scoped instruction with its acceptance criteria.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The text of the task.
    pub task: String,
    /// The entries of the task's "Acceptance criteria" section; none means that it has no such section.
    pub acceptance_criteria: Vec<String>,
    /// Which paths the work may change.
    pub scope: crate::rules::Scope,
}

/// The hand-over from one agent to the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// What was done, in the agent's words.
    pub summary: String,
    /// What the other side is asked to do.
    pub pass_intent: Intent,
    /// What a reviewer found; absent for an implementer, empty for "nothing".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding>>,
    /// What is said to rows of the ledger.
    #[serde(default, skip_serializing_if = "Answers::is_empty")]
    pub answers: Answers,
    /// What the person has to know to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// The steps of a document review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Whether the reviewer wants the person to decide first; then the review settles nothing and is not clean.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discuss: bool,
    /// The slices of a long change that the reviewer has read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviewed: Vec<u32>,
    /// What a judge decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// Whether it ends the turn in which acceptance tests are written: it is no review.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acceptance: bool,
}

/// What a hand-over asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// Do this.
    Task,
    /// Review this.
    Review,
    /// Fix this.
    FixRequest,
    /// A judge's decision: go on from here.
    Judgement,
}

/// A question that only the person can answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question.
    pub question: String,
    /// Why it is asked.
    #[serde(default)]
    pub kind: QuestionKind,
    /// Which agent it is about, if it is about one's presence. Lines without it are about the turn's holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<AgentId>,
    /// What that agent wants to be allowed, if it can be allowed from everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wants: Option<String>,
    /// The checks that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// The findings on which a person can side with either agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingId>,
}

impl Question {
    /// A question of this kind.
    pub fn new(kind: QuestionKind, question: String) -> Self {
        Self { question, kind, about: None, wants: None, checks: Vec::new(), findings: Vec::new() }
    }
}

/// Why a question is asked; decides how it may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// An agent asks.
    #[default]
    Question,
    /// The agent whose turn it is was silent for too long.
    Watchdog,
    /// The agent's process ended without a hand-over.
    AgentEnded,
    /// The rounds are used up.
    TieBreak,
    /// A finding asks to undo what an earlier one asked for.
    Reversal,
    /// The agents do not agree on a finding, and the judge's decision does not end that.
    Deadlock,
    /// The person is to confirm that they understood the document.
    Comprehension,
    /// A check could not be run.
    CouldNotCheck,
    /// The same files were handed over again, and fail as before.
    Failing,
    /// A check does not pass on the base.
    Baseline,
    /// A check passed, and fails in a fresh checkout of the same tree.
    Differs,
    /// An effect failed again and again (no snapshot could be taken, say).
    Trouble,
    /// An agent has had the turn for too long, however busy it was.
    LongTurn,
    /// An agent went idle in its own turn and did not hand over although it was reminded.
    Idle,
    /// A notice did not reach its agent.
    Undelivered,
    /// An agent waits for a permission that only a person gives, in its pane.
    Permission,
    /// An agent waits for a permission that a person may give or refuse with an answer, for a while.
    Permit,
    /// An agent shows a dialog that only a person may answer, in its pane.
    Dialog,
    /// An agent has reached the limit of its account, and nobody knows until when.
    Limit,
}

/// The person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The answer.
    pub message: String,
    /// The decision, for questions that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

/// How a question with a decision is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Take it as it is.
    Accept,
    /// Go on.
    Continue,
    /// The findings of the question hold: they have to be fixed.
    SideWithFinding,
    /// The findings of the question do not hold: they are dismissed.
    SideWithImplementer,
}

impl Decision {
    /// The words for it, after "human".
    pub fn told(self) -> &'static str {
        match self {
            Self::Accept => "decides to accept",
            Self::Continue => "decides to continue",
            Self::SideWithFinding => "sides with the finding",
            Self::SideWithImplementer => "sides with the implementer",
        }
    }

    /// Returns how it decides the findings of its question, if it does.
    pub fn ruling(self) -> Option<Ruling> {
        match self {
            Self::SideWithFinding => Some(Ruling::Upheld),
            Self::SideWithImplementer => Some(Ruling::Dismissed),
            Self::Accept | Self::Continue => None,
        }
    }
}

impl QuestionKind {
    /// Whether the loop stopped because the agents do not agree.
    pub fn is_tie_break(self) -> bool {
        matches!(self, Self::TieBreak | Self::Reversal | Self::Deadlock)
    }

    /// Whether it only says that nothing is heard of an agent, or that it is stuck. Going on answers it, and so does the
    /// agent itself by going on.
    pub fn is_about_presence(self) -> bool {
        matches!(
            self,
            Self::Watchdog
                | Self::AgentEnded
                | Self::LongTurn
                | Self::Idle
                | Self::Undelivered
                | Self::Permission
                | Self::Permit
                | Self::Dialog
                | Self::Limit
        )
    }

    /// Whether it is about what a check says. Another command, or a waiver, answers it.
    pub fn is_about_checks(self) -> bool {
        matches!(self, Self::Failing | Self::Baseline | Self::Differs)
    }

    /// Whether it is about one tree: on another one it is asked again, or not at all.
    pub fn is_about_tree(self) -> bool {
        self.is_about_checks() || self == Self::CouldNotCheck
    }

    /// Whether it is a notice of pairflow's own, which `resume` answers. A permission is given in so many words.
    pub fn is_answered_by_resume(self) -> bool {
        (self.is_about_presence() && self != Self::Permit) || self == Self::Trouble
    }
}

/// The claim that nothing severe is open, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Convergence {
    /// The claim, in the words of the agent that made it, or pairflow's own.
    pub summary: String,
    /// What was accepted, and on which evidence.
    pub certificate: Certificate,
    /// What the person has to know to decide, if the claim brought it along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// The slices of a long change that the reviewer has read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviewed: Vec<u32>,
}

/// The request to decide on the final package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The tree that is up for approval.
    pub tree: TreeId,
    /// The suggested commit message.
    pub commit_message: String,
    /// Where the package is, beneath `artifacts/`.
    pub package: String,
    /// The SHA-256 of the package.
    pub package_sha256: String,
}

/// The person's decision on the package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDecision {
    /// Approve, revise or reject.
    pub decision: GateDecision,
    /// The tree that was decided on.
    pub tree: TreeId,
    /// What to do, for the two that send the work back.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Findings that are sent back by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingId>,
}

/// How the person decides on a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateDecision {
    /// Commit it.
    Approve,
    /// Change it.
    Revise,
    /// Not like this.
    Reject,
}

/// The final bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DonePackage {
    /// The commit that was made.
    pub commit: CommitId,
    /// The tree in it.
    pub tree: TreeId,
    /// Where the package is, beneath `artifacts/`.
    pub package: String,
    /// The SHA-256 of the package.
    pub package_sha256: String,
    /// One paragraph: what was done.
    pub summary: String,
}

/// What pairflow found out by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// A snapshot was taken.
    Snapshot {
        /// The snapshot.
        snapshot: Snapshot,
    },
    /// A check was run.
    Receipt {
        /// The receipt.
        receipt: Receipt,
    },
    /// The reproducer of a finding was run.
    Reproduced {
        /// Which finding.
        finding: FindingId,
        /// What came of it; for a reproducer, failing is what it is for.
        receipt: Receipt,
    },
    /// The test of a fix was run: without the fix, and with it if that failed.
    FixTested {
        /// Of which finding.
        finding: FindingId,
        /// What came of it on the tree before the fix, with the test files of the fix laid over it.
        before: Receipt,
        /// What came of it on the tree with the fix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Receipt>,
    },
    /// The person said that a check is not available.
    NotAvailable {
        /// Which check.
        check: String,
        /// In which tree.
        tree: TreeId,
    },
}

/// An intervention in the running loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// What is done.
    pub action: ControlAction,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What is waived, or waived no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waived: Option<Waivable>,
    /// Until when, for what ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Control {
    /// An intervention of this kind.
    pub fn new(action: ControlAction, reason: impl Into<String>) -> Self {
        Self { action, reason: reason.into(), waived: None, until: None }
    }
}

/// What a person can waive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waivable {
    /// A finding.
    Finding(FindingId),
    /// A required check, from here on.
    Check(String),
}

impl std::fmt::Display for Waivable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Finding(id) => write!(f, "finding {id}"),
            Self::Check(name) => write!(f, "check '{name}'"),
        }
    }
}

/// The kinds of intervention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlAction {
    /// A hint to an agent.
    Nudge,
    /// Nobody acts until `resume`.
    Halt,
    /// Everybody may act again.
    Resume,
    /// A person has to look.
    Escalate,
    /// A person waives a finding, or a check that does not pass.
    Waive,
    /// A person takes a waiver back.
    Withdraw,
    /// The agents' processes are ended and started again.
    Restart,
    /// Nothing is expected of an agent for a while, because it has reached the limit of its account.
    Park,
    /// The while is over.
    Unpark,
}

/// The delivery of a notice to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The notice's number; 0 where the agent has none and has read its brief.
    pub notice: u64,
    /// Which attempt it is, from 1; 0 for an acknowledgement.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// Whether the agent is known to have it.
    pub acknowledged: bool,
}

pub(super) fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A command that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Which command.
    pub command: String,
    /// Why, as a sentence.
    pub reason: String,
    /// Every unmet criterion, for a claim of convergence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
}
