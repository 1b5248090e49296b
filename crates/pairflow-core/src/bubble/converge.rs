//! The claim that nothing grave is left, and what code says to it.

use crate::bubble::preview::Claimed;
use crate::bubble::{
    BubbleState, Command, Decided, Package, Phase, Refusal, Stage, Turn, key_of, questions, slices, turn,
};
use crate::facts::Seat;
use crate::ids::{AgentId, Party};
use crate::log::{ApprovalRequest, Body, Convergence, Event, QuestionKind, Warning};
use crate::policy::{Facts, Unmet, waivers};
use crate::text::list;

impl Refusal {
    /// What is written down of a command that was refused.
    pub fn warning(&self, command: &Command) -> Warning {
        let unmet = match self {
            Self::NotConverged { unmet } => unmet.as_slice(),
            _ => &[],
        };
        Warning {
            command: command.name().to_owned(),
            reason: self.to_string(),
            unmet: unmet.iter().map(ToString::to_string).collect(),
        }
    }
}

/// An agent claims convergence in a running bubble.
pub(super) fn claim(state: &BubbleState, at: &Turn, by: &AgentId, command: &Command) -> Result<Decided, Refusal> {
    let Command::Converged { summary, refs, seen, explanation, reviewed, .. } = command else {
        return Err(Refusal::NotOwed);
    };
    if at.agent == *by && at.seat == Seat::Implementer {
        return Err(Refusal::NotReviewer { by: by.clone(), seat: at.seat, round: state.rounds.round });
    }
    turn::may_act(state, at, by, "converged")?;
    if summary.trim().is_empty() {
        return Err(Refusal::Empty { what: "the summary" });
    }
    slices::admit(at, reviewed)?;
    let claimed = Claimed::of(state, by, explanation.as_ref());
    let mut unmet = state.policy().unmet(claimed.facts(state));
    // What was asked because nothing was heard of the agent is withdrawn with its claim.
    unmet.retain(|criterion| !matches!(criterion, Unmet::Questions(_)) || !questions::only_about(state, by));
    let unread = slices::missing(at, reviewed);
    if !unread.is_empty() {
        unmet.push(Unmet::Slices(unread));
    }
    if !seen.differing.is_empty() || state.tree() != Some(&seen.tree) {
        unmet.push(Unmet::TreeChanged(seen.differing.clone()));
    }
    if !unmet.is_empty() {
        return Err(Refusal::NotConverged { unmet });
    }
    let sender = Party::Agent(by.clone());
    let mut event = accept(state, claimed.facts(state), summary, Vec::new()).ok_or(Refusal::NotOwed)?;
    event.sender = sender;
    event.refs.clone_from(refs);
    event.key = key_of(state, command);
    if let Body::Convergence(claim) = &mut event.body {
        claim.explanation.clone_from(explanation);
        claim.reviewed.clone_from(reviewed);
    }
    Ok(Decided::one(event))
}

/// Accepts work for which every criterion holds, or which a person has accepted at a tie-break.
pub(super) fn conclude(state: &BubbleState) -> Option<Event> {
    let Phase::Running(turn) = &state.phase else { return None };
    let (facts, unmet) = (state.facts(), state.unmet());
    match (&turn.stage, unmet.as_slice()) {
        (Stage::Accepted, unmet) => accept(state, facts, "accepted by a person at a tie-break", waivers(facts, unmet)),
        (Stage::Settled, _) if state.paused => None,
        (Stage::Settled, [Unmet::Comprehension]) => Some(comprehension(state)),
        (Stage::Settled, []) => {
            let summary = state.gate.summaries.back().map(|said| said.summary.clone()).unwrap_or_default();
            accept(state, facts, &summary, Vec::new())
        }
        _ => None,
    }
}

/// The question whether the person has understood the document.
fn comprehension(state: &BubbleState) -> Event {
    let files = state.evidence.snapshot.iter().flat_map(|snapshot| &snapshot.changed).map(|file| file.path.clone());
    let files: Vec<_> = files.collect();
    let explained = state.gate.explanation.parts().into_iter().filter(|(_, text)| !text.is_empty());
    let explained: Vec<_> = explained.map(|(name, text)| format!("{name}: {text}")).collect();
    let question = format!(
        "the document is reviewed ({}). Have you read and understood it? `--decision accept` confirms it; anything else \
         goes to the implementer. {}",
        list(&files),
        explained.join("\n")
    );
    questions::own_question(state, QuestionKind::Comprehension, question.trim_end().to_owned())
}

/// The acceptance of what `facts` say, with what a person `waived`.
///
/// Returns nothing while there is no snapshot, or a check has not passed.
fn accept(state: &BubbleState, facts: Facts<'_>, summary: &str, waived: Vec<String>) -> Option<Event> {
    let certificate = state.policy().certify(facts, waived)?;
    let (summary, reviewed) = (summary.to_owned(), Vec::new());
    let body = Body::Convergence(Convergence { summary, certificate, explanation: None, reviewed });
    Some(Event { recipient: Party::Orchestrator, ..Event::own(state.rounds.round, body) })
}

/// The package of accepted work was rendered: a person decides on it.
pub(super) fn packaged(state: &BubbleState, turn: &Turn, package: &Package) -> Result<Decided, Refusal> {
    let certificate = state.gate.certificate.as_ref().filter(|_| turn.stage == Stage::Certified);
    let Some(certificate) = certificate else { return Err(Refusal::NotOwed) };
    let Package { name, commit_message, sha256 } = package.clone();
    let mut event = Event::own(
        state.rounds.round,
        Body::ApprovalRequest(ApprovalRequest {
            tree: certificate.tree.clone(),
            commit_message,
            package: name.clone(),
            package_sha256: sha256,
        }),
    );
    event.refs.push(format!("artifact://{name}"));
    Ok(Decided::one(event))
}
