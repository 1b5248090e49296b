//! `pairflow env`: what an agent process needs to join.

use clap::Args;
use pairflow_core::ids::AgentId;

use crate::commands::common::BubbleArg;

/// Print the variables with which an agent joins a bubble
///
/// Makes a new token for the agent; an older one is void from then on.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  eval \"$(pairflow env login-race --agent codex)\"")]
pub struct EnvArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// The agent that joins
    #[arg(long, value_name = "AGENT")]
    pub agent: AgentId,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}
