//! The rules of a loop. A policy is one file: it is told facts and says what they come to; it never sees the machine.

mod facts;
mod policies;
mod questions;
mod seam;

pub use facts::{Facts, FixToTest, Unmet, certify, waivers};
pub use policies::{in_force, known, knows, named, recorded, with_version};
pub use questions::{quoted, told};
pub use seam::{After, Conclusion, Look, Policy};
