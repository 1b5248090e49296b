//! `pairflow pause`: interrupts a bubble.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Interrupt a bubble; state and turn stay as they are
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow pause login-race")]
pub struct PauseArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
}
