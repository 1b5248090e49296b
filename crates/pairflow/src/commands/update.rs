//! `pairflow update`: brings the base into the worktree.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Merge the base branch into the bubble's worktree
///
/// The merge is your work: clean reviews of the old tree no longer count.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow update login-race")]
pub struct UpdateArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
}
