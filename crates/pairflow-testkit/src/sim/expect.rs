//! What a command must lead to in a known state, said without the engine.

use pairflow_core::bubble::{BubbleState, Command, earlier};
use pairflow_core::ids::{MsgId, Party};
use pairflow_core::log::{Body, Envelope, Event};
use pairflow_core::respond::handle;
use pairflow_core::time::Moment;

/// What a command must lead to.
#[derive(Debug, Clone)]
pub(super) enum Expect {
    /// The same command was recorded before, under this name.
    Repeated(MsgId),
    /// These facts are recorded.
    Facts(Vec<Event>),
    /// Nothing happens.
    Nothing,
    /// It is refused; for an agent, a warning may be recorded.
    Refused,
}

/// Says what `command` must lead to.
pub(super) fn expect(state: &BubbleState, command: &Command, now: Moment) -> Expect {
    if let Some(id) = earlier(state, command) {
        return Expect::Repeated(id);
    }
    match handle(state, command, now) {
        Ok(decided) if decided.events.is_empty() => Expect::Nothing,
        Ok(decided) => Expect::Facts(decided.events),
        Err(_) => Expect::Refused,
    }
}

impl Expect {
    /// Whether these records are all of what is expected.
    pub(super) fn is_met_by(&self, found: &[Envelope], command: &Command) -> bool {
        match self {
            Self::Repeated(_) | Self::Nothing => found.is_empty(),
            Self::Facts(facts) => facts.len() == found.len() && facts.iter().zip(found).all(|(a, b)| *a == b.event),
            Self::Refused => found.is_empty() || (command.agent().is_some() && is_warning(found)),
        }
    }
}

/// Whether a record only says that the remains of an append were set aside.
pub(super) fn tells_repair(envelope: &Envelope) -> bool {
    matches!(envelope.event.body, Body::ProtocolWarning(_)) && envelope.event.recipient == Party::Orchestrator
}

fn is_warning(found: &[Envelope]) -> bool {
    matches!(found, [one] if matches!(one.event.body, Body::ProtocolWarning(_)))
}
