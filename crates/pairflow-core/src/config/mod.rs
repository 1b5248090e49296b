//! Configuration: what a person may set, where, and which setting wins.
//!
//! Text becomes a [`Layer`], four layers become one [`Resolved`]. Every mistake carries its file, line and span, and
//! all mistakes of a file are reported together. Reading files is the engine's work; nothing here touches a disk.

mod check;
mod commands;
mod custom;
mod error;
mod flags;
mod keys;
mod layer;
mod parse;
mod read;
mod recorded;
mod render;
mod resolve;
mod starter;
mod task;
mod webhook;

pub use commands::{CommandChange, CommandInForce, CommandSet};
pub use error::{ConfigError, ConfigErrors, Place};
pub use flags::Flags;
pub use layer::{
    CUSTOM_KEYS, CustomLayer, Explained, KEYS, Layer, Layers, Mark, Origin, QualityMode, Recorded, Set, Source,
};
pub use recorded::{Edit, Setting, Subject, changes, is_live};
pub use render::render_bubble_toml;
pub use resolve::{Resolved, resolve};
pub use starter::{StarterCommand, render_pairflow_toml};
pub use task::acceptance_criteria;
pub use webhook::Webhook;
