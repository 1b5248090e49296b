//! Agents in tmux panes: toy agents in the place of the real CLIs.

mod conversations;
mod crowd;
mod dialogs;
mod hooks;
mod idle;
mod launch;
mod permission;
mod process_ancestry;
mod programs;
mod shown;
mod turns;
mod typed;
mod verbs;
