//! The claim that nothing grave is left, and what code says to it.

use std::fmt;

use crate::hash::sha256;
use crate::ids::{AgentId, Party};
use crate::log::{ApprovalRequest, Body, Convergence, Event, Pass, QuestionKind, Warning};
use crate::rounds::policy::strict;
use crate::rounds::{Certificate, CleanReview, Explanation, Review, Row};
use crate::rules::BubbleKind;
use crate::unit::refusal::list;
use crate::unit::{
    Artifact, CheckState, Command, Decided, Phase, Refusal, Said, Seat, Stage, Turn, Unit, human, key_of,
    missing_checks, presence, slices, turn,
};
use crate::view::package;

/// A criterion of convergence that does not hold yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// No tree has been handed over yet.
    NothingHandedOver,
    /// The newest tree is that of the base.
    NothingChanged,
    /// Findings of P0 or P1 are open.
    Blocking(Vec<String>),
    /// A required check failed on this tree.
    CheckFailed(String),
    /// A required check has not been run on this tree.
    CheckMissing(String),
    /// Clean reviews of this tree are missing.
    Reviews {
        /// Who reviewed it clean so far.
        by: Vec<AgentId>,
    },
    /// Findings that are not grave, but have to be answered, and are not.
    Unanswered(Vec<String>),
    /// Parts of the explanation pack are missing.
    Explanation(Vec<&'static str>),
    /// The person has not confirmed that they understood the document.
    Comprehension,
    /// The reviewer role has not alternated yet.
    NoAlternation,
    /// Questions wait for an answer.
    Questions(usize),
    /// Files changed during the review.
    TreeChanged(Vec<String>),
    /// Slices of the change that the reviewer has not confirmed.
    Slices(Vec<u32>),
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingHandedOver => f.write_str("no work has been handed over yet"),
            Self::NothingChanged => f.write_str("the work changes no file"),
            Self::Blocking(findings) => write!(f, "open P0/P1 findings: {}", findings.join(", ")),
            Self::CheckFailed(check) => write!(f, "the check '{check}' fails on this tree"),
            Self::CheckMissing(check) => write!(f, "the check '{check}' has not passed on this tree"),
            Self::Reviews { by } if by.is_empty() => f.write_str("two clean reviews of this tree by different agents"),
            Self::Reviews { by } => {
                let names = by.iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ");
                write!(f, "a second clean review of this tree by another agent (clean so far: {names})")
            }
            Self::Unanswered(findings) => {
                write!(f, "findings that have to be answered (--fixed or --dispute): {}", findings.join(", "))
            }
            Self::Explanation(parts) => {
                write!(f, "an explanation for the person (--explain FILE with the headings: {})", parts.join(", "))
            }
            Self::Comprehension => {
                f.write_str("a person's word that the document is understood; it is asked for once all else holds")
            }
            Self::NoAlternation => f.write_str("the reviewer role has not alternated yet (round_role_history)"),
            Self::Questions(1) => f.write_str("one question is not answered"),
            Self::Questions(n) => write!(f, "{n} questions are not answered"),
            Self::TreeChanged(files) => {
                write!(f, "files changed during the review: {}", list(files))
            }
            Self::Slices(missing) => {
                let numbers = missing.iter().map(u32::to_string).collect::<Vec<_>>();
                write!(f, "slices of the change that are not confirmed (--reviewed): {}", numbers.join(", "))
            }
        }
    }
}

/// Returns every criterion that does not hold yet, given these clean reviews of the newest snapshot.
pub fn unmet(unit: &Unit, streak: &[CleanReview]) -> Vec<Unmet> {
    let mut unmet = Vec::new();
    if unit.evidence.snapshot.is_none() {
        unmet.push(Unmet::NothingHandedOver);
    }
    if unit.changes_nothing() {
        unmet.push(Unmet::NothingChanged);
    }
    let (unanswered, blocking): (Vec<_>, Vec<_>) = unit.ledger.blocking().partition(|row| row.wants_answer());
    let short = |rows: Vec<&Row>| rows.into_iter().map(Row::short).collect::<Vec<_>>();
    if !blocking.is_empty() {
        unmet.push(Unmet::Blocking(short(blocking)));
    }
    if !unanswered.is_empty() {
        unmet.push(Unmet::Unanswered(short(unanswered)));
    }
    for check in unit.checks_not_passed() {
        unmet.push(match unit.check(check) {
            CheckState::Failed(_) => Unmet::CheckFailed(check.to_owned()),
            _ => Unmet::CheckMissing(check.to_owned()),
        });
    }
    if !strict::suffices(&unit.rules, streak) {
        unmet.push(Unmet::Reviews { by: streak.iter().map(|review| review.agent.clone()).collect() });
    }
    if !alternated(unit) {
        unmet.push(Unmet::NoAlternation);
    }
    if !unit.gate.questions.is_empty() {
        unmet.push(Unmet::Questions(unit.gate.questions.len()));
    }
    unmet.extend(unexplained(unit));
    if !understood(unit) {
        unmet.push(Unmet::Comprehension);
    }
    unmet
}

/// What the agents have not explained to the person, if anything. Spec: criterion 3 of convergence.
fn unexplained(unit: &Unit) -> Option<Unmet> {
    let missing = unit.gate.explanation.missing();
    (!missing.is_empty()).then_some(Unmet::Explanation(missing))
}

/// Refuses the review that would complete the acceptance while the person has not been told what they decide on.
pub(super) fn explained(unit: &Unit, by: &AgentId, pass: &Pass) -> Result<(), Refusal> {
    let mut told = unit.gate.explanation.clone();
    pass.explanation.iter().for_each(|explanation| told.take_over(explanation));
    let missing = told.missing();
    if missing.is_empty() || !would_be_clean(unit, by, pass) {
        return Ok(());
    }
    let mut streak = unit.rounds.streak.clone();
    streak.push(strict::review_by(unit, by, unit.rounds.round));
    match strict::suffices(&unit.rules, &streak) {
        true => Err(Refusal::NotConverged { unmet: vec![Unmet::Explanation(missing)] }),
        false => Ok(()),
    }
}

/// Whether a review would be clean if no file changes before its snapshot.
pub(super) fn would_be_clean(unit: &Unit, by: &AgentId, pass: &Pass) -> bool {
    let Some(findings) = &pass.findings else { return false };
    let (answers, risk, discuss) = (&pass.answers, &unit.rules.risk, pass.discuss);
    let ledger = unit.ledger.reviewed(&Review { by, round: unit.rounds.round, findings, answers, risk, discuss });
    !discuss && strict::is_clean(unit, &ledger)
}

/// Whether nobody has to say any more that the document is understood.
fn understood(unit: &Unit) -> bool {
    unit.rules.kind != BubbleKind::Document
        || (unit.gate.understood.is_some() && unit.gate.understood.as_ref() == unit.tree())
}

impl Refusal {
    /// What is written down of a command that was refused.
    pub fn warning(&self, command: &Command) -> Warning {
        let unmet = match self {
            Self::NotConverged { unmet } => unmet.as_slice(),
            _ => &[],
        };
        Warning {
            command: command.name().to_owned(),
            reason: self.to_string(),
            unmet: unmet.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Whether the role history shows two different reviewers.
fn alternated(unit: &Unit) -> bool {
    let mut reviewers = unit.rounds.history.iter().map(|roles| &roles.reviewer);
    let first = reviewers.next();
    let different = reviewers.any(|reviewer| Some(reviewer) != first);
    different || (unit.rules.agents.same_model() && unit.rounds.history.len() >= 2)
}

/// An agent claims convergence in a running bubble.
pub(super) fn claim(unit: &Unit, at: &Turn, by: &AgentId, command: &Command) -> Result<Decided, Refusal> {
    let Command::Converged { summary, refs, seen, explanation, reviewed, .. } = command else {
        return Err(Refusal::NotOwed);
    };
    if at.agent == *by && at.seat == Seat::Producer {
        return Err(Refusal::NotReviewer { by: by.clone(), seat: at.seat, round: unit.rounds.round });
    }
    turn::may_act(unit, at, by, "converged")?;
    if summary.trim().is_empty() {
        return Err(Refusal::Empty { what: "the summary" });
    }
    slices::admit(at, reviewed)?;
    let cleared = claimed(unit, by, summary, explanation.as_ref());
    let mut unmet = unmet(&cleared, &cleared.rounds.streak);
    // What was asked because nothing was heard of the agent is withdrawn with its claim.
    unmet.retain(|criterion| !matches!(criterion, Unmet::Questions(_)) || !presence::only_about(unit, by));
    let unread = slices::missing(at, reviewed);
    if !unread.is_empty() {
        unmet.push(Unmet::Slices(unread));
    }
    if !seen.differing.is_empty() || unit.tree() != Some(&seen.tree) {
        unmet.push(Unmet::TreeChanged(seen.differing.clone()));
    }
    if !unmet.is_empty() {
        return Err(Refusal::NotConverged { unmet });
    }
    let sender = Party::Agent(by.clone());
    let mut decided = accept(&cleared, summary, sender, Vec::new()).ok_or(Refusal::NotOwed)?;
    if let Some(first) = decided.events.first_mut() {
        first.refs.clone_from(refs);
        first.key = key_of(unit, command);
        if let Body::Convergence(claim) = &mut first.body {
            claim.explanation.clone_from(explanation);
            claim.reviewed.clone_from(reviewed);
        }
    }
    Ok(decided)
}

/// Returns the state in which a claim of convergence by `by` is judged: as if its clean review were recorded.
pub fn claimed(unit: &Unit, by: &AgentId, summary: &str, explanation: Option<&Explanation>) -> Unit {
    let mut cleared = unit.clone();
    if let Some(explanation) = explanation {
        cleared.gate.explanation.take_over(explanation);
    }
    cleared.review(by, unit.rounds.round, None);
    cleared.rounds.streak.push(strict::review_by(unit, by, unit.rounds.round));
    let said = Said { round: unit.rounds.round, seat: Seat::Critic, agent: by.clone(), summary: summary.to_owned() };
    cleared.gate.summaries.push_back(said);
    cleared
}

/// Returns what a person does without by accepting the work as it is: findings that block, a missing second review, a
/// missing explanation, and the question whether a document is understood, which is not asked apart then. Minor findings stay open: nobody has
/// decided on them.
pub fn waivers(unit: &Unit) -> Vec<String> {
    let mut waived: Vec<_> = unit.ledger.blocking().map(Row::short).collect();
    if !strict::suffices(&unit.rules, &unit.rounds.streak) {
        let missing = if unit.rounds.streak.is_empty() { "two clean reviews" } else { "a second clean review" };
        waived.push(missing.to_owned());
    }
    if let Some(Unmet::Explanation(missing)) = unexplained(unit) {
        waived.push(format!("an explanation ({})", missing.join(", ")));
    }
    if !understood(unit) {
        waived.push("the person's word that the document is understood".to_owned());
    }
    waived
}

/// Whether no review is missing: the turn ended with one that suffices, or those before a merge of the base are kept.
pub(super) fn is_reviewed(unit: &Unit, turn: &Turn) -> bool {
    let kept =
        turn.seat == Seat::Critic && turn.stage == Stage::Opening && strict::suffices(&unit.rules, &unit.rounds.streak);
    turn.stage == Stage::Settled || kept
}

/// Accepts work for which every criterion holds, or which a person has accepted at a tie-break.
pub(super) fn conclude(unit: &Unit) -> Option<Decided> {
    let Phase::Running(turn) = &unit.phase else { return None };
    if turn.stage == Stage::Accepted {
        let waived = waivers(unit);
        return accept(unit, "accepted by a person at a tie-break", Party::Orchestrator, waived);
    }
    let evidence = || missing_checks(unit).is_empty() && unit.to_reproduce().next().is_none();
    if unit.paused || !is_reviewed(unit, turn) || !(turn.stage == Stage::Settled || evidence()) {
        return None;
    }
    match unmet(unit, &unit.rounds.streak).as_slice() {
        [Unmet::Comprehension] => Some(Decided::one(comprehension(unit))),
        [] => {
            let summary = unit.gate.summaries.back().map(|said| said.summary.clone()).unwrap_or_default();
            accept(unit, &summary, Party::Orchestrator, Vec::new())
        }
        _ => None,
    }
}

/// The question whether the person has understood the document.
fn comprehension(unit: &Unit) -> Event {
    let files = unit.evidence.snapshot.iter().flat_map(|snapshot| &snapshot.changed).map(|file| file.path.clone());
    let files: Vec<_> = files.collect();
    let explained = unit.gate.explanation.parts().into_iter().filter(|(_, text)| !text.is_empty());
    let explained: Vec<_> = explained.map(|(name, text)| format!("{name}: {text}")).collect();
    let question = format!(
        "the document is reviewed ({}). Have you read and understood it? `--decision accept` confirms it; anything else \
         goes to the implementer. {}",
        list(&files),
        explained.join("\n")
    );
    human::own_question(unit, QuestionKind::Comprehension, question.trim_end().to_owned())
}

/// The facts of an acceptance: the certificate, and the request to decide on the package.
///
/// Returns nothing while there is no snapshot, or a check has not passed.
pub(super) fn accept(unit: &Unit, summary: &str, sender: Party, waived: Vec<String>) -> Option<Decided> {
    let certificate: Certificate = strict::certify(unit, &unit.rounds.streak, waived)?;
    let message = package::commit_message(unit);
    let text = package::render(unit, &certificate, &message);
    let request = ApprovalRequest {
        tree: certificate.tree.clone(),
        commit_message: message,
        package: package::NAME.to_owned(),
        package_sha256: sha256(text.as_bytes()),
    };
    let mut convergence = Event::own(
        unit.rounds.round,
        Body::Convergence(Convergence {
            summary: summary.to_owned(),
            certificate,
            explanation: None,
            reviewed: Vec::new(),
        }),
    );
    convergence.sender = sender;
    convergence.recipient = Party::Orchestrator;
    let mut approval = Event::own(unit.rounds.round, Body::ApprovalRequest(request));
    approval.refs.push(format!("artifact://{}", package::NAME));
    let artifact = Artifact { name: package::NAME.to_owned(), bytes: text.into_bytes() };
    Some(Decided { events: vec![convergence, approval], artifacts: vec![artifact] })
}
