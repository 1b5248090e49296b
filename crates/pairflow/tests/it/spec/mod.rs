//! The specification, point by point, in the running product.

mod collector;
mod config;
mod first_phase;
mod layout;
mod local;
mod protocol;
mod workspace;
