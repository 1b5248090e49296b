//! `cargo xtask soak`: the proofs at the sizes of a release, for hours or until the full sizes are reached.
//!
//! What was done is kept beside the build, so a soak that was ended goes on where it was. It belongs to one commit.

mod progress;
mod rows;
mod run;

pub(crate) use run::run;
