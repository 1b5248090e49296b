//! What the log is made of: what pairflow saw, what agents claimed, who sat where, and what was accepted.

mod outcome;
mod review;

pub use outcome::*;
pub use review::*;
