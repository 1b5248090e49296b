//! How agents are run: `script` plays deterministic agents from a file, `external` starts nothing, and the pane driver
//! knows how the agent programs are started in a terminal.
//!
//! A driver starts a process or says how; it decides nothing and writes no log. What an agent says reaches pairflow
//! through the ordinary commands, also from a scripted one.

pub mod demo;
mod drivers;
pub mod script;
pub mod spec;

pub use demo::DEMO_SCRIPT;
pub use drivers::{Drivers, ExternalDriver, PaneDriver, ScriptDriver};
