//! The one process per user that pays the debts of all running bubbles.
//!
//! It owns nothing: kill it at any moment, start it again, and it goes on where the logs say. It waits for file events,
//! its socket and timers; while nothing happens it does nothing.

mod activity;
mod agents;
mod entry;
mod keep;
mod once;
mod run;
mod sessions;
mod socket;
mod state;
mod wait;
mod watch;
mod work;

pub use activity::last_seen;
pub use once::{Outcome, once};
pub use run::run;
pub use state::Setup;
pub use wait::wait_for;
