//! `pairflow open`: the worktree in an editor.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_engine::verbs::open;

use crate::app::App;
use crate::commands::common::BubbleArg;
use crate::exit::CommandError;
use crate::out::Out;
use crate::table::{CommandEntry, Group};

/// Open the bubble's worktree in an editor
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow open login-race")]
pub struct OpenArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "open",
    aliases: &[],
    group: Group::Operator,
    about: "Open the bubble's worktree in an editor",
    hidden: false,
    human_only: |_| true,
    args: OpenArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = OpenArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.bubble(&args.bubble, "open")?;
    let unit = bubble.load()?.unit;
    let opened = open(&bubble, &unit)?;
    let program = opened.argv.first().map_or("", String::as_str);
    out.line(format_args!("Opened bubble {} with {program} at {}", bubble.id, opened.worktree.display()))
}
