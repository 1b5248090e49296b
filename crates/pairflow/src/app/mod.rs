//! What commands share: who is calling, where, about which bubble, with which text.

mod ask;
mod caller;
mod config;
mod context;
mod editor;
mod elsewhere;
mod engine;
pub(crate) mod fits;
mod guard;
mod key;
mod make;
pub mod pick;
mod programs;
mod reach;
mod runnable;
mod sender;
mod text;
mod trust;

pub use caller::AgentCaller;
pub use context::{App, Grammar};
pub(crate) use engine::tell_foreign;
pub(crate) use key::Raw;
pub use make::Order;
pub(crate) use make::take_detected;
pub(crate) use pairflow_core::view::quoted;
pub(crate) use programs::INSTALL_TMUX;
pub use reach::Reach;
pub use sender::Sender;
pub use text::{Given, TEXT_LIMIT};
pub(crate) use trust::{Consent, Purpose, show_commands, to_trust, unfolded};
