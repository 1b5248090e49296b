//! The rules of a loop. A policy is one file: it is told facts and says what they come to; it never sees the machine.

#[cfg(feature = "test-policies")]
mod any_review;
mod certificate;
mod criteria;
mod evidence;
mod facts;
#[cfg(feature = "test-policies")]
mod panics;
mod questions;
mod rounds;
mod seam;
mod send_back;
mod single;
mod strict;

pub use certificate::certify;
pub use criteria::{Unmet, waivers};
pub use evidence::{CheckState, Evidence};
pub use facts::Facts;
pub use questions::{quoted, told};
pub use rounds::{Held, Returned, Reviewed, Rounds, Said, Spent, WentBack};
pub use seam::{After, Conclusion, Look, MAX_LOOKS, Policy, known, named, recorded};
