//! `cargo xtask test`: everything a change has to pass, in one command; `cargo xtask flake` repeats tests under load.

pub(crate) mod flake;
mod runner;
mod steps;

pub(crate) use steps::run;
