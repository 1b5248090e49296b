//! The life of a bubble as scripts: one act a line, one line of outcome for each act. The names of the tests are the
//! sentences of the protocol.

#![allow(clippy::unwrap_used, reason = "a test that fails here has found something")]

mod commit;
mod convergence;
mod history;
mod human;
mod lifecycle;
mod package;
mod pause;
mod protocol;
mod refusals;
mod rounds;
mod same_tree;
mod tie_break;
mod update;
mod watchdog;
