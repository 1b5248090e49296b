//! The convergence lab: agents that are models, in front of the real rules.
//!
//! A seed is a task. Its first cut holds true defects; implementers fix, lie and break, reviewers find, miss and invent. The
//! same task is given to a single agent, to a loop that stops when nothing is found, to the rules of the original
//! pairflow, and to the real core. What is left in the work when each of them stops is known here, and only here.

mod agents;
mod bubble;
mod code;
mod measure;
mod ours;
mod params;
mod report;
mod rivals;

pub use code::{Model, Size};
pub use measure::{Cause, Lab, Mean, Ran, Spread, Summary};
pub use ours::{Setup, ours};
pub use params::{BadParams, Params};
pub use report::{
    Drawn, Gate, Measured, Population, Tried, gates, measure, population, populations, render, render_gates,
    render_populations, render_sensitivity, sensitivity,
};
pub use rivals::{naive, original, single};
