//! `pairflow waive`: the person lives with a finding, or with a check that does not pass; or does so no longer.

use pairflow_core::bubble::Command;
use pairflow_core::log::Waivable;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, nonempty, people, status};

const EXAMPLES: &str = r#"Examples:
  pairflow waive F3 --reason "known; ticket 412"
  pairflow waive login-race lint --reason "the linter does not know the new syntax"
  pairflow waive login-race lint --withdraw"#;

/// Waive a finding or a failing check
///
/// The waiver and its reason are recorded in the log, the certificate and the package. A waived check stays waived on later
/// trees. With --withdraw the finding is open again, or the check has to pass again.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct WaiveArgs {
    /// The finding (F3) or the check (lint), after the id of the bubble if more than one fits
    #[arg(value_name = "[ID] FINDING|CHECK", value_parser = nonempty, required = true, num_args = 1..=2)]
    pub what: Vec<String>,
    /// The reason
    #[arg(long, value_name = "TEXT", value_parser = nonempty, allow_hyphen_values = true,
          required_unless_present = "withdraw")]
    pub reason: Option<String>,
    /// Withdraw the waiver
    #[arg(long)]
    pub withdraw: bool,
    /// The bubble: its id or a unique beginning of it; optional if only one fits
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// The repository [default: the one of the current directory]
    #[arg(long, value_name = "PATH")]
    pub repo: Option<std::path::PathBuf>,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("waive", Decisions, WaiveArgs, run, people);

fn run(args: WaiveArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let (id, what) = match (&args.what[..], args.id) {
        ([what], id) => (id, what),
        ([id, what], None) => (Some(id.clone()), what),
        _ => return Err(CommandError::usage("the bubble is named twice: by --id and before the finding.")),
    };
    let bubble = app.bubble(&BubbleArg::named(id, args.repo), "waive")?;
    let what = match what.parse() {
        Ok(id) => Waivable::Finding(id),
        Err(_) => Waivable::Check(what.clone()),
    };
    let reason = args.reason.unwrap_or_default();
    let (command, done) = if args.withdraw {
        (Command::Withdraw { what: what.clone(), reason }, "Withdrew the waiver of")
    } else {
        (Command::Waive { what: what.clone(), reason }, "Waived")
    };
    let state = bubble.apply(&command)?.state;
    app.hands().wake(&bubble)?;
    if args.json {
        return status::print_json(app, out, &bubble, &state);
    }
    out.line(format_args!("{done} {what} in bubble {}", bubble.id))
}
