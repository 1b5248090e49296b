//! The socket of a seat: who may speak through it, and what reaches pairflow.

mod callers;
mod hooks;
mod socket;
mod verbs;
