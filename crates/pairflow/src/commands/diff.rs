//! `pairflow diff`: what was changed.

use clap::Args;

use crate::commands::common::BubbleArg;

/// Show what a bubble changed
///
/// On a terminal the text is made safe; piped, it is the exact patch.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow diff login-race --stat\n  pairflow diff login-race --round 2")]
pub struct DiffArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Only what this round changed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub round: Option<u32>,
    /// Only files and numbers of lines
    #[arg(long)]
    pub stat: bool,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}
