//! What commands share: who is calling, where, about which bubble, with which text.

mod ask;
mod caller;
mod context;
mod editor;
mod engine;
mod sender;
pub mod pick;
mod text;

pub use caller::AgentCaller;
pub use context::App;
pub use sender::Sender;
pub use text::{Given, TEXT_LIMIT};
