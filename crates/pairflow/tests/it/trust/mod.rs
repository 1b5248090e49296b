//! What pairflow does only for its own person: foreign logs, foreign configuration and foreign callers cause nothing.
//!
//! Every test drives the program at `PAIRFLOW_BIN`, or the one just built, so that it can also be run against an
//! older build.

mod adoption;
mod agents;
mod cache;
mod commit;
mod config;
mod early;
mod evil;
mod format;
mod handover;
mod hangs;
mod identity;
mod matrix;
pub(crate) mod ownership;
mod places;
mod shown;
mod socket;
mod support;
mod templates;
mod worktree;
