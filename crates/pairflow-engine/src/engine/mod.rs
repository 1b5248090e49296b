//! The entry to the engine: load, decide, append. Every write to a log goes through [`Bubble::apply`].

mod apply;
mod brief;
mod bubble;
mod denial;
mod error;
mod identity;
mod places;
mod trust;

pub(crate) use apply::is_same_command;
pub use apply::{Applied, INLINE_LIMIT};
pub use bubble::{Bubble, Engine, Listed};
pub use denial::Denial;
pub use error::{EngineError, sentence};
pub use identity::{AgentToken, environment};
pub(crate) use identity::{interactive_environment, port_variables};
pub use places::{ControlDir, UserDirs};
pub use trust::Agreed;
