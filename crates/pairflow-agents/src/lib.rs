//! How agents are run: scripted agents from a file, and what is known about each agent program that runs in a pane.
//!
//! A driver starts a process or describes one; it decides nothing and writes no log. What an agent says reaches pairflow
//! through the ordinary commands, also from a scripted agent.

pub mod demo;
mod drivers;
pub mod script;
pub mod spec;

pub use demo::DemoScript;
pub use drivers::Drivers;
