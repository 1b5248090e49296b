//! The one process per user that carries out what all running bubbles owe.
//!
//! It owns nothing: kill it at any moment, start it again, and it goes on where the logs say. It waits for file events,
//! its socket and timers, and is idle otherwise.

mod agents;
mod run;
mod socket;
mod state;
mod watch;

pub use run::{SettleResult, once, run};
pub use state::Setup;
pub use watch::{last_seen, wait_for};
