//! What the tests share: homes, bubbles at certain points, terminals, panes, seats, webhooks, bad disks.

pub(crate) mod bubbles;
pub(crate) mod faults;
pub(crate) mod log;
pub(crate) mod real_agent;
pub(crate) mod scripted;
pub(crate) mod seat;
pub(crate) mod spec_story;
pub(crate) mod terminal;
pub(crate) mod webhook;
