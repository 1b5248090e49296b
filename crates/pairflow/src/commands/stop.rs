//! `pairflow stop`: ends a bubble for good.

use clap::Args;

use crate::commands::common::{BubbleArg, said};

/// Cancel a bubble for good; nothing of the work is deleted
///
/// To interrupt a bubble and go on later, use `pairflow pause`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow stop login-race --yes")]
pub struct StopArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Why, for the log
    #[arg(long, value_name = "TEXT", value_parser = said, allow_hyphen_values = true)]
    pub reason: Option<String>,
}
