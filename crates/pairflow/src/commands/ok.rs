//! `pairflow ok`: package, yes, approve, commit.

use pairflow_core::bubble::{BubbleState, Command, Phase};
use pairflow_core::log::ApprovalRequest;
use pairflow_core::safe::revealed_bytes;
use pairflow_core::text::counted;
use pairflow_core::view::criterion;
use pairflow_core::view::plain::plain;
use pairflow_core::view::status::Status;
use pairflow_engine::engine::Bubble;
use pairflow_engine::verbs::{DiffOf, diff};

use super::{
    App, Args, BubbleArg, CommandEntry, CommandError, Out, TextLine, Tone, approve, command, commit, fits, merge,
    people, status,
};

/// Show the finished work, then approve and commit it
///
/// Shows what was done and how it was checked, asks once, and commits exactly that tree.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow ok login-race\n  pairflow ok --merge --here")]
pub struct OkArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Merge it into the base branch, too
    #[arg(long)]
    pub merge: bool,
    /// With --merge, also update the current checkout, if it is clean
    #[arg(long, requires = "merge")]
    pub here: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("ok", Everyday, OkArgs, run, people);

fn run(args: OkArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::accepted, &args.bubble, "ok")?;
    let state = bubble.load()?.state;
    let mut options = merge::MergeOptions { here: if args.here { Some(app.cwd()?) } else { None }, rehearsed: None };
    if args.merge && matches!(state.phase, Phase::ReadyForApproval(_) | Phase::Approved(_)) {
        options.rehearsed = merge::rehearse(app, out, &bubble, options.here)?;
    }
    match &state.phase {
        Phase::ReadyForApproval(request) => {
            present(app, &args, &bubble, request, out)?;
            let (tree, base) = (request.tree.short(), &state.rules.base_branch);
            let question = match args.merge {
                true => format!("Approve tree {tree} of {}, commit it and merge it into {base}?", bubble.id),
                false => format!("Approve tree {tree} of {} and commit it?", bubble.id),
            };
            app.require_yes(out, args.yes, &question)?;
            approve(&bubble, request)?;
            conclude(app, &args, &bubble, out)?;
        }
        Phase::Approved(_) | Phase::Committed(_) => {
            let base = format!(" and merge it into {}", state.rules.base_branch);
            commit::require_yes(app, out, args.yes, &state, if args.merge { &base } else { "" })?;
            conclude(app, &args, &bubble, out)?;
        }
        Phase::Done(_) if args.merge => merge::require_yes(app, out, args.yes, &state)?,
        _ => return Err(not_ready(app, &bubble, &state)),
    }
    match (args.merge, args.json) {
        (true, true) => merge::merge_and_print_json(app, out, &bubble, &options),
        (true, false) => merge::merge_and_print(app, out, &bubble, &options),
        (false, true) => status::print_json(app, out, &bubble, &bubble.load()?.state),
        (false, false) => {
            out.next(format_args!("{}", status::merge_line(app, &state)));
            Ok(())
        }
    }
}

/// Shows the package before the question. With `--json` stdout is for the result only, so a person who is asked reads
/// the package on stderr.
fn present(
    app: &App,
    args: &OkArgs,
    bubble: &Bubble,
    request: &ApprovalRequest,
    out: &mut Out,
) -> Result<(), CommandError> {
    if !args.json {
        show(bubble, request, out)?;
        return if args.yes { Ok(()) } else { changes(bubble, out) };
    }
    if !args.yes && app.interactive() {
        let package = bubble.package(request)?;
        let lines = plain(&String::from_utf8_lossy(&package), out.columns());
        lines.iter().for_each(|line| out.note(format_args!("{}", line.text)));
        return commit::tell_identity(out, bubble, &bubble.load()?.state);
    }
    Ok(())
}

/// How many lines of the difference are shown before the question.
const DIFF_LINES: usize = 200;

/// Prints the beginning of the difference that is up for approval, and how to see the rest.
pub(crate) fn changes(bubble: &Bubble, out: &mut Out) -> Result<(), CommandError> {
    let diff = diff(bubble, &bubble.load()?.state, DiffOf::Recorded)?;
    let patch = revealed_bytes(&diff.patch);
    out.line(format_args!(""))?;
    for line in patch.lines().take(DIFF_LINES) {
        let paint = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => Tone::Strong,
            [b'+', ..] => Tone::Good,
            [b'-', ..] => Tone::Bad,
            [b'@', ..] => Tone::Faint,
            _ => Tone::Plain,
        };
        out.paint(&TextLine::new().piece(paint, line))?;
    }
    let more = patch.lines().count().saturating_sub(DIFF_LINES);
    if more > 0 {
        out.line(format_args!("… {} of the diff: pairflow diff {}", counted(more, "more line"), bubble.id))?;
    }
    Ok(())
}

/// Commits what was approved; a program reads of it in the status.
fn conclude(app: &App, args: &OkArgs, bubble: &Bubble, out: &mut Out) -> Result<(), CommandError> {
    if !args.json {
        return commit(app, bubble, out);
    }
    commit::committed(app, out, bubble, &order(bubble)?).map(drop).map_err(uncommitted)
}

/// Prints the package that is up for approval, and what has changed about the identity of its commit.
pub(crate) fn show(bubble: &Bubble, request: &ApprovalRequest, out: &mut Out) -> Result<(), CommandError> {
    let bytes = bubble.package(request)?;
    out.page(String::from_utf8_lossy(&bytes).trim_end())?;
    commit::tell_identity(out, bubble, &bubble.load()?.state)
}

/// Approves what was shown; if something else is up for approval by now, nothing is approved.
pub(crate) fn approve(bubble: &Bubble, shown: &ApprovalRequest) -> Result<(), CommandError> {
    bubble.approve(Some(&shown.package_sha256), None).map(drop).map_err(|error| approve::explain_refusal(bubble, error))
}

/// Commits what was approved, and prints it.
pub(crate) fn commit(app: &App, bubble: &Bubble, out: &mut Out) -> Result<(), CommandError> {
    commit::make(app, out, bubble, &order(bubble)?).map_err(uncommitted)
}

/// The commit as it is to be made: what failed with the repository's own hooks is tried again with them.
fn order(bubble: &Bubble) -> Result<Command, CommandError> {
    let hooks = matches!(&bubble.load()?.state.phase, Phase::Approved(approval) if approval.hooks);
    Ok(Command::Commit { message: None, override_scope: None, hooks, author: None })
}

fn uncommitted(error: CommandError) -> CommandError {
    let message = format!("approved but not committed: {}", error.message);
    CommandError { message, ..error }
}

/// Explains why there is nothing to approve, with the next step.
fn not_ready(app: &App, bubble: &Bubble, state: &BubbleState) -> CommandError {
    let status = Status::of(state, app.clock.now());
    let mut reasons: Vec<String> =
        status.questions.iter().map(|open| format!("a question is open: {}", open.question)).collect();
    reasons.extend(status.failure.iter().cloned());
    let missing = status.missing_for_convergence.iter().filter(|_| state.phase.turn().is_some());
    reasons.extend(missing.map(criterion));
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
    let error =
        CommandError::refused(format_args!("{} is {}, not ready for approval{why}.", bubble.id, state.phase.name()));
    match status.next.first() {
        Some(next) => error.next(next),
        None => error,
    }
}
