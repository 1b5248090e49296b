//! `cargo xtask tidy`: the house rules that no compiler checks.
//!
//! A rule is a function `(&Tree) -> Vec<Problem>` and one line in the list of `rules`. It reads the tree from memory and
//! never from disk, so its tests give it a small tree of their own and prove that it can fail.

mod architecture;
mod boundaries;
mod dependencies;
mod honest_tests;
mod layers;
mod modules;
mod requirements;
mod rules;
mod shape;
pub(crate) mod strings;
mod tokens;
mod tree;
mod type_names;

pub(crate) use rules::run;
pub(crate) use tree::root;
