//! `pairflow pause`: interrupts a bubble.

use clap::Args;
use pairflow_core::bubble::Command;
use pairflow_core::view::inbox::{InboxItem, inbox};

use crate::app::{App, fits};
use crate::args::BubbleArg;
use crate::commands::status;
use crate::entry::{CommandEntry, command, people};
use crate::exit::CommandError;
use crate::out::Out;

/// Interrupt a bubble; state and turn stay as they are
///
/// In panes the agent that is at work for the bubble is interrupted with Esc; what you tell it yourself then goes on.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow pause login-race")]
pub struct PauseArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print where the bubble stands then, as JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("pause", Bubbles, PauseArgs, run, people);

fn run(args: PauseArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::pausable, &args.bubble, "pause")?;
    let state = bubble.apply(&Command::Pause { reason: "paused by a person".to_owned() })?.state;
    app.hands().wake(&bubble)?;
    if args.json {
        return status::print_json(app, out, &bubble, &state);
    }
    out.line(format_args!("Paused bubble {}", bubble.id))?;
    // A question that only an answer settles comes before `resume`.
    // Nothing is allowed before it has been read, and here it is not shown.
    let line =
        |item: InboxItem| if item.is_read_in("") { item.answer.into_iter().next() } else { Some(item.reading()) };
    match inbox(&state).into_iter().next().and_then(line) {
        Some(answer) => {
            let after = if answer.starts_with("pairflow resume") { "" } else { ", and go on with resume" };
            out.note(format_args!("A question is open; it can be answered now{after}."));
            out.next(format_args!("{answer}"));
        }
        None => out.next(format_args!("pairflow resume {}", bubble.id)),
    }
    Ok(())
}
