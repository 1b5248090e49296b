//! `pairflow config`: the configuration in force.

use clap::{Args, Subcommand};

use crate::commands::common::BubbleArg;

/// Explain the configuration
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow config explain")]
pub struct ConfigArgs {
    /// What to do with it
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// What can be done with the configuration.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Say for every value where it comes from
    #[command(after_help = "Example:\n  pairflow config explain login-race")]
    Explain(ExplainArgs),
}

/// The arguments of `config explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// Which bubble; without one, what a new bubble would get
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}
