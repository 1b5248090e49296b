//! The command line of pairflow: parse, one call, print.
//!
//! No rule of the product lives here. A command's file holds its arguments and the few lines that turn them into a
//! call of the engine and its answer into text. The library exists so that tests can run the very same program in a
//! world of their own.

pub mod app;
pub mod args;
pub mod commands;
mod dispatch;
pub mod docs;
mod entry;
mod exit;
pub mod out;
mod table;
mod world;

pub use dispatch::main_with;
pub use entry::{CommandEntry, CommandGroup};
pub use exit::{CommandError, Exit};
pub use table::{TABLE, find};
pub use world::{Env, Terminal, World};
