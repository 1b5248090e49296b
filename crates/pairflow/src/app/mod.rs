//! What commands share: who is calling, where, about which bubble, with which text.

mod bubbles;
mod caller;
mod context;
mod input;
mod make;
mod trust;

pub use bubbles::RepoScope;
pub(crate) use bubbles::{fits, nearest, tell_foreign};
pub use caller::{AgentCaller, Sender};
pub(crate) use context::INSTALL_TMUX;
pub use context::{App, Grammar};
pub(crate) use input::RawTerminal;
pub use input::{TEXT_LIMIT, TextSource};
pub use make::BubbleRequest;
pub(crate) use make::take_detected;
pub(crate) use pairflow_core::view::quoted;
pub(crate) use trust::{Consent, Purpose, show_commands, to_trust, unfolded};
