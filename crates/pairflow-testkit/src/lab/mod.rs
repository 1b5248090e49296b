//! The convergence lab: agents that are models, in front of the real rules.
//!
//! A seed is a task. Its first cut holds true defects; producers mend, lie and break, critics find, miss and invent. The
//! same task is given to a single agent, to a loop that stops when nothing is found, to the rules of the original
//! pairflow, and to the real core. What is left in the work when each of them stops is known here, and only here.

mod bubble;
mod code;
mod critic;
mod dice;
mod gates;
mod measure;
mod ours;
mod params;
mod producer;
mod rivals;
mod run;
mod table;
mod words;

pub use code::Model;
pub use gates::{Gate, gates};
pub use measure::{Cause, Lab, Mean, Ran, Spread, Summary};
pub use ours::ours;
pub use params::{BadParams, Params};
pub use rivals::{naive, original, single};
pub use run::{Tried, measure, sensitivity};
pub use table::{render, render_gates, render_sensitivity};
