//! `pairflow start`: prepares the workspace and opens the first turn.

use std::path::PathBuf;

use clap::Args;

use crate::commands::common::{BubbleArg, DriverArg};

const EXAMPLES: &str = "Examples:
  pairflow start login-race
  pairflow start login-race --driver script --script agents.yaml";

/// Prepare the worktree and start the loop
///
/// Returns when the bubble runs or when it could not be started; then it can be started again.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct StartArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// How agents are run
    #[arg(long, value_name = "DRIVER")]
    pub driver: Option<DriverArg>,
    /// The agents' script, for `--driver script`
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
}
