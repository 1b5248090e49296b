//! The work and the branch that it was cut from: trees, commits, merges, and a base that moved.

mod commit;
mod merge;
mod moved;
mod trees;
