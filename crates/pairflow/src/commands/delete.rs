//! `pairflow delete`: removes a bubble, after archiving it.

use std::path::Path;

use clap::Args;
use pairflow_core::bubble::Phase;
use pairflow_core::ids::BubbleId;
use serde::Serialize;

use crate::app::{App, fits};
use crate::args::BubbleArg;
use crate::entry::{CommandEntry, command, people};
use crate::exit::CommandError;
use crate::out::Out;

/// Remove a bubble's worktree and files, after archiving log and branch
///
/// Deletes your own bubbles only. For a foreign bubble it prints how to remove it by hand.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow delete login-race --yes")]
pub struct DeleteArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Print what is kept and where, as JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// What is left of a deleted bubble, for programs.
#[derive(Debug, Serialize)]
struct Deleted<'a> {
    bubble_id: &'a BubbleId,
    archive: &'a Path,
    r#ref: Option<&'a str>,
    branch_checked_out_at: Option<&'a Path>,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("delete", Bubbles, DeleteArgs, run, people);

fn run(args: DeleteArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let found = app.bubble_that(fits::finished, &args.bubble, "delete");
    let bubble = found.map_err(|error| foreign(app, &args.bubble).unwrap_or(error))?;
    if let Some(typed) = args.bubble.typed().filter(|typed| *typed != bubble.id.as_str()) {
        let message =
            format!("'{typed}' is only the beginning of {}; to delete a bubble, type its full id.", bubble.id);
        return Err(CommandError::refused(message).next(format_args!("pairflow delete {}", bubble.id)));
    }
    // A bubble whose log cannot be read can still be archived and taken away by hand; this command does not guess.
    let state = bubble.load()?.state;
    if args.bubble.typed().is_none() && !state.phase.is_final() {
        let message =
            format!("bubble {} is {}; to delete an active bubble, type its full id.", state.id, state.phase.name());
        return Err(CommandError::refused(message).next(format_args!("pairflow delete {}", state.id)));
    }
    let going = if state.phase.is_final() { "" } else { "It is still going on and will be cancelled. " };
    let unmerged = matches!(state.phase, Phase::Done(_)) && state.gate.merged.is_none();
    let kept = if unmerged { "Its commit is not merged yet; the archive keeps it. " } else { "" };
    app.insist(out, args.yes, &format!("{going}{kept}Delete bubble {} ({})?", bubble.id, state.phase.name()))?;
    let archived = bubble.delete(&app.hands())?;
    if args.json {
        let branch_checked_out_at = archived.branch_kept.as_deref();
        let (archive, r#ref) = (archived.dir.as_path(), archived.r#ref.as_deref());
        return out.json("deleted/1", &Deleted { bubble_id: &bubble.id, archive, r#ref, branch_checked_out_at });
    }
    out.line(format_args!("Deleted bubble {}", bubble.id))?;
    out.note(format_args!("Archive: {}", archived.dir.display()));
    out.note(format_args!("To bring it back: pairflow restore {}", bubble.id));
    if let Some(name) = &archived.r#ref {
        out.note(format_args!("Branch tip: {name}"));
    }
    if let Some(at) = &archived.branch_kept {
        out.warn(format_args!(
            "the branch {} stays, because it is checked out at {}",
            state.rules.bubble_branch,
            at.display()
        ));
    }
    Ok(())
}

/// The refusal for a foreign bubble, with the commands that remove it; nothing if the bubble is not foreign.
fn foreign(app: &App, arg: &BubbleArg) -> Option<CommandError> {
    let bubble = app.peek(arg, "delete").ok()?;
    let notice = bubble.foreign_notice().ok()??;
    let remove = match &notice.remove[..] {
        [] => String::new(),
        lines => format!(" To remove it: {}", lines.join(" && ")),
    };
    let message =
        format!("bubble {} is foreign: {}; pairflow deletes only your own bubbles.{remove}", bubble.id, notice.why);
    Some(CommandError::refused(message).next(notice.next))
}
