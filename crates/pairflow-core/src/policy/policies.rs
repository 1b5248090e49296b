//! All policies, by their names. A new one is a file beside `strict.rs` and a line of the list below.

use crate::facts::Certificate;
use crate::log::{NextTurn, Verdict};
use crate::policy::{Conclusion, Facts, Look, Policy, Unmet};
use crate::rules::Rules;

/// Declares the module of each policy, and lists them all.
macro_rules! policies {
    ($($(#[$when:meta])* $module:ident::$policy:ident;)*) => {
        $($(#[$when])* mod $module;)*

        /// Every policy.
        const ALL: &[&dyn Policy] = &[$($(#[$when])* &$module::$policy,)*];
    };
}

policies! {
    strict::Strict;
    single::Single;
    #[cfg(feature = "test-policies")] any_review::AnyReview;
    #[cfg(feature = "test-policies")] panics::Panics;
}

/// Returns the policy called `name`.
pub fn named(name: &str) -> Option<&'static dyn Policy> {
    ALL.iter().copied().find(|policy| policy.name() == name)
}

/// Returns the policy called `name`; if this pairflow does not know it, one under which nothing is accepted.
pub fn known(name: &str) -> &'static dyn Policy {
    named(name).unwrap_or(&Unknown)
}

/// Returns the policy that gave a recorded verdict, if its rules are known here in that version.
pub fn recorded(verdict: &Verdict) -> Option<&'static dyn Policy> {
    named(&verdict.policy).filter(|policy| policy.version() == verdict.version)
}

/// Returns the policy of these rules, if its rules are known here in the version that they name.
pub fn in_force(rules: &Rules) -> Option<&'static dyn Policy> {
    named(&rules.policy).filter(|policy| policy.version() == rules.policy_version)
}

/// Whether the policy of these rules is known here, in that version or a newer one.
pub fn knows(rules: &Rules) -> bool {
    named(&rules.policy).is_some_and(|policy| policy.version() >= rules.policy_version)
}

/// Returns `rules` with the version that their policy has here; a policy that is not known keeps its own.
pub fn with_version(rules: Rules) -> Rules {
    let policy_version = named(&rules.policy).map_or(rules.policy_version, |policy| policy.version());
    Rules { policy_version, ..rules }
}

/// Stands for a policy that this pairflow does not know.
struct Unknown;

impl Policy for Unknown {
    fn name(&self) -> &'static str {
        "unknown"
    }

    fn version(&self) -> u32 {
        0
    }

    fn after_review(&self, facts: Facts<'_>, _look: &Look<'_>) -> Conclusion {
        Conclusion::of(facts, NextTurn::Stay)
    }

    fn reviews_suffice(&self, _facts: Facts<'_>) -> bool {
        false
    }

    fn unmet(&self, facts: Facts<'_>) -> Vec<Unmet> {
        vec![Unmet::UnknownPolicy(facts.rules.policy.clone())]
    }

    fn certify(&self, _facts: Facts<'_>, _waived: Vec<String>) -> Option<Certificate> {
        None
    }
}
