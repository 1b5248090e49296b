//! What people and programs are shown.

mod all;
mod brief;
mod export;
mod metrics;
mod notify;
mod pane;
mod status_questions;
mod waiting;
