//! How far a loop is, folded from the log: its rounds, and the evidence about its work.

mod evidence;
mod rounds;

pub use evidence::*;
pub use rounds::*;
