//! The engine's front door: load, decide, append. Every writer of the product goes through [`Bubble::apply`].

mod apply;
mod brief;
mod bubble;
mod confirm;
mod create;
mod error;
mod identity;
mod list;
mod package;
mod places;
mod refs;
mod same;
mod spill;

pub use apply::Applied;
pub use bubble::{Bubble, Engine};
pub use create::{Confirmed, NewBubble};
pub use error::{EngineError, sentence};
pub(crate) use identity::ports;
pub use identity::{Token, environment};
pub use list::Listed;
pub use places::{Control, UserDirs};
pub use spill::INLINE_LIMIT;
