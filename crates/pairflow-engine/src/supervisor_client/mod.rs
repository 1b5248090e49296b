//! The supervisor as commands see it: how it is asked, started and ended.
//!
//! What it does when asked is not known here.

mod client;
mod lock;
mod protocol;
mod spawn;

pub use client::{Client, Health, Line, NoReply, Stopped};
pub(crate) use lock::take as take_lock;
pub(crate) use protocol::Refused;
pub use protocol::{Ask, Reply, socket_path};
pub use spawn::spawn;
