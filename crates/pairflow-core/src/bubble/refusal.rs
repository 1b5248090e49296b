//! The core saying no: a full sentence, and the one command that goes on.

use crate::bubble::StateName;
use crate::facts::{Seat, Severity};
use crate::ids::{AgentId, BubbleId, FindingId, MsgId};
use crate::log::{MAX_ESCAPED, MAX_QUESTIONS, MAX_TITLE, Waivable};
use crate::policy::Unmet;
use crate::text::list;

/// Who is told that a command was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedCaller {
    /// A person.
    Person,
    /// An agent, to which most verbs are closed.
    Agent {
        /// How many slices the change has that it reviews; 0 if it was not cut, or the agent does not review.
        slices: u32,
    },
    /// An agent of a document bubble: its reviews go through steps.
    DocumentAgent {
        /// As for any other agent.
        slices: u32,
    },
}

/// Why a command was refused. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The command is not possible in this state.
    #[error("cannot {command}: the bubble is {state}{}", .why.as_deref().map(|w| format!("; {w}")).unwrap_or_default())]
    WrongState {
        /// The state.
        state: StateName,
        /// The command.
        command: &'static str,
        /// What the state means for the caller.
        why: Option<String>,
    },
    /// The command is possible after another one.
    #[error("cannot {command}: the bubble is {state}; {why}")]
    Untimely {
        /// The state.
        state: StateName,
        /// The command.
        command: &'static str,
        /// What stands in its way.
        why: &'static str,
        /// The verb that has to come first.
        first: &'static str,
    },
    /// It is the other agent's turn.
    #[error("round {round} is {holder}'s turn, as {seat}; {by} has nothing to hand over")]
    NotYourTurn {
        /// Who called.
        by: AgentId,
        /// Whose turn it is.
        holder: AgentId,
        /// In which seat.
        seat: Seat,
        /// In which round.
        round: u32,
    },
    /// The turn has not begun yet.
    #[error("{turn} is still opening: {owes}")]
    StillOpening {
        /// Which turn: an agent's, or the next one if it is not decided whose that is.
        turn: String,
        /// What is owed before it opens.
        owes: String,
    },
    /// The bubble is paused.
    #[error("the bubble is paused, so '{command}' has to wait")]
    Paused {
        /// The command.
        command: &'static str,
    },
    /// A question is open.
    #[error("a person is asked first: {question}")]
    QuestionOpen {
        /// The question.
        question: String,
    },
    /// The agent has no seat here.
    #[error("{agent} has no seat in this bubble; its agents are {known}")]
    NoSeat {
        /// Who called.
        agent: AgentId,
        /// Who has one.
        known: String,
    },
    /// A text that is needed is empty.
    #[error("{what} must not be empty")]
    Empty {
        /// Which text.
        what: &'static str,
    },
    /// A line was pasted as it was printed.
    #[error("{what} is still the placeholder '…'; say it in your own words")]
    Placeholder {
        /// Which text.
        what: &'static str,
    },
    /// A text is longer than a line of the log can hold.
    #[error("{what} is {bytes} bytes; the limit is {limit}: put the rest into a file and point to it")]
    TooLong {
        /// Which text.
        what: &'static str,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// A text that git cannot take.
    #[error("{what} contains a NUL byte, which git does not accept")]
    NulByte {
        /// Which text.
        what: &'static str,
    },
    /// The title of a finding is a text rather than a title.
    #[error("a finding's title has {chars} characters; the limit is {MAX_TITLE}: put the details into the summary")]
    LongTitle {
        /// How many characters it has.
        chars: usize,
    },
    /// The person has enough to answer.
    #[error("{MAX_QUESTIONS} questions already wait for the person; wait for an answer before you ask another one")]
    TooManyQuestions,
    /// There is more of something than one message may have.
    #[error("{count} {what} are too many for one message; the limit is {limit}: name the most severe")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A reviewer did not say what it found.
    #[error("a reviewer says what it found: give --finding 'P1:title' for each finding, or --no-findings")]
    NoDeclaration,
    /// A reviewer asks for changes, and nothing that it says blocks.
    #[error(
        "the review asks for changes, but nothing in it is severe enough to send the work back: file what blocks as P0 or P1, or approve"
    )]
    NothingBlocks,
    /// An implementer gave findings.
    #[error("an implementer hands over work, not findings: leave out --finding and --no-findings")]
    FindingsFromImplementer,
    /// An agent answered as only the other seat may.
    #[error("{}", other_seat(*.seat))]
    AnswersOfOtherSeat {
        /// The caller's seat.
        seat: Seat,
    },
    /// A row is answered in two ways at once.
    #[error("{id} is answered in two ways at once; give one answer")]
    TwoAnswers {
        /// Which row.
        id: FindingId,
    },
    /// Two findings of one review say that they repeat the same row.
    #[error("two findings repeat {id}; if they are two defects, file the second one as new")]
    RepeatedTwice {
        /// Which row.
        id: FindingId,
    },
    /// A row is confirmed although its reproducer still fails.
    #[error(
        "{id} has a reproducer that still fails on this tree; only pairflow closes it, once that passes. Its author \
         can withdraw a wrong reproducer with --retract {id}"
    )]
    StillFails {
        /// Which row.
        id: FindingId,
    },
    /// A reproducer is taken back where there is none.
    #[error("{id} has no reproducer to withdraw")]
    NoReproducer {
        /// Which row.
        id: FindingId,
    },
    /// A reproducer is taken back by another agent than its author.
    #[error("only {author} can withdraw the reproducer of {id}")]
    NotItsReproducer {
        /// Which row.
        id: FindingId,
        /// Who brought it.
        author: AgentId,
    },
    /// What is to be waived is waived.
    #[error("the {what} is already waived")]
    WaivedAlready {
        /// What.
        what: Waivable,
    },
    /// A check is to be waived that passes.
    #[error("the check '{name}' passes on this tree, so there is nothing to waive")]
    CheckPasses {
        /// Which check.
        name: String,
    },
    /// A waiver is to be taken back that was not given.
    #[error("the {what} is not waived")]
    NotWaived {
        /// What.
        what: Waivable,
    },
    /// A row is reopened that the person waived.
    #[error("{id} was waived and cannot be reopened; say in the summary why it should be")]
    WaivedByPerson {
        /// Which row.
        id: FindingId,
    },
    /// The review of a document lacks steps.
    #[error("a review of a document goes through three steps; give --step NAME=RESULT for: {}", .missing.join(", "))]
    StepsMissing {
        /// Which steps.
        missing: Vec<&'static str>,
    },
    /// Steps where none belong.
    #[error("--step is for the review of a document")]
    NoStepsHere,
    /// The implementer of a document gave no outline.
    #[error("a document is handed over with an outline of its implementation; give --step dry-run='…'")]
    NoOutline,
    /// The implementer of a document gave a step of the review.
    #[error("the implementer of a document goes through one step, dry-run; {} is the reviewer's", .step)]
    StepOfReviewer {
        /// Which step.
        step: &'static str,
    },
    /// Blockers where none belong.
    #[error("--blocker is for the implementer of a document")]
    NoBlockersHere {
        /// The caller's seat.
        seat: Seat,
    },
    /// A fix has a test or a reason for having none, and is not answered as fixed.
    #[error("--test and --untestable are for findings that the same command calls --fixed; {id} is not among them")]
    NotFixed {
        /// Which row.
        id: FindingId,
    },
    /// The person decided that a finding holds, and the implementer disputes it.
    #[error("the person decided that {id} holds: fix it, or ask with 'pairflow ask-human'")]
    DecidedByPerson {
        /// Which row.
        id: FindingId,
    },
    /// A dismissed row is opened again without a command that shows it.
    #[error(
        "{id} was dismissed; only a command that shows it opens it again (a finding with \"repeats\" and \"reproducer\")"
    )]
    Dismissed {
        /// Which row.
        id: FindingId,
    },
    /// The caller judges and is no judge.
    #[error("no dispute waits for {by}: only the judge of a dispute decides it")]
    NotJudge {
        /// The caller.
        by: AgentId,
    },
    /// The judge decides on something that it was not asked.
    #[error("{id} is not the dispute to decide; it is {}", .contested.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    NotContested {
        /// Which row.
        id: FindingId,
        /// The rows to decide.
        contested: Vec<FindingId>,
    },
    /// The turn in which acceptance tests are written ends without them.
    #[error(
        "this turn writes acceptance tests: give --acceptance FILE and --run 'CMD', or --no-acceptance if none can be written"
    )]
    NoAcceptance,
    /// Acceptance tests, or that there are none, where they do not belong.
    #[error("--acceptance, --run and --no-acceptance belong to the turn before the first implementation")]
    NoAcceptanceHere,
    /// A judge hands over.
    #[error("{by} is the judge in round {round}; a judge hands no work over")]
    NothingToHandOver {
        /// The caller.
        by: AgentId,
        /// The round.
        round: u32,
        /// The rows to decide.
        contested: Vec<FindingId>,
    },
    /// A claim of convergence while the agents take their first looks.
    #[error(
        "every agent takes its first look without knowing what the others found: hand over what you found, and \
         convergence follows from it"
    )]
    FirstLook,
    /// A row is confirmed that its implementer calls an unresolved blocker.
    #[error("{id} is a blocker that the implementer has not resolved: no review can confirm it")]
    Unresolved {
        /// Which row.
        id: FindingId,
    },
    /// No such check.
    #[error("there is no check '{name}'{}", if .known.is_empty() { String::new() } else { format!("; there are {}", .known.join(", ")) })]
    UnknownCheck {
        /// The name that was given.
        name: String,
        /// The checks of this bubble.
        known: Vec<String>,
    },
    /// The worktree is on another branch.
    #[error("the worktree is {at} instead of on branch {branch}")]
    WrongBranch {
        /// Where it is.
        at: String,
        /// Where it should be.
        branch: String,
        /// The worktree.
        worktree: String,
    },
    /// The worktree was removed by hand.
    #[error("the worktree {worktree} is gone")]
    WorktreeGone {
        /// Where it was.
        worktree: String,
    },
    /// Only the reviewer may declare convergence.
    #[error("only the reviewer may declare convergence; {by} is the {seat} of round {round}")]
    NotReviewer {
        /// Who called.
        by: AgentId,
        /// Its seat.
        seat: Seat,
        /// The round.
        round: u32,
    },
    /// A review that finds nothing severe left out a part of the change.
    #[error(
        "these of the {of} slices of this change are not confirmed: {}; a review that finds nothing severe covers all of them",
        numbers(.missing)
    )]
    SlicesMissing {
        /// Their numbers.
        missing: Vec<u32>,
        /// How many there are.
        of: u32,
    },
    /// There is no such slice.
    #[error("there is no slice {number}: {}", if *.of == 0 { "this change is not cut into slices".to_owned() } else { format!("this change has {of}") })]
    NoSuchSlice {
        /// The number that was given.
        number: u32,
        /// How many there are.
        of: u32,
    },
    /// Convergence was claimed too early.
    #[error("not converged yet: {}", .unmet.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    NotConverged {
        /// Every unmet criterion.
        unmet: Vec<Unmet>,
    },
    /// There is no open question.
    #[error("no question is open")]
    NoQuestion,
    /// Several questions are open.
    #[error("{} questions are open; say which one is answered: {}", .open.len(), .open.iter().map(|id| id.0.as_str()).collect::<Vec<_>>().join(", "))]
    WhichQuestion {
        /// Their messages.
        open: Vec<MsgId>,
    },
    /// The named question is not open.
    #[error("{id} is not an open question{}", if .open.is_empty() { String::new() } else { format!("; open: {}", .open.iter().map(|id| id.0.as_str()).collect::<Vec<_>>().join(", ")) })]
    UnknownQuestion {
        /// The name that was given.
        id: MsgId,
        /// The open ones.
        open: Vec<MsgId>,
    },
    /// The question has no decision.
    #[error("this question does not take that decision; the inbox lists its answers")]
    NoDecision,
    /// A permission is neither given nor refused.
    #[error("a permission is given with --decision accept and refused with --message; there is no other decision")]
    PermissionDecision,
    /// The question waits in the agent's own pane, and words from elsewhere do not reach it.
    #[error("answer it in its pane: pairflow attach {bubble}")]
    OnlyInPane {
        /// The bubble.
        bubble: BubbleId,
    },
    /// A permission is given without naming the request.
    #[error(
        "a permission is given to the request that you have read: 'pairflow reply {bubble} --question {question} --decision accept'"
    )]
    UnnamedPermission {
        /// The bubble.
        bubble: BubbleId,
        /// The request that is open now.
        question: MsgId,
    },
    /// A tie-break cannot be accepted.
    #[error("the work cannot be accepted as it is: {why}")]
    CannotAccept {
        /// What is missing.
        why: String,
    },
    /// The worktree is not what was reviewed.
    #[error("the worktree differs from the reviewed tree: {}", list(.files))]
    WorktreeDiffers {
        /// The files.
        files: Vec<String>,
    },
    /// What was shown is not what is up for approval now.
    #[error("the package up for approval is not the one that was shown")]
    AnotherPackage,
    /// A finding is not open.
    #[error("{id} is not an open finding")]
    UnknownFinding {
        /// The name that was given.
        id: String,
    },
    /// Files out of scope would be committed.
    #[error("files outside the bubble's scope would be committed: {}", list(.files))]
    OutOfScope {
        /// The files.
        files: Vec<String>,
    },
    /// A commit is already under way.
    #[error("a commit is already under way")]
    CommitUnderWay,
    /// Keys that cannot change any more.
    #[error("{} can no longer be changed; restore the recorded value in bubble.toml, or create a new bubble", .keys.join(", "))]
    FixedKeys {
        /// The keys.
        keys: Vec<String>,
    },
    /// The rules do not allow a start.
    #[error("{why}")]
    BadRules {
        /// Why.
        why: String,
    },
    /// The rules of the loop are not known to this pairflow.
    #[error("this pairflow does not know the policy '{name}' of this bubble; a newer one may")]
    UnknownPolicy {
        /// What it is called.
        name: String,
    },
    /// A defect escapes only with work that is finished.
    #[error(
        "cannot record an escaped defect: the bubble is {state}, and only one that is DONE has let a defect escape"
    )]
    NotDone {
        /// The state.
        state: StateName,
    },
    /// The same defect was recorded with another severity.
    #[error("this defect is already recorded as {severity}; a recorded severity does not change")]
    EscapedAlready {
        /// The recorded severity.
        severity: Severity,
    },
    /// A bubble has enough defects on record.
    #[error("{MAX_ESCAPED} escaped defects are recorded for this bubble, which is the limit")]
    TooManyEscaped,
    /// The facts of a command lead from one to the next without an end.
    #[error("'{command}' never ends, which is a bug in pairflow; nothing was recorded")]
    Endless {
        /// Which command.
        command: &'static str,
    },
    /// The result of an effect came too late to mean anything.
    #[error("this is no longer owed")]
    NotOwed,
    /// Someone else was faster.
    #[error("someone else was faster: {0}")]
    LostRace(Box<Refusal>),
}

impl Refusal {
    /// Marks a refusal that comes only from what happened between reading and writing.
    #[must_use]
    pub fn lost_race(self) -> Self {
        match self {
            Self::LostRace(_) => self,
            other => Self::LostRace(Box::new(other)),
        }
    }
}

/// Says which answers belong to the caller's seat.
fn other_seat(seat: Seat) -> &'static str {
    match seat {
        Seat::Implementer => {
            "an implementer answers with --fixed and --dispute; --confirm and --reopen are the reviewer's"
        }
        Seat::Reviewer => "a reviewer answers with --confirm and --reopen; --fixed and --dispute are the implementer's",
        Seat::Judge => "a judge decides the dispute that it is shown, and answers nothing else",
    }
}

/// Numbers one after the other: `1, 2, 3`.
pub(super) fn numbers(of: &[u32]) -> String {
    of.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
