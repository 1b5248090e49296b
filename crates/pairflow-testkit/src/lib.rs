//! What the tests stand on: scripts, and a world that is not real.

pub mod clis;
pub mod disk;
pub mod fixture;
pub mod home;
pub mod kill;
pub mod lab;
pub mod model;
pub mod pair;
pub mod script;
pub mod sim;
pub mod store;
pub mod swap;
pub mod toys;
pub mod wait;
