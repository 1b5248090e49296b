//! `pairflow resume`: back to the loop.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Go on after a pause or work by hand
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow resume login-race")]
pub struct ResumeArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
}
