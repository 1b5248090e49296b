//! `pairflow start`: prepares the workspace and opens the first turn.

use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_agents::script::Script;
use pairflow_agents::spec::spec_of;
use pairflow_core::config::{Flags, Layer, resolve};
use pairflow_core::rules::{DriverKind, Rules};
use pairflow_core::unit::Unit;
use pairflow_engine::engine::Bubble;

use crate::app::{App, fits};
use crate::commands::attach::{attach, can_show};
use crate::commands::common::{BubbleArg, DriverArg};
use crate::commands::status;
use crate::exit::CommandError;
use crate::out::Out;
use crate::table::{CommandEntry, Group};

const EXAMPLES: &str = "Examples:
  pairflow start login-race --attach
  pairflow start login-race --driver script --script agents.yaml

A script has each agent's turns, and each turn is a list of steps; docs/script.md has all of them:
  agents:
    codex:
      - - write: {path: hello.txt, text: hello}
        - pass: {summary: wrote hello.txt}
      - - pass: {summary: nothing left, no_findings: true}
    claude:
      - - pass: {summary: looks right, no_findings: true}";

/// Prepare the worktree and start the loop
///
/// Returns when the bubble runs or when it could not be started; then it can be started again.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct StartArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// How agents are run
    #[arg(long, value_name = "DRIVER")]
    pub driver: Option<DriverArg>,
    /// The agents' script; has them played from it unless `--driver` says otherwise
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Show the panes of the agents once the bubble runs
    #[arg(long, conflicts_with = "json")]
    pub attach: bool,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "start",
    aliases: &[],
    group: Group::Operator,
    about: "Prepare the worktree and start the loop",
    hidden: false,
    human_only: |_| true,
    args: StartArgs::augment_args,
    run,
};

/// What a start may choose anew.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chosen {
    /// How agents are run.
    pub(crate) driver: Option<DriverArg>,
    /// The agents' script.
    pub(crate) script: Option<PathBuf>,
}

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = StartArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.bubble_that(fits::startable, &args.bubble, "start")?;
    if args.attach {
        can_show(app).map_err(|error| unshown(error, &bubble))?;
    }
    let unit = begin(app, out, &bubble, Chosen { driver: args.driver, script: args.script })?;
    if args.json {
        return status::print_json(app, out, &bubble, &unit);
    }
    tell(out, &unit)?;
    if args.attach { attach(&bubble, &unit) } else { Ok(()) }
}

/// Nobody could see the panes, so nothing is started for it.
fn unshown(error: CommandError, bubble: &Bubble) -> CommandError {
    let id = &bubble.id;
    let message = format!(
        "{} Nothing was started. Without --attach it is, and then 'pairflow attach {id} --print' prints what shows them.",
        error.message
    );
    CommandError { message, ..error }.or_next(format_args!("pairflow start {id}"))
}

/// Reads the configuration once more and starts the bubble with it.
pub(crate) fn begin(app: &App, out: &mut Out, bubble: &Bubble, chosen: Chosen) -> Result<Unit, CommandError> {
    let unit = bubble.load()?.unit;
    bubble.restore_config(&unit)?;
    let script = chosen.script.as_deref().map(|path| app.resolve(path)).transpose()?;
    let flags = Flags {
        driver: chosen.driver.map(Into::into),
        script: script.map(|path| path.display().to_string()),
        ..Flags::default()
    };
    let flags = Layer::from_flags(flags).map_err(|errors| CommandError::from(&errors))?;
    let layers = app.layers(bubble.control.repo(), Some(&bubble.id), flags)?;
    let resolved = resolve(&layers).map_err(|errors| CommandError::from(&errors))?;
    readable(&resolved.rules)?;
    installed(app, &resolved.rules)?;
    out.progress(format_args!("preparing the workspace of {} …", bubble.id));
    let started = bubble.start(&resolved.rules, &app.hands());
    started.map_err(|error| CommandError::from(error).or_next(format_args!("pairflow start {}", bubble.id)))
}

/// Insists that the agents' script can be played before anything is made for it.
fn readable(rules: &Rules) -> Result<(), CommandError> {
    let Some(path) = rules.script.as_ref().filter(|_| rules.driver == DriverKind::Script) else { return Ok(()) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| CommandError::usage(format_args!("cannot read the script {path}: {error}.")))?;
    Script::parse(path, &text).map(drop).map_err(CommandError::usage)
}

/// Insists that what runs in panes is there before anything is made for it; names everything that is missing.
fn installed(app: &App, rules: &Rules) -> Result<(), CommandError> {
    if rules.driver != DriverKind::Tmux {
        return Ok(());
    }
    let program = |agent| {
        let spec = spec_of(agent, rules.agents_custom.get(agent)).map_err(|why| format!("{agent}: {why}"))?;
        let program = spec.fresh.command.first().cloned().unwrap_or_default();
        app.on_path(&program).map(drop).ok_or_else(|| format!("{program}, the program of {agent}, is not there"))
    };
    let tmux = app.on_path("tmux").map(drop).ok_or_else(|| "tmux is not on PATH".to_owned());
    let missing: Vec<_> =
        std::iter::once(tmux).chain(rules.agents.all().map(program)).filter_map(Result::err).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join("; ");
    Err(CommandError::world(format_args!("agents cannot run here: {missing}. Nothing was started."))
        .next("pairflow doctor"))
}

/// Says what runs now, and how agents join.
pub(crate) fn tell(out: &mut Out, unit: &Unit) -> Result<(), CommandError> {
    let id = &unit.id;
    let worktree = unit.workspace.as_ref().map_or("", |workspace| workspace.path.as_str());
    out.line(format_args!("Started bubble {id} on branch {}", unit.rules.bubble_branch))?;
    out.line(format_args!("Worktree: {worktree}"))?;
    match unit.rules.driver {
        DriverKind::Tmux => out.next(format_args!("pairflow attach {id}")),
        DriverKind::Script => out.next(format_args!("pairflow log {id}")),
        DriverKind::External => {
            out.note(format_args!("Agents join by themselves, each in a shell of its own in the worktree:"));
            for agent in unit.rules.agents.all() {
                out.next(format_args!("eval \"$(pairflow env {id} --agent {agent})\""));
            }
        }
    }
    Ok(())
}
