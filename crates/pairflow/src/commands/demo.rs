//! `pairflow demo`: a whole bubble, played by scripted agents.

use clap::Args;

/// Watch a bubble from task to commit, with scripted agents
///
/// Needs nothing but git, works in a temporary repository, and takes seconds.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow demo\n  pairflow demo --slow --keep")]
pub struct DemoArgs {
    /// Leave the repository to look at
    #[arg(long)]
    pub keep: bool,
    /// Slow enough to watch
    #[arg(long)]
    pub slow: bool,
}
