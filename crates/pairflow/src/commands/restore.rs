//! `pairflow restore`: brings a deleted bubble back from its archive.

use std::path::PathBuf;

use clap::Args;
use pairflow_core::ids::BubbleId;

use crate::app::App;
use crate::commands::status;
use crate::entry::{CommandEntry, command, people};
use crate::exit::CommandError;
use crate::out::Out;

/// Bring back a deleted bubble from its archive
///
/// The log, the branch, the snapshots and the files are as they were when the bubble was deleted; a bubble that was still
/// active then stays cancelled. Of several archives the newest is taken.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow restore login-race")]
pub struct RestoreArgs {
    /// The bubble, by its full id
    #[arg(value_name = "ID")]
    pub name: BubbleId,
    /// The repository; without it the one around the current directory
    #[arg(long, value_name = "PATH")]
    pub repo: Option<PathBuf>,
    /// Print where the bubble stands then, as JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("restore", Bubbles, RestoreArgs, run, people);

fn run(args: RestoreArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let place = app.place(args.repo.as_deref())?;
    let restored = app.engine()?.restore(&place.repo.root, &args.name)?;
    let (bubble, state) = (&restored.bubble, &restored.state);
    if let Some(why) = &restored.without_worktree {
        out.warn(format_args!("the worktree was not made again: {why}"));
    }
    if args.json {
        return status::print_json(app, out, bubble, state);
    }
    out.line(format_args!("Restored bubble {} ({})", bubble.id, state.phase.name()))?;
    if let Some(workspace) = state.evidence.workspace.as_ref().filter(|_| restored.without_worktree.is_none()) {
        out.note(format_args!("The work is at {} on branch {}", workspace.path, state.rules.bubble_branch));
    }
    out.next(format_args!("pairflow status {}", bubble.id));
    Ok(())
}
