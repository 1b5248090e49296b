//! `pairflow pass`, `pairflow ask-human` and `pairflow converged`: what agents say about their turn.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, FromArgMatches};
use pairflow_core::facts::{Answers, Dispute, Explanation, Finding, FixTest, Seat, Step};
use pairflow_core::findings::feedback;
use pairflow_core::findings::feedback::{Feedback, ReviewClaim};
use pairflow_core::ids::{FindingId, MsgId};
use pairflow_core::log::RetryKey;
use pairflow_core::view::StateFields;
use pairflow_core::view::waiting::WaitFor;
use pairflow_engine::verbs::{AgentReply, AgentRequest, PassRequest};
use serde::Serialize;

use super::{App, Args, CommandEntry, CommandError, Out, anyone, command, nonempty};
use crate::args::{IntentArg, about_finding};
use crate::entry::CommandGroup;

const PASS_EXAMPLES: &str = r#"Examples:
  pairflow pass --summary "added the lock and a test" --fixed F1 --dispute F2 --reason "the caller holds it"
  pairflow pass --summary "writes to a temporary file" --fixed F1 --test F1="cargo test rollback"
  pairflow pass --summary "named the lock" --fixed F1 --untestable F1="only the comment was wrong"
  pairflow pass --summary "tests from the task" --acceptance tests/login_test.rs --run "cargo test login"
  pairflow pass --summary "reviewed login.rs" --finding "P1:no rollback when the write fails"
  pairflow pass --summary "reviewed login.rs" --finding "P1:the lock is lost on errors" --repeats F3
  pairflow pass --summary "reviewed login.rs" --findings ../review.json --confirm F1 --reopen F2
  pairflow pass --summary "reviewed login.rs" --no-findings
  pairflow pass --summary "the reproducer needs pytest, which is not here" --findings ../review.json --retract F3 --confirm F3
  pairflow pass --summary "wrote the PRD" --step "dry-run=a loop around the download" --blocker "no limit for retries"

A findings file is JSON:
  {"findings": [{"severity": "P1", "title": "no rollback when the write fails", "file": "src/login.rs", "line": 42,
                 "class": "data_integrity", "suggestion": "write to a temporary file first",
                 "reproducer": "cargo test rollback", "repeats": "F3"}],
   "confirm": ["F1"], "reopen": ["F2"], "retract": []}"#;

/// Hand the work to the other agent
///
/// Reviewers must report findings or pass --no-findings; implementers answer findings by their ids.
#[derive(Debug, Clone, Args)]
#[command(after_help = PASS_EXAMPLES)]
pub struct PassArgs {
    /// What was done, in one or two sentences, or `-` for stdin
    #[arg(long, value_name = "TEXT", value_parser = nonempty, allow_hyphen_values = true)]
    pub summary: String,
    /// A file that the message refers to (can be repeated)
    #[arg(long = "ref", value_name = "PATH")]
    pub refs: Vec<String>,
    /// What the other agent is asked to do
    #[arg(long, value_name = "INTENT")]
    pub intent: Option<IntentArg>,
    /// A step of a document bubble: dry-run=… by the implementer; contradictions=…, dry-run=…, adversarial=… by a reviewer (can be repeated)
    #[arg(long = "step", value_name = "NAME=RESULT")]
    pub steps: Vec<Step>,
    /// What a reviewer says
    #[command(flatten)]
    pub review: ReviewArgs,
    /// What an implementer says
    #[command(flatten)]
    pub answer: AnswerArgs,
    /// What the author of acceptance tests says
    #[command(flatten)]
    pub tests: AcceptanceArgs,
    /// A Markdown file, or `-` for stdin, with the headings What changed, Why, Risks and Manual test plan
    #[arg(long, value_name = "FILE")]
    pub explain: Option<PathBuf>,
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

/// What a reviewer says.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Reviewers")]
pub struct ReviewArgs {
    /// A finding, as `P1:title` (can be repeated)
    #[arg(long = "finding", value_name = "SEVERITY:TITLE", conflicts_with = "no_findings")]
    pub findings: Vec<Finding>,
    /// The finding that the --finding before it repeats in other words
    #[arg(long, value_name = "FINDING", requires = "findings")]
    pub repeats: Vec<FindingId>,
    /// A file of findings as JSON, or `-` for stdin
    #[arg(long = "findings", value_name = "FILE", conflicts_with = "no_findings")]
    pub findings_file: Option<String>,
    /// Report no findings; accepts every answer and settles every P0 and P1
    #[arg(long, conflicts_with = "reopen")]
    pub no_findings: bool,
    /// A finding whose answer is accepted (can be repeated)
    #[arg(long, value_name = "FINDING")]
    pub confirm: Vec<FindingId>,
    /// A finding whose answer is rejected (can be repeated)
    #[arg(long, value_name = "FINDING")]
    pub reopen: Vec<FindingId>,
    /// A finding of this agent whose reproducer is wrong (can be repeated)
    #[arg(long, value_name = "FINDING")]
    pub retract: Vec<FindingId>,
    /// The slices of a long change that were reviewed, as `1,2,3`
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub reviewed: Vec<u32>,
}

/// What an implementer says.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Implementers")]
pub struct AnswerArgs {
    /// A finding that is fixed (can be repeated)
    #[arg(long, value_name = "FINDING")]
    pub fixed: Vec<FindingId>,
    /// The command that shows a --fixed finding: it fails without the fix and passes with it (can be repeated)
    #[arg(long = "test", value_name = "FINDING=COMMAND", value_parser = about_finding, requires = "fixed")]
    pub tests: Vec<(FindingId, String)>,
    /// Why no test can show a --fixed finding (can be repeated)
    #[arg(long, value_name = "FINDING=REASON", value_parser = about_finding, requires = "fixed")]
    pub untestable: Vec<(FindingId, String)>,
    /// A finding that is wrong, with a --reason for each (can be repeated)
    #[arg(long, value_name = "FINDING", requires = "reason")]
    pub dispute: Vec<FindingId>,
    /// The reason for a --dispute (can be repeated)
    #[arg(long, value_name = "TEXT", value_parser = nonempty, allow_hyphen_values = true, requires = "dispute")]
    pub reason: Vec<String>,
    /// What blocks the implementation of the document; becomes a P1 finding (can be repeated)
    #[arg(long = "blocker", value_name = "TEXT", value_parser = nonempty, allow_hyphen_values = true)]
    pub blockers: Vec<String>,
}

/// What the author of acceptance tests says.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Acceptance tests")]
pub struct AcceptanceArgs {
    /// The files of the tests, relative to the scratch directory that the brief names (can be repeated)
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "run")]
    pub acceptance: Vec<String>,
    /// The command that runs them, at the root of the repository
    #[arg(long, value_name = "COMMAND", value_parser = nonempty, allow_hyphen_values = true, requires = "acceptance")]
    pub run: Option<String>,
    /// Say that no acceptance test can be written from the task
    #[arg(long, conflicts_with = "acceptance")]
    pub no_acceptance: bool,
}

/// The line of the table.
pub const PASS: CommandEntry =
    CommandEntry { name: "pass", group: CommandGroup::Agents, human_only: anyone, args: PassArgs::augment_args, run };

/// What `pass`, `ask-human` and `converged` print for programs.
#[derive(Serialize)]
pub(crate) struct RecordedCall<'a> {
    id: Option<&'a MsgId>,
    repeated: bool,
    came_back: &'a [String],
    #[serde(flatten)]
    state: &'a StateFields,
}

impl<'a> RecordedCall<'a> {
    /// Makes it from the answer to a call.
    pub(crate) fn of(heard: &'a AgentReply) -> Self {
        Self { id: heard.id.as_ref(), repeated: heard.repeated, came_back: &heard.came_back, state: &heard.state }
    }
}

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let mut args = PassArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let sender = app.sender(args.id.as_deref())?;
    name_repeated(matches, &mut args.review)?;
    let heard = sender.say(AgentRequest::Pass(Box::new(handover(app, &args)?)))?;
    sender.warn_if_alone(out);
    if args.json {
        return out.json("recorded/1", &RecordedCall::of(&heard));
    }
    let (state, id) = (&heard.state, heard.id.as_ref().map_or("", |id| id.0.as_str()));
    let already = if heard.repeated { "Already recorded" } else { "Recorded" };
    match (&state.active_agent, state.active_role) {
        _ if !heard.came_back.is_empty() => {
            let (why, bubble) = (heard.came_back.join(", "), &state.bubble_id);
            out.line(format_args!("{already} as {id}; the work was sent back to you: {why}"))?;
            out.line(format_args!(
                "It is still your turn. Fix it and hand over again. To hand over unchanged files again, read the brief \
                 first: pairflow brief {bubble}"
            ))?;
        }
        (Some(agent), Some(seat)) if *agent != heard.by => {
            // What a check or a reproducer shows may send the work back before.
            let then = if seat == Seat::Reviewer { ", unless a check fails or no file has changed" } else { "" };
            out.line(format_args!("{already} as {id}: {agent} is next, as {seat} of round {}{then}", state.round))?;
        }
        _ => out.line(format_args!("{already} as {id} in bubble {}", state.bubble_id))?,
    }
    let unsettled: Vec<_> = heard.unsettled.iter().map(ToString::to_string).collect();
    if unsettled.is_empty() {
        return Ok(());
    }
    out.line(format_args!(
        "Answered but still open: {}; settle them with --confirm or --reopen, and a wrong reproducer with --retract",
        unsettled.join(", ")
    ))
}

/// Gives each `--repeats` to the `--finding` before it.
fn name_repeated(matches: &ArgMatches, review: &mut ReviewArgs) -> Result<(), CommandError> {
    let places = |name: &str| matches.indices_of(name).into_iter().flatten().collect::<Vec<_>>();
    let findings = places("findings");
    for (place, row) in places("repeats").into_iter().zip(&review.repeats) {
        let finding = findings.iter().rposition(|at| *at < place).and_then(|at| review.findings.get_mut(at));
        match finding {
            Some(finding) if finding.repeats.is_none() => finding.repeats = Some(*row),
            _ => {
                let message = format!(
                    "--repeats {row} must follow the --finding that repeats it, once; if {row} itself is still open, \
                     use --reopen {row}."
                );
                return Err(CommandError::usage(message));
            }
        }
    }
    Ok(())
}

/// Puts together what is said, from flags and files.
fn handover(app: &App, args: &PassArgs) -> Result<PassRequest, CommandError> {
    let summary = app.message("--summary", &args.summary)?;
    let reviewed = reviewed(app, &args.review)?;
    Ok(PassRequest {
        summary,
        refs: args.refs.clone(),
        intent: args.intent.map(Into::into),
        answers: answers(args, &reviewed)?,
        findings: reviewed.findings,
        explanation: explanation(app, args.explain.as_deref())?,
        steps: args.steps.clone(),
        blockers: args.answer.blockers.clone(),
        discuss: reviewed.discuss,
        insists: reviewed.insists,
        reviewed: args.review.reviewed.clone(),
        acceptance: args.tests.acceptance.clone(),
        run: args.tests.run.clone(),
        no_acceptance: args.tests.no_acceptance,
        key: args.key.clone().map(RetryKey),
    })
}

/// What a review declared, from flags and file together.
struct Declared {
    findings: Option<Vec<Finding>>,
    confirm: Vec<FindingId>,
    reopen: Vec<FindingId>,
    retract: Vec<FindingId>,
    discuss: bool,
    insists: bool,
}

fn reviewed(app: &App, args: &ReviewArgs) -> Result<Declared, CommandError> {
    let mut findings = args.findings.clone();
    let (mut confirm, mut reopen) = (args.confirm.clone(), args.reopen.clone());
    let mut retract = args.retract.clone();
    let (mut discuss, mut insists) = (false, false);
    if let Some(file) = &args.findings_file {
        let text = app.file_or_stdin("--findings", file)?;
        let read = feedback::read(&text).map_err(|why| CommandError::usage(format_args!("{file}: {why}")))?;
        insists = read.insists();
        let Feedback { claim, findings: more, confirm: taken, reopen: refused, retract: withdrawn, .. } = read;
        discuss = claim == ReviewClaim::NeedsDiscussion;
        findings.extend(more);
        confirm.extend(taken);
        reopen.extend(refused);
        retract.extend(withdrawn);
    }
    let declared = args.no_findings || !findings.is_empty() || args.findings_file.is_some();
    Ok(Declared { findings: declared.then_some(findings), confirm, reopen, retract, discuss, insists })
}

fn answers(args: &PassArgs, declared: &Declared) -> Result<Answers, CommandError> {
    let AnswerArgs { fixed, dispute, reason, .. } = &args.answer;
    if dispute.len() != reason.len() {
        let (disputes, reasons) = (dispute.len(), reason.len());
        let message = format!("each --dispute needs its own --reason: got {disputes} and {reasons}.");
        return Err(CommandError::usage(message));
    }
    let disputed = dispute.iter().zip(reason);
    let disputed = disputed.map(|(finding, reason)| Dispute { finding: *finding, reason: reason.clone() }).collect();
    let (confirmed, reopened) = (declared.confirm.clone(), declared.reopen.clone());
    let retracted = declared.retract.clone();
    let tests = args.answer.tests.iter().cloned().map(|(finding, command)| FixTest { finding, command }).collect();
    let untestable =
        args.answer.untestable.iter().cloned().map(|(finding, reason)| Dispute { finding, reason }).collect();
    Ok(Answers { fixed: fixed.clone(), disputed, confirmed, reopened, retracted, tests, untestable })
}

/// Reads an explanation pack. A file without any of its headings explains nothing, and is refused.
pub(crate) fn explanation(app: &App, file: Option<&Path>) -> Result<Option<Explanation>, CommandError> {
    let Some(file) = file else { return Ok(None) };
    let text = app.file_or_stdin("--explain", &file.to_string_lossy())?;
    let explanation = Explanation::read(&text);
    if explanation == Explanation::default() {
        let message =
            format!("{} has none of the headings 'What changed', 'Why', 'Risks', 'Manual test plan'.", file.display());
        return Err(CommandError::usage(message));
    }
    Ok(Some(explanation))
}

/// Ask the person a question
///
/// The bubble stops until the question is answered. Agents in panes get the answer as a notice; others wait for it with
/// `pairflow wait --for answer`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow ask-human --question \"May the public API change?\"")]
pub struct AskHumanArgs {
    /// The question, or `-` for stdin
    #[arg(long, value_name = "TEXT", value_parser = nonempty, allow_hyphen_values = true)]
    pub question: String,
    /// A file that the question refers to (can be repeated)
    #[arg(long = "ref", value_name = "PATH")]
    pub refs: Vec<String>,
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
pub const ASK_HUMAN: CommandEntry = command!("ask-human", Agents, AskHumanArgs, ask_human, anyone);

fn ask_human(args: AskHumanArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let sender = app.sender(args.id.as_deref())?;
    let question = app.message("--question", &args.question)?;
    let heard = sender.say(AgentRequest::AskHuman { question, refs: args.refs, key: args.key.map(RetryKey) })?;
    if args.json {
        return out.json("recorded/1", &RecordedCall::of(&heard));
    }
    let id = heard.id.as_ref().map_or("", |id| id.0.as_str());
    let already = if heard.repeated { "Already asked" } else { "Asked" };
    out.line(format_args!("{already} as {id} in bubble {}", heard.state.bubble_id))?;
    out.note(format_args!("The bubble stops until a person has replied."));
    if heard.unnotified {
        out.next(format_args!("{}", WaitFor::Answer.line(&heard.state.bubble_id)));
    }
    Ok(())
}

/// Claim, as the reviewer, that the work has converged
///
/// Counts as a clean review if it completes all criteria. Otherwise it is refused and every unmet criterion is named.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow converged --summary \"both reviews clean, tests pass\"")]
pub struct ConvergedArgs {
    /// Why the work is done, in one or two sentences, or `-` for stdin
    #[arg(long, value_name = "TEXT", value_parser = nonempty, allow_hyphen_values = true)]
    pub summary: String,
    /// A file that the claim refers to (can be repeated)
    #[arg(long = "ref", value_name = "PATH")]
    pub refs: Vec<String>,
    /// A Markdown file, or `-` for stdin, with the headings What changed, Why, Risks and Manual test plan
    #[arg(long, value_name = "FILE")]
    pub explain: Option<PathBuf>,
    /// The slices of a long change that were reviewed, as `1,2,3`
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub reviewed: Vec<u32>,
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
pub const CONVERGED: CommandEntry = command!("converged", Agents, ConvergedArgs, converged, anyone);

fn converged(args: ConvergedArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let sender = app.sender(args.id.as_deref())?;
    let summary = app.message("--summary", &args.summary)?;
    let explanation = explanation(app, args.explain.as_deref())?;
    let (refs, reviewed, key) = (args.refs, args.reviewed, args.key.map(RetryKey));
    let heard = sender.say(AgentRequest::Converged { summary, refs, explanation, reviewed, key })?;
    sender.warn_if_alone(out);
    if args.json {
        return out.json("recorded/1", &RecordedCall::of(&heard));
    }
    let id = heard.id.as_ref().map_or("", |id| id.0.as_str());
    let already = if heard.repeated { "Already recorded" } else { "Converged, recorded" };
    out.line(format_args!("{already} as {id}; bubble {} is {}.", heard.state.bubble_id, heard.state.state))
}
