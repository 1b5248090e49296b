//! `pairflow init`: prepares a repository.

use clap::Args;

use crate::commands::common::RepoArg;

/// Prepare a repository: detect its checks, write pairflow.toml
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow init\n  pairflow init --yes")]
pub struct InitArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
}
