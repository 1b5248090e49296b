//! `pairflow ask-human`: a question that only a person can answer.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::log::RetryKey;
use pairflow_core::view::waiting::WaitFor;
use pairflow_engine::verbs::AgentSays;

use crate::app::App;
use crate::args::said;
use crate::commands::pass::Recorded;
use crate::entry::{CommandEntry, Group, anyone};
use crate::exit::CommandError;
use crate::out::Out;

/// Ask the person a question and wait for the answer
///
/// The bubble stands still until the question is answered. Agents in panes get the answer as a notice; others wait for it
/// with `pairflow wait --for answer`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow ask-human --question \"May the public API change?\"")]
pub struct AskHumanArgs {
    /// The question, or `-` for stdin
    #[arg(long, value_name = "TEXT", value_parser = said, allow_hyphen_values = true)]
    pub question: String,
    /// A file that the question points to (can be repeated)
    #[arg(long = "ref", value_name = "PATH")]
    pub refs: Vec<String>,
    /// The bubble; has to be the one that this agent works in
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// A name for this attempt: repeated with the same key, it is recorded once
    #[arg(long, value_name = "KEY", value_parser = said)]
    pub key: Option<String>,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "ask-human",
    aliases: &[],
    group: Group::Agent,
    about: "Ask the person a question and wait for the answer",
    hidden: false,
    human_only: anyone,
    args: AskHumanArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = AskHumanArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let sender = app.sender(args.id.as_deref())?;
    let question = app.message("--question", &args.question)?;
    let heard = sender.say(AgentSays::AskHuman { question, refs: args.refs, key: args.key.map(RetryKey) })?;
    if args.json {
        return out.json("recorded/1", &Recorded::of(&heard));
    }
    let id = heard.id.as_ref().map_or("", |id| id.0.as_str());
    let already = if heard.repeated { "Already asked" } else { "Asked" };
    out.line(format_args!("{already} as {id} in bubble {}", heard.state.bubble_id))?;
    out.note(format_args!("Wait for the answer: the bubble stands still until a person has replied."));
    if heard.unnotified {
        out.next(format_args!("{}", WaitFor::Answer.line(&heard.state.bubble_id)));
    }
    Ok(())
}
