//! `pairflow waive`: the person lives with a finding, or with a check that does not pass.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::log::Waivable;
use pairflow_core::unit::Command;

use crate::app::App;
use crate::commands::common::{BubbleArg, said};
use crate::exit::CommandError;
use crate::out::Out;
use crate::table::{CommandEntry, Group};

const EXAMPLES: &str = r#"Examples:
  pairflow waive --id login-race F3 --reason "known; ticket 412"
  pairflow waive --id login-race lint --reason "the linter does not know the new syntax""#;

/// Live with a finding, or with a check that does not pass
///
/// The waiver and its reason stand in the log, the certificate and the package. A waived check stays waived in this
/// bubble.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct WaiveArgs {
    /// The finding (F3) or the check (lint)
    #[arg(value_name = "FINDING|CHECK", value_parser = said)]
    pub what: String,
    /// Why
    #[arg(long, value_name = "TEXT", value_parser = said, allow_hyphen_values = true)]
    pub reason: String,
    /// The bubble; the beginning of its id is enough, and none is needed if only one can be meant
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// The repository; without it the one around the current directory
    #[arg(long, value_name = "PATH")]
    pub repo: Option<std::path::PathBuf>,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "waive",
    aliases: &[],
    group: Group::Operator,
    about: "Live with a finding, or with a check that does not pass",
    hidden: false,
    human_only: |_| true,
    args: WaiveArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = WaiveArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.bubble(&BubbleArg::named(args.id, args.repo), "waive")?;
    let what = match args.what.parse() {
        Ok(id) => Waivable::Finding(id),
        Err(_) => Waivable::Check(args.what),
    };
    bubble.apply(&Command::Waive { what: what.clone(), reason: args.reason })?;
    app.hands().wake(&bubble)?;
    out.line(format_args!("Waived {what} in bubble {}", bubble.id))
}
