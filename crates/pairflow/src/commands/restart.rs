//! `pairflow restart`: ends the agents' programs and starts them again.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::unit::Command;

use crate::app::{App, fits};
use crate::commands::common::BubbleArg;
use crate::exit::CommandError;
use crate::out::Out;
use crate::table::{CommandEntry, Group};

/// End the agents' programs and start them again where they were
///
/// State, turn and worktree stay. The agent that has the turn takes up its conversation and is told where the work stands.
/// What `resume` answers is answered by this, too; in a pause, and while an agent's question or a permission waits for
/// you, it is refused.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow restart login-race")]
pub struct RestartArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "restart",
    aliases: &[],
    group: Group::Operator,
    about: "End the agents' programs and start them again where they were",
    hidden: false,
    human_only: |_| true,
    args: RestartArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = RestartArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.bubble_that(fits::attachable, &args.bubble, "restart")?;
    app.hands().announce(&bubble);
    bubble.apply(&Command::Restart { reason: "restarted by a person".to_owned() })?;
    app.hands().wake_at_home(&bubble)?;
    out.line(format_args!("The agents of bubble {} are started again", bubble.id))?;
    out.next(format_args!("pairflow attach {}", bubble.id));
    Ok(())
}
