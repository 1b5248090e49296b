//! `pairflow supervisor`: the process that performs what is owed.

use clap::{Args, Subcommand};

/// Look at the supervisor, or stop it
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow supervisor status\n  pairflow supervisor stop")]
pub struct SupervisorArgs {
    /// What to do with it
    #[command(subcommand)]
    pub command: SupervisorCommand,
}

/// What can be done with the supervisor.
#[derive(Debug, Clone, Subcommand)]
pub enum SupervisorCommand {
    /// Say whether it runs
    Status {
        /// Print JSON for programs
        #[arg(long)]
        json: bool,
    },
    /// Stop it; bubbles go on when it is started again
    Stop,
}
