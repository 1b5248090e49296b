//! What pairflow does only for its own person: foreign logs, foreign configuration and foreign callers cause nothing.
//!
//! Every test drives the program at `PAIRFLOW_BIN`, or the one just built, so that it can also be run against an
//! older build.

#![allow(clippy::unwrap_used, reason = "a test that fails here has found something")]

mod adoption;
mod agents;
mod cache;
mod commit;
mod config;
#[path = "../daily_support/mod.rs"]
mod daily_support;
mod early;
mod evil;
mod handover;
mod hangs;
mod identity;
mod matrix;
mod ownership;
mod places;
mod shown;
mod socket;
mod support;
#[path = "../verbs_support/mod.rs"]
mod verbs_support;
mod worktree;
