//! A policy of the tests that must not be asked: whoever calls it from `evolve` is found out.

use crate::facts::{Certificate, Seat};
use crate::log::Question;
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

    fn unmet(&self, _: Facts<'_>) -> Vec<Unmet> {
        panic!("a policy was asked for its criteria")
    }

    fn certify(&self, _: Facts<'_>, _: Vec<String>) -> Option<Certificate> {
        panic!("a policy was asked for a certificate")
    }
}
