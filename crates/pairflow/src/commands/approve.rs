//! `pairflow approve`: the person's yes to a snapshot.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::bubble::{Phase, Refusal};
use pairflow_core::log::RetryKey;
use pairflow_engine::engine::{Bubble, EngineError};

use crate::app::{App, fits, quoted};
use crate::args::{BubbleArg, said};
use crate::commands::{commit, status};
use crate::entry::{CommandEntry, Group};
use crate::exit::CommandError;
use crate::out::Out;

/// Approve the work of a bubble for commit
///
/// The approval is for exactly the tree in the approval package.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow approve login-race --yes")]
pub struct ApproveArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// A name for this attempt: repeated with the same key, it is recorded once
    #[arg(long, value_name = "KEY", value_parser = said)]
    pub key: Option<String>,
    /// Print where the bubble stands then, as JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "approve",
    aliases: &[],
    group: Group::Operator,
    about: "Approve the work of a bubble for commit",
    hidden: false,
    human_only: |_| true,
    args: ApproveArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = ApproveArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.bubble_that(fits::ready, &args.bubble, "approve")?;
    let state = bubble.load()?.state;
    commit::tell_identity(out, &bubble, &state)?;
    let shown = match &state.phase {
        Phase::ReadyForApproval(request) => {
            app.insist(out, args.yes, &format!("Approve tree {} of {}?", request.tree.short(), bubble.id))?;
            Some(request.package_sha256.as_str())
        }
        _ => None,
    };
    out.progress(format_args!("comparing the worktree of {} with the reviewed tree …", bubble.id));
    let applied = bubble.approve(shown, args.key.map(RetryKey)).map_err(|error| told(&bubble, error))?;
    app.hands().wake(&bubble)?;
    if args.json {
        return status::print_json(app, out, &bubble, &applied.state);
    }
    let tree = applied.state.tree().map_or("", |tree| tree.short());
    out.line(format_args!("Approved tree {tree} of bubble {}", bubble.id))?;
    out.next(format_args!("pairflow commit {}", bubble.id));
    Ok(())
}

/// Tells why an approval was refused; if the worktree is not what was reviewed, with the way back to that.
pub(crate) fn told(bubble: &Bubble, error: EngineError) -> CommandError {
    let drifted =
        matches!(&error, EngineError::Refused { refusal, .. } if matches!(**refusal, Refusal::WorktreeDiffers { .. }));
    let error = CommandError::from(error);
    let state = bubble.load().map(|loaded| loaded.state).ok().filter(|_| drifted);
    let Some((workspace, tree)) =
        state.as_ref().and_then(|state| Some((state.evidence.workspace.as_ref()?, state.tree()?)))
    else {
        return error;
    };
    let git = format!("git -C {}", quoted(&workspace.path));
    let back = format!("{git} add -A && {git} read-tree --reset -u {}", tree.0);
    let message = format!(
        "{}; send it back to have it reviewed, or drop what was edited since and go back to the reviewed tree: {back}",
        error.message
    );
    CommandError { message, ..error }
}
