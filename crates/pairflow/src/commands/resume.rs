//! `pairflow resume`: back to the loop.

use clap::Args;
use pairflow_core::bubble::Phase;
use pairflow_engine::verbs::Resumed;

use crate::app::{App, fits};
use crate::args::BubbleArg;
use crate::commands::status;
use crate::entry::{CommandEntry, command, people};
use crate::exit::CommandError;
use crate::out::Out;

/// Go on after a pause or work by hand
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow resume login-race")]
pub struct ResumeArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print where the bubble stands then, as JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("resume", Bubbles, ResumeArgs, run, people);

fn run(args: ResumeArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::resumable, &args.bubble, "resume")?;
    let Resumed { state, restored } = bubble.resume(&app.hands())?;
    if args.json {
        return status::print_json(app, out, &bubble, &state);
    }
    if restored {
        let worktree = state.evidence.workspace.as_ref().map_or("", |workspace| workspace.path.as_str());
        out.line(format_args!("The worktree of bubble {} was gone; it was made anew at {worktree}", bubble.id))?;
    }
    match &state.phase {
        Phase::Running(turn) => {
            out.line(format_args!("Resumed: {} goes on as {} in bubble {}", turn.agent, turn.seat, bubble.id))
        }
        other => out.line(format_args!("Bubble {} is {}", bubble.id, other.name())),
    }
}
