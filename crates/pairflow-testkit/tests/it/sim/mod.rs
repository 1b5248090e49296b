//! Simulated lives.

mod durable;
mod lives;
