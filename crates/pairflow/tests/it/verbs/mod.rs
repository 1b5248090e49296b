//! The verbs of people and agents, one by one.

mod agents;
mod create;
mod disputes;
mod gate;
mod journey;
mod json;
mod life;
mod metrics;
mod permission_shown;
mod reads;
mod terminal;
mod thorough;
mod view;
mod wait;
