//! `pairflow new`: a bubble out of a sentence, started at once.

use clap::Args;
use pairflow_core::ids::BubbleId;

use crate::app::{App, Order};
use crate::args::SetupArgs;
use crate::commands::{create, start};
use crate::entry::{CommandEntry, command, people};
use crate::exit::CommandError;
use crate::out::Out;

const EXAMPLES: &str = r#"Examples:
  pairflow new "fix the login race"
  pairflow new @task.md --pair claude,codex"#;

/// Make a bubble for a task and start it
///
/// The id is made out of the text, the repository is this one, the base is the current branch.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct NewArgs {
    /// The task: text, `@FILE`, a file, or `-` for stdin; without it an editor opens
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
    /// The bubble's id; without it made out of the text
    #[arg(long, value_name = "ID")]
    pub id: Option<BubbleId>,
    /// How it is set up
    #[command(flatten)]
    pub setup: SetupArgs,
    /// Wait for the checks on the base, and end with an error if one does not pass there
    #[arg(long)]
    pub ci: bool,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("new", Everyday, NewArgs, run, people);

fn run(args: NewArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let words = args.text.join(" ");
    let task = app.task("pairflow new", (!args.text.is_empty()).then_some(words.as_str()))?;
    let (bubble, made) = app.make(out, Order { id: args.id, task, setup: &args.setup, starts: true })?;
    if !args.json {
        create::show(out, &made)?;
    }
    let state = start::begin_new(app, out, &bubble)?;
    let state = start::on_base(app, out, (&bubble, state), args.ci, args.json)?;
    if args.json { create::print_json(out, &state) } else { start::tell(out, &state) }
}
