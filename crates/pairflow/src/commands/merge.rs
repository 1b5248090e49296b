//! `pairflow merge`: the bubble's commit reaches the base.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Bring the bubble's commit to its base branch
///
/// The merged tree is checked in a scratch worktree first. Your own checkout is only touched with `--here`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow merge login-race\n  pairflow merge login-race --here")]
pub struct MergeArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Also move the checkout that I am in, if it is clean
    #[arg(long)]
    pub here: bool,
}
