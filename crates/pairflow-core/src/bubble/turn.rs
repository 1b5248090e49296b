//! An agent hands over.

use crate::bubble::{
    Command, Decided, HeadSeen, PassCommand, Refusal, Stage, Turn, Unit, answers, key_of, preview, questions, slices,
};
use crate::facts::Seat;
use crate::facts::{Step, StepName};
use crate::ids::Party;
use crate::log::{Body, Event, Intent, Pass};
use crate::rules::BubbleKind;

/// A hand-over in a running bubble.
pub(super) fn pass(unit: &Unit, turn: &Turn, pass: &PassCommand) -> Result<Decided, Refusal> {
    may_act(unit, turn, &pass.by, "pass")?;
    if turn.seat == Seat::Judge {
        return Err(Refusal::NothingToHandOver { by: pass.by.clone(), round: unit.rounds.round });
    }
    if pass.summary.trim().is_empty() {
        return Err(Refusal::Empty { what: "the summary" });
    }
    blocked(unit, turn.seat, &pass.blockers)?;
    let findings = declared(unit, turn.seat, pass)?;
    answers::admit(unit, &pass.by, turn.seat, &pass.answers)?;
    steps_done(unit, turn.seat, &pass.steps)?;
    slices::admit(turn, &pass.reviewed)?;
    on_its_branch(unit, &pass.head)?;
    let inferred = match turn.seat {
        Seat::Producer => Intent::Review,
        Seat::Critic | Seat::Judge => Intent::FixRequest,
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
        Seat::Producer => &unit.rounds.seats.critic,
        Seat::Critic | Seat::Judge => &unit.rounds.seats.producer,
    };
    slices::read(unit, turn, &pass.by, &body)?;
    answers::admit_claim(unit, pass, &body)?;
    if turn.seat == Seat::Critic {
        preview::explained(unit, &pass.by, &body)?;
    }
    let event = Event {
        sender: Party::Agent(pass.by.clone()),
        recipient: Party::Agent(recipient.clone()),
        round: unit.rounds.round,
        body: Body::Pass(body),
        refs: pass.refs.clone(),
        in_reply_to: None,
        key: key_of(unit, &Command::Pass(pass.clone())),
    };
    let mut events = vec![event];
    events.extend(pass.discuss.then(|| questions::discussion(unit, &pass.by, &pass.summary)));
    Ok(Decided::of(events))
}

/// Whether `by` may act now: it is its turn, the turn is open, and nobody paused.
pub(super) fn may_act(
    unit: &Unit,
    turn: &Turn,
    by: &crate::ids::AgentId,
    command: &'static str,
) -> Result<(), Refusal> {
    if !unit.rules.agents.contain(by) {
        let known = unit.rules.agents.all().map(|agent| agent.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Refusal::NoSeat { agent: by.clone(), known });
    }
    if unit.paused {
        return Err(Refusal::Paused { command });
    }
    let undecided = matches!(&turn.stage, Stage::Closing(handover) if handover.seat == Seat::Critic);
    if turn.agent != *by && !undecided {
        let (holder, seat, round) = (turn.agent.clone(), turn.seat, unit.rounds.round);
        return Err(Refusal::NotYourTurn { by: by.clone(), holder, seat, round });
    }
    if turn.is_open() {
        return Ok(());
    }
    let which = if undecided { "the next turn".to_owned() } else { format!("{}'s turn", turn.agent) };
    Err(Refusal::StillOpening { turn: which, owes: opening(unit, turn) })
}

/// Says what is owed before a turn opens.
fn opening(unit: &Unit, turn: &Turn) -> String {
    match &turn.stage {
        Stage::Closing(handover) => format!("the tree that {} left is not recorded yet", handover.by),
        Stage::Opening => match super::missing_checks(unit).first() {
            Some((check, _)) => format!("the check '{}' has not finished", check.name),
            None => match unit.facts().to_reproduce().next() {
                Some((finding, _)) => format!("the reproducer of {finding} has not finished"),
                None => "the notice is not out yet".to_owned(),
            },
        },
        Stage::Open => "it is open".to_owned(),
        Stage::Settled | Stage::Accepted | Stage::Certified => "the reviews suffice".to_owned(),
    }
}

/// What the hand-over declares, with names for the findings.
fn declared(unit: &Unit, seat: Seat, pass: &PassCommand) -> Result<Option<Vec<crate::facts::Finding>>, Refusal> {
    match (seat, &pass.findings) {
        (Seat::Producer, None) => Ok(pass.filed().map(|blockers| unit.ledger.name(&blockers))),
        (Seat::Producer, Some(_)) => Err(Refusal::FindingsFromProducer),
        (Seat::Judge, _) => Ok(None),
        (Seat::Critic, None) if pass.answers.reopened.is_empty() => Err(Refusal::NoDeclaration),
        (Seat::Critic, None) => Ok(Some(Vec::new())),
        (Seat::Critic, Some(findings)) => {
            repeated(unit, findings)?;
            Ok(Some(unit.ledger.name(findings)))
        }
    }
}

/// Whether the rows that findings say to repeat are there, each named once.
fn repeated(unit: &Unit, findings: &[crate::facts::Finding]) -> Result<(), Refusal> {
    let mut named = std::collections::BTreeSet::new();
    for id in findings.iter().filter_map(|finding| finding.repeats) {
        if unit.ledger.get(id).is_none() {
            return Err(Refusal::UnknownFinding { id: id.to_string() });
        }
        if !named.insert(id) {
            return Err(Refusal::RepeatedTwice { id });
        }
    }
    Ok(())
}

/// Whether blockers may be given here.
fn blocked(unit: &Unit, seat: Seat, blockers: &[String]) -> Result<(), Refusal> {
    let here = unit.rules.kind == BubbleKind::Document && seat == Seat::Producer;
    if here || blockers.is_empty() { Ok(()) } else { Err(Refusal::NoBlockersHere { seat }) }
}

/// Whether a document went through the steps of its protocol: the dry run of its implementer, all of them in a review.
fn steps_done(unit: &Unit, seat: Seat, steps: &[Step]) -> Result<(), Refusal> {
    if unit.rules.kind != BubbleKind::Document {
        return if steps.is_empty() { Ok(()) } else { Err(Refusal::NoStepsHere) };
    }
    let done = |name: &StepName| steps.iter().any(|step| step.step == *name && !step.result.trim().is_empty());
    let foreign = steps.iter().find(|step| step.step != StepName::DryRun);
    let missing: Vec<_> = StepName::ALL.into_iter().filter(|name| !done(name)).map(StepName::name).collect();
    match (seat, foreign) {
        (Seat::Producer, Some(step)) => Err(Refusal::StepOfReviewer { step: step.step.name() }),
        (Seat::Producer, None) if !done(&StepName::DryRun) => Err(Refusal::NoOutline),
        (Seat::Critic, _) if !missing.is_empty() => Err(Refusal::StepsMissing { missing }),
        _ => Ok(()),
    }
}

/// Whether the worktree is on the bubble's own branch.
fn on_its_branch(unit: &Unit, head: &HeadSeen) -> Result<(), Refusal> {
    let branch = &unit.rules.bubble_branch;
    let worktree = unit.evidence.workspace.as_ref().map_or_else(String::new, |workspace| workspace.path.clone());
    let at = match head {
        HeadSeen::Branch(name) if name == branch => return Ok(()),
        HeadSeen::Branch(name) => format!("on branch {name}"),
        HeadSeen::Detached => "on a detached HEAD".to_owned(),
        HeadSeen::Missing => return Err(Refusal::WorktreeGone { worktree }),
    };
    Err(Refusal::WrongBranch { at, branch: branch.clone(), worktree })
}
