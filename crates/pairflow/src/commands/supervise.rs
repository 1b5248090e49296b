//! `pairflow supervise`: performs what bubbles owe.

use clap::Args;

use crate::commands::common::RepoArg;

/// Perform what is owed: snapshots, checks, turns, deadlines
///
/// Usually started in the background by the commands that need it.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow supervise --once\n  pairflow supervise --foreground")]
pub struct SuperviseArgs {
    /// Stay in the foreground and report on stderr
    #[arg(long, conflicts_with = "once")]
    pub foreground: bool,
    /// Perform what is owed now, then end
    #[arg(long)]
    pub once: bool,
    /// Only this repository, with `--once`
    #[command(flatten)]
    pub repo: RepoArg,
}
