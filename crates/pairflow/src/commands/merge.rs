//! `pairflow merge`: the bubble's commit reaches the base.

use std::cell::RefCell;
use std::path::Path;

use pairflow_core::bubble::{BubbleState, Phase};
use pairflow_core::ids::{BubbleId, TreeId};
use pairflow_engine::engine::Bubble;
use pairflow_engine::verbs::{MergeEnd, Rehearsal, merge, rehearse_merge};

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, fits, people, quoted, status};

/// Merge a bubble's commit into its base branch
///
/// The merged tree is checked in a scratch worktree first. Your checkout is only touched with `--here`; without it, a base
/// branch that is checked out is not moved, and the git command that moves it is printed.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow merge login-race\n  pairflow merge login-race --here --yes")]
pub struct MergeArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Also update the current checkout, if it is clean
    #[arg(long)]
    pub here: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("merge", Everyday, MergeArgs, run, people);

fn run(args: MergeArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::unmerged, &args.bubble, "merge")?;
    let here = if args.here { Some(app.cwd()?) } else { None };
    require_yes(app, out, args.yes, &bubble.load()?.state)?;
    let options = MergeOptions { here, rehearsed: None };
    if args.json {
        merge_and_print_json(app, out, &bubble, &options)
    } else {
        merge_and_print(app, out, &bubble, &options)
    }
}

/// How a merge is to be done.
#[derive(Default)]
pub(crate) struct MergeOptions<'a> {
    /// The checkout that is brought along.
    pub(crate) here: Option<&'a Path>,
    /// The joined tree that has been checked already.
    pub(crate) rehearsed: Option<TreeId>,
}

/// Insists that the work could be merged, before anything of it is committed, and returns the joined tree that was checked.
pub(crate) fn rehearse(
    app: &App,
    out: &mut Out,
    bubble: &Bubble,
    here: Option<&Path>,
) -> Result<Option<TreeId>, CommandError> {
    let progress = RefCell::new(out);
    let say = |text: &str| progress.borrow_mut().progress(format_args!("{text} …"));
    match rehearse_merge(bubble, here, &say)? {
        Rehearsal::Ready(joined) => Ok(joined),
        Rehearsal::CheckedOut(at) => {
            let message = format!(
                "cannot merge: {} is checked out at {}. Nothing was committed; --here merges it there.",
                bubble.load()?.state.rules.base_branch,
                at.display()
            );
            Err(CommandError::refused(message).next(format!(
                "{}pairflow ok {} --merge --here",
                cd_prefix(app, &at),
                bubble.id
            )))
        }
    }
}

/// Insists on a yes to the merge of work that is committed and not merged yet.
pub(crate) fn require_yes(app: &App, out: &mut Out, yes: bool, state: &BubbleState) -> Result<(), CommandError> {
    match &state.phase {
        Phase::Done(_) if state.gate.merged.is_none() => {
            app.require_yes(out, yes, &format!("Merge bubble {} into {}?", state.id, state.rules.base_branch))
        }
        _ => Ok(()),
    }
}

/// Merges the commit, and prints the new status as JSON.
pub(crate) fn merge_and_print_json(
    app: &App,
    out: &mut Out,
    bubble: &Bubble,
    options: &MergeOptions<'_>,
) -> Result<(), CommandError> {
    match merged(out, bubble, options)? {
        MergeEnd::Merged(_) => status::print_json(app, out, bubble, &bubble.load()?.state),
        MergeEnd::Line { at, line } => Err(checked_out(app, bubble, &at, &format!("`{line}`"))?),
    }
}

/// Merges the commit, or prints the command that does it.
pub(crate) fn merge_and_print(
    app: &App,
    out: &mut Out,
    bubble: &Bubble,
    options: &MergeOptions<'_>,
) -> Result<(), CommandError> {
    match merged(out, bubble, options)? {
        MergeEnd::Merged(commit) => {
            let base = bubble.load()?.state.rules.base_branch;
            out.line(format_args!("Merged bubble {}: {base} is at {commit}", bubble.id))?;
            out.next(format_args!("pairflow delete {}", bubble.id));
        }
        MergeEnd::Line { at, line } => {
            out.line(format_args!("{line}"))?;
            return Err(checked_out(app, bubble, &at, "the line above")?);
        }
    }
    Ok(())
}

fn merged(out: &mut Out, bubble: &Bubble, options: &MergeOptions<'_>) -> Result<MergeEnd, CommandError> {
    let progress = RefCell::new(out);
    let say = |text: &str| progress.borrow_mut().progress(format_args!("{text} …"));
    Ok(merge(bubble, options.here, options.rehearsed.as_ref(), &say)?)
}

/// Says why nothing was merged into a base branch that is checked out at `at`, and that `line` does it.
fn checked_out(app: &App, bubble: &Bubble, at: &Path, line: &str) -> Result<CommandError, CommandError> {
    let message = format!(
        "nothing was merged: {} is checked out at {}. Run {line} there, or use --here.",
        bubble.load()?.state.rules.base_branch,
        at.display()
    );
    Ok(CommandError::refused(message).next(format!("{}pairflow merge {} --here", cd_prefix(app, at), bubble.id)))
}

/// The beginning of a line that has to be typed in `dir`; nothing if that is around the current directory.
fn cd_prefix(app: &App, dir: &Path) -> String {
    let inside = app.cwd().is_ok_and(|cwd| cwd.starts_with(dir));
    if inside { String::new() } else { format!("cd {} && ", quoted(&dir.display().to_string())) }
}

/// Returns an error whose hint is to merge a bubble with that hint as it has to be typed here.
pub(crate) fn hinted(app: &App, repo: Option<&Path>, error: CommandError) -> CommandError {
    let id = error.hint.as_deref().and_then(|hint| hint.strip_prefix("pairflow merge ")?.parse::<BubbleId>().ok());
    let state = |id| {
        let place = app.place(repo).ok()?;
        Some(app.engine().ok()?.bubble(&place.repo.root, &id).ok()?.load().ok()?.state)
    };
    match id.and_then(state).and_then(|state| status::onward(app, &state)) {
        Some(line) => error.next(line),
        None => error,
    }
}
