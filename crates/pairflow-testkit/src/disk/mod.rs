//! Disks that fail on purpose: one in memory that loses power, and a wrapper that fails any single operation.

mod faulty;
mod power;
mod rng;
mod sim;

pub use faulty::{Fault, FaultyDisk};
pub use rng::Rng;
pub use sim::SimDisk;
