//! `pairflow script-agent`: one turn of a scripted agent.

use std::path::PathBuf;

use clap::Args;

/// Play one turn of a scripted agent
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow script-agent --script agents.yaml --turn 1")]
pub struct ScriptAgentArgs {
    /// The script
    #[arg(long, value_name = "FILE")]
    pub script: PathBuf,
    /// The number of the turn
    #[arg(long, value_name = "N")]
    pub turn: u32,
}
