//! The rules of a loop. A policy is one file: it is told facts and says what they come to; it never sees the machine.

#[cfg(feature = "test-policies")]
mod any_review;
mod certificate;
mod criteria;
mod facts;
mod list;
#[cfg(feature = "test-policies")]
mod panics;
mod questions;
mod seam;
mod send_back;
mod single;
mod strict;

pub use certificate::certify;
pub use criteria::{Unmet, waivers};
pub use facts::Facts;
pub use list::{in_force, known, named, recorded, with_version};
pub use questions::{quoted, told};
pub use seam::{After, Conclusion, Look, Policy};
