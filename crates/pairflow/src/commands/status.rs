//! `pairflow status`: the state of a bubble.

use std::path::Path;

use pairflow_core::bubble::{BubbleState, Phase};
use pairflow_core::view::status::{HeldNotice, LABEL_COLUMNS, SCHEMA, Status, render};
use pairflow_engine::engine::Bubble;
use pairflow_engine::git::{GitError, GitHead, Repo, head};
use pairflow_engine::session::{Activity, held_notice};

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, TextLine, Tone, anyone, command};

/// Show the state of a bubble, and what is missing for acceptance
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow status login-race\n  pairflow status --json")]
pub struct StatusArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("status", Everyday, StatusArgs, run, anyone);

fn run(args: StatusArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.peek(&args.bubble, "status")?;
    let loaded = bubble.refresh()?;
    let state = loaded.state.without(&app.hidden(&bubble, &loaded.state));
    if args.json {
        return print_json(app, out, &bubble, &state);
    }
    let status = here_and_now(app, &bubble, &state)?;
    for line in render(&status) {
        let label = format!("{:LABEL_COLUMNS$}", line.label);
        out.paint(&TextLine::new().add(Tone::Faint, label).add(line.tone, &line.value))?;
    }
    if let Some(differs) = &status.config_differs {
        out.warn(format_args!("{differs}"));
        out.next(format_args!("pairflow config apply {}", bubble.id));
    }
    if !state.phase.is_final() && status.uncounted {
        out.warn(format_args!("no supervisor is running, so nothing happens"));
        out.next(format_args!("pairflow supervise"));
    }
    Ok(())
}

/// Prints the status of a bubble as JSON.
pub(crate) fn print_json(app: &App, out: &mut Out, bubble: &Bubble, state: &BubbleState) -> Result<(), CommandError> {
    out.json(SCHEMA, &here_and_now(app, bubble, state)?)
}

/// Returns the status as it is on this machine, in this directory.
fn here_and_now(app: &App, bubble: &Bubble, state: &BubbleState) -> Result<Status, CommandError> {
    let mut status = shown(app, bubble, state);
    status.damaged_logs = bubble.log().set_aside().iter().map(|path| path.display().to_string()).collect();
    if let Some(notice) = bubble.foreign_notice().ok().flatten() {
        status.mark_foreign(notice.map(|line| app.line_here(line)));
        return Ok(status);
    }
    let supervised = app.supervised()?;
    status.next = next(app, state, status.next, supervised);
    status.uncounted = !supervised;
    let held = held_notice(&bubble.control, state).filter(|_| supervised);
    status.held_notice = held.map(|(agent, notice)| HeldNotice { agent, notice });
    status.config_differs = bubble.config_differs(state);
    status.base_moved = bubble.base_ahead(state);
    if matches!(state.phase, Phase::ReadyForApproval(_) | Phase::Approved(_)) {
        let notice = bubble.identity_notice(state)?;
        (status.identity_changes, status.identity_next) =
            notice.map(|notice| (notice.changes, notice.next)).unwrap_or_default();
    }
    match bubble.worktree_problem(state) {
        None => {}
        Some(GitError::WorktreeGone { .. }) => status.lose_worktree(),
        Some(problem) => status.disturb_worktree(problem.to_string()),
    }
    Ok(status)
}

/// Returns the status with what the supervisor has heard of the agents.
pub(crate) fn shown(app: &App, bubble: &Bubble, state: &BubbleState) -> Status {
    let now = app.clock.now();
    let heard = Activity::recorded(&bubble.control, &bubble.id, now);
    Status::heard(state, now, state.phase.turn().and_then(|turn| heard.of(&turn.agent)))
}

/// Returns the usual next step here.
pub(crate) fn onward(app: &App, state: &BubbleState) -> Option<String> {
    next(app, state, Status::of(state, app.clock.now()).next, false).into_iter().next()
}

/// Adapts next steps to this machine and directory: a running supervisor needs no command, and a base branch that is
/// checked out is merged with `--here`.
fn next(app: &App, state: &BubbleState, lines: Vec<String>, supervised: bool) -> Vec<String> {
    let id = &state.id;
    let here = |line: String| match line.as_str() {
        "pairflow supervise --once" if supervised => format!("pairflow status {id}"),
        _ if line == format!("pairflow merge {id}") => merge_line(app, state),
        _ => line,
    };
    lines.into_iter().map(here).map(|line| app.line_here(line)).collect()
}

/// Returns the line that merges a bubble; with `--here` if the caller is in a checkout of its base branch.
pub(crate) fn merge_line(app: &App, state: &BubbleState) -> String {
    let on_base = |cwd: &Path| {
        let repo = Repo::locate(cwd);
        repo.is_ok_and(|repo| head(&repo.git_dir) == GitHead::Branch(state.rules.base_branch.clone()))
    };
    let here = if app.cwd().is_ok_and(on_base) { " --here" } else { "" };
    format!("pairflow merge {}{here}", state.id)
}
