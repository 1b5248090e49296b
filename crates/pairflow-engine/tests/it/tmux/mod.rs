//! The wrapper around tmux.

mod config;
mod input;
mod panes;
mod session;
