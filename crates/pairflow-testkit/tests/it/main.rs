//! The testkit itself, and the store and the engine on its simulated disks.

#![allow(clippy::unwrap_used, reason = "a test that fails here has found something")]

mod fixture;
mod lab;
mod mock_model;
mod real_clis;
mod sim;
mod store;
mod support;
