//! `pairflow doctor`: is everything there that pairflow needs?

use clap::Args;

use crate::commands::common::RepoArg;

/// Check git, configuration, logs and agents, each with the next step
///
/// With `--repair` a damaged log is put aside up to the damage; nothing is deleted.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow doctor\n  pairflow doctor --repair")]
pub struct DoctorArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Repair what can be repaired
    #[arg(long)]
    pub repair: bool,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}
