//! Configuration: what a person may set, where, and which setting wins.
//!
//! The keys are listed in one table, `keys`. Text becomes a [`Layer`], four layers become one [`Resolved`]. Every mistake
//! carries its file, line and span, and all mistakes of a file are reported together. Reading files is the engine's work;
//! nothing here touches a disk.

mod check;
mod keys;
mod origin;
mod parse;
mod recorded;
mod resolve;
mod table;
mod task;

pub use check::Webhook;
pub use keys::{CUSTOM_KEYS, CustomLayer, KEYS, Layer, changes_until};
pub use origin::{ConfigError, ConfigErrors, ConfigSource, Explained, FilePlace, LogLine, Origin, QualityMode, Set};
pub use recorded::{ConfigSetting, Edit, StarterCommand, Subject, changes, render_bubble_toml, render_pairflow_toml};
pub use resolve::{CommandChange, CommandInForce, CommandSet, Layers, Resolved, resolve};
pub use table::{ConfigKey, Shape, Until, Who, Written};
pub use task::acceptance_criteria;
