//! Agent specifications, screens and scripted agents.

#![allow(clippy::unwrap_used, reason = "a test that fails here has found something")]

mod screens;
mod script;
mod specs;
