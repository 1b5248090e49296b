//! The program on a bad disk: it ends as it is told to.

#![allow(clippy::unwrap_used, reason = "a test that fails here has found something")]

mod endings;
