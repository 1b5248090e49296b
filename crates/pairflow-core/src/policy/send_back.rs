//! Evidence goes before opinions: what becomes of work on which something fails that pairflow ran itself.

use crate::ids::Party;
use crate::log::{Next, Reason};
use crate::policy::{After, Conclusion, Facts, questions};
use crate::progress::WentBack;

/// How often in a row work goes back without a review; after that a reviewer looks at it all the same.
const SEND_BACKS: u32 = 3;

/// Sends work back on which something fails; or asks about it, if the same files failed before in the same way: either
/// the check is wrong, or the implementer does not know what to do.
pub(in crate::policy) fn send_back(facts: Facts<'_>, why: Vec<Reason>) -> After {
    let rounds = facts.rounds;
    let author = facts.evidence.snapshot.as_ref().and_then(|snapshot| snapshot.author.as_ref());
    let produced = author == Some(&Party::Agent(rounds.seats.implementer.clone()));
    // What somebody else broke is reviewed first; what a review found nothing in, and fails now, goes back.
    if !produced && facts.streak.is_empty() {
        return After::Review;
    }
    let here = rounds.went_back.as_ref().filter(|last| Some(&last.tree) == facts.evidence.tree());
    if author == Some(&Party::Human) && !here.is_some_and(|last| last.asked) {
        return After::Ask(questions::fails_since_merge(facts, &why));
    }
    match here.filter(|last| last.why == why) {
        Some(WentBack { asked: false, .. }) => After::Ask(questions::fails_again(facts, &why)),
        None if rounds.sent_back >= SEND_BACKS => After::Review,
        _ => concluded(facts, Next::Implement, why),
    }
}

/// A conclusion about work, with the seats as they are.
pub(in crate::policy) fn concluded(facts: Facts<'_>, next: Next, reasons: Vec<Reason>) -> After {
    After::Concluded(Conclusion { clean: None, next, seats: facts.rounds.seats.clone(), reasons })
}
