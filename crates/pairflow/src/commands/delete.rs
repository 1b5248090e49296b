//! `pairflow delete` and `pairflow restore`: archive a bubble, and bring it back.

use std::path::{Path, PathBuf};

use pairflow_core::bubble::Phase;
use pairflow_core::ids::BubbleId;
use serde::Serialize;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, fits, people, status};

/// Archive a bubble, then remove its worktree and files
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
    /// Print where the archive is, as JSON
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
pub const DELETE: CommandEntry = command!("delete", Bubbles, DeleteArgs, delete, people);

fn delete(args: DeleteArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
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
    let going = if state.phase.is_final() { "" } else { "It is still active and will be cancelled. " };
    let unmerged = matches!(state.phase, Phase::Done(_)) && state.gate.merged.is_none();
    let kept = if unmerged { "Its commit is not merged yet; the archive keeps it. " } else { "" };
    app.require_yes(out, args.yes, &format!("{going}{kept}Delete bubble {} ({})?", bubble.id, state.phase.name()))?;
    let archived = bubble.delete(&app.hands())?;
    if args.json {
        let branch_checked_out_at = archived.branch_kept.as_deref();
        let (archive, r#ref) = (archived.dir.as_path(), archived.r#ref.as_deref());
        return out.json("deleted/1", &Deleted { bubble_id: &bubble.id, archive, r#ref, branch_checked_out_at });
    }
    out.line(format_args!("Deleted bubble {}", bubble.id))?;
    out.note(format_args!("Archive: {}", archived.dir.display()));
    out.note(format_args!("To restore it: pairflow restore {}", bubble.id));
    if let Some(name) = &archived.r#ref {
        out.note(format_args!("Branch tip: {name}"));
    }
    if let Some(at) = &archived.branch_kept {
        out.warn(format_args!(
            "the branch {} was kept: it is checked out at {}",
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

/// Restore a deleted bubble from its archive
///
/// Log, branch, snapshots and files come back as they were. A bubble that was still active stays cancelled. The newest of
/// several archives is used.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow restore login-race")]
pub struct RestoreArgs {
    /// The bubble, by its full id
    #[arg(value_name = "ID")]
    pub name: BubbleId,
    /// The repository [default: the one of the current directory]
    #[arg(long, value_name = "PATH")]
    pub repo: Option<PathBuf>,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const RESTORE: CommandEntry = command!("restore", Bubbles, RestoreArgs, restore, people);

fn restore(args: RestoreArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let place = app.place(args.repo.as_deref())?;
    let restored = app.engine()?.restore(&place.repo.root, &args.name)?;
    let (bubble, state) = (&restored.bubble, &restored.state);
    if let Some(why) = &restored.without_worktree {
        out.warn(format_args!("the worktree was not restored: {why}"));
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
