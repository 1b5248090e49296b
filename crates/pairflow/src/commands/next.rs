//! `pairflow next`: the oldest question, with all that is needed to answer it.

use clap::Args;

use crate::commands::common::RepoArg;

/// Answer what has waited longest
///
/// Shows the context and the diff, and takes one key.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow next")]
pub struct NextArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
}
