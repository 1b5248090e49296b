//! `pairflow update`: brings the base into the worktree.

use pairflow_core::bubble::{BubbleState, Phase};
use pairflow_engine::engine::Bubble;
use pairflow_engine::verbs::ConflictPolicy;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, people, status};

/// Merge the base branch into the bubble's worktree
///
/// The checks run again on the merged tree, and an approval has to be given again. Clean reviews are kept if the base
/// changed no file of the work. You are asked before anything is lost. A conflict changes nothing: resolve the named files
/// in the worktree, then pass --resolved. For a DONE bubble a follow-up bubble is created that starts with its work, or
/// with --resolved, with the files as you resolved them in its worktree.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow update login-race\n  pairflow update login-race --resolved")]
pub struct UpdateArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Use the files in conflict as they are resolved in the worktree
    #[arg(long)]
    pub resolved: bool,
    /// With --resolved, use them even if they were not edited
    #[arg(long, requires = "resolved")]
    pub keep: bool,
    /// Do not ask, whatever is lost
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

impl UpdateArgs {
    fn conflict(&self) -> ConflictPolicy {
        match (self.resolved, self.keep) {
            (false, _) => ConflictPolicy::Stop,
            (true, false) => ConflictPolicy::Edited,
            (true, true) => ConflictPolicy::Kept,
        }
    }
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("update", Bubbles, UpdateArgs, run, people);

fn run(args: UpdateArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble(&args.bubble, "update")?;
    let state = bubble.load()?.state;
    let base = &state.rules.base_branch;
    if matches!(state.phase, Phase::Done(_)) {
        return follow(app, out, &bubble, &state, &args);
    }
    // An agent that is at work has to be paused first, and that is said before anything is asked.
    let at_work = matches!(state.phase, Phase::Running(_) | Phase::WaitingHuman(_)) && !state.paused;
    if !at_work && state.lost_by_update(false).is_some() && bubble.base_moved(&state)? {
        agree(app, out, &bubble, &state, &args)?;
    }
    out.progress(format_args!("merging {base} into the worktree of {} …", bubble.id));
    let updated = bubble.update(args.conflict(), &app.hands())?;
    if args.json {
        return status::print_json(app, out, &bubble, updated.as_ref().unwrap_or(&state));
    }
    let Some(updated) = updated else {
        return out.line(format_args!("Bubble {} is already up to date with {base}; nothing was changed.", bubble.id));
    };
    let at = updated.evidence.workspace.as_ref().map_or("", |workspace| workspace.base.short());
    out.line(format_args!("Merged {base} at {at} into the worktree of bubble {}", bubble.id))?;
    if !updated.rounds.streak.is_empty() {
        let kept =
            "Clean reviews are kept: the base changed no file of the work. The checks run again on the merged tree.";
        out.note(format_args!("{kept}"));
    } else if !state.rounds.streak.is_empty() {
        out.note(format_args!("Reviews of the old tree no longer count."));
    }
    if updated.paused {
        out.next(format_args!("pairflow resume {}", bubble.id));
    }
    Ok(())
}

/// Asks before anything is taken away that the person or the agents have to give again.
fn agree(
    app: &App,
    out: &mut Out,
    bubble: &Bubble,
    state: &BubbleState,
    args: &UpdateArgs,
) -> Result<(), CommandError> {
    let same_patch = !args.resolved && bubble.keeps_patch(state)?;
    let Some(lost) = state.lost_by_update(same_patch) else { return Ok(()) };
    let (base, id) = (&state.rules.base_branch, &bubble.id);
    let then = match (same_patch, state.rounds.streak.is_empty()) {
        (true, false) => "the clean reviews are kept, and the merged tree is checked again",
        _ => "the merged tree is checked and reviewed again",
    };
    app.require_yes_unless(args.json, out, args.yes, &format!("Merging {base} into {id} loses {lost}: {then}. Merge?"))
}

/// Creates the follow-up of a DONE bubble, and names files in conflict.
fn follow(
    app: &App,
    out: &mut Out,
    bubble: &Bubble,
    state: &BubbleState,
    args: &UpdateArgs,
) -> Result<(), CommandError> {
    let (base, json) = (&state.rules.base_branch, args.json);
    if !bubble.base_moved(state)? {
        if json {
            return status::print_json(app, out, bubble, state);
        }
        return out.line(format_args!("{base} already has the work of bubble {}; nothing was changed.", bubble.id));
    }
    let conflicts = if args.resolved { Vec::new() } else { bubble.conflicts_with_base(state)? };
    let next = bubble.follow_up(args.conflict())?;
    if !conflicts.is_empty() {
        out.warn(format_args!(
            "{base} and the work of {} conflict in {}. These files have conflict markers, and resolving them is the first work \
             of {}. To resolve them yourself, stop that bubble, edit the files in the worktree of {0}, and pass --resolved",
            bubble.id,
            conflicts.join(", "),
            next.id
        ));
    }
    if json {
        return status::print_json(app, out, &next, &next.load()?.state);
    }
    let by_hand = if args.resolved { " as you resolved it" } else { "" };
    out.line(format_args!(
        "Created follow-up bubble {} for the same task: it starts with the work of {}, merged with {base}{by_hand}",
        next.id, bubble.id
    ))?;
    out.next(format_args!("pairflow start {}", next.id));
    Ok(())
}
