//! `pairflow ok`: package, yes, approve, commit.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Read the package, then approve and commit
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow ok login-race\n  pairflow ok --merge")]
pub struct OkArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Bring it to the base branch too
    #[arg(long)]
    pub merge: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
}
