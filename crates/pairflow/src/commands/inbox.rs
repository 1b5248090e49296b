//! `pairflow inbox`: what waits for the person.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Show the questions that wait for you
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow inbox login-race")]
pub struct InboxArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}
