//! Arguments that several commands share, with their help.

mod common;
mod setup;

pub(crate) use common::said;
pub use common::{BubbleArg, DecisionArg, DriverArg, IntentArg, KindArg, PolicyArg, RepoArg, WorkModeArg};
pub use setup::{CheckArgs, SetupArgs};
