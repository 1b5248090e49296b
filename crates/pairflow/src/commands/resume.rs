//! `pairflow resume`: back to the loop.

use clap::{ArgMatches, Args, FromArgMatches};

use crate::app::App;
use crate::commands::common::BubbleArg;
use crate::exit::CommandError;
use crate::out::Out;
use crate::table::{CommandEntry, Group};

/// Go on after a pause or work by hand
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow resume login-race")]
pub struct ResumeArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "resume",
    aliases: &[],
    group: Group::Operator,
    about: "Go on after a pause or work by hand",
    hidden: false,
    human_only: |_| true,
    args: ResumeArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = ResumeArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.bubble(&args.bubble, "resume")?;
    let unit = bubble.resume(&app.hands())?;
    match unit.phase.turn() {
        Some(turn) => {
            out.line(format_args!("Resumed: {} goes on as {} in bubble {}", turn.agent, turn.seat, bubble.id))
        }
        None => out.line(format_args!("Resumed bubble {}", bubble.id)),
    }
}
