//! How a new bubble is set up: the arguments that `create` and `new` share.

use std::path::PathBuf;

use clap::Args;
use pairflow_core::rules::Agents;

use super::common::{DriverArg, KindArg, PolicyArg, WorkModeArg, pair, said};

/// How a new bubble is set up.
#[derive(Debug, Clone, Args)]
pub struct SetupArgs {
    /// The repository; without it the one around the current directory
    #[arg(long, value_name = "PATH")]
    pub repo: Option<PathBuf>,
    /// The branch to start from; without it the current one
    #[arg(long, value_name = "BRANCH")]
    pub base: Option<String>,
    /// The two agents, e.g. `codex,claude`; a third one takes the second review
    #[arg(long, value_name = "IMPLEMENTER,REVIEWER", value_parser = pair)]
    pub pair: Option<Agents>,
    /// What kind of work it is
    #[arg(long, value_name = "KIND")]
    pub kind: Option<KindArg>,
    /// The approved document that an implementation follows: a document bubble, or a committed file that you confirm
    #[arg(long, value_name = "BUBBLE|FILE", value_parser = said)]
    pub prd: Option<String>,
    /// Confirm that the file named with `--prd` is approved, by the SHA-256 of its content (12 characters suffice)
    #[arg(long, value_name = "SHA256", requires = "prd", value_parser = said)]
    pub prd_approved: Option<String>,
    /// A file that a document bubble is about; without it the Markdown files that it changes (can be repeated)
    #[arg(long = "document", value_name = "PATH", value_parser = said)]
    pub documents: Vec<String>,
    /// The rules of the loop
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<PolicyArg>,
    /// How many rounds there may be before a person decides
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_rounds: Option<u32>,
    /// How the bubble is kept apart from the repository
    #[arg(long, value_name = "MODE")]
    pub work_mode: Option<WorkModeArg>,
    /// How agents are run
    #[arg(long, value_name = "DRIVER")]
    pub driver: Option<DriverArg>,
    /// The agents' script; has them played from it unless `--driver` says otherwise
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// How the work is checked
    #[command(flatten)]
    pub checks: CheckArgs,
}

/// How the work of a new bubble is checked.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Checks")]
pub struct CheckArgs {
    /// The command that tests the work
    #[arg(long, value_name = "COMMAND", value_parser = said, allow_hyphen_values = true)]
    pub test: Option<String>,
    /// The command that checks its types
    #[arg(long, value_name = "COMMAND", value_parser = said, allow_hyphen_values = true)]
    pub typecheck: Option<String>,
    /// The command that lints it
    #[arg(long, value_name = "COMMAND", value_parser = said, allow_hyphen_values = true)]
    pub lint: Option<String>,
    /// The command that runs once in a new worktree
    #[arg(long, value_name = "COMMAND", value_parser = said, allow_hyphen_values = true)]
    pub setup: Option<String>,
    /// There are no tests; needs a manual check
    #[arg(long, requires = "manual_check", conflicts_with_all = ["test", "typecheck", "lint"])]
    pub no_tests: bool,
    /// Something that a person has to try by hand (can be repeated)
    #[arg(long, value_name = "WHAT", value_parser = said, allow_hyphen_values = true)]
    pub manual_check: Vec<String>,
    /// Take the detected commands without asking
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Trust the repository's commands and templates if they have this hash
    #[arg(long, value_name = "HASH")]
    pub trust: Option<String>,
}
