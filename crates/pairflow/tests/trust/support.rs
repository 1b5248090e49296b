//! A home for the program under test.

use std::path::PathBuf;

use pairflow_testkit::home::Home;

/// The program under test: the one at `PAIRFLOW_BIN`, or the one that was just built.
pub(crate) fn program() -> PathBuf {
    std::env::var_os("PAIRFLOW_BIN").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_pairflow")), PathBuf::from)
}

/// Makes a home for the program under test.
pub(crate) fn home() -> Home {
    Home::new(program())
}
