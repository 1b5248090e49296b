//! Sockets on which pairflow is called on this machine: one server and one client, with limits on everything.
//!
//! The supervisor and every seat have such a socket. What is said there, and who may say it, is not known here.

mod address;
mod lines;
mod server;

pub use address::{fitting, private_dir};
pub(crate) use lines::{LONGEST, Lines, dial, write};
pub(crate) use server::{Limits, Server};
