//! `pairflow converged`: the claim that nothing is left to do.

use clap::Args;

use crate::commands::common::said;

/// Claim, as the reviewer, that the work has converged
///
/// Counts as a clean review if that completes all criteria; otherwise nothing is counted, and every unmet one is named.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow converged --summary \"both reviews clean, tests pass\"")]
pub struct ConvergedArgs {
    /// Why the work is done, in a sentence or two, or `-` for stdin
    #[arg(long, value_name = "TEXT", value_parser = said, allow_hyphen_values = true)]
    pub summary: String,
    /// A file that the claim points to (can be repeated)
    #[arg(long = "ref", value_name = "PATH")]
    pub refs: Vec<String>,
    /// The bubble; has to be the one that this agent works in
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// A name for this attempt: repeated with the same key, it is recorded once
    #[arg(long, value_name = "KEY", value_parser = said)]
    pub key: Option<String>,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}
