//! `pairflow approve`: the person's yes to a snapshot.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Approve the work of a bubble for commit
///
/// The approval is for exactly the tree in the approval package.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow approve login-race")]
pub struct ApproveArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
}
