//! `pairflow restart`: ends the agents' programs and starts them again.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::bubble::Command;

use crate::app::{App, fits};
use crate::args::BubbleArg;
use crate::commands::status;
use crate::entry::{CommandEntry, Group};
use crate::exit::CommandError;
use crate::out::Out;

/// End the agents' programs and start them again where they were
///
/// State, turn and worktree stay. The agent that has the turn takes up its conversation at once and is told where the work
/// stands; the program of any other one is started again when its turn comes.
/// What `resume` answers is answered by this, too; in a pause, and while an agent's question or a permission waits for
/// you, it is refused.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow restart login-race")]
pub struct RestartArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print where the bubble stands then, as JSON for programs
    #[arg(long)]
    pub json: bool,
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
    let state = bubble.apply(&Command::Restart { reason: "restarted by a person".to_owned() })?.state;
    app.hands().wake_with_environment(&bubble)?;
    if args.json {
        return status::print_json(app, out, &bubble, &state);
    }
    let holder = state.phase.turn().map(|turn| turn.agent.as_str()).unwrap_or_default();
    out.line(format_args!("{holder} is started again in bubble {}, any other agent with its next turn", bubble.id))?;
    out.next(format_args!("pairflow attach {}", bubble.id));
    Ok(())
}
