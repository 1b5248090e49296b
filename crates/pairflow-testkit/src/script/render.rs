//! Says in one line where a bubble stands.

use pairflow_core::bubble::{BubbleState, Notice, Phase, Stage};
use pairflow_core::facts::RowState;
use pairflow_core::findings::Row;
use pairflow_core::progress::CheckState;

/// Where the bubble stands: state, whose turn, and whatever else a reader must know.
pub(super) fn stand(state: &BubbleState) -> String {
    let mut parts = vec![state.phase.name().to_string()];
    match &state.phase {
        Phase::Running(turn) | Phase::WaitingHuman(turn) => {
            parts.push(format!("{} {} round {}", turn.agent, turn.seat, state.rounds.round));
            parts.extend(stage(&turn.stage).map(str::to_owned));
        }
        Phase::ReadyForApproval(request) => parts.push(format!("round {} {}", state.rounds.round, request.tree)),
        Phase::Approved(approval) => {
            parts.push(approval.request.tree.to_string());
            parts.extend(approval.commit.as_ref().map(|_| "committing".to_owned()));
            parts.extend(approval.failed.as_ref().map(|why| format!("failed: {why}")));
        }
        Phase::Committed(at) | Phase::Done(at) => parts.push(format!("{} {}", at.commit, at.tree)),
        Phase::Failed { reason } => parts.push(reason.clone()),
        Phase::Created | Phase::Preparing | Phase::Cancelled => {}
    }
    parts.extend(state.paused.then(|| "paused".to_owned()));
    parts.extend(state.gate.updating.then(|| "updating".to_owned()));
    parts.extend(state.presence.parked.as_ref().map(|parked| format!("waits for {}", parked.agent)));
    let out = |notice: &Notice| format!("notice {} to {} sent {}", notice.number, notice.agent, notice.attempts);
    parts.extend(state.presence.outbox.iter().map(out));
    if state.phase.turn().is_some() {
        parts.extend(evidence(state));
    }
    parts.join("  ")
}

fn stage(stage: &Stage) -> Option<&'static str> {
    match stage {
        Stage::Closing(_) => Some("closing"),
        Stage::Opening => Some("opening"),
        Stage::Settled => Some("settled"),
        Stage::Accepted => Some("accepted"),
        Stage::Certified => Some("certified"),
        Stage::Open => None,
    }
}

/// A row of the ledger, with its state if it is more than open.
fn open_row(row: &Row) -> String {
    if row.state == RowState::Open { row.short() } else { format!("{} [{}]", row.short(), row.state) }
}

/// Clean reviews, checks that did not pass, open findings, open questions: each only if there are some.
fn evidence(state: &BubbleState) -> Vec<String> {
    let clean = state.rounds.streak.iter().map(|review| review.agent.to_string());
    let checks = state.rules.checks.iter().map(|check| check.name.clone());
    let is = |name: &str, stand: fn(&CheckState<'_>) -> bool| {
        state.evidence.snapshot.is_some() && !state.is_untouched() && stand(&state.check(name))
    };
    let failing = checks.clone().filter(|name| is(name, |stand| matches!(stand, CheckState::Failed(_))));
    let given_up = checks.clone().filter(|name| is(name, |stand| *stand == CheckState::NotAvailable));
    let waived = checks.clone().filter(|name| is(name, |stand| matches!(stand, CheckState::Waived(_))));
    let missing = checks.clone().filter(|name| is(name, |stand| *stand == CheckState::Missing));
    let open = state.ledger.open().map(open_row);
    let said = |question: &str| question.lines().next().unwrap_or_default().to_owned();
    let asks = state.gate.questions.iter().map(|open| format!("{}: {}", open.by, said(&open.question)));
    [
        ("clean", clean.collect::<Vec<_>>()),
        ("failing", failing.collect()),
        ("unchecked", missing.collect()),
        ("not available", given_up.collect()),
        ("waived", waived.collect()),
        ("open", open.collect()),
        ("asks", asks.collect()),
    ]
    .into_iter()
    .filter(|(_, entries)| !entries.is_empty())
    .map(|(name, entries)| format!("{name}: {}", entries.join(", ")))
    .collect()
}
