//! The findings of a bubble: one row for each claim, with a name, a state and a history. Owned by code, not by agents.

mod book;
mod proof;
mod row;

pub use book::*;
pub use proof::*;
pub use row::*;
