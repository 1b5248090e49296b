//! The rules of pairflow, and nothing else.
//!
//! Everything here is a function of its arguments: no file, clock, environment variable, thread or random number.
//! A command and a state go in, facts and debts come out; the engine writes the facts down and pays the debts.

pub mod bubble;
pub mod config;
pub mod facts;
pub mod findings;
pub mod gates;
pub mod hash;
pub mod ids;
pub mod log;
pub mod policy;
pub mod progress;
pub mod respond;
pub mod rules;
pub mod safe;
pub mod text;
pub mod time;

pub mod view;
