//! What tests share: scripts for the core, simulated disks and lives, hermetic homes, a mock model, and proofs with kills.

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
pub mod toys;
pub mod wait;
