//! `pairflow start`: prepares the workspace and opens the first turn.

use std::path::PathBuf;

use pairflow_core::bubble::{BubbleState, Command, Phase, missing_checks};
use pairflow_core::config::{Layer, Set, resolve};
use pairflow_core::log::QuestionKind;
use pairflow_core::rules::{DriverKind, ReviewDepth};
use pairflow_core::safe::revealed;
use pairflow_engine::config::bubble_file;
use pairflow_engine::detect::Detected;
use pairflow_engine::engine::{Bubble, Engine, EngineError};
use pairflow_engine::git::Repo;

use super::attach::{attach, can_show};

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, config, fits, people, status};
use crate::app::{Consent, Purpose, to_trust};
use crate::args::DriverArg;

const EXAMPLES: &str = "Examples:
  pairflow start login-race --attach
  pairflow start login-race --driver script --script agents.yaml

A script lists the turns of each agent, and the steps of each turn; docs/script.md has all steps:
  agents:
    codex:
      - - write: {path: hello.txt, text: hello}
        - pass: {summary: wrote hello.txt}
      - - pass:
            summary: nothing left
            no_findings: true
            explain: \"# What changed\\nhello.txt\\n# Why\\nthe task\\n# Risks\\nnone\\n# Manual test plan\\nread it\"
    claude:
      - - pass: {summary: looks right, no_findings: true}";

/// Prepare the worktree and start the loop
///
/// Returns when the bubble is running or could not be started. If bubble.toml was edited since the bubble was created, the
/// changes are shown, and you are asked.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct StartArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// How agents run
    #[arg(long, value_name = "DRIVER")]
    pub driver: Option<DriverArg>,
    /// The script of the agents; implies `--driver script`
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Review thoroughly: acceptance tests from the task first, then a first look by every agent on its own
    #[arg(long)]
    pub thorough: bool,
    /// Trust the repository's commands and templates if they have this hash
    #[arg(long, value_name = "HASH")]
    pub trust: Option<String>,
    /// Wait for the checks on the base, and fail if one of them fails there
    #[arg(long)]
    pub ci: bool,
    /// Attach to the panes once the bubble is running
    #[arg(long, conflicts_with = "json")]
    pub attach: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("start", Bubbles, StartArgs, run, people);

/// What a start may choose anew.
#[derive(Debug, Clone, Default)]
struct Chosen {
    driver: Option<DriverArg>,
    script: Option<PathBuf>,
    thorough: bool,
    /// The hash of the repository's commands that the person trusts.
    trust: Option<String>,
    /// Whether a program reads the answer, so that nothing is asked.
    json: bool,
    /// The command line to type again.
    again: String,
}

fn run(args: StartArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::startable, &args.bubble, "start")?;
    startable(&bubble)?;
    if args.attach {
        can_show(app).map_err(|error| unshown(error, &bubble))?;
    }
    let again = app.typed_again();
    let StartArgs { driver, script, thorough, trust, json, .. } = args;
    let state = begin(app, out, &bubble, Chosen { driver, script, thorough, trust, json, again })?;
    let state = on_base(app, out, (&bubble, state), args.ci, args.json || args.attach)?;
    if args.json {
        return status::print_json(app, out, &bubble, &state);
    }
    tell(out, &state)?;
    if args.attach { attach(&bubble, &state) } else { Ok(()) }
}

/// Nobody could see the panes, so nothing is started for it.
fn unshown(error: CommandError, bubble: &Bubble) -> CommandError {
    let id = &bubble.id;
    let message = format!(
        "{} Nothing was started. Start without --attach; 'pairflow attach {id} --print' prints the command that shows the panes.",
        error.message
    );
    CommandError { message, ..error }.or_next(format_args!("pairflow start {id}"))
}

/// Refuses a bubble whose state allows no start, before anything else is looked at.
fn startable(bubble: &Bubble) -> Result<(), CommandError> {
    let state = bubble.load()?.state;
    if fits::startable(&state) {
        return Ok(());
    }
    Ok(bubble.allow(&state, &Command::Start { rules: Box::new(state.rules.clone()) })?)
}

/// Starts a bubble that was made a moment ago; if that does not work, it can be started again.
pub(crate) fn begin_new(app: &App, out: &mut Out, bubble: &Bubble) -> Result<BubbleState, CommandError> {
    let again = format!("pairflow start {}", bubble.id);
    begin(app, out, bubble, Chosen { again, ..Chosen::default() }).map_err(|error| {
        let message = format!("bubble {} was created but could not be started: {}", bubble.id, error.message);
        CommandError { message, ..error }.or_next(format_args!("pairflow start {}", bubble.id))
    })
}

/// Reads the configuration once more and starts the bubble with it.
fn begin(app: &App, out: &mut Out, bubble: &Bubble, chosen: Chosen) -> Result<BubbleState, CommandError> {
    let state = bubble.load()?.state;
    bubble.restore_config(&state)?;
    let script = chosen.script.as_deref().map(|path| app.resolve(path)).transpose()?;
    let flags = Layer {
        driver: chosen.driver.map(|driver| Set::flag(driver.into())),
        script: script.map(|path| Set::flag(path.display().to_string())),
        review_depth: chosen.thorough.then(|| Set::flag(ReviewDepth::Thorough)),
        ..Layer::default()
    };
    let flags = Layer::from_flags(flags).map_err(|errors| CommandError::from(&errors))?;
    // Read once, so that nothing is used but what was compared with the log.
    let layers = app.layers(bubble.control.repo(), Some(&bubble.id), flags)?;
    let edit = bubble.subject(&state).edited(&layers).map_err(|errors| CommandError::from(&errors))?;
    // An interrupted start continues with the recorded rules.
    if state.phase == Phase::Created && !edit.changes.is_empty() {
        config::show_edit(out, bubble, &state, &edit)?;
        confirm_edit(app, out, bubble, chosen.json)?;
        config::put_in_force(app, bubble, &state, &edit.rules)?;
    }
    let mut resolved = resolve(&layers).map_err(|errors| CommandError::from(&errors))?;
    let repo = Repo::locate(bubble.control.repo()).map_err(EngineError::from)?;
    resolved.rules.templates = Engine::repository_templates(&repo, &resolved.rules.base_branch)?;
    app.can_run(&resolved, &format!("pairflow start {}", bubble.id))?;
    // Another command may have come into the repository's file since the bubble was made.
    app.consent(
        out,
        &Consent {
            purpose: Purpose::Start(&bubble.id),
            root: bubble.control.repo(),
            layers: &layers,
            templates: &to_trust(&resolved.rules.templates),
            detected: &Detected::default(),
            trust: chosen.trust.as_deref(),
            yes: false,
            json: chosen.json,
            again: &chosen.again,
        },
    )?;
    out.progress(format_args!("preparing the workspace of {} …", bubble.id));
    let started = bubble.start(&resolved.rules, &app.hands());
    started.map_err(|error| CommandError::from(error).or_next(format_args!("pairflow start {}", bubble.id)))
}

/// Has the person, or the program that reads the answer, know at once of a check that does not pass on the base.
pub(crate) fn on_base(
    app: &App,
    out: &mut Out,
    (bubble, state): (&Bubble, BubbleState),
    ci: bool,
    hurried: bool,
) -> Result<BubbleState, CommandError> {
    if !ci && (hurried || !app.interactive()) {
        return Ok(state);
    }
    if !missing_checks(&state).is_empty() {
        out.progress(format_args!("running the checks on {} …", state.rules.base_branch));
    }
    let state = bubble.base_checked(&state, &app.hands())?;
    let asked = state.gate.questions.iter().find(|open| ci || open.kind == QuestionKind::Baseline);
    let Some(question) = asked.map(|open| revealed(&open.question).into_owned()) else { return Ok(state) };
    let message = format!("bubble {} was started and waits for you: {question}", bubble.id);
    if !ci {
        out.warn(format_args!("{message}"));
        return Ok(state);
    }
    Err(CommandError::refused(message).next(format_args!("pairflow inbox {}", bubble.id)))
}

/// Insists that the person wants to start with what was edited in `bubble.toml` since the bubble was made.
fn confirm_edit(app: &App, out: &mut Out, bubble: &Bubble, json: bool) -> Result<(), CommandError> {
    let (id, file) = (&bubble.id, bubble_file(bubble.control.repo(), &bubble.id));
    let drop_it = format!("To drop the edit, remove {}; it is then written again as recorded.", file.display());
    if json || !app.interactive() {
        let why = if json { "--json never asks" } else { "there is no terminal to ask on" };
        let message = format!(
            "bubble.toml was edited after the bubble was created, and {why}. Bubble {id} was not started. {drop_it}"
        );
        return Err(CommandError::refused(message).next(format_args!("pairflow config apply {id} --yes")));
    }
    if app.confirm(out, &format!("Start bubble {id} with these changes?"))? {
        return Ok(());
    }
    let message = format!("bubble {id} was not started. {drop_it}");
    Err(CommandError::refused(message).next(format_args!("pairflow start {id}")))
}

/// Says what runs now, and how agents join.
pub(crate) fn tell(out: &mut Out, state: &BubbleState) -> Result<(), CommandError> {
    let id = &state.id;
    let worktree = state.evidence.workspace.as_ref().map_or("", |workspace| workspace.path.as_str());
    out.line(format_args!("Started bubble {id} on branch {}", state.rules.bubble_branch))?;
    out.line(format_args!("Worktree: {worktree}"))?;
    match state.rules.driver {
        DriverKind::Tmux => out.next(format_args!("pairflow attach {id}")),
        DriverKind::Script => out.next(format_args!("pairflow log {id}")),
        DriverKind::External => {
            out.note(format_args!("Let each agent join in its own shell:"));
            for agent in state.rules.agents.all() {
                out.next(format_args!("{}", state.joining(agent)));
            }
        }
    }
    Ok(())
}
