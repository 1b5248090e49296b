//! `pairflow converged`: the claim that nothing is left to do.

use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::log::RetryKey;
use pairflow_engine::verbs::AgentSays;

use crate::app::App;
use crate::args::said;
use crate::commands::pass::{Recorded, explanation};
use crate::entry::{CommandEntry, Group, anyone};
use crate::exit::CommandError;
use crate::out::Out;

/// Claim, as the reviewer, that the work has converged
///
/// Counts as a clean review if that completes all criteria; otherwise nothing is counted, and every unmet one is named.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow converged --summary \"both reviews clean, tests pass\"")]
pub struct ConvergedArgs {
    /// Why the work is done, in a sentence or two, or `-` for stdin
    #[arg(long, value_name = "TEXT", value_parser = said, allow_hyphen_values = true)]
    pub summary: String,
    /// A file that the claim points to (can be repeated)
    #[arg(long = "ref", value_name = "PATH")]
    pub refs: Vec<String>,
    /// A Markdown file, or `-` for stdin, that tells the person what changed, why, the risks and a manual test plan, one heading each
    #[arg(long, value_name = "FILE")]
    pub explain: Option<PathBuf>,
    /// The slices of a long change that were read, as `1,2,3`
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub reviewed: Vec<u32>,
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
    name: "converged",
    aliases: &[],
    group: Group::Agent,
    about: "Claim, as the reviewer, that the work has converged",
    hidden: false,
    human_only: anyone,
    args: ConvergedArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = ConvergedArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let sender = app.sender(args.id.as_deref())?;
    let summary = app.message("--summary", &args.summary)?;
    let explanation = explanation(app, args.explain.as_deref())?;
    let (refs, reviewed, key) = (args.refs, args.reviewed, args.key.map(RetryKey));
    let heard = sender.say(AgentSays::Converged { summary, refs, explanation, reviewed, key })?;
    sender.warn_if_alone(out);
    if args.json {
        return out.json("recorded/1", &Recorded::of(&heard));
    }
    let id = heard.id.as_ref().map_or("", |id| id.0.as_str());
    let already = if heard.repeated { "Already recorded" } else { "Converged, recorded" };
    out.line(format_args!("{already} as {id}; bubble {} is {}.", heard.state.bubble_id, heard.state.state))
}
