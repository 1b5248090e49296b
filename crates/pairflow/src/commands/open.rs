//! `pairflow open`: the worktree in an editor.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Open the bubble's worktree in an editor
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow open login-race")]
pub struct OpenArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
}
