//! The pure core: scripts, properties, and documents that are compared with what the code says.

#![allow(clippy::unwrap_used, reason = "a test that fails here has found something")]

mod config;
mod findings;
mod gates;
mod log;
mod machine;
mod scenarios;
mod support;
mod views;
