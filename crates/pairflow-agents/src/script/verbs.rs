//! The commands of pairflow as a scripted agent calls them: the real binary, with real arguments.

use super::model::{Claim, Pass, Step, Verb};

/// Returns the arguments of `verb`.
///
/// Values are joined to their flags with `=`, so that a text may begin with a dash.
pub(super) fn arguments(verb: &Verb) -> Vec<String> {
    match verb {
        Verb::Pass(pass) => of_pass(pass),
        Verb::AskHuman(question) => vec!["ask-human".to_owned(), format!("--question={question}")],
        Verb::Converged(claim) => of_claim(claim),
        Verb::Other(words) => words.clone(),
    }
}

/// Returns the text that `verb` reads: its review, or else its explanation.
pub(super) fn input(verb: &Verb) -> Option<&str> {
    match verb {
        Verb::Pass(pass) => pass.review.as_deref().or(pass.explain.as_deref()),
        Verb::Converged(claim) => claim.explain.as_deref(),
        Verb::AskHuman(_) | Verb::Other(_) => None,
    }
}

/// Returns the name of `verb`, for messages.
pub(super) fn name(verb: &Verb) -> &str {
    match verb {
        Verb::Pass(_) => "pass",
        Verb::AskHuman(_) => "ask-human",
        Verb::Converged(_) => "converged",
        Verb::Other(words) => words.first().map_or("pairflow", String::as_str),
    }
}

/// Returns the command that a step calls, if it calls one.
pub(super) fn of_step(step: &Step) -> Option<Verb> {
    match step {
        Step::Pass(pass) => Some(Verb::Pass(Box::new(pass.clone()))),
        Step::AskHuman(question) => Some(Verb::AskHuman(question.clone())),
        Step::Converged(claim) => Some(Verb::Converged(claim.clone())),
        _ => None,
    }
}

fn of_pass(pass: &Pass) -> Vec<String> {
    let mut words = vec!["pass".to_owned(), format!("--summary={}", pass.summary)];
    words.extend(pass.findings.iter().map(|finding| format!("--finding={finding}")));
    words.extend(pass.no_findings.then(|| "--no-findings".to_owned()));
    words.extend(pass.review.iter().map(|_| "--findings=-".to_owned()));
    words.extend(pass.fixed.iter().map(|id| format!("--fixed={id}")));
    let disputes = pass.dispute.iter().flat_map(|(id, why)| [format!("--dispute={id}"), format!("--reason={why}")]);
    words.extend(disputes);
    words.extend(pass.confirm.iter().map(|id| format!("--confirm={id}")));
    words.extend(pass.reopen.iter().map(|id| format!("--reopen={id}")));
    words.extend(pass.retract.iter().map(|id| format!("--retract={id}")));
    words.extend(pass.steps.iter().map(|step| format!("--step={step}")));
    words.extend(pass.blockers.iter().map(|blocker| format!("--blocker={blocker}")));
    words.extend(pass.explain.iter().map(|_| "--explain=-".to_owned()));
    words.extend(pass.refs.iter().map(|one| format!("--ref={one}")));
    words.extend(pass.intent.iter().map(|intent| format!("--intent={intent}")));
    words.extend(pass.key.iter().map(|key| format!("--key={key}")));
    words
}

fn of_claim(claim: &Claim) -> Vec<String> {
    let mut words = vec!["converged".to_owned(), format!("--summary={}", claim.summary)];
    words.extend(claim.explain.iter().map(|_| "--explain=-".to_owned()));
    words.extend(claim.key.iter().map(|key| format!("--key={key}")));
    words
}
