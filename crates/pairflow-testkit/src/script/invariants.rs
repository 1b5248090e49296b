//! What must hold in every state that a bubble can get into, whatever was asked of it.

use std::collections::HashMap;

use pairflow_core::bubble::{
    BubbleState, KEYS_KEPT, Phase, Recomputed, SUMMARIES_KEPT, Stage, VerdictStand, advance, next_deadline, owed,
    recompute, recompute_verdicts,
};
use pairflow_core::findings::{CHANGES_KEPT, ROWS_KEPT};
use pairflow_core::ids::{AgentId, Party, TreeId};
use pairflow_core::log::{Body, Envelope, Evidence, GateDecision, Lifecycle};

use super::evidence;

/// Returns every invariant that does not hold, as a sentence.
pub fn broken(state: &BubbleState, log: &[Envelope]) -> Vec<String> {
    let rules = [
        ("a bubble waits for a person exactly while a question is open", waits_for_a_reason(state)),
        ("the turn belongs to the agent in its seat", turn_fits_seats(state)),
        ("every round has its entries in the role history, the newest with the present seats", history_fits(state)),
        ("no more rounds and reviews than the rules allow", budget_fits(state)),
        ("nothing is owed and no time runs in a final state", !state.phase.is_final() || at_rest(state)),
        ("a deadline runs only while an agent may act", deadline_fits(state)),
        ("what is up for approval is the newest snapshot, with its certificate", package_fits(state)),
        ("only a loop can be paused", !state.paused || state.phase.turn().is_some() || state.phase.is_final()),
        ("what is remembered is bounded", bounded(state)),
        ("every clean review that counts is of the newest snapshot's tree", streak_fits(state, log)),
        ("the last decision before a commit approved exactly its tree", commit_was_approved(log)),
        ("what is accepted has its evidence in the log", evidence::accepted_justly(state, log)),
        ("the certificate can be recomputed from the log", certificate_follows(state, log)),
        ("every verdict can be recomputed from the log", verdicts_follow(state, log)),
        ("the log gives the same state when no policy can be asked", is_same_without_policies(state, log)),
    ];
    rules.into_iter().filter(|(_, holds)| !holds).map(|(rule, _)| rule.to_owned()).collect()
}

/// Says why a bubble that owes nothing cannot go on, if that is so.
pub fn stuck(state: &BubbleState) -> Option<String> {
    let Phase::Running(turn) = &state.phase else { return None };
    let goes_on = state.paused || state.gate.updating || turn.is_open();
    (!goes_on).then(|| format!("nobody may act, nothing is owed, and nobody is asked: {:?}", turn.stage))
}

fn waits_for_a_reason(state: &BubbleState) -> bool {
    matches!(state.phase, Phase::WaitingHuman(_)) != state.gate.questions.is_empty()
}

fn turn_fits_seats(state: &BubbleState) -> bool {
    // While a hand-over is closing, the turn may still be the one that is handed over.
    state
        .phase
        .turn()
        .is_none_or(|turn| *state.rounds.seats.agent(turn.seat) == turn.agent && turn.number == state.rounds.turns)
}

fn history_fits(state: &BubbleState) -> bool {
    let rounds = state.rounds.history.chunk_by(|one, next| one.round == next.round);
    let numbered = rounds.zip(1..=state.rounds.round).all(|(seatings, round)| seatings[0].round == round);
    let newest = state.rounds.history.last().is_none_or(|roles| {
        roles.implementer == state.rounds.seats.implementer && roles.reviewer == state.rounds.seats.reviewer
    });
    numbered && newest && state.rounds.history.last().map_or(0, |roles| roles.round) == state.rounds.round
}

fn budget_fits(state: &BubbleState) -> bool {
    let open = matches!(&state.phase, Phase::Running(turn) if turn.is_open());
    !open
        || (state.rounds.spent.rounds <= state.rules.max_rounds
            && state.rounds.spent.looks < state.policy().max_looks())
}

fn at_rest(state: &BubbleState) -> bool {
    owed(state).is_empty() && next_deadline(state, None).is_none() && state.gate.questions.is_empty()
}

fn deadline_fits(state: &BubbleState) -> bool {
    let may_act = matches!(&state.phase, Phase::Running(turn) if turn.stage == Stage::Open) && !state.paused;
    next_deadline(state, None).is_some() == may_act
}

fn package_fits(state: &BubbleState) -> bool {
    let tree = match &state.phase {
        Phase::ReadyForApproval(request) => &request.tree,
        Phase::Approved(approval) => &approval.request.tree,
        Phase::Committed(at) | Phase::Done(at) => &at.tree,
        _ => return true,
    };
    let newest = state.evidence.snapshot.as_ref().is_some_and(|snapshot| snapshot.tree == *tree);
    newest && state.gate.certificate.as_ref().is_some_and(|certificate| certificate.tree == *tree)
}

fn bounded(state: &BubbleState) -> bool {
    let rows = &state.ledger.rows;
    let ledger = rows.len() <= ROWS_KEPT && rows.iter().all(|row| row.history.len() <= CHANGES_KEPT);
    ledger && state.keys.len() <= KEYS_KEPT && state.gate.summaries.len() <= SUMMARIES_KEPT
}

/// Replays the log with the name of a policy that panics when it is asked anything.
fn is_same_without_policies(state: &BubbleState, log: &[Envelope]) -> bool {
    let (mut told, mut replayed) = (BubbleState::new(state.id.clone()), BubbleState::new(state.id.clone()));
    for envelope in log {
        advance(&mut told, envelope);
        let mut envelope = envelope.clone();
        if let Body::Lifecycle(
            Lifecycle::Created { rules, .. }
            | Lifecycle::StartRequested { rules }
            | Lifecycle::Configured { rules, .. },
        ) = &mut envelope.event.body
        {
            rules.policy = "panics".to_owned();
        }
        advance(&mut replayed, &envelope);
    }
    replayed.rules.policy.clone_from(&told.rules.policy);
    replayed == told
}

/// Looks each counted review up in the log, with the tree that was the newest when it was made.
fn streak_fits(state: &BubbleState, log: &[Envelope]) -> bool {
    let reviewed = reviews(log);
    let of_newest =
        |agent: &AgentId, round: u32| reviewed.get(&(agent.clone(), round)).map(Option::as_ref) == Some(state.tree());
    state.rounds.streak.iter().all(|review| of_newest(&review.agent, review.round))
}

/// Who reviewed which tree in which round, the last time it did.
fn reviews(log: &[Envelope]) -> HashMap<(AgentId, u32), Option<TreeId>> {
    let mut tree: Option<TreeId> = None;
    let mut reviewed: HashMap<(AgentId, u32), Option<TreeId>> = HashMap::new();
    let mut base_only = false;
    for envelope in log {
        let event = &envelope.event;
        match (&event.body, &event.sender) {
            (Body::Lifecycle(Lifecycle::WorkspaceReady { workspace }), _) => tree = Some(workspace.base_tree.clone()),
            (Body::Lifecycle(Lifecycle::Updated { same_patch, .. }), _) => base_only = *same_patch,
            (Body::Evidence(Evidence::Snapshot { snapshot }), _) => {
                let before = tree.replace(snapshot.tree.clone());
                if std::mem::take(&mut base_only) {
                    // A review of the same change counts for the merged tree.
                    reviewed.values_mut().filter(|of| **of == before).for_each(|of| of.clone_from(&tree));
                }
            }
            (Body::Pass(_) | Body::Convergence(_), Party::Agent(by)) => {
                reviewed.insert((by.clone(), event.round), tree.clone());
            }
            _ => {}
        }
    }
    reviewed
}

/// What `verify` says of it is looked at while the package is up for approval, so once for each acceptance.
fn certificate_follows(state: &BubbleState, log: &[Envelope]) -> bool {
    !matches!(state.phase, Phase::ReadyForApproval(_)) || recompute(&state.id, log) == Some(Ok(()))
}

/// Like the certificate, and once more at the end of a bubble that was never accepted.
fn verdicts_follow(state: &BubbleState, log: &[Envelope]) -> bool {
    let looked_at = matches!(state.phase, Phase::ReadyForApproval(_)) || state.phase.is_final();
    let follows = |one: &Recomputed| one.stand == VerdictStand::Follows;
    !looked_at || recompute_verdicts(&state.id, log).iter().all(follows)
}

fn commit_was_approved(log: &[Envelope]) -> bool {
    let mut approved: Option<TreeId> = None;
    let mut newest = None;
    log.iter().all(|envelope| {
        match &envelope.event.body {
            Body::Evidence(Evidence::Snapshot { snapshot }) => newest = Some(snapshot.tree.clone()),
            Body::ApprovalDecision(it) => approved = (it.decision == GateDecision::Approve).then(|| it.tree.clone()),
            Body::Lifecycle(Lifecycle::Updated { .. }) => approved = None,
            Body::Lifecycle(Lifecycle::Committed { .. }) => return approved.is_some() && approved == newest,
            Body::DonePackage(done) => return approved.as_ref() == Some(&done.tree),
            _ => {}
        }
        true
    })
}
