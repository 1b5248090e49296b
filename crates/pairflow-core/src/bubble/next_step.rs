//! The command with which a refused caller goes on.

use crate::bubble::refusal::numbers;
use crate::bubble::{Refusal, RefusedCaller, StateName};
use crate::facts::{Seat, StepName};
use crate::ids::BubbleId;
use crate::log::Waivable;
use crate::policy::Unmet;

impl Refusal {
    /// Returns the command line with which `caller` goes on from here, if there is one.
    ///
    /// An agent is never sent to a verb that is a person's.
    pub fn next(&self, id: &BubbleId, caller: RefusedCaller) -> Option<String> {
        match caller {
            RefusedCaller::Person => self.next_of_person(id),
            RefusedCaller::Agent { slices } => self.next_of_agent(id).map(|line| with_slices(line, slices)),
            RefusedCaller::DocumentAgent { slices } => {
                self.next_of_agent(id).map(with_steps).map(|line| with_slices(line, slices))
            }
        }
    }

    fn next_of_person(&self, id: &BubbleId) -> Option<String> {
        Some(match self {
            Self::WrongState { state, .. } | Self::NotDone { state } => next_in(*state, id),
            Self::EscapedAlready { .. } => format!("pairflow log {id}"),
            Self::TooManyEscaped => "pairflow metrics".to_owned(),
            Self::Untimely { first, .. } => format!("pairflow {first} {id}"),
            Self::StillOpening { .. } => "pairflow supervisor status".to_owned(),
            Self::Paused { .. } | Self::WorktreeGone { .. } => format!("pairflow resume {id}"),
            Self::QuestionOpen { .. }
            | Self::TooManyQuestions
            | Self::UnknownQuestion { .. }
            | Self::NoDecision
            | Self::PermissionDecision
            | Self::UnnamedPermission { .. } => format!("pairflow inbox {id}"),
            Self::WhichQuestion { open } => {
                let first = open.first()?;
                format!("pairflow reply {id} --question {first} --message '…'")
            }
            Self::OnlyInPane { .. } => format!("pairflow attach {id}"),
            Self::CannotAccept { .. } => format!("pairflow reply {id} --decision continue --message '…'"),
            Self::WorktreeDiffers { .. } => format!("pairflow request-rework {id} --message '…'"),
            Self::OutOfScope { .. } => format!("pairflow commit {id} --override-scope --reason '…'"),
            Self::CommitUnderWay => "pairflow supervise --once".to_owned(),
            Self::AnotherPackage => format!("pairflow ok {id}"),
            Self::BadRules { .. } | Self::FixedKeys { .. } => format!("pairflow config explain {id}"),
            Self::WaivedAlready { what: Waivable::Finding(_) } | Self::NotWaived { what: Waivable::Finding(_) } => {
                format!("pairflow findings {id} --history")
            }
            Self::Empty { what } | Self::Placeholder { what } | Self::TooLong { what, .. } | Self::NulByte { what } => {
                return form(what, id);
            }
            Self::LostRace(inner) => return inner.next_of_person(id),
            Self::WrongBranch { .. } => return self.next_of_agent(id),
            _ => format!("pairflow status {id}"),
        })
    }

    fn next_of_agent(&self, id: &BubbleId) -> Option<String> {
        Some(match self {
            Self::NotConverged { unmet } if unmet.iter().all(|one| matches!(one, Unmet::Slices(_))) => {
                "pairflow converged --summary '…'".to_owned()
            }
            // What a reviewer says is its own: a hint that held an answer would be taken.
            Self::NoDeclaration
            | Self::NotConverged { .. }
            | Self::SlicesMissing { .. }
            | Self::NoStepsHere
            | Self::Unresolved { .. }
            | Self::WaivedByPerson { .. }
            | Self::StillFails { .. }
            | Self::NoReproducer { .. }
            | Self::NotItsReproducer { .. }
            | Self::TwoAnswers { .. }
            | Self::RepeatedTwice { .. }
            | Self::StepsMissing { .. }
            | Self::AnswersOfOtherSeat { seat: Seat::Reviewer | Seat::Judge }
            | Self::NoBlockersHere { seat: Seat::Judge }
            | Self::Dismissed { .. }
            | Self::NotJudge { .. }
            | Self::NotContested { .. }
            | Self::NoAcceptance
            | Self::NoAcceptanceHere
            | Self::FirstLook => format!("pairflow brief {id}"),
            Self::NothingToHandOver { contested, .. } => {
                let row = contested.first().map_or_else(|| "F1".to_owned(), ToString::to_string);
                format!("pairflow judge {row} --uphold|--dismiss --reason '…'")
            }
            Self::NotFixed { .. } => "pairflow pass --summary '…' --fixed F1 --test F1='…'".to_owned(),
            Self::AnswersOfOtherSeat { seat: Seat::Implementer } => "pairflow pass --summary '…' --fixed F1".to_owned(),
            Self::NoOutline | Self::StepOfReviewer { .. } => with_steps("pairflow pass --summary '…'".to_owned()),
            Self::NoBlockersHere { seat: Seat::Implementer } => "pairflow ask-human --question '…'".to_owned(),
            Self::NotReviewer { .. } | Self::FindingsFromImplementer => "pairflow pass --summary '…'".to_owned(),
            Self::NothingBlocks
            | Self::NoBlockersHere { seat: Seat::Reviewer }
            | Self::LongTitle { .. }
            | Self::TooMany { what: "findings", .. } => "pairflow pass --summary '…' --finding 'P1:title'".to_owned(),
            Self::WrongBranch { branch, worktree, .. } => format!("git -C '{worktree}' switch {branch}"),
            Self::WorktreeGone { .. } => "pairflow ask-human --question 'the worktree is gone: …'".to_owned(),
            Self::Empty { what } | Self::Placeholder { what } | Self::TooLong { what, .. } | Self::NulByte { what } => {
                return form(what, id).filter(|line| Self::is_of_agent(line));
            }
            Self::LostRace(inner) => return inner.next_of_agent(id),
            _ => format!("pairflow status {id}"),
        })
    }

    fn is_of_agent(line: &str) -> bool {
        ["pairflow pass ", "pairflow ask-human ", "pairflow converged ", "pairflow judge "]
            .iter()
            .any(|verb| line.starts_with(verb))
    }
}

/// A line that hands over a document or its review, with all steps that belong to it: without them it would be refused.
pub(super) fn with_steps(line: String) -> String {
    if !line.starts_with("pairflow pass ") || line.contains(" --step ") {
        return line;
    }
    let reviews = [" --no-findings", " --finding", " --reopen"].iter().any(|option| line.contains(option));
    let steps = if reviews { &StepName::ALL[..] } else { &[StepName::DryRun] };
    steps.iter().fold(line, |line, step| format!("{line} --step {}='…'", step.name()))
}

/// A line that says to have found nothing, with all slices of the change: without one of them it would be refused.
pub(super) fn with_slices(line: String, slices: u32) -> String {
    let clean = line.contains(" --no-findings") || line.starts_with("pairflow converged ");
    if !clean || slices == 0 || line.contains(" --reviewed ") {
        return line;
    }
    format!("{line} --reviewed {}", numbers(&(1..=slices).collect::<Vec<_>>()).replace(' ', ""))
}

/// The command line in which a text that was missing or did not fit has its place.
pub(super) fn form(what: &str, id: &BubbleId) -> Option<String> {
    Some(match what {
        "the summary" => "pairflow pass --summary '…'".to_owned(),
        "the question" => "pairflow ask-human --question '…'".to_owned(),
        "the message" => format!("pairflow inbox {id}"),
        "the commit message" => format!("pairflow commit {id} --message '…'"),
        "the reason of the waiver" => format!("pairflow waive --id {id} F1 --reason '…'"),
        "the defect" => format!("pairflow escaped {id} '…'"),
        "a blocker" => "pairflow pass --summary '…' --step dry-run='…' --blocker '…'".to_owned(),
        "the reason of a judgement" => "pairflow judge F1 --uphold|--dismiss --reason '…'".to_owned(),
        "the test of a fix" => "pairflow pass --summary '…' --fixed F1 --test F1='…'".to_owned(),
        "the reason why a fix has no test" => "pairflow pass --summary '…' --fixed F1 --untestable F1='…'".to_owned(),
        "the reason of a dispute" => "pairflow pass --summary '…' --dispute F1 --reason '…'".to_owned(),
        "the review" => "pairflow pass --summary '…' --findings FILE".to_owned(),
        "the reason of the override" => format!("pairflow commit {id} --override-scope --reason '…'"),
        // The same command with a shorter reason or key, or without one.
        _ => return None,
    })
}

/// The command that fits a bubble in `state`.
pub(super) fn next_in(state: StateName, id: &BubbleId) -> String {
    match state {
        StateName::Created => format!("pairflow start {id}"),
        StateName::PreparingWorkspace => format!("pairflow start {id}"),
        StateName::Running => format!("pairflow status {id}"),
        StateName::WaitingHuman => format!("pairflow inbox {id}"),
        StateName::ReadyForApproval => format!("pairflow ok {id}"),
        StateName::ApprovedForCommit => format!("pairflow commit {id}"),
        StateName::Committed => "pairflow supervise --once".to_owned(),
        StateName::Done => format!("pairflow merge {id}"),
        StateName::Failed | StateName::Cancelled => format!("pairflow log {id}"),
    }
}
