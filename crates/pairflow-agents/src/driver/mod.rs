//! The drivers, one file each.

mod all;
mod external;
mod pane;
mod script;

pub use all::Drivers;
pub use external::ExternalDriver;
pub use pane::PaneDriver;
pub use script::{STATE_VARIABLE, ScriptDriver};
