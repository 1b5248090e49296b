//! `pairflow stop`: ends a bubble for good.

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, fits, nonempty, people, status};

/// Cancel a bubble for good; no work is deleted
///
/// To interrupt a bubble and continue later, use `pairflow pause`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow stop login-race --yes")]
pub struct StopArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// The reason, for the log
    #[arg(long, value_name = "TEXT", value_parser = nonempty, allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("stop", Everyday, StopArgs, run, people);

fn run(args: StopArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::unfinished, &args.bubble, "stop")?;
    let state = bubble.load()?.state;
    if !state.phase.is_final() {
        let question = format!("Cancel bubble {} ({}) for good?", bubble.id, state.phase.name());
        app.require_yes(out, args.yes, &question)?;
    }
    bubble.stop(args.reason.unwrap_or_else(|| "stopped by a person".to_owned()), &app.hands())?;
    if !args.json {
        out.line(format_args!("Cancelled bubble {}", bubble.id))?;
    }
    let left = bubble.running_processes();
    if !left.is_nothing() {
        let runs = if left.programs > 1 { "run" } else { "runs" };
        out.warn(format_args!("{left} of it still {runs}; `pairflow doctor` shows when they are gone"));
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
