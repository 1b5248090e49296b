//! An agent hands over.

use crate::bubble::{
    BubbleState, Command, Decided, HeadSeen, PassCommand, Refusal, Stage, Turn, answers, key_of, preview, questions,
    slices,
};
use crate::facts::Seat;
use crate::facts::{Step, StepName};
use crate::ids::Party;
use crate::log::{Body, Event, Intent, Pass};
use crate::rules::BubbleKind;

/// A hand-over in a running bubble.
pub(super) fn pass(state: &BubbleState, turn: &Turn, pass: &PassCommand) -> Result<Decided, Refusal> {
    may_act(state, turn, &pass.by, "pass")?;
    if turn.seat == Seat::Judge {
        return Err(Refusal::NothingToHandOver { by: pass.by.clone(), round: state.rounds.round });
    }
    if pass.summary.trim().is_empty() {
        return Err(Refusal::Empty { what: "the summary" });
    }
    blocked(state, turn.seat, &pass.blockers)?;
    let findings = declared(state, turn.seat, pass)?;
    answers::admit(state, &pass.by, turn.seat, &pass.answers)?;
    steps_done(state, turn.seat, &pass.steps)?;
    slices::admit(turn, &pass.reviewed)?;
    on_its_branch(state, &pass.head)?;
    let inferred = match turn.seat {
        Seat::Implementer => Intent::Review,
        Seat::Reviewer | Seat::Judge => Intent::FixRequest,
    };
    let body = Pass {
        summary: pass.summary.clone(),
        pass_intent: pass.intent.unwrap_or(inferred),
        findings,
        answers: pass.answers.clone(),
        explanation: pass.explanation.clone(),
        steps: pass.steps.clone(),
        discuss: pass.discuss,
        reviewed: pass.reviewed.clone(),
    };
    let recipient = match turn.seat {
        Seat::Implementer => &state.rounds.seats.reviewer,
        Seat::Reviewer | Seat::Judge => &state.rounds.seats.implementer,
    };
    slices::read(state, turn, &pass.by, &body)?;
    answers::admit_claim(state, pass, &body)?;
    if turn.seat == Seat::Reviewer {
        preview::explained(state, &pass.by, &body)?;
    }
    let event = Event {
        sender: Party::Agent(pass.by.clone()),
        recipient: Party::Agent(recipient.clone()),
        round: state.rounds.round,
        body: Body::Pass(body),
        refs: pass.refs.clone(),
        in_reply_to: None,
        key: key_of(state, &Command::Pass(pass.clone())),
    };
    let mut events = vec![event];
    events.extend(pass.discuss.then(|| questions::discussion(state, &pass.by, &pass.summary)));
    Ok(Decided::of(events))
}

/// Whether `by` may act now: it is its turn, the turn is open, and nobody paused.
pub(super) fn may_act(
    state: &BubbleState,
    turn: &Turn,
    by: &crate::ids::AgentId,
    command: &'static str,
) -> Result<(), Refusal> {
    if !state.rules.agents.contain(by) {
        let known = state.rules.agents.all().map(|agent| agent.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Refusal::NoSeat { agent: by.clone(), known });
    }
    if state.paused {
        return Err(Refusal::Paused { command });
    }
    let undecided = matches!(&turn.stage, Stage::Closing(handover) if handover.seat == Seat::Reviewer);
    if turn.agent != *by && !undecided {
        let (holder, seat, round) = (turn.agent.clone(), turn.seat, state.rounds.round);
        return Err(Refusal::NotYourTurn { by: by.clone(), holder, seat, round });
    }
    if turn.is_open() {
        return Ok(());
    }
    let which = if undecided { "the next turn".to_owned() } else { format!("{}'s turn", turn.agent) };
    Err(Refusal::StillOpening { turn: which, owes: opening(state, turn) })
}

/// Says what is owed before a turn opens.
fn opening(state: &BubbleState, turn: &Turn) -> String {
    match &turn.stage {
        Stage::Closing(handover) => format!("the tree that {} left is not recorded yet", handover.by),
        Stage::Opening => match super::missing_checks(state).first() {
            Some((check, _)) => format!("the check '{}' has not finished", check.name),
            None => match state.facts().to_reproduce().next() {
                Some((finding, _)) => format!("the reproducer of {finding} has not finished"),
                None => "the notice is not out yet".to_owned(),
            },
        },
        Stage::Open => "it is open".to_owned(),
        Stage::Settled | Stage::Accepted | Stage::Certified => "the reviews suffice".to_owned(),
    }
}

/// What the hand-over declares, with names for the findings.
fn declared(
    state: &BubbleState,
    seat: Seat,
    pass: &PassCommand,
) -> Result<Option<Vec<crate::facts::Finding>>, Refusal> {
    match (seat, &pass.findings) {
        (Seat::Implementer, None) => Ok(pass.filed().map(|blockers| state.ledger.name(&blockers, &state.rules.risk))),
        (Seat::Implementer, Some(_)) => Err(Refusal::FindingsFromImplementer),
        (Seat::Judge, _) => Ok(None),
        (Seat::Reviewer, None) if pass.answers.reopened.is_empty() => Err(Refusal::NoDeclaration),
        (Seat::Reviewer, None) => Ok(Some(Vec::new())),
        (Seat::Reviewer, Some(findings)) => {
            repeated(state, findings)?;
            Ok(Some(state.ledger.name(findings, &state.rules.risk)))
        }
    }
}

/// Whether the rows that findings say to repeat are there, each named once.
fn repeated(state: &BubbleState, findings: &[crate::facts::Finding]) -> Result<(), Refusal> {
    let mut named = std::collections::BTreeSet::new();
    for id in findings.iter().filter_map(|finding| finding.repeats) {
        if state.ledger.get(id).is_none() {
            return Err(Refusal::UnknownFinding { id: id.to_string() });
        }
        if !named.insert(id) {
            return Err(Refusal::RepeatedTwice { id });
        }
    }
    Ok(())
}

/// Whether blockers may be given here.
fn blocked(state: &BubbleState, seat: Seat, blockers: &[String]) -> Result<(), Refusal> {
    let here = state.rules.kind == BubbleKind::Document && seat == Seat::Implementer;
    if here || blockers.is_empty() { Ok(()) } else { Err(Refusal::NoBlockersHere { seat }) }
}

/// Whether a document went through the steps of its protocol: the dry run of its implementer, all of them in a review.
fn steps_done(state: &BubbleState, seat: Seat, steps: &[Step]) -> Result<(), Refusal> {
    if state.rules.kind != BubbleKind::Document {
        return if steps.is_empty() { Ok(()) } else { Err(Refusal::NoStepsHere) };
    }
    let done = |name: &StepName| steps.iter().any(|step| step.step == *name && !step.result.trim().is_empty());
    let foreign = steps.iter().find(|step| step.step != StepName::DryRun);
    let missing: Vec<_> = StepName::ALL.into_iter().filter(|name| !done(name)).map(StepName::name).collect();
    match (seat, foreign) {
        (Seat::Implementer, Some(step)) => Err(Refusal::StepOfReviewer { step: step.step.name() }),
        (Seat::Implementer, None) if !done(&StepName::DryRun) => Err(Refusal::NoOutline),
        (Seat::Reviewer, _) if !missing.is_empty() => Err(Refusal::StepsMissing { missing }),
        _ => Ok(()),
    }
}

/// Whether the worktree is on the bubble's own branch.
fn on_its_branch(state: &BubbleState, head: &HeadSeen) -> Result<(), Refusal> {
    let branch = &state.rules.bubble_branch;
    let worktree = state.evidence.workspace.as_ref().map_or_else(String::new, |workspace| workspace.path.clone());
    let at = match head {
        HeadSeen::Branch(name) if name == branch => return Ok(()),
        HeadSeen::Branch(name) => format!("on branch {name}"),
        HeadSeen::Detached => "on a detached HEAD".to_owned(),
        HeadSeen::Missing => return Err(Refusal::WorktreeGone { worktree }),
    };
    Err(Refusal::WrongBranch { at, branch: branch.clone(), worktree })
}
