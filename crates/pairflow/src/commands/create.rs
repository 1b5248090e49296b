//! `pairflow create`: a new bubble, not started yet.

use clap::Args;
use pairflow_core::ids::BubbleId;

use crate::commands::common::said;
use crate::commands::setup::SetupArgs;

const EXAMPLES: &str = r#"Examples:
  pairflow create --id login-race --base main --task "fix the login race" --test "cargo test"
  pairflow create --id login-race --task @task.md --pair codex,claude --yes --start"#;

/// Make a bubble for a task
///
/// The commands that check the work are detected, shown, and confirmed once per repository.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct CreateArgs {
    /// The bubble's id; without it made out of the task
    #[arg(long, value_name = "ID")]
    pub id: Option<BubbleId>,
    /// The task: text, `@FILE`, a file, or `-` for stdin; without it an editor opens
    #[arg(long, value_name = "TEXT|@FILE|FILE|-", value_parser = said, allow_hyphen_values = true)]
    pub task: Option<String>,
    /// Start it at once
    #[arg(long)]
    pub start: bool,
    /// How it is set up
    #[command(flatten)]
    pub setup: SetupArgs,
}
