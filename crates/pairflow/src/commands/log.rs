//! `pairflow log`: the timeline.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Show what happened in a bubble, in order
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow log login-race\n  pairflow log login-race --json")]
pub struct LogArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}
