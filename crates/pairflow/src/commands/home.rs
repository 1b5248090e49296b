//! `pairflow `: what waits for me, then all bubbles.

use clap::Args;

use crate::commands::common::RepoArg;

/// Show what waits for you, then all bubbles
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow")]
pub struct HomeArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}
