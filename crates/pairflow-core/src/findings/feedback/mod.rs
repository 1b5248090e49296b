//! Reads what a reviewer wrote into a findings file, in any of four forms.
//!
//! A file holds one JSON object, or prose around exactly one fenced JSON block. Its keys say which form it has. What is
//! not clearly one of the four is refused with the place and the next step: nothing here ever turns into an approval by
//! being misread, and what an approval is worth is decided elsewhere.

mod challenge;
mod claim;
mod decision;
mod error;
mod fence;
mod fields;
mod json;
mod ours;
mod read;
mod review;

pub use crate::log::MAX_DETAIL;
pub use claim::{Claim, EXAMPLE, Feedback};
pub use error::{BadFeedback, Place, Wrong};
pub use fields::{MAX_FILE, MAX_REPRODUCER};
pub use read::{MAX_FEEDBACK, read};
