//! The wrapper around tmux.

mod panes;
mod session;
