//! Notifies a person that something waits: by a sound, on the desktop, through a webhook.
//!
//! Nothing waits for a notification and nothing fails with one: every channel has its own thread and time limit, and a
//! failure goes to the supervisor's log only. The core decides what is new.

mod channels;
mod notifier;

pub use channels::bell;
pub(crate) use notifier::Notifier;
