//! The program in a world with a bad disk or another clock.

pub(crate) mod child;
pub(crate) mod disk;
mod world;

use pairflow_testkit::home::{Agent, Home};

use crate::support::log::lines_of;

pub(crate) use world::{Surroundings, run_in_world};

/// The command line of a first hand-over.
pub(crate) const PASS: [&str; 3] = ["pass", "--summary", "first cut"];

/// Hands over once, and insists that it is the only hand-over and that the bubble went on with it.
#[track_caller]
pub(crate) fn passes_once(home: &Home, agent: &Agent<'_>, id: &str) {
    agent.pairflow(&PASS).ok();
    assert_eq!(lines_of(home, id, "PASS").len(), 1, "a retry is no second record");
    assert_eq!(home.status(id)["active_agent"], "claude");
    home.pairflow(&["verify", id]).ok();
}
