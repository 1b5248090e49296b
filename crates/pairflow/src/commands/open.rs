//! `pairflow open`: the worktree in an editor.

use pairflow_core::bubble::BubbleState;
use pairflow_engine::engine::{Bubble, EngineError};
use pairflow_engine::verbs::open;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, people, quoted};

/// Open the bubble's worktree in an editor
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow open login-race")]
pub struct OpenArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("open", Reading, OpenArgs, run, people);

fn run(args: OpenArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble(&args.bubble, "open")?;
    let state = bubble.load()?.state;
    let opened = open(&bubble, &state).map_err(|error| by_hand(app, &bubble, &state, error))?;
    let program = opened.argv.first().map_or("", String::as_str);
    out.line(format_args!("Opened bubble {} with {program} at {}", bubble.id, opened.worktree.display()))
}

/// Tells why nothing was opened, and how the person gets there nevertheless.
fn by_hand(app: &App, bubble: &Bubble, state: &BubbleState, error: EngineError) -> CommandError {
    let error = CommandError::from(error);
    let Some(workspace) = &state.evidence.workspace else { return error };
    if bubble.worktree_problem(state).is_some() {
        return if state.phase.is_final() {
            error
        } else {
            error.or_next(format_args!("pairflow resume {}", state.id))
        };
    }
    let file = app.engine().map_or_else(|_| String::new(), |engine| format!(" in {}", engine.dirs.config.display()));
    let message = format!(
        "{}. The worktree is {}; set another editor{file}, e.g. open_command = \"code {{{{worktree_path}}}}\"",
        error.message.trim_end_matches('.'),
        workspace.path
    );
    CommandError { message, ..error }.or_next(format_args!("cd {}", quoted(&workspace.path)))
}
