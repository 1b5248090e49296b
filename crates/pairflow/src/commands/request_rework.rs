//! `pairflow request-rework`: sends the work back.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::bubble::Command;
use pairflow_core::ids::FindingId;
use pairflow_core::log::RetryKey;

use crate::app::{App, fits};
use crate::args::{BubbleArg, said};
use crate::commands::status;
use crate::entry::{CommandEntry, Group};
use crate::exit::CommandError;
use crate::out::Out;

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
    #[arg(required_unless_present = "findings")]
    pub message: Option<String>,
    /// The approach is wrong, not a detail
    #[arg(long)]
    pub reject: bool,
    /// A finding that has to be fixed after all (can be repeated)
    #[arg(long = "finding", value_name = "F1")]
    pub findings: Vec<FindingId>,
    /// A name for this attempt: repeated with the same key, it is recorded once
    #[arg(long, value_name = "KEY", value_parser = said)]
    pub key: Option<String>,
    /// Print where the bubble stands then, as JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "request-rework",
    aliases: &[],
    group: Group::Operator,
    about: "Send the work back to the implementer",
    hidden: false,
    human_only: |_| true,
    args: RequestReworkArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = RequestReworkArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.bubble_that(fits::accepted, &args.bubble, "request-rework")?;
    let text = args.message.as_deref().map(|words| app.message("--message", words)).transpose()?.unwrap_or_default();
    let mut refs = Vec::new();
    let message = bubble.inline(&text, &mut refs)?;
    let command =
        Command::Rework { message, reject: args.reject, findings: args.findings, refs, key: args.key.map(RetryKey) };
    let applied = bubble.apply(&command)?;
    app.hands().wake(&bubble)?;
    if args.json {
        return status::print_json(app, out, &bubble, &applied.state);
    }
    match applied.state.phase.turn() {
        Some(turn) => out.line(format_args!(
            "Sent the work back: {} is next, as {} of round {} in bubble {}",
            turn.agent, turn.seat, applied.state.rounds.round, bubble.id
        )),
        None => out.line(format_args!("Sent the work back in bubble {}", bubble.id)),
    }
}
