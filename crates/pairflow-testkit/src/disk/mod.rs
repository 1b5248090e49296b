//! Disks that fail on purpose: one in memory that loses power, and a wrapper that fails any single operation.

mod faulty;
mod rng;
mod sim;

pub use faulty::{Fault, FaultyDisk, Planned, no_fault, parse_fault};
pub use rng::Rng;
pub use sim::SimDisk;
