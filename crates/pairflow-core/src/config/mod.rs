//! Configuration: what a person may set, where, and which setting wins.
//!
//! The keys are listed in one table, `keys`. Text becomes a [`Layer`], four layers become one [`Resolved`]. Every mistake
//! carries its file, line and span, and all mistakes of a file are reported together. Reading files is the engine's work;
//! nothing here touches a disk.

mod check;
mod commands;
mod error;
mod flags;
mod form;
mod keys;
mod layer;
mod parse;
mod recorded;
mod refused;
mod render;
mod resolve;
mod table;
mod task;
mod webhook;

pub use commands::{CommandChange, CommandInForce, CommandSet};
pub use error::{ConfigError, ConfigErrors, Place};
pub use form::Shape;
pub use keys::{CUSTOM_KEYS, CustomLayer, KEYS, Layer, changes_until};
pub use layer::{Explained, Origin, QualityMode, Recorded, Set, Source};
pub use recorded::{Edit, Setting, Subject, changes};
pub use render::{StarterCommand, render_bubble_toml, render_pairflow_toml};
pub use resolve::{Layers, Resolved, resolve};
pub use table::{Key, Until, Who, Written};
pub use task::acceptance_criteria;
pub use webhook::Webhook;
