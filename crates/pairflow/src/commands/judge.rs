//! `pairflow judge`: the judge of a dispute decides it.

use pairflow_core::facts::{Judgement, Ruling};
use pairflow_core::ids::FindingId;
use pairflow_core::log::RetryKey;
use pairflow_engine::verbs::AgentRequest;

use super::pass::RecordedCall;
use super::{App, Args, CommandEntry, CommandError, Out, anyone, command, nonempty};

const EXAMPLES: &str = r#"Examples:
  pairflow judge F3 --uphold --reason "the write in save() is not atomic; a crash leaves half a file"
  pairflow judge F3 --dismiss --reason "the caller holds the lock; see session.rs"

Exit 0 means that the decision is recorded. A dismissed P0 is shown to a person, who decides."#;

/// Decide a dispute, as the judge
///
/// The implementer disputes a finding on which the reviewer insists. Say whether it holds, and why.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("ruling").required(true).args(["uphold", "dismiss"]))]
pub struct JudgeArgs {
    /// The disputed finding
    #[arg(value_name = "FINDING")]
    pub finding: FindingId,
    /// The finding holds and has to be fixed
    #[arg(long)]
    pub uphold: bool,
    /// The finding does not hold
    #[arg(long)]
    pub dismiss: bool,
    /// Why, in one or two sentences, or `-` for stdin
    #[arg(long, value_name = "TEXT", value_parser = nonempty, allow_hyphen_values = true)]
    pub reason: String,
    /// The bubble; must be the one that this agent works in
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// A retry key: calls with the same key are recorded once
    #[arg(long, value_name = "KEY", value_parser = nonempty)]
    pub key: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("judge", Agents, JudgeArgs, run, anyone);

fn run(args: JudgeArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let sender = app.sender(args.id.as_deref())?;
    let ruling = if args.uphold { Ruling::Upheld } else { Ruling::Dismissed };
    let judgement = Judgement { finding: args.finding, ruling, reason: app.message("--reason", &args.reason)? };
    let heard = sender.say(AgentRequest::Judge { judgement, key: args.key.map(RetryKey) })?;
    sender.warn_if_alone(out);
    if args.json {
        return out.json("recorded/1", &RecordedCall::of(&heard));
    }
    let id = heard.id.as_ref().map_or("", |id| id.0.as_str());
    let already = if heard.repeated { "Already recorded" } else { "Recorded" };
    out.line(format_args!("{already} as {id}: {} {ruling} in bubble {}", args.finding, heard.state.bubble_id))?;
    if let Some(next) = heard.undecided.first() {
        out.note(format_args!("Another dispute is yours to decide: {next}"));
        out.next(format_args!("pairflow judge {next} --uphold|--dismiss --reason '…'"));
    }
    Ok(())
}
