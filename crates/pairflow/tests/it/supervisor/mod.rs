//! The supervisor: its beginnings and ends, many bubbles, whom it starts, whom it tells.

mod agent_turns;
mod check_callers;
mod many_bubbles;
mod notifications;
mod one_process;
mod start_and_stop;
mod verbs;
