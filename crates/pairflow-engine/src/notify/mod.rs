//! Tells a person that something waits: by a sound, on the desktop, through a webhook.
//!
//! Nobody waits for a notification and nothing fails with one: every channel has its own thread and its own time
//! limit, and what went wrong is said in the supervisor's log alone. What is news is the core's matter.

mod channels;
mod notifier;

pub use channels::bell;
pub(crate) use notifier::Notifier;
