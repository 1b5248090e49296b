//! `pairflow status`: where a bubble stands.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Show where a bubble stands, and what is missing for convergence
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow status login-race\n  pairflow status --json")]
pub struct StatusArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}
