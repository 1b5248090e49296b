//! What the tests share.

pub(crate) mod git;
pub(crate) mod tmux;
