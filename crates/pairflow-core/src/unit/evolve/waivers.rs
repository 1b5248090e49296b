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
    if !strict::is_clean(unit) {
        unclean(unit, at);
    }
}

/// Reviews that were clean only thanks to the waiver are none any more; the producer is next where they had sufficed.
/// The person wants it dealt with, so there is a fresh budget for that.
fn unclean(unit: &mut Unit, at: Moment) {
    unit.streak.clear();
    unit.renew_budget();
    let seats = unit.seats.clone();
    match unit.phase.turn().map(|turn| turn.stage.clone()) {
        Some(Stage::Settled) => {
            begin_round(unit, seats);
            begin_turn(unit, Seat::Producer, Stage::Opening, at);
        }
        Some(Stage::Closing(handover)) if handover.clean => {
            if handover.accepts {
                begin_round(unit, handover.seats.clone());
            } else {
                unit.seats = handover.seats.clone();
                correct_roles(unit);
            }
            let handover = Handover { clean: false, accepts: false, ..handover };
            begin_turn(unit, Seat::Producer, Stage::Closing(handover), at);
        }
        _ => {}
    }
}
