//! `pairflow demo`: a whole bubble, played by scripted agents.
//!
//! Everything is real: a repository, a worktree, a supervisor, two agents that call this program, checks and a commit.
//! Only the place is made up, and it is gone at the end, with every process that lived in it.

mod stage;
mod story;

use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_agents::demo::{DEMO_TASK, DEMO_TEST};
use pairflow_core::bubble::Phase;
use pairflow_core::ids::BubbleId;
use pairflow_engine::engine::{Bubble, EngineError};
use pairflow_engine::git::{GitCall, Repo};
use pairflow_engine::verbs::verify;

use crate::app::App;
use crate::entry::{CommandEntry, Group};
use crate::exit::CommandError;
use crate::out::{Line, Out, Paint};
use stage::Stage;
use story::Story;

/// The demo's bubble.
const ID: &str = "fetch-retry";
/// How long `--slow` waits before each line.
const SLOW: Duration = Duration::from_millis(900);

/// Watch a bubble from task to commit, with scripted agents
///
/// Needs nothing but git, works in a temporary repository, and takes seconds.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow demo\n  pairflow demo --slow --keep")]
pub struct DemoArgs {
    /// Leave the repository to look at
    #[arg(long)]
    pub keep: bool,
    /// Slow enough to watch
    #[arg(long)]
    pub slow: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "demo",
    aliases: &[],
    group: Group::Daily,
    about: "Watch a bubble from task to commit, with scripted agents",
    hidden: false,
    human_only: |_| true,
    args: DemoArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = DemoArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let stage = Stage::build(app, args.keep).map_err(|error| error.or_next("pairflow doctor"))?;
    let pause = if args.slow { SLOW } else { Duration::ZERO };
    if let Err(error) = play(&stage, pause, out) {
        stage.show_logs(out);
        return Err(error.or_next("pairflow doctor"));
    }
    if args.keep { stage.tell_where(ID, out) } else { try_next(out) }
}

/// Plays the whole story, then shows what came of it.
fn play(stage: &Stage, pause: Duration, out: &mut Out) -> Result<(), CommandError> {
    heading(out, "The task, given to two scripted agents in a repository of their own")?;
    indented(out, DEMO_TASK.trim())?;
    heading(out, "What happens")?;
    let (script, task) = (stage.script()?, stage.task()?);
    stage.pairflow(&[
        "create", "--id", ID, "--task", &task, "--test", DEMO_TEST, "--driver", "script", "--script", &script,
    ])?;
    let id: BubbleId = ID.parse().expect("the demo's id is one");
    let bubble = stage.engine().bubble(stage.repo(), &id)?;
    let mut story = Story::new(&bubble, pause);
    stage.pairflow(&["start", ID])?;
    story.follow(out, |phase| matches!(phase, Phase::ReadyForApproval(_)))?;
    let package = package(&bubble)?;
    stage.pairflow(&["ok", ID, "--yes"])?;
    story.follow(out, |phase| matches!(phase, Phase::Done(_)))?;
    heading(out, "The package that was approved")?;
    indented(out, &package)?;
    commit(&bubble, stage, out)?;
    verified(&bubble, out)
}

fn heading(out: &mut Out, text: &str) -> Result<(), CommandError> {
    out.line(format_args!(""))?;
    out.paint(&Line::new().add(Paint::Bold, text))?;
    out.line(format_args!(""))
}

fn indented(out: &mut Out, text: &str) -> Result<(), CommandError> {
    text.lines().try_for_each(|line| out.line(format_args!("{}", format!("  {line}").trim_end())))
}

fn package(bubble: &Bubble) -> Result<String, CommandError> {
    let state = bubble.load()?.state;
    let Phase::ReadyForApproval(request) = &state.phase else {
        return Err(CommandError::world(format_args!("{} is not up for approval any more.", bubble.id)));
    };
    let bytes = bubble.package(request)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Shows the one commit that came out.
fn commit(bubble: &Bubble, stage: &Stage, out: &mut Out) -> Result<(), CommandError> {
    let branch = bubble.load()?.state.rules.bubble_branch;
    heading(out, &format!("git log --stat main..{branch}"))?;
    let range = format!("main..{branch}");
    let call = GitCall::new([
        "log",
        "--stat=72",
        "--no-color",
        "--no-show-signature",
        "--format=commit %H%n%n%w(0,4,4)%B",
        &range,
        "--",
    ]);
    let repo = Repo::locate(stage.repo()).map_err(EngineError::from)?;
    let log = repo.git().run(call).map_err(EngineError::from)?;
    indented(out, String::from_utf8_lossy(&log.stdout).trim_end())
}

/// Recomputes everything that the log claims.
fn verified(bubble: &Bubble, out: &mut Out) -> Result<(), CommandError> {
    heading(out, &format!("pairflow verify {}", bubble.id))?;
    let report = verify(bubble)?;
    for row in &report.rows {
        let (mark, paint) = if row.holds { ("holds  ", Paint::Good) } else { ("FAILS  ", Paint::Bad) };
        let problem = if row.holds { String::new() } else { format!(": {}", row.problem) };
        out.paint(&Line::new().plain("  ").add(paint, mark).plain(&row.what).plain(problem))?;
    }
    if !report.holds {
        return Err(CommandError::world("the demo's own log does not hold."));
    }
    out.paint(&Line::new().plain("  ").add(Paint::Good, format!("All {} lines of the log hold.", report.envelopes)))
}

fn try_next(out: &mut Out) -> Result<(), CommandError> {
    heading(out, "Nothing of this is left on your disk. With your own agents, in your own repository:")?;
    let rows = [
        ("pairflow doctor", "is everything there?"),
        ("pairflow init", "how is this repository checked?"),
        ("pairflow new \"what to do\"", "a bubble, started at once"),
        ("pairflow", "what waits for you"),
        ("pairflow demo --slow --keep", "this again, to watch and to look around in"),
    ];
    for (line, what) in rows {
        out.paint(&Line::new().plain("  ").add(Paint::Bold, format!("{line:<29}")).add(Paint::Dim, what))?;
    }
    Ok(())
}
