//! `cargo xtask tidy`: the house rules that no compiler checks.
//!
//! One rule is one file with `check(&Tree) -> Vec<Problem>` and one line in the list of `rules`. A rule reads the tree
//! from memory and never from disk, so its tests give it a small tree of their own and prove that it can fail.

mod anyhow_home;
mod dependencies;
mod direction;
mod file_length;
mod function_shape;
mod honest_tests;
mod key_effects;
mod layers;
mod manifest;
mod module_docs;
mod modules;
mod one_git;
mod policies;
mod pure_core;
mod reached_modules;
mod recorded_verdicts;
mod regular_files;
mod requirements;
mod rules;
mod scattered_ids;
mod thin_modules;
mod tokens;
mod tree;
mod unfinished;
mod ways;

pub(crate) use rules::run;
pub(crate) use tree::root;
