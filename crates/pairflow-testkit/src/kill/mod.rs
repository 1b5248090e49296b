//! Real files and real processes, ended at the worst moment: killed at random, killed at every single operation,
//! failed at every single operation, and raced against one another.
//!
//! A [`Stage`] has a repository and the program under test; a [`Scene`] is one bubble on it, with a witness that knows
//! every record that was acknowledged. After every ending the same is asked: is everything acknowledged still there,
//! is the bubble as before or as after the command, and does the next command work?

mod adoption;
mod counting;
mod judge;
mod landing;
mod placed;
mod process;
mod race;
mod random;
mod scene;
mod stage;
mod supervisor;
mod verbs;

pub use adoption::{Adoptions, kill_adoptions, kill_moves};
pub use counting::{Counts, count, kill_counting_at_random, kill_counting_everywhere};
pub use landing::{Histogram, Landing};
pub use placed::{Placed, Points, WAYS, fail_everywhere, fail_in_turn, kill_everywhere};
pub use race::{Raced, crowd, race_processes, race_threads};
pub use random::{Kills, kill_at_random};
pub use scene::Scene;
pub use stage::Stage;
pub use verbs::Verb;
