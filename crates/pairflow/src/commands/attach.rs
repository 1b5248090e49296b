//! `pairflow attach`: shows the agents at work.

use std::os::unix::process::CommandExt;
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_engine::engine::{Bubble, EngineError};

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, fits, people};
use crate::app::INSTALL_TMUX;

/// How long a session may take to appear.
const PATIENCE: Duration = Duration::from_secs(20);

/// Show a bubble's tmux panes: the status view and both agents
///
/// What you type goes to the agent. Detach with your tmux prefix and d; the agents keep working.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow attach login-race\n  pairflow attach login-race --print")]
pub struct AttachArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print the command instead of running it
    #[arg(long)]
    pub print: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("attach", Everyday, AttachArgs, run, people);

fn run(args: AttachArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::attachable, &args.bubble, "attach")?;
    let state = bubble.load()?.state;
    if args.print {
        let words = bubble.session(&state)?;
        let words: Vec<_> = words.iter().map(|word| crate::app::quoted(&word.to_string_lossy())).collect();
        return out.line(format_args!("{}", words.join(" ")));
    }
    state.has_panes().map_err(EngineError::from)?;
    can_show(app).map_err(|error| error.or_next(format_args!("pairflow attach {} --print", bubble.id)))?;
    // A supervisor that is there anyway makes the session again if it was lost.
    app.hands().wake(&bubble)?;
    attach(&bubble, &state)
}

/// Insists that panes can be shown here and take what is typed.
pub(crate) fn can_show(app: &App) -> Result<(), CommandError> {
    if !(app.terminal.stdin && app.terminal.stdout) {
        return Err(CommandError::refused("there is no terminal to show the panes on."));
    }
    let missing = || CommandError::io("tmux is not on PATH.").next(INSTALL_TMUX);
    app.on_path("tmux").map(drop).ok_or_else(missing)
}

/// Becomes the program that shows the session.
pub(crate) fn attach(bubble: &Bubble, state: &BubbleState) -> Result<(), CommandError> {
    let words = bubble.attachable(state, PATIENCE)?;
    let Some((program, rest)) = words.split_first() else { return Ok(()) };
    let failed = std::process::Command::new(program).args(rest).exec();
    Err(CommandError::io(format_args!("cannot run tmux: {failed}.")))
}
