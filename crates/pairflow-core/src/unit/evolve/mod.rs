//! The consequences of a fact. The only place that changes a state; it cannot fail, because a recorded fact is true.

mod fold;
mod people;
mod turns;

pub use fold::{advance, evolve};
