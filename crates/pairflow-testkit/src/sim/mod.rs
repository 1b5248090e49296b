//! A whole bubble in a world that is not real: virtual disk, clock, git, checks, agents and person.
//!
//! One seed is one life. The rules, the log and the engine are the real ones. At any operation of the disk the process
//! may be killed, the power may go, the operation may fail, or a rival may be faster; after every step the promises are
//! checked against a [`Witness`] that reads the bytes without the store. The same seed gives the same life on every machine.

mod actors;
mod life;
mod run;
mod witness;
mod world;

pub use life::{Broken, Tally, live};
pub use run::{Seeds, present_seed, run};
pub use witness::{News, Witness};
pub use world::SimClock;
