//! The command lines with which a refusal goes on.

use crate::bubble::StateName;
use crate::facts::StepName;
use crate::ids::BubbleId;

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
        "a blocker" => "pairflow pass --summary '…' --step dry-run='…' --blocker '…'".to_owned(),
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

/// Numbers one after the other: `1, 2, 3`.
pub(super) fn numbers(of: &[u32]) -> String {
    of.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
