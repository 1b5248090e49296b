//! `pairflow request-rework`: sends the work back.

use clap::Args;
use pairflow_core::ids::FindingId;

use crate::commands::common::{BubbleArg, said};

const EXAMPLES: &str = r#"Example:
  pairflow request-rework login-race --message "handle the empty list" --finding F3"#;

/// Send the work back to the implementer
///
/// Withdraws an approval, clears the clean reviews and grants a fresh budget of rounds.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct RequestReworkArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// What is to be done, or `-` for stdin
    #[arg(long, short = 'm', value_name = "TEXT", value_parser = said, allow_hyphen_values = true)]
    pub message: String,
    /// The approach is wrong, not a detail
    #[arg(long)]
    pub reject: bool,
    /// A finding that has to be mended after all (can be repeated)
    #[arg(long = "finding", value_name = "F1")]
    pub findings: Vec<FindingId>,
}
