//! `cargo xtask bench`: how fast the product is, each row beside a limit that was measured in the same run.
//!
//! A machine is quick or slow, quiet or loaded; a ratio of two things that ran in turns on it says more than a time.
//! Every row is a file or two functions of one, and one line in the list of `run`.

mod append;
mod ask;
mod checkout;
mod counting;
mod life;
mod pass;
mod run;
mod sample;
mod setting;
mod startup;
mod status;
mod table;
mod verify;
mod workspace;

pub(crate) use run::run;
