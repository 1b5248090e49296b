//! A policy of the tests that must not be asked: a replay that calls it is found out. It overrides every method of the
//! trait, which `xtask tidy` checks.

use crate::facts::{Certificate, Seat};
use crate::log::{Judged, Question, Reason, Waivable};
use crate::policy::{After, Conclusion, Facts, Look, Policy, Unmet};

/// Panics whatever it is asked.
pub(super) struct Panics;

impl Policy for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn version(&self) -> u32 {
        panic!("a policy was asked for its version")
    }

    fn after_work(&self, _: Facts<'_>) -> After {
        panic!("a policy was asked about work")
    }

    fn after_review(&self, _: Facts<'_>, _: &Look<'_>) -> Conclusion {
        panic!("a policy was asked about a review")
    }

    fn at_cap(&self, _: Facts<'_>, _: Seat) -> Option<Question> {
        panic!("a policy was asked about its cap")
    }

    fn question(&self, _: Facts<'_>, _: Seat) -> Option<Question> {
        panic!("a policy was asked for a question")
    }

    fn reviews_suffice(&self, _: Facts<'_>) -> bool {
        panic!("a policy was asked whether reviews suffice")
    }

    fn objections(&self, _: Facts<'_>, _: &[Waivable]) -> Vec<Reason> {
        panic!("a policy was asked why a review is not clean")
    }

    fn tests_fixes(&self) -> bool {
        panic!("a policy was asked whether it tests fixes")
    }

    fn after_dispute(&self, _: Facts<'_>, _: bool) -> Conclusion {
        panic!("a policy was asked about a dispute")
    }

    fn max_looks(&self) -> u32 {
        panic!("a policy was asked for its most looks")
    }

    fn looks_needed(&self, _: Facts<'_>) -> u32 {
        panic!("a policy was asked how many looks the work needs")
    }

    fn after_change(&self, _: Facts<'_>, _: &Judged, _: bool) -> Conclusion {
        panic!("a policy was asked about a change")
    }

    fn after_merge(&self, _: Facts<'_>, _: bool) -> Conclusion {
        panic!("a policy was asked about a merge")
    }

    fn unmet(&self, _: Facts<'_>) -> Vec<Unmet> {
        panic!("a policy was asked for its criteria")
    }

    fn unwaivable(&self, _: Facts<'_>) -> Vec<Unmet> {
        panic!("a policy was asked what cannot be waived")
    }

    fn certify(&self, _: Facts<'_>, _: Vec<String>) -> Option<Certificate> {
        panic!("a policy was asked for a certificate")
    }
}
