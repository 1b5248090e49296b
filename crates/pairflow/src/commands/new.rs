//! `pairflow new`: a bubble out of a sentence, started at once.

use clap::Args;
use pairflow_core::ids::BubbleId;

use crate::commands::setup::SetupArgs;

const EXAMPLES: &str = r#"Examples:
  pairflow new "fix the login race"
  pairflow new @task.md --pair claude,codex"#;

/// Make a bubble for a task and start it
///
/// The id is made out of the text, the repository is this one, the base is the current branch.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct NewArgs {
    /// The task: text, `@FILE`, a file, or `-` for stdin; without it an editor opens
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
    /// The bubble's id; without it made out of the text
    #[arg(long, value_name = "ID")]
    pub id: Option<BubbleId>,
    /// How it is set up
    #[command(flatten)]
    pub setup: SetupArgs,
}
