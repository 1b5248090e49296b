//! `cargo xtask test`: everything a change has to pass, in one command.

mod failures;
mod runner;
mod steps;

pub(crate) use failures::print_failures;
pub(crate) use runner::Runner;
pub(crate) use steps::run;
