//! How agents are run. Two drivers so far: `script` plays deterministic agents from a file, `external` starts nothing.
//!
//! A driver starts a process and hands it to the engine; it decides nothing and writes no log. What an agent says
//! reaches pairflow through the ordinary commands, also from a scripted one.

pub mod demo;
mod driver;
pub mod script;

pub use demo::DEMO_SCRIPT;
pub use driver::{ExternalDriver, ScriptDriver};
