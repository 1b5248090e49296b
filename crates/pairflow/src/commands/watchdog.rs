//! `pairflow watchdog`: the time-out check, once.

use pairflow_core::bubble::{BubbleState, Command, StateName};
use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::log::QuestionKind;
use pairflow_core::safe::safe_line;
use pairflow_core::view::{UNCOUNTED, span};
use pairflow_engine::supervise::last_seen;
use serde::Serialize;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, people};

/// How much of a question is shown, in columns.
const SHOWN: usize = 300;

/// Check once whether an agent has been silent for too long
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow watchdog login-race")]
pub struct WatchdogArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("watchdog", Bubbles, WatchdogArgs, run, people);

/// The result as programs see it.
#[derive(Serialize)]
struct Watched {
    bubble_id: BubbleId,
    state: StateName,
    paused: bool,
    escalated: bool,
    active_agent: Option<AgentId>,
    watchdog_left_secs: Option<u64>,
}

fn run(args: WatchdogArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble(&args.bubble, "watchdog")?;
    let active = last_seen(&bubble, &bubble.load()?.state);
    let applied = bubble.apply(&Command::Tick { active })?;
    let asked = applied.state.gate.questions.iter().find(|open| Some(&open.id) == applied.id.as_ref());
    let now = app.clock.now();
    let left = applied.state.silence_ends(active).map(|(heard, limit)| limit.saturating_sub(now.since(heard)) / 1000);
    let watched = watched(&applied.state, asked.is_some(), left);
    if args.json {
        return out.json("watchdog/1", &watched);
    }
    let id = &bubble.id;
    if let Some(open) = asked {
        match (&open.about, open.kind) {
            (Some(agent), QuestionKind::Watchdog) => {
                out.line(format_args!(
                    "{agent} has been silent for too long; a question was added to the inbox of bubble {id}"
                ))?;
            }
            _ => out.line(format_args!(
                "A question was added to the inbox of bubble {id}: {}",
                safe_line(&open.question, SHOWN)
            ))?,
        }
        out.next(format_args!("pairflow inbox {id}"));
        return Ok(());
    }
    match (&watched.active_agent, watched.watchdog_left_secs) {
        (Some(agent), Some(left)) if app.supervised()? => {
            out.line(format_args!("{agent} has the turn; you are asked in {} about bubble {id}", span(left)))
        }
        (Some(agent), Some(_)) => {
            out.line(format_args!("{agent} has the turn in bubble {id}; {UNCOUNTED}."))?;
            out.next(format_args!("pairflow supervise"));
            Ok(())
        }
        _ if watched.paused => {
            out.line(format_args!("No timeout is running; bubble {id} is paused."))?;
            out.next(format_args!("pairflow resume {id}"));
            Ok(())
        }
        _ => out.line(format_args!("No timeout is running; bubble {id} is {}.", watched.state)),
    }
}

fn watched(state: &BubbleState, escalated: bool, watchdog_left_secs: Option<u64>) -> Watched {
    Watched {
        bubble_id: state.id.clone(),
        state: state.phase.name(),
        paused: state.paused,
        escalated,
        active_agent: state.phase.turn().map(|turn| turn.agent.clone()),
        watchdog_left_secs,
    }
}
