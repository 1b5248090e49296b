//! Real files and real processes, ended at the worst moment: killed at random, killed at every single operation,
//! failed at every single operation, and raced against one another.
//!
//! A [`Site`] has a repository and the program under test; a [`Scene`] is one bubble on it, with a witness that knows
//! every record that was acknowledged. After every ending the same is asked: is everything acknowledged still there,
//! is the bubble as before or as after the command, and does the next command work?

mod counting;
mod judge;
mod placed;
mod race;
mod random;
mod scene;
mod swap;
mod verbs;

pub use counting::{Counts, count, kill_counting_at_random, kill_counting_everywhere};
pub use judge::{Histogram, Landing};
pub use placed::{
    Adoptions, Placed, Points, WAYS, fail_everywhere, fail_in_turn, kill_adoptions, kill_everywhere, kill_moves,
};
pub use race::{Raced, crowd, race_processes, race_threads};
pub use random::{Kills, kill_at_random};
pub use scene::{Scene, Site};
pub use swap::swap;
pub use verbs::Verb;
