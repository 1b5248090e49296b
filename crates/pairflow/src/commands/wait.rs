//! `pairflow wait`: blocks until there is something to do for the caller.

use std::time::Duration;

use clap::ValueEnum;
use pairflow_core::ids::AgentId;
use pairflow_core::view::StateFields;
use pairflow_core::view::waiting::{Reached, ReachedKind, Wait, WaitFor, WaitOutcome};
use pairflow_engine::engine::Bubble;
use pairflow_engine::supervise::wait_for;
use serde::Serialize;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Exit, Out, anyone, command};

const EXAMPLES: &str = "Examples:
  pairflow wait
  pairflow wait login-race --for approval --timeout 600
  while pairflow wait --for turn; do ...; done";

/// Wait until there is something for you to do
///
/// An agent waits for its turn, for the answer to its question, or until the work is ready for approval. A person waits
/// for a question or for work to approve. --for selects one of them. Exits with 1 if it cannot happen any more because the
/// bubble has ended, and with 6 after the timeout.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct WaitArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// What to wait for
    #[arg(long = "for", value_name = "WHAT")]
    pub goal: Option<GoalArg>,
    /// The timeout in seconds [default: none]
    #[arg(long, value_name = "SECS")]
    pub timeout: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GoalArg {
    /// The caller's turn is open; for a person, any turn
    Turn,
    /// The caller's question is answered; for a person, all questions
    Answer,
    /// The work waits for approval, or is approved
    Approval,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("wait", Agents, WaitArgs, run, anyone);

/// What a wait has brought, for programs.
#[derive(Serialize)]
struct Waited<'a> {
    #[serde(flatten)]
    reached: &'a Reached,
    answer: Option<String>,
    #[serde(flatten)]
    state: StateFields,
}

fn run(args: WaitArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let (bubble, by) = match app.own_seat(args.bubble.typed())? {
        Some((bubble, agent)) => (bubble, Some(agent)),
        None => (app.bubble(&args.bubble, "wait")?, None),
    };
    let state = bubble.load()?.state;
    let wait = Wait::begin(&state, by.clone(), args.goal.map(WaitFor::from));
    if let WaitOutcome::NotYet(standing) = wait.look(&state) {
        out.progress(format_args!("{standing} Waiting …"));
        if !app.supervised()? {
            out.warn(format_args!("no supervisor is running, so nothing happens: pairflow supervise"));
        }
    }
    let mut last = None;
    let ended = wait_for(&bubble, args.timeout.map(Duration::from_secs), |state| match wait.look(state) {
        WaitOutcome::NotYet(standing) => {
            last = Some(standing);
            None
        }
        other => Some((other, StateFields::of(state))),
    })?;
    match ended {
        Some((WaitOutcome::Reached(reached), state)) => tell(app, out, &args, &Ended { bubble, by, reached, state }),
        Some((WaitOutcome::Never(why), _)) => {
            Err(CommandError::refused(why).next(format_args!("pairflow status {}", bubble.id)))
        }
        Some((WaitOutcome::NotYet(_), _)) | None => {
            let message = format!("timed out. {}", last.unwrap_or_default());
            Err(CommandError::new(Exit::TimedOut, message.trim_end()).next(&app.typed))
        }
    }
}

/// A wait that has brought what was waited for.
struct Ended {
    bubble: Bubble,
    by: Option<AgentId>,
    reached: Reached,
    state: StateFields,
}

fn tell(app: &App, out: &mut Out, args: &WaitArgs, ended: &Ended) -> Result<(), CommandError> {
    let Ended { bubble, by, reached, state } = ended;
    let answer = match (by, reached.reached) {
        (Some(agent), ReachedKind::Answer) => bubble.last_answer(agent)?,
        _ => None,
    };
    if args.json {
        let next = reached.next.clone().map(|line| app.line_here(line));
        let reached = Reached { next, ..reached.clone() };
        return out.json("wait/1", &Waited { reached: &reached, answer, state: state.clone() });
    }
    out.line(format_args!("{}", reached.sentence))?;
    if let Some(answer) = answer {
        out.line(format_args!("Answer: {answer}"))?;
    }
    if let Some(next) = &reached.next {
        out.next(format_args!("{next}"));
    }
    Ok(())
}

impl From<GoalArg> for WaitFor {
    fn from(goal: GoalArg) -> Self {
        match goal {
            GoalArg::Turn => Self::Turn,
            GoalArg::Answer => Self::Answer,
            GoalArg::Approval => Self::Approval,
        }
    }
}
