//! `pairflow supervise` and `pairflow supervisor`: run the supervisor, look at it, stop it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Subcommand;
use pairflow_agents::Drivers;
use pairflow_core::ids::BubbleId;
use pairflow_core::view::timeline::{TimelineRow, TimelineState};
use pairflow_engine::engine::{Bubble, Engine, EngineError};
use pairflow_engine::store::StoreError;
use pairflow_engine::supervise::{Setup, once, run as run_supervisor};
use pairflow_engine::supervisor_client::{Client, Health, Stopped, SupervisorRequest, SupervisorStatus, spawn};
use serde::Serialize;

use super::{App, Args, CommandEntry, CommandError, Out, RepoArg, command, people};
use crate::out::timestamped_reporter;

/// How long a supervisor may take to end what it has started.
const PATIENCE: Duration = Duration::from_secs(10);

/// Show the supervisor's status, or stop it
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow supervisor status\n  pairflow supervisor stop")]
pub struct SupervisorArgs {
    /// What to do with it
    #[command(subcommand)]
    pub command: SupervisorCommand,
}

/// What can be done with the supervisor.
#[derive(Debug, Clone, Subcommand)]
pub enum SupervisorCommand {
    /// Show whether it is running
    #[command(after_help = "Example:\n  pairflow supervisor status --json")]
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop it; bubbles continue when it is started again
    #[command(after_help = "Example:\n  pairflow supervisor stop")]
    Stop {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// The line of the table.
pub const SUPERVISOR: CommandEntry =
    command!("supervisor", Setup, SupervisorArgs, supervisor, |matches| matches.subcommand_name() == Some("stop"));

/// The supervisor as programs see it.
#[derive(Serialize)]
struct SupervisorShown {
    running: bool,
    /// Whether it answers; one that runs and does not answer hangs.
    answers: bool,
    pid: Option<u32>,
    version: Option<String>,
    bubbles: Option<usize>,
    busy: Option<usize>,
    agents: Option<usize>,
}

impl SupervisorShown {
    fn of(health: Health) -> Self {
        match health {
            Health::Answers(reply) => Self { running: true, answers: true, ..Self::that(Some(reply)) },
            Health::Hangs(pid) => Self { running: true, pid, ..Self::that(None) },
            Health::Absent => Self::that(None),
        }
    }

    /// One that ran and is gone, if there was one.
    fn that(reply: Option<SupervisorStatus>) -> Self {
        Self {
            running: false,
            answers: false,
            pid: reply.as_ref().map(|reply| reply.pid),
            bubbles: reply.as_ref().map(|reply| reply.bubbles),
            busy: reply.as_ref().map(|reply| reply.busy),
            agents: reply.as_ref().map(|reply| reply.agents),
            version: reply.map(|reply| reply.version),
        }
    }
}

fn supervisor(args: SupervisorArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let engine = app.engine()?;
    let client = Client::new(&engine);
    match args.command {
        SupervisorCommand::Status { json } => {
            let health = client.health();
            if json {
                return out.json("supervisor/1", &SupervisorShown::of(health));
            }
            status(out, health)
        }
        SupervisorCommand::Stop { json } => {
            let stopped = client.stop(PATIENCE)?;
            if json {
                return out.json("supervisor/1", &shown_after(&client, stopped));
            }
            match stopped {
                Stopped::Ended(reply) => out.line(format_args!("Stopped the supervisor, process {}", reply.pid)),
                Stopped::Killed(pid) => {
                    out.line(format_args!("The supervisor did not answer and was killed, process {pid}"))
                }
                Stopped::Absent => out.line(format_args!("No supervisor is running.")),
            }
        }
    }
}

/// What programs see after a stop: the supervisor that ended, and whether another one runs.
fn shown_after(client: &Client<'_>, stopped: Stopped) -> SupervisorShown {
    let running = client.is_there();
    match stopped {
        Stopped::Ended(reply) => SupervisorShown { running, answers: running, ..SupervisorShown::that(Some(reply)) },
        Stopped::Killed(pid) => {
            SupervisorShown { running, pid: u32::try_from(pid).ok(), ..SupervisorShown::that(None) }
        }
        Stopped::Absent => SupervisorShown { running, ..SupervisorShown::that(None) },
    }
}

fn status(out: &mut Out, health: Health) -> Result<(), CommandError> {
    let SupervisorStatus { pid, version, bubbles, busy, agents } = match health {
        Health::Answers(reply) => reply,
        Health::Hangs(pid) => {
            let process = pid.map(|pid| format!(", process {pid},")).unwrap_or_default();
            out.line(format_args!("The supervisor{process} does not answer."))?;
            out.next(format_args!("pairflow supervise"));
            return Ok(());
        }
        Health::Absent => {
            out.line(format_args!("No supervisor is running."))?;
            out.next(format_args!("pairflow supervise"));
            return Ok(());
        }
    };
    out.line(format_args!("The supervisor is running as process {pid}, version {version}"))?;
    out.line(format_args!("Bubbles: {bubbles} supervised, {busy} being worked on, {agents} with a running agent."))
}

/// Start the supervisor, which runs checks, turns and timeouts
///
/// It runs in the background unless an option says otherwise. Commands that need it start it, too.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow supervise --once\n  pairflow supervise --foreground")]
pub struct SuperviseArgs {
    /// Run in the foreground and report on stderr
    #[arg(long, conflicts_with = "once")]
    pub foreground: bool,
    /// Do the work that is due now, then exit
    #[arg(long)]
    pub once: bool,
    /// Leave the terminal's process session first; how it is started in the background
    #[arg(long, hide = true, conflicts_with_all = ["once", "foreground"])]
    pub detached: bool,
    /// Only this repository, with `--once`
    #[command(flatten)]
    pub repo: RepoArg,
}

/// The line of the table.
pub const SUPERVISE: CommandEntry = command!("supervise", Setup, SuperviseArgs, supervise, people);

fn supervise(args: SuperviseArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    if args.once {
        return settle_once(app, out, args.repo.repo.as_deref());
    }
    if args.detached {
        // It fails only for a process that leads a group already; then it has no terminal to leave either.
        let _ = rustix::process::setsid();
    }
    if args.foreground || args.detached {
        return run_in_foreground(app);
    }
    let engine = app.engine()?;
    spawn(&engine, &app.program()?)?;
    let pid = Client::new(&engine)
        .ask(&SupervisorRequest::Status)
        .map_or_else(|_| "?".to_owned(), |reply| reply.pid.to_string());
    out.line(format_args!("The supervisor is running in the background, process {pid}"))
}

/// Runs until it is stopped.
fn run_in_foreground(app: &App) -> Result<(), CommandError> {
    let setup = Setup {
        engine: app.engine()?,
        driver: Arc::new(Drivers { program: app.program()? }),
        program: app.program()?,
        say: timestamped_reporter(app.clock.clone()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(run_supervisor(setup)?)
}

/// Does the due work of one repository's bubbles, and prints what was recorded.
fn settle_once(app: &App, out: &mut Out, repo: Option<&Path>) -> Result<(), CommandError> {
    let engine = app.engine()?;
    let root = app.place(repo)?.repo.root;
    if let Ok(reply) = Client::new(&engine).ask(&SupervisorRequest::Status) {
        wake_all(&engine, &root)?;
        return out.line(format_args!(
            "A supervisor is already running, process {}; it was told to look at the bubbles.",
            reply.pid
        ));
    }
    let before: BTreeMap<String, u64> = heads(&engine, &root)?;
    let mut failed = None;
    for (id, settled) in once(&engine, &root)? {
        let bubble = id.parse::<BubbleId>().ok().and_then(|id| engine.bubble(&root, &id).ok());
        let from = before.get(&id).copied().unwrap_or_default();
        let rows = bubble.map(|bubble| since(&bubble, from)).transpose();
        match (settled, rows) {
            (Ok(Some(settled)), Ok(rows)) => {
                tell(out, &id, settled.state.phase.name().as_str(), &rows.unwrap_or_default())?;
            }
            (Ok(None), Ok(_)) => out.line(format_args!("{id}: another process is working on it."))?,
            (Err(error @ EngineError::Store(StoreError::Foreign { .. })), _) => {
                // Somebody else's bubble is no failure of the person's own.
                let error = CommandError::from(error);
                out.warn(format_args!("{}", error.message));
                error.hint.iter().for_each(|hint| out.next(format_args!("{hint}")));
            }
            (Err(error), _) | (_, Err(error)) => {
                let error = CommandError::from(error);
                out.warn(format_args!("{id}: {}", error.message));
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(()), |error| Err(CommandError::silent(error.exit)))
}

fn tell(out: &mut Out, id: &str, state: &str, rows: &[TimelineRow]) -> Result<(), CommandError> {
    if rows.is_empty() {
        return out.line(format_args!("{id} is {state}; nothing was due."));
    }
    for row in rows {
        out.line(format_args!("{id}: {} {}", row.who, row.what))?;
    }
    out.line(format_args!("{id} is {state}."))
}

fn wake_all(engine: &Engine, root: &Path) -> Result<(), CommandError> {
    for listed in engine.list(root)?.into_iter().filter(|listed| listed.foreign.is_none()) {
        // A bubble that cannot be woken now is looked at when it is due.
        let _ = Client::new(engine).wake(&listed.bubble);
    }
    Ok(())
}

fn heads(engine: &Engine, root: &Path) -> Result<BTreeMap<String, u64>, CommandError> {
    let head = |bubble: &Bubble| bubble.load().map(|loaded| loaded.head.seq).unwrap_or_default();
    Ok(engine.list(root)?.iter().map(|listed| (listed.bubble.id.to_string(), head(&listed.bubble))).collect())
}

/// What was recorded after `seq`.
fn since(bubble: &Bubble, seq: u64) -> Result<Vec<TimelineRow>, EngineError> {
    let mut story = TimelineState::new(bubble.id.clone());
    let mut rows = Vec::new();
    bubble.log().visit(&mut |envelope| rows.extend(story.step(&envelope)))?;
    rows.retain(|row: &TimelineRow| row.seq > seq);
    Ok(rows)
}
