//! `pairflow stop`: ends a bubble for good.

use clap::{ArgMatches, Args, FromArgMatches};

use crate::app::{App, fits};
use crate::args::{BubbleArg, said};
use crate::commands::status;
use crate::entry::{CommandEntry, Group};
use crate::exit::CommandError;
use crate::out::Out;

/// Cancel a bubble for good; nothing of the work is deleted
///
/// To interrupt a bubble and go on later, use `pairflow pause`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow stop login-race --yes")]
pub struct StopArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Why, for the log
    #[arg(long, value_name = "TEXT", value_parser = said, allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// Print where the bubble stands then, as JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "stop",
    aliases: &[],
    group: Group::Operator,
    about: "Cancel a bubble for good; nothing of the work is deleted",
    hidden: false,
    human_only: |_| true,
    args: StopArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = StopArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.bubble_that(fits::unfinished, &args.bubble, "stop")?;
    let state = bubble.load()?.state;
    if !state.phase.is_final() {
        let question = format!("Cancel bubble {} ({}) for good?", bubble.id, state.phase.name());
        app.insist(out, args.yes, &question)?;
    }
    bubble.stop(args.reason.unwrap_or_else(|| "stopped by a person".to_owned()), &app.hands())?;
    if !args.json {
        out.line(format_args!("Cancelled bubble {}", bubble.id))?;
    }
    let left = bubble.running_processes();
    if !left.is_nothing() {
        let runs = if left.programs > 1 { "run" } else { "runs" };
        out.warn(format_args!("{left} of it still {runs}; `pairflow doctor` says when they are gone"));
    }
    if args.json {
        return status::print_json(app, out, &bubble, &bubble.load()?.state);
    }
    if let Some(workspace) = &state.evidence.workspace {
        out.note(format_args!("The work stays at {} on branch {}", workspace.path, state.rules.bubble_branch));
    }
    out.next(format_args!("pairflow delete {}", bubble.id));
    Ok(())
}
