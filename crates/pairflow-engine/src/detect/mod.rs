//! How a repository is tested, guessed from the files at its root. A guess is shown and confirmed, never just used.
//!
//! For each command the first match in this order wins: what the project itself wrote down (just, then Make), then
//! what its language is tested with (Cargo, Go, npm and its kin, Python). One file a tool.

mod cargo;
mod found;
mod go;
mod node;
mod order;
mod python;
mod root;
mod runner;

pub use found::{Detected, Found};
pub use order::detect;
