//! `pairflow status`: where a bubble stands.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::view::Tone;
use pairflow_core::view::status::{LABEL_COLUMNS, SCHEMA, Status, render};

use crate::app::App;
use crate::commands::common::BubbleArg;
use crate::exit::CommandError;
use crate::out::{Line, Out, Paint};
use crate::table::{CommandEntry, Group, anyone};

/// Show where a bubble stands, and what is missing for convergence
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow status login-race\n  pairflow status --json")]
pub struct StatusArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "status",
    aliases: &[],
    group: Group::Operator,
    about: "Show where a bubble stands, and what is missing for convergence",
    hidden: false,
    human_only: anyone,
    args: StatusArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = StatusArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.bubble(&args.bubble, "status")?;
    let loaded = bubble.refresh()?;
    let status = Status::of(&loaded.unit, app.clock.now());
    if args.json {
        return out.json(SCHEMA, &status);
    }
    for line in render(&status) {
        let label = format!("{:LABEL_COLUMNS$}", line.label);
        out.paint(&Line::new().add(Paint::Dim, label).add(paint(line.tone), &line.value))?;
    }
    if !loaded.unit.phase.is_final() && !app.supervised()? {
        out.warn(format_args!("the supervisor is not running, so nothing moves by itself"));
        out.next(format_args!("pairflow supervise"));
    }
    Ok(())
}

/// The colour of a tone.
pub(crate) fn paint(tone: Tone) -> Paint {
    match tone {
        Tone::Plain => Paint::Plain,
        Tone::Good => Paint::Good,
        Tone::Warn => Paint::Warn,
        Tone::Bad => Paint::Bad,
    }
}
