//! What the tests stand on: scripts, and a world that is not real.

pub mod disk;
pub mod script;
