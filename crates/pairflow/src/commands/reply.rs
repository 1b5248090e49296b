//! `pairflow reply`: the person's answer.

use clap::Args;

use crate::commands::common::{BubbleArg, DecisionArg, said};

const EXAMPLES: &str = r#"Examples:
  pairflow reply login-race --message "use the old token format"
  pairflow reply login-race --message "good enough" --decision accept"#;

/// Answer a question
///
/// On a tie-break `--decision` says whether the work is taken as it is; without it the loop goes on.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReplyArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// The answer, or `-` for stdin
    #[arg(long, short = 'm', value_name = "TEXT", value_parser = said, allow_hyphen_values = true)]
    pub message: String,
    /// Which question, if several are open: the id of its message
    #[arg(long, value_name = "MSG")]
    pub question: Option<String>,
    /// The decision, for questions that have one
    #[arg(long, value_name = "DECISION")]
    pub decision: Option<DecisionArg>,
}
