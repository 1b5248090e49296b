//! The drivers, one file each.

mod external;
mod script;

pub use external::ExternalDriver;
pub use script::{STATE_VARIABLE, ScriptDriver};
