//! What pairflow does only for its own person: foreign logs, foreign configuration and foreign callers cause nothing.
//!
//! Every test drives the program at `PAIRFLOW_BIN`, or the one just built, so that it can also be run against an
//! older build.

mod agents;
mod commit;
mod early;
mod evil;
mod handover;
mod identity;
mod matrix;
mod ownership;
mod support;
mod worktree;
