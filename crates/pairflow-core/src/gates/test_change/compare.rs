//! What a test that stays no longer asserts, or asserts less firmly.
//!
//! Claims that vanished are paired with claims that are new in the same test. A pair tells a weaker claim or another
//! expected value; a vanished claim without partner is lost, unless something that came in its place may cover it.

use std::collections::BTreeSet;

use super::assertion::Assertion;
use super::change::{TestChange, TestChangeKind};
use super::level::Level;
use super::lineage::Lineage;
use super::survey::{Claim, Group, Survey};

/// The most new claims of one test that a vanished claim is compared with.
const MOST_COMPARED: usize = 32;

/// Reports what tests that stay lost.
pub(super) fn report(survey: &Survey<'_>, lineage: &Lineage) -> Vec<TestChange> {
    let stays = |at: usize, group: &Group<'_>| !lineage.closed.contains(&at) && !survey.files[group.file].deleted;
    let groups = survey.groups.iter().enumerate().filter(|(at, group)| stays(*at, group));
    groups.flat_map(|(_, group)| Comparison { path: &survey.files[group.file].path, group }.changes()).collect()
}

struct Comparison<'s, 'a> {
    path: &'s str,
    group: &'s Group<'a>,
}

impl Comparison<'_, '_> {
    fn changes(&self) -> Vec<TestChange> {
        let mut changes = Vec::new();
        let [old, new] = &self.group.content.assertions;
        let mut free: Vec<Option<&Claim<'_>>> = new.iter().map(Some).collect();
        let mut first_free = 0;
        let mut lost = Vec::new();
        for claim in old {
            while free.get(first_free).is_some_and(Option::is_none) {
                first_free += 1;
            }
            let partner = best(&claim.assertion, &free[first_free..]).map(|at| first_free + at);
            match partner.and_then(|at| free[at].take()) {
                Some(partner) => changes.extend(self.judge(claim, partner)),
                None => lost.push(claim),
            }
        }
        changes.extend(self.lost(&lost));
        changes.extend(self.must_fail());
        changes.extend(self.swallowed());
        changes
    }

    fn change(&self, line: u32, kind: TestChangeKind, what: &str) -> TestChange {
        TestChange::new(self.path, line, kind, what)
    }

    /// Says what the step from one claim to another is, if it is any.
    fn judge(&self, old: &Claim<'_>, new: &Claim<'_>) -> Option<TestChange> {
        let (before, after) = (&old.assertion, &new.assertion);
        let comparable = before.about_same(after) && !after.custom && !before.same_truth(after);
        let kind = if before.expects_other(after) {
            TestChangeKind::Expectation
        } else if after.level < before.level && (comparable || after.level == Level::Nothing) {
            TestChangeKind::Weakened
        } else {
            return None;
        };
        Some(self.change(new.here, kind, new.text))
    }

    /// Reports claims that nothing replaced.
    fn lost(&self, lost: &[&Claim<'_>]) -> Vec<TestChange> {
        let group = &self.group.content;
        let new = &group.assertions[1];
        let stands_for_many = |claim: &Claim<'_>| claim.assertion.custom || claim.assertion.is_recorded();
        let repeats = group.loops[1] > group.loops[0] && !new.is_empty();
        if lost.is_empty() || repeats || new.iter().any(stands_for_many) {
            return Vec::new();
        }
        let literals: BTreeSet<&str> =
            new.iter().flat_map(|claim| &claim.assertion.literals).map(String::as_str).collect();
        let names: BTreeSet<&str> = new.iter().flat_map(|claim| &claim.assertion.names).map(String::as_str).collect();
        // Set-up that is gone takes the check of its error along.
        let mut set_up = group.errors[0].saturating_sub(group.errors[1]);
        let missing = lost.iter().filter(|claim| {
            let assertion = &claim.assertion;
            let kept =
                !assertion.literals.is_empty() && assertion.literals.iter().all(|value| literals.contains(&**value));
            let vague = assertion.level == Level::Vague;
            let covered = vague && (group.guards[1] > 0 || assertion.names.iter().any(|name| names.contains(&**name)));
            if assertion.verb == "NoError" && set_up > 0 {
                set_up -= 1;
                return false;
            }
            !(kept || covered || assertion.level == Level::Nothing)
        });
        missing.map(|claim| self.change(claim.here, TestChangeKind::Weakened, claim.text)).collect()
    }

    /// Reports a mark that a test must fail, if it is gone and nothing is asserted instead.
    fn must_fail(&self) -> Option<TestChange> {
        let [old, new] = &self.group.content.must_fail;
        let old: Vec<_> = old.iter().filter(|(_, text)| new.iter().all(|(_, known)| known != text)).collect();
        let (line, text) = old.first()?;
        let expects = |text: &str| text.contains("expected");
        let kind = match new.first() {
            None if self.group.content.assertions[1].is_empty() => TestChangeKind::Weakened,
            Some((_, now)) if expects(text) && !expects(now) => TestChangeKind::Weakened,
            Some((_, now)) if expects(text) && expects(now) => TestChangeKind::Expectation,
            _ => return None,
        };
        Some(self.change(new.first().map_or(*line, |(line, _)| *line), kind, text))
    }

    fn swallowed(&self) -> Vec<TestChange> {
        let [old, new] = &self.group.content.swallows;
        if new.len() <= old.len() {
            return Vec::new();
        }
        let changed = new.iter().filter(|(_, changed, _)| *changed);
        changed.map(|(line, _, text)| self.change(*line, TestChangeKind::Weakened, text)).collect()
    }
}

/// The claim that is most likely what `old` became: one that says no less about the same things, then the nearest.
fn best(old: &Assertion, free: &[Option<&Claim<'_>>]) -> Option<usize> {
    let candidates = free.iter().take(MOST_COMPARED).enumerate().filter_map(|(at, claim)| Some((at, (*claim)?)));
    let rank = |claim: &Claim<'_>| {
        let kinship = old.kinship(&claim.assertion);
        (old.expects_other(&claim.assertion), kinship > 0 && claim.assertion.level >= old.level, kinship)
    };
    candidates.max_by_key(|(at, claim)| (rank(claim), std::cmp::Reverse(*at))).map(|(at, _)| at)
}
