//! `pairflow pass`: the hand-over.

use clap::Args;
use pairflow_core::rounds::Finding;

use crate::commands::common::{IntentArg, said};

const EXAMPLES: &str = r#"Examples:
  pairflow pass --summary "added the lock and a test"
  pairflow pass --summary "reviewed login.rs" --finding "P1:no rollback when the write fails"
  pairflow pass --summary "reviewed login.rs" --no-findings"#;

/// Hand the work to the other agent
///
/// Reviewers must say what they found, or that they found nothing.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct PassArgs {
    /// What was done, in a sentence or two, or `-` for stdin
    #[arg(long, value_name = "TEXT", value_parser = said, allow_hyphen_values = true)]
    pub summary: String,
    /// A file that the message points to (can be repeated)
    #[arg(long = "ref", value_name = "PATH")]
    pub refs: Vec<String>,
    /// What the other side is asked to do
    #[arg(long, value_name = "INTENT")]
    pub intent: Option<IntentArg>,
    /// A finding, as `P1:title` (can be repeated)
    #[arg(long = "finding", value_name = "SEVERITY:TITLE", conflicts_with = "no_findings")]
    pub findings: Vec<Finding>,
    /// Say that the review found nothing
    #[arg(long)]
    pub no_findings: bool,
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
