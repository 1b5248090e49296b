//! `pairflow pause`, `pairflow resume` and `pairflow restart`: interrupt a bubble, continue it, restart its agents.

use pairflow_core::bubble::{Command, Phase};
use pairflow_core::view::inbox::{InboxItem, inbox};
use pairflow_engine::verbs::Resumed;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, fits, people, status};

/// Interrupt a bubble; its state and turn are kept
///
/// The agent in a pane is interrupted with Esc. You can still talk to it there.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow pause login-race")]
pub struct PauseArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const PAUSE: CommandEntry = command!("pause", Bubbles, PauseArgs, pause, people);

fn pause(args: PauseArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::pausable, &args.bubble, "pause")?;
    let state = bubble.apply(&Command::Pause { reason: "paused by a person".to_owned() })?.state;
    app.hands().wake(&bubble)?;
    if args.json {
        return status::print_json(app, out, &bubble, &state);
    }
    out.line(format_args!("Paused bubble {}", bubble.id))?;
    // A question that only an answer settles comes before `resume`.
    // Nothing is allowed before it has been read, and here it is not shown.
    let line =
        |item: InboxItem| if item.is_read_in("") { item.answer.into_iter().next() } else { Some(item.reading()) };
    match inbox(&state).into_iter().next().and_then(line) {
        Some(answer) => {
            let after = if answer.starts_with("pairflow resume") { "" } else { ", then resume" };
            out.note(format_args!("A question is open; you can answer it now{after}."));
            out.next(format_args!("{answer}"));
        }
        None => out.next(format_args!("pairflow resume {}", bubble.id)),
    }
    Ok(())
}

/// Continue after a pause or after work by hand
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow resume login-race")]
pub struct ResumeArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const RESUME: CommandEntry = command!("resume", Bubbles, ResumeArgs, resume, people);

fn resume(args: ResumeArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::resumable, &args.bubble, "resume")?;
    let Resumed { state, restored } = bubble.resume(&app.hands())?;
    if args.json {
        return status::print_json(app, out, &bubble, &state);
    }
    if restored {
        let worktree = state.evidence.workspace.as_ref().map_or("", |workspace| workspace.path.as_str());
        out.line(format_args!("The worktree of bubble {} was gone; it was restored at {worktree}", bubble.id))?;
    }
    match &state.phase {
        Phase::Running(turn) => {
            out.line(format_args!("Resumed: {} continues as {} in bubble {}", turn.agent, turn.seat, bubble.id))
        }
        other => out.line(format_args!("Bubble {} is {}", bubble.id, other.name())),
    }
}

/// Restart the agents' programs in their conversations
///
/// State, turn and worktree are kept. The agent that has the turn continues its conversation at once; any other one is
/// started again when its turn comes. Questions that `resume` answers are answered, too. Refused while the bubble is
/// paused, and while an agent's question or a permission is open.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow restart login-race")]
pub struct RestartArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const RESTART: CommandEntry = command!("restart", Bubbles, RestartArgs, restart, people);

fn restart(args: RestartArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::attachable, &args.bubble, "restart")?;
    app.hands().announce(&bubble);
    let state = bubble.apply(&Command::Restart { reason: "restarted by a person".to_owned() })?.state;
    app.hands().wake_with_environment(&bubble)?;
    if args.json {
        return status::print_json(app, out, &bubble, &state);
    }
    let holder = state.phase.turn().map(|turn| turn.agent.as_str()).unwrap_or_default();
    out.line(format_args!("Restarted {holder}; other agents restart with their next turn in bubble {}", bubble.id))?;
    out.next(format_args!("pairflow attach {}", bubble.id));
    Ok(())
}
