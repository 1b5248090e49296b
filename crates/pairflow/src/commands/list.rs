//! `pairflow list`: all bubbles of a repository.

use clap::Args;

use crate::commands::common::RepoArg;

/// List the bubbles of a repository
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow list\n  pairflow list --json")]
pub struct ListArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}
