//! The criteria of acceptance: what each is called, which a person may do without, and those that all policies share.

use std::fmt;

use crate::counted::list;
use crate::findings::Row;
use crate::ids::AgentId;
use crate::policy::Facts;
use crate::progress::CheckState;

/// A criterion of convergence that does not hold yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// The rules of the loop are not known here.
    UnknownPolicy(String),
    /// No tree has been handed over yet.
    NothingHandedOver,
    /// The newest tree is that of the base.
    NothingChanged,
    /// Findings of P0 or P1 are open.
    Blocking(Vec<String>),
    /// A required check failed on this tree.
    CheckFailed(String),
    /// A required check has not been run on this tree.
    CheckMissing(String),
    /// Clean reviews of this tree are missing.
    Reviews {
        /// Who reviewed it clean so far.
        by: Vec<AgentId>,
    },
    /// Nobody has reviewed this tree.
    NotReviewed,
    /// Findings that are not grave, but have to be answered, and are not.
    Unanswered(Vec<String>),
    /// Parts of the explanation pack are missing.
    Explanation(Vec<&'static str>),
    /// The person has not confirmed that they understood the document.
    Comprehension,
    /// The reviewer role has not alternated yet.
    NoAlternation,
    /// Questions wait for an answer.
    Questions(usize),
    /// Files changed during the review.
    TreeChanged(Vec<String>),
    /// Slices of the change that the reviewer has not confirmed.
    Slices(Vec<u32>),
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPolicy(name) => write!(f, "a pairflow that knows the policy '{name}'"),
            Self::NothingHandedOver => f.write_str("no work has been handed over yet"),
            Self::NothingChanged => f.write_str("the work changes no file"),
            Self::Blocking(findings) => write!(f, "open P0/P1 findings: {}", findings.join(", ")),
            Self::CheckFailed(check) => write!(f, "the check '{check}' fails on this tree"),
            Self::CheckMissing(check) => write!(f, "the check '{check}' has not passed on this tree"),
            Self::Reviews { by } if by.is_empty() => f.write_str("two clean reviews of this tree by different agents"),
            Self::Reviews { by } => {
                let names = by.iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ");
                write!(f, "a second clean review of this tree by another agent (clean so far: {names})")
            }
            Self::NotReviewed => f.write_str("this tree has not been reviewed"),
            Self::Unanswered(findings) => {
                write!(f, "findings that have to be answered (--fixed or --dispute): {}", findings.join(", "))
            }
            Self::Explanation(parts) => {
                write!(f, "an explanation for the person (--explain FILE with the headings: {})", parts.join(", "))
            }
            Self::Comprehension => {
                f.write_str("a person's word that the document is understood; it is asked for once all else holds")
            }
            Self::NoAlternation => f.write_str("the reviewer role has not alternated yet (round_role_history)"),
            Self::Questions(1) => f.write_str("one question is not answered"),
            Self::Questions(n) => write!(f, "{n} questions are not answered"),
            Self::TreeChanged(files) => {
                write!(f, "files changed during the review: {}", list(files))
            }
            Self::Slices(missing) => {
                let numbers = missing.iter().map(u32::to_string).collect::<Vec<_>>();
                write!(f, "slices of the change that are not confirmed (--reviewed): {}", numbers.join(", "))
            }
        }
    }
}

impl Unmet {
    /// Whether a person may do without it: findings, a second review and what they are told, nothing else.
    pub fn can_be_waived(&self) -> bool {
        match self {
            Self::Blocking(_)
            | Self::Unanswered(_)
            | Self::Reviews { .. }
            | Self::NoAlternation
            | Self::Explanation(_)
            | Self::Comprehension => true,
            Self::UnknownPolicy(_)
            | Self::NothingHandedOver
            | Self::NothingChanged
            | Self::CheckFailed(_)
            | Self::CheckMissing(_)
            | Self::NotReviewed
            | Self::Questions(_)
            | Self::TreeChanged(_)
            | Self::Slices(_) => false,
        }
    }
}

/// Work is there, it changes something, every required check passed on it, and no question waits.
pub(in crate::policy) fn evidence(facts: Facts<'_>) -> impl Iterator<Item = Unmet> {
    work(facts).chain(checks(facts)).chain(questions(facts))
}

/// Work is there, and it changes something.
pub(in crate::policy) fn work(facts: Facts<'_>) -> impl Iterator<Item = Unmet> {
    let handed_over = facts.evidence.snapshot.is_none().then_some(Unmet::NothingHandedOver);
    handed_over.into_iter().chain(facts.evidence.changes_nothing().then_some(Unmet::NothingChanged))
}

/// No finding blocks.
pub(in crate::policy) fn findings(facts: Facts<'_>) -> impl Iterator<Item = Unmet> {
    let (unanswered, blocking): (Vec<_>, Vec<_>) = facts.ledger.blocking().partition(|row| row.wants_answer());
    let short = |rows: Vec<&Row>| rows.into_iter().map(Row::short).collect::<Vec<_>>();
    let blocking = (!blocking.is_empty()).then(|| Unmet::Blocking(short(blocking)));
    blocking.into_iter().chain((!unanswered.is_empty()).then(|| Unmet::Unanswered(short(unanswered))))
}

/// Every required check passed.
pub(in crate::policy) fn checks(facts: Facts<'_>) -> impl Iterator<Item = Unmet> {
    facts.checks_not_passed().map(move |check| match facts.evidence.check(check) {
        CheckState::Failed(_) => Unmet::CheckFailed(check.to_owned()),
        _ => Unmet::CheckMissing(check.to_owned()),
    })
}

/// No question waits.
pub(in crate::policy) fn questions(facts: Facts<'_>) -> Option<Unmet> {
    (facts.questions > 0).then_some(Unmet::Questions(facts.questions))
}

/// The person is told what they decide on, and says of a document that they understood it. Spec: criterion 3.
pub(in crate::policy) fn person(facts: Facts<'_>) -> impl Iterator<Item = Unmet> {
    let missing = facts.explanation.missing();
    let explained = (!missing.is_empty()).then_some(Unmet::Explanation(missing));
    explained.into_iter().chain((!facts.understood).then_some(Unmet::Comprehension))
}

/// Returns what a person does without by accepting the work although these criteria do not hold. Minor findings stay
/// open: nobody has decided on them.
pub fn waivers(facts: Facts<'_>, unmet: &[Unmet]) -> Vec<String> {
    let missing = unmet.iter().filter_map(|criterion| match criterion {
        Unmet::Reviews { by } if by.is_empty() => Some("two clean reviews".to_owned()),
        Unmet::Reviews { .. } => Some("a second clean review".to_owned()),
        Unmet::Explanation(missing) => Some(format!("an explanation ({})", missing.join(", "))),
        Unmet::Comprehension => Some("the person's word that the document is understood".to_owned()),
        _ => None,
    });
    facts.ledger.blocking().map(Row::short).chain(missing).collect()
}
