//! Whether a retry is one: a key that was given by hand stands for what was said with it, and for nothing else.

use pairflow_core::bubble::{Command, PassCommand};
use pairflow_core::facts::Finding;
use pairflow_core::ids::{MsgId, Party};
use pairflow_core::log::{Body, Envelope, GateDecision, RetryKey};

use crate::engine::{Bubble, EngineError};

impl Bubble {
    /// Insists that `command` says what the record `id`, which has the same key, says.
    pub(crate) fn insist_same(&self, id: Option<&MsgId>, command: &Command) -> Result<(), EngineError> {
        let (Some(RetryKey(key)), Some(id)) = (given(command), id) else { return Ok(()) };
        let mut differs = false;
        self.log.visit(&mut |envelope| differs |= envelope.id == *id && !says(&envelope, command))?;
        if differs {
            return Err(EngineError::BadInput(format!(
                "the key '{key}' stands for {id} already, which says something else; a new message needs a key of its own"
            )));
        }
        Ok(())
    }
}

/// The key that was given; one that was made of the content needs no comparison.
fn given(command: &Command) -> Option<&RetryKey> {
    match command {
        Command::Pass(pass) => pass.key.as_ref(),
        Command::AskHuman { key, .. }
        | Command::Converged { key, .. }
        | Command::Reply { key, .. }
        | Command::Approve { key, .. }
        | Command::Rework { key, .. } => key.as_ref(),
        _ => None,
    }
}

/// Whether a record says what `command` would have said.
pub(crate) fn says(recorded: &Envelope, command: &Command) -> bool {
    let sender = command.agent().map_or(Party::Human, |agent| Party::Agent(agent.clone()));
    let same = match (&recorded.event.body, command) {
        (Body::Pass(body), Command::Pass(pass)) => {
            let beside = (&body.answers, &body.explanation, &body.steps, body.discuss);
            let same = beside == (&pass.answers, &pass.explanation, &pass.steps, pass.discuss);
            body.summary == pass.summary && body.reviewed == pass.reviewed && same && found(body, pass)
        }
        (Body::HumanQuestion(body), Command::AskHuman { question, .. }) => body.question == *question,
        (Body::Convergence(body), Command::Converged { summary, .. }) => body.summary == *summary,
        (Body::HumanReply(body), Command::Reply { message, decision, question, .. }) => {
            let asked = question.as_ref().is_none_or(|asked| recorded.event.in_reply_to.as_ref() == Some(asked));
            body.message == *message && body.decision == *decision && asked
        }
        (Body::ApprovalDecision(body), Command::Approve { .. }) => body.decision == GateDecision::Approve,
        (Body::ApprovalDecision(body), Command::Rework { message, findings, .. }) => {
            body.decision != GateDecision::Approve && body.message == *message && body.findings == *findings
        }
        _ => false,
    };
    same && recorded.event.sender == sender
}

/// Whether both hand-overs found the same, as far as their sender said it.
///
/// Which row a finding reverses may be what pairflow made of it, so only two different ones tell them apart.
fn found(body: &pairflow_core::log::Pass, pass: &PassCommand) -> bool {
    let same = |one: &Finding, other: &Finding| {
        let said = |finding: &Finding| Finding { reverses: None, ..finding.as_said() };
        let elsewhere = one.reverses.zip(other.reverses).is_some_and(|(one, other)| one != other);
        said(one) == said(other) && !elsewhere
    };
    match (&body.findings, &pass.filed()) {
        (Some(recorded), Some(said)) => {
            recorded.len() == said.len() && recorded.iter().zip(said).all(|(one, other)| same(one, other))
        }
        (recorded, said) => recorded.is_none() == said.is_none(),
    }
}
