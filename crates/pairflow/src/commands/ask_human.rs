//! `pairflow ask-human`: a question that only a person can answer.

use crate::commands::common::said;
use clap::Args;

/// Ask the person a question and wait for the answer
///
/// The bubble stands still until the question is answered; the answer comes as a notice.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow ask-human --question \"May the public API change?\"")]
pub struct AskHumanArgs {
    /// The question, or `-` for stdin
    #[arg(long, value_name = "TEXT", value_parser = said, allow_hyphen_values = true)]
    pub question: String,
    /// A file that the question points to (can be repeated)
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
