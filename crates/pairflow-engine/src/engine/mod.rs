//! The engine's front door: load, decide, append. Every writer of the product goes through [`Bubble::apply`].

mod apply;
mod brief;
mod bubble;
mod denial;
mod error;
mod foreign;
mod identity;
mod list;
mod material;
mod package;
mod places;
mod refs;
mod same;
mod spill;
mod tracked;
mod trust;

pub use apply::Applied;
pub use bubble::{Bubble, Engine};
pub use denial::Denial;
pub use error::{EngineError, sentence};
pub use identity::{Token, environment};
pub(crate) use identity::{interactive_environment, port_variables};
pub use list::Listed;
pub use places::{Control, UserDirs};
pub(crate) use same::says;
pub use spill::INLINE_LIMIT;
pub use trust::Agreed;
