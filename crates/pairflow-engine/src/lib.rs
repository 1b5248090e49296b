//! The only writer: it loads a log, lets the core decide, appends, and performs what is owed.
//!
//! What a bubble has to do with the world is in here: its files, git, processes, time. No rule is.

pub mod agent_socket;
pub mod caller;
pub mod checks;
pub mod clock;
pub mod config;
pub mod detect;
pub mod driver;
pub mod engine;
pub mod git;
pub mod limits;
pub mod local_socket;
pub mod notify;
pub mod perform;
pub mod process;
pub mod regular;
pub mod session;
pub mod store;
pub mod supervise;
pub mod supervisor_client;
pub mod tmux;
pub mod verbs;
pub mod workspace;
