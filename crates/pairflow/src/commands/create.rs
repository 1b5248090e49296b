//! `pairflow create` and `pairflow new`: make a bubble for a task; `new` also starts it.

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use pairflow_core::rules::Agents;
use serde::Serialize;

use super::{App, Args, CommandEntry, CommandError, Out, TextLine, Tone, command, nonempty, people, start};
use crate::app::BubbleRequest;
use crate::args::SetupArgs;

const CREATE_EXAMPLES: &str = r#"Examples:
  pairflow create --id login-race --base main --task "fix the login race" --test "cargo test"
  pairflow create --id login-race --task @task.md --pair codex,claude --yes --start

`pairflow start --help` shows a script for `--driver script`; docs/script.md describes it."#;

/// How wide the labels are, the gap included, unless a check has a longer name.
const LABEL_WIDTH: usize = 9;

/// Create a bubble for a task
///
/// The commands that check the work are detected, shown, and confirmed once per repository.
#[derive(Debug, Clone, Args)]
#[command(after_help = CREATE_EXAMPLES)]
pub struct CreateArgs {
    /// The bubble's id [default: made from the task]
    #[arg(long, value_name = "ID")]
    pub id: Option<BubbleId>,
    /// The task: text, `@FILE`, a file, or `-` for stdin [default: opens an editor]
    #[arg(long, value_name = "TEXT|@FILE|FILE|-", value_parser = nonempty, allow_hyphen_values = true)]
    pub task: Option<String>,
    /// Start it, too
    #[arg(long)]
    pub start: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// How it is set up
    #[command(flatten)]
    pub setup: SetupArgs,
}

/// The line of the table.
pub const CREATE: CommandEntry = command!("create", Bubbles, CreateArgs, create, people);

/// A new bubble as programs see it.
#[derive(Serialize)]
struct Created<'a> {
    bubble_id: &'a BubbleId,
    state: &'a str,
    repo: &'a str,
    base_branch: &'a str,
    bubble_branch: &'a str,
    agents: &'a Agents,
    checks: &'a [pairflow_core::rules::Check],
    setup: Option<&'a str>,
    manual_checks: &'a [String],
    confirmed: &'a str,
    acceptance_criteria: &'a [String],
}

fn create(args: CreateArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let task = app.task("pairflow create --task", args.task.as_deref())?;
    let order = BubbleRequest { id: args.id, task, setup: &args.setup, starts: args.start };
    let (bubble, state) = app.make(out, order)?;
    if !args.json {
        show(out, &state)?;
    }
    let state = if args.start { start::begin_new(app, out, &bubble)? } else { state };
    if args.json {
        return print_json(out, &state);
    }
    if args.start {
        return start::tell(out, &state);
    }
    out.next(format_args!("pairflow start {}", state.id));
    Ok(())
}

/// Says what was made.
pub(crate) fn show(out: &mut Out, state: &BubbleState) -> Result<(), CommandError> {
    let rules = &state.rules;
    let longest = rules.checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
    let width = (longest + 1).max(LABEL_WIDTH);
    let mut row = |label: &str, text: String| {
        out.paint(&TextLine::new().add(Tone::Faint, format!("{label:<width$}")).plain(text))
    };
    row("bubble", state.id.to_string())?;
    row("repo", state.about.repo.clone())?;
    row("base", rules.base_branch.clone())?;
    row("agents", format!("{} implements, {} reviews", rules.agents.implementer, rules.agents.reviewer))?;
    for check in &rules.checks {
        row(&check.name, check.command.clone())?;
    }
    if let Some(setup) = &rules.setup {
        row("setup", setup.clone())?;
    }
    for check in &rules.manual_checks {
        row("by hand", check.clone())?;
    }
    Ok(())
}

/// Prints what was made, for programs.
pub(crate) fn print_json(out: &mut Out, state: &BubbleState) -> Result<(), CommandError> {
    out.json("created/1", &created(state))
}

fn created(state: &BubbleState) -> Created<'_> {
    Created {
        bubble_id: &state.id,
        state: state.phase.name().as_str(),
        repo: &state.about.repo,
        base_branch: &state.rules.base_branch,
        bubble_branch: &state.rules.bubble_branch,
        agents: &state.rules.agents,
        checks: &state.rules.checks,
        setup: state.rules.setup.as_deref(),
        manual_checks: &state.rules.manual_checks,
        confirmed: &state.about.confirmed,
        acceptance_criteria: &state.about.acceptance_criteria,
    }
}

const NEW_EXAMPLES: &str = r#"Examples:
  pairflow new "fix the login race"
  pairflow new @task.md --pair claude,codex"#;

/// Create a bubble for a task and start it
///
/// By default the id is made from the text, and the base is the current branch of this repository.
#[derive(Debug, Clone, Args)]
#[command(after_help = NEW_EXAMPLES)]
pub struct NewArgs {
    /// The task: text, `@FILE`, a file, or `-` for stdin [default: opens an editor]
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
    /// The bubble's id [default: made from the text]
    #[arg(long, value_name = "ID")]
    pub id: Option<BubbleId>,
    /// Wait for the checks on the base, and fail if one of them fails there
    #[arg(long)]
    pub ci: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// How it is set up
    #[command(flatten)]
    pub setup: SetupArgs,
}

/// The line of the table.
pub const NEW: CommandEntry = command!("new", Everyday, NewArgs, new, people);

fn new(args: NewArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let words = args.text.join(" ");
    let task = app.task("pairflow new", (!args.text.is_empty()).then_some(words.as_str()))?;
    let (bubble, made) = app.make(out, BubbleRequest { id: args.id, task, setup: &args.setup, starts: true })?;
    if !args.json {
        show(out, &made)?;
    }
    let state = start::begin_new(app, out, &bubble)?;
    let state = start::on_base(app, out, (&bubble, state), args.ci, args.json)?;
    if args.json { print_json(out, &state) } else { start::tell(out, &state) }
}
