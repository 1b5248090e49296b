//! A person changed the configuration of a bubble that is under way.

use crate::bubble::evolve::turns::{closing, set_stage};
use crate::bubble::{BubbleState, Stage};
use crate::facts::Seat;
use crate::rules::Rules;

/// Other rules are in force. What a check said under another command does not count any more.
pub(super) fn configured(state: &mut BubbleState, rules: &Rules, recheck: bool) {
    let before = std::mem::replace(&mut state.rules, rules.clone());
    if let Some(snapshot) = state.evidence.snapshot.as_mut().filter(|snapshot| snapshot.whole.is_none()) {
        let paths = snapshot.changed.iter().map(|file| &file.path);
        snapshot.out_of_scope = paths.filter(|path| !rules.scope.admits(path)).cloned().collect();
    }
    let other = before.changed_checks(rules);
    state.evidence.receipts.retain(|receipt| !other.contains(&receipt.check));
    state.evidence.superseded.retain(|receipt| !other.contains(&receipt.check));
    state.evidence.could_not.retain(|check, _| !other.contains(check));
    state.evidence.not_available.retain(|check| !other.contains(check));
    state.evidence.waived_checks.retain(|check, _| !other.contains(check));
    state.evidence.known_failures.retain(|check| !other.contains(check));
    // What failed without the right setup command says nothing.
    let set_up_anew = before.setup != rules.setup;
    state
        .evidence
        .baseline
        .retain(|receipt| !other.contains(&receipt.check) && (!set_up_anew || receipt.outcome.passed()));
    if set_up_anew {
        state.evidence.receipts.retain(|receipt| receipt.outcome.passed());
    }
    if let Some(handover) = closing(state).filter(|_| !other.is_empty()) {
        handover.checks_changed = true;
    }
    let reviewing = state.phase.turn().is_some_and(|turn| turn.seat == Seat::Reviewer && turn.stage == Stage::Open);
    if recheck && reviewing {
        // The review goes on after they have run.
        set_stage(state, Stage::Opening);
    }
}
