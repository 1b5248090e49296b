//! `pairflow ok`: package, yes, approve, commit.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::log::ApprovalRequest;
use pairflow_core::unit::{Command, Phase, Unit};
use pairflow_core::view::criterion;
use pairflow_core::view::status::Status;
use pairflow_engine::engine::Bubble;

use crate::app::{App, fits};
use crate::commands::common::BubbleArg;
use crate::commands::{approve, commit, merge};
use crate::exit::CommandError;
use crate::out::Out;
use crate::table::{CommandEntry, Group};

/// Read the package, then approve and commit
///
/// Shows what was done and how it was checked, asks once, and makes one commit of exactly that tree.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow ok login-race\n  pairflow ok --merge --here")]
pub struct OkArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Bring it to the base branch too
    #[arg(long)]
    pub merge: bool,
    /// With --merge, also move the checkout that I am in, if it is clean
    #[arg(long, requires = "merge")]
    pub here: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "ok",
    aliases: &[],
    group: Group::Daily,
    about: "Read the package, then approve and commit",
    hidden: false,
    human_only: |_| true,
    args: OkArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = OkArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.bubble_that(fits::accepted, &args.bubble, "ok")?;
    let unit = bubble.load()?.unit;
    match &unit.phase {
        Phase::ReadyForApproval(request) => {
            show(&bubble, request, out)?;
            let question = format!("Approve tree {} of {} and commit it?", request.tree.short(), bubble.id);
            app.insist(out, args.yes, &question)?;
            approve(&bubble, request)?;
            commit(app, &bubble, out)?;
        }
        Phase::Approved(_) | Phase::Committed(_) => commit(app, &bubble, out)?,
        Phase::Done(_) if args.merge => {}
        _ => return Err(not_ready(app, &bubble, &unit)),
    }
    if args.merge {
        let here = if args.here { Some(app.cwd()?) } else { None };
        return merge::bring(app, out, &bubble, here);
    }
    out.next(format_args!("{}", merge::line(app, &unit)));
    Ok(())
}

/// Prints the package that is up for approval.
pub(crate) fn show(bubble: &Bubble, request: &ApprovalRequest, out: &mut Out) -> Result<(), CommandError> {
    let bytes = bubble.package(request)?;
    out.line(format_args!("{}", String::from_utf8_lossy(&bytes).trim_end()))
}

/// Approves what was shown; if something else is up for approval by now, nothing is approved.
pub(crate) fn approve(bubble: &Bubble, shown: &ApprovalRequest) -> Result<(), CommandError> {
    bubble.approve(Some(&shown.package_sha256), None).map(drop).map_err(|error| approve::told(bubble, error))
}

/// Commits what was approved, and says so.
pub(crate) fn commit(app: &App, bubble: &Bubble, out: &mut Out) -> Result<(), CommandError> {
    let order = Command::Commit { message: None, override_scope: None, hooks: false, author: app.author() };
    commit::make(app, out, bubble, &order).map_err(|error| {
        let message = format!("approved, but not committed: {}", error.message);
        CommandError { message, ..error }
    })
}

/// Says why there is nothing to approve, and what goes on.
fn not_ready(app: &App, bubble: &Bubble, unit: &Unit) -> CommandError {
    let status = Status::of(unit, app.clock.now());
    let mut reasons: Vec<String> =
        status.questions.iter().map(|open| format!("a question is open: {}", open.question)).collect();
    reasons.extend(status.failure.iter().cloned());
    let missing = status.missing_for_convergence.iter().filter(|_| unit.phase.turn().is_some());
    reasons.extend(missing.map(|unmet| criterion(unmet).to_owned()));
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
    let error =
        CommandError::refused(format_args!("{} is {}, not ready for approval{why}.", bubble.id, unit.phase.name()));
    match status.next.first() {
        Some(next) => error.next(next),
        None => error,
    }
}
