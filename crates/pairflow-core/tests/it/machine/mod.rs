//! The machine of a bubble as a whole: properties, the state table, the task.

mod document;
mod properties;
mod task;
