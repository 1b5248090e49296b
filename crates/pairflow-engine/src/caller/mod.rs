//! Who is calling: a person, or a process that was started for a bubble.
//!
//! Agents and checks run as the same user as the person, so no file permission tells them apart. The kernel does: it
//! says which process has connected to a socket, which processes that one descends from, and in which namespaces it
//! runs. Human verbs and the sockets of the supervisor and of the seats all ask here. Where the system does not tell
//! (anything but Linux), no caller is recognised.

mod namespaces;
mod owner;
mod process;

pub use namespaces::{Elsewhere, Namespaces};
pub(crate) use owner::pane_records;
pub use owner::{Owner, Started};
pub use process::Caller;
