//! What the person lives with, and what no longer.

use crate::log::{Control, Waivable};
use crate::rounds::policy::strict;
use crate::time::Moment;
use crate::unit::evolve::turns::{begin_round, begin_turn, correct_roles};
use crate::unit::{Handover, Seat, Stage, Unit};

/// A waiver of a check holds for this tree and for later ones, until it is taken back.
pub(super) fn waived(unit: &mut Unit, control: &Control) {
    match &control.waived {
        Some(Waivable::Finding(id)) => unit.ledger.waive(*id, unit.round, &control.reason),
        Some(Waivable::Check(name)) => {
            unit.waived_checks.insert(name.clone(), control.reason.clone());
        }
        None => {}
    }
}

/// A waiver is taken back. What the check said of this tree counts again; if it said nothing, it is owed.
pub(super) fn withdrawn(unit: &mut Unit, control: &Control, at: Moment) {
    match &control.waived {
        Some(Waivable::Finding(id)) => unit.ledger.withdraw(*id, unit.round, &control.reason),
        Some(Waivable::Check(name)) => {
            unit.waived_checks.remove(name);
        }
        None => {}
    }
    if !strict::is_clean(unit, &unit.ledger) {
        // The person wants it dealt with, so there is a fresh budget for that.
        unit.renew_budget();
        unclean(unit, Seat::Producer, at);
    }
}

/// Reviews that were clean so far are none any more; where they had sufficed, or are about to be recorded, the holder of
/// `seat` is next.
pub(super) fn unclean(unit: &mut Unit, seat: Seat, at: Moment) {
    unit.streak.clear();
    let seats = unit.seats.clone();
    match unit.phase.turn().map(|turn| turn.stage.clone()) {
        Some(Stage::Settled) => {
            begin_round(unit, seats);
            begin_turn(unit, seat, Stage::Opening, at);
        }
        Some(Stage::Closing(handover)) if handover.clean => {
            if handover.accepts {
                begin_round(unit, handover.seats.clone());
            } else {
                unit.seats = handover.seats.clone();
                correct_roles(unit);
            }
            let handover = Handover { clean: false, accepts: false, ..handover };
            begin_turn(unit, seat, Stage::Closing(handover), at);
        }
        _ => {}
    }
}
