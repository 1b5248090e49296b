//! `pairflow pause`: interrupts a bubble.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::unit::Command;

use crate::app::App;
use crate::commands::common::BubbleArg;
use crate::exit::CommandError;
use crate::out::Out;
use crate::table::{CommandEntry, Group};

/// Interrupt a bubble; state and turn stay as they are
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow pause login-race")]
pub struct PauseArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "pause",
    aliases: &[],
    group: Group::Operator,
    about: "Interrupt a bubble; state and turn stay as they are",
    hidden: false,
    human_only: |_| true,
    args: PauseArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = PauseArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.bubble(&args.bubble, "pause")?;
    bubble.apply(&Command::Pause { reason: "paused by a person".to_owned() })?;
    app.hands().wake(&bubble)?;
    out.line(format_args!("Paused bubble {}", bubble.id))?;
    out.next(format_args!("pairflow resume {}", bubble.id));
    Ok(())
}
