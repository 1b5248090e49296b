//! `pairflow delete`: removes a bubble, after archiving it.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Remove a bubble's worktree and files, after archiving log and branch
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow delete login-race --yes")]
pub struct DeleteArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
}
