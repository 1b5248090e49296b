//! Tells a person that something waits: by a sound, on the desktop, through a webhook.
//!
//! Nobody waits for a notification and nothing fails with one: every channel has its own thread and its own time
//! limit, and what went wrong is said in the supervisor's log alone. What is news is the core's matter.

mod channel;
mod desktop;
mod news;
mod order;
mod sound;
mod webhook;

pub(crate) use news::News;
pub use sound::bell;
