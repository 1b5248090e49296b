//! Who may not speak through a seat's socket: processes that another agent or a check has started. A process of which nothing
//! is known, such as a person's shell, speaks for the agent.

use pairflow_core::ids::{AgentId, BubbleId};

use crate::caller::{Caller, Owner, Started};
use crate::engine::{Bubble, ControlDir, Denial};

/// Returns who has started the caller, if that is somebody else than the agent `agent` of `bubble`.
pub(super) fn find(caller: &Caller, bubble: &Bubble, agent: &AgentId) -> Option<Owner> {
    let repo = bubble.control.repo();
    let owner = caller.recorded_owner(&bubble.engine, Some((repo, &bubble.id)), &[repo.to_owned()])?;
    let own = owner.is(repo, &bubble.id) && owner.started == Started::Agent(agent.clone());
    (!own).then_some(owner)
}

/// Tells a stranger that it may not speak through the socket of `agent`, and what it can do.
pub(super) fn denial(stranger: &Owner, bubble: &Bubble, agent: &AgentId) -> Denial {
    let here = stranger.is(bubble.control.repo(), &bubble.id);
    let of = |id: &BubbleId| if here { String::new() } else { format!(" of bubble {id}") };
    let message = format!(
        "this is the socket of {agent}{}, and the caller belongs to {}{}",
        of(&bubble.id),
        stranger.name(),
        of(&stranger.bubble)
    );
    match &stranger.started {
        Started::Agent(own) => {
            let socket = ControlDir::of(&stranger.repo).seat_socket(&stranger.bubble, own);
            Denial::refused(format!("{message}, who has a socket of its own."))
                .next(format!("PAIRFLOW_AGENT={own} PAIRFLOW_SOCKET='{}' pairflow brief", socket.display()))
        }
        Started::Job(..) => Denial::refused(format!("{message}; what such a command has to say is how it ends."))
            .next(format!("pairflow status {}", stranger.bubble)),
    }
}

/// Records in the stranger's own bubble that it tried `verb` in the name of `agent` of `bubble`.
pub(super) fn warn(stranger: &Owner, verb: &str, bubble: &Bubble, agent: &AgentId) {
    let reason = format!("{} has called through the socket of {agent} of bubble {}", stranger.name(), bubble.id);
    stranger.warn(&bubble.engine, verb, reason);
}
