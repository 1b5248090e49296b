//! `pairflow supervise`: performs what bubbles owe.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_agents::Drivers;
use pairflow_core::ids::BubbleId;
use pairflow_core::view::timeline::{TimelineRow, TimelineState};
use pairflow_engine::engine::{Bubble, Engine, EngineError};
use pairflow_engine::store::StoreError;
use pairflow_engine::supervise::{Setup, once, run as supervise};
use pairflow_engine::supervisor_client::{Client, SupervisorRequest, spawn};

use crate::app::App;
use crate::args::RepoArg;
use crate::entry::{CommandEntry, Group};
use crate::exit::CommandError;
use crate::out::{Out, herald};

/// Perform what is owed: snapshots, checks, turns, deadlines
///
/// Without an option it goes to the background, as it does when a command needs it.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow supervise --once\n  pairflow supervise --foreground")]
pub struct SuperviseArgs {
    /// Stay in the foreground and report on stderr
    #[arg(long, conflicts_with = "once")]
    pub foreground: bool,
    /// Perform what is owed now, then end
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
pub const ENTRY: CommandEntry = CommandEntry {
    name: "supervise",
    aliases: &[],
    group: Group::Other,
    about: "Perform what is owed: snapshots, checks, turns, deadlines",
    hidden: false,
    human_only: |_| true,
    args: SuperviseArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = SuperviseArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    if args.once {
        return settle(app, out, args.repo.repo.as_deref());
    }
    if args.detached {
        // It fails only for a process that leads a group already; then it has no terminal to leave either.
        let _ = rustix::process::setsid();
    }
    if args.foreground || args.detached {
        return stay(app);
    }
    let engine = app.engine()?;
    spawn(&engine, &app.program()?)?;
    let pid = Client::new(&engine)
        .ask(&SupervisorRequest::Status)
        .map_or_else(|_| "?".to_owned(), |reply| reply.pid.to_string());
    out.line(format_args!("The supervisor runs in the background as process {pid}"))
}

/// Runs until told to stop.
fn stay(app: &App) -> Result<(), CommandError> {
    let setup = Setup {
        engine: app.engine()?,
        driver: Arc::new(Drivers { program: app.program()? }),
        program: app.program()?,
        say: herald(app.clock.clone()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(supervise(setup)?)
}

/// Settles the bubbles of one repository and tells what was recorded by that.
fn settle(app: &App, out: &mut Out, repo: Option<&Path>) -> Result<(), CommandError> {
    let engine = app.engine()?;
    let root = app.place(repo)?.repo.root;
    if let Ok(reply) = Client::new(&engine).ask(&SupervisorRequest::Status) {
        wake_all(&engine, &root)?;
        return out.line(format_args!("A supervisor runs already, as process {}; it was told to look.", reply.pid));
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
            (Ok(None), Ok(_)) => out.line(format_args!("{id}: another process looks after it."))?,
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
    failed.map_or(Ok(()), |error| Err(CommandError::told(error.exit)))
}

fn tell(out: &mut Out, id: &str, state: &str, rows: &[TimelineRow]) -> Result<(), CommandError> {
    if rows.is_empty() {
        return out.line(format_args!("{id} is {state}; nothing was owed."));
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
