//! `pairflow commit`: one commit of exactly the approved tree.

use clap::Args;

use crate::commands::common::{BubbleArg, said};

const EXAMPLES: &str = r#"Examples:
  pairflow commit login-race
  pairflow commit login-race --override-scope --reason "the lock file had to change""#;

/// Commit the approved snapshot on the bubble's branch
///
/// Returns when the commit is made or could not be made. Nothing is pushed.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct CommitArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// The commit message, or `-` for stdin; without it the one of the package
    #[arg(long, short = 'm', value_name = "TEXT", value_parser = said, allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Commit files outside of the bubble's scope nevertheless
    #[arg(long, requires = "reason")]
    pub override_scope: bool,
    /// Why the scope does not matter here
    #[arg(long, value_name = "TEXT", requires = "override_scope", value_parser = said, allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// Run the repository's own commit hooks
    #[arg(long)]
    pub hooks: bool,
}
