//! `pairflow pass`: the hand-over.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::ids::MsgId;
use pairflow_core::log::Key;
use pairflow_core::rounds::Finding;
use pairflow_core::unit::{Command, PassCommand};
use pairflow_core::view::StateFields;
use pairflow_engine::perform::head_seen;
use serde::Serialize;

use crate::app::App;
use crate::commands::common::{IntentArg, said};
use crate::exit::CommandError;
use crate::out::Out;
use crate::table::{CommandEntry, Group, anyone};

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

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "pass",
    aliases: &[],
    group: Group::Agent,
    about: "Hand the work to the other agent",
    hidden: false,
    human_only: anyone,
    args: PassArgs::augment_args,
    run,
};

/// What `pass`, `ask-human` and `converged` print for programs.
#[derive(Serialize)]
pub(crate) struct Recorded<'a> {
    pub(crate) id: Option<&'a MsgId>,
    pub(crate) repeated: bool,
    #[serde(flatten)]
    pub(crate) state: StateFields,
}

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = PassArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let sender = app.sender(args.id.as_deref())?;
    let mut refs = sender.refs(&args.refs)?;
    let summary = sender.bubble.inline(&app.message("--summary", &args.summary)?, &mut refs)?;
    let declared = args.no_findings || !args.findings.is_empty();
    let command = Command::Pass(PassCommand {
        by: sender.agent.clone(),
        summary,
        refs,
        intent: args.intent.map(Into::into),
        findings: declared.then_some(args.findings),
        head: head_seen(sender.unit.workspace.as_ref()),
        key: args.key.map(Key),
    });
    let applied = sender.send(&command)?;
    if args.json {
        let state = StateFields::of(&applied.unit);
        return out.json("recorded/1", &Recorded { id: applied.id.as_ref(), repeated: applied.repeated, state });
    }
    let (unit, id) = (&applied.unit, applied.id.as_ref().map_or("", |id| id.0.as_str()));
    let already = if applied.repeated { "Already recorded" } else { "Recorded" };
    match unit.phase.turn() {
        Some(turn) if turn.agent != sender.agent => out
            .line(format_args!("{already} as {id}: {} is next, as {} of round {}", turn.agent, turn.seat, unit.round)),
        _ => out.line(format_args!("{already} as {id} in bubble {}", unit.id)),
    }
}
