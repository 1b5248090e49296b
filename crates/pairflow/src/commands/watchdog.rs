//! `pairflow watchdog`: the time-out check, once.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Check once whether an agent has been silent for too long
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow watchdog login-race")]
pub struct WatchdogArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}
