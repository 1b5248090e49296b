//! The consequences of a fact. The only place that changes a state; it cannot fail, because a recorded fact is true.

mod adopted;
mod configured;
mod fold;
mod machine;
mod notices;
mod people;
mod turns;
mod waivers;

pub use fold::{advance, evolve};
