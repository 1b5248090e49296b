//! `pairflow approve` and `pairflow request-rework`: a person's decision about accepted work.

use pairflow_core::bubble::{Command, Phase, Refusal};
use pairflow_core::ids::FindingId;
use pairflow_core::log::RetryKey;
use pairflow_engine::engine::{Bubble, EngineError};

use super::{
    App, Args, BubbleArg, CommandEntry, CommandError, Out, command, commit, fits, nonempty, people, quoted, status,
};

/// Approve a bubble's work for commit
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
    /// A retry key: calls with the same key are recorded once
    #[arg(long, value_name = "KEY", value_parser = nonempty)]
    pub key: Option<String>,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const APPROVE: CommandEntry = command!("approve", Decisions, ApproveArgs, approve, people);

fn approve(args: ApproveArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::ready, &args.bubble, "approve")?;
    let state = bubble.load()?.state;
    commit::tell_identity(out, &bubble, &state)?;
    let shown = match &state.phase {
        Phase::ReadyForApproval(request) => {
            app.require_yes(out, args.yes, &format!("Approve tree {} of {}?", request.tree.short(), bubble.id))?;
            Some(request.package_sha256.as_str())
        }
        _ => None,
    };
    out.progress(format_args!("comparing the worktree of {} with the reviewed tree …", bubble.id));
    let applied = bubble.approve(shown, args.key.map(RetryKey)).map_err(|error| explain_refusal(&bubble, error))?;
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
pub(crate) fn explain_refusal(bubble: &Bubble, error: EngineError) -> CommandError {
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
    let message =
        format!("{}; send it back for review, or drop the edits and restore the reviewed tree: {back}", error.message);
    CommandError { message, ..error }
}

const REQUEST_REWORK_EXAMPLES: &str = r#"Example:
  pairflow request-rework login-race --message "handle the empty list" --finding F3"#;

/// Send the work back to the implementer
///
/// Withdraws an approval, clears the clean reviews and grants a new budget of rounds.
#[derive(Debug, Clone, Args)]
#[command(after_help = REQUEST_REWORK_EXAMPLES)]
pub struct RequestReworkArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// What to change, or `-` for stdin
    #[arg(long, short = 'm', value_name = "TEXT", value_parser = nonempty, allow_hyphen_values = true)]
    #[arg(required_unless_present = "findings")]
    pub message: Option<String>,
    /// Reject the whole approach
    #[arg(long)]
    pub reject: bool,
    /// A finding that must be fixed (can be repeated)
    #[arg(long = "finding", value_name = "F1")]
    pub findings: Vec<FindingId>,
    /// A retry key: calls with the same key are recorded once
    #[arg(long, value_name = "KEY", value_parser = nonempty)]
    pub key: Option<String>,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const REQUEST_REWORK: CommandEntry =
    command!("request-rework", Decisions, RequestReworkArgs, request_rework, people);

fn request_rework(args: RequestReworkArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::accepted, &args.bubble, "request-rework")?;
    let text = args.message.as_deref().map(|words| app.message("--message", words)).transpose()?.unwrap_or_default();
    let mut refs = Vec::new();
    let message = bubble.inline(&text, &mut refs)?;
    let command =
        Command::Rework { message, reject: args.reject, findings: args.findings, refs, key: args.key.map(RetryKey) };
    let applied = bubble.apply(&command)?;
    app.hands().wake(&bubble)?;
    if args.json {
        return status::print_json(app, out, &bubble, &applied.state);
    }
    match applied.state.phase.turn() {
        Some(turn) => out.line(format_args!(
            "Sent the work back: {} is next, as {} of round {} in bubble {}",
            turn.agent, turn.seat, applied.state.rounds.round, bubble.id
        )),
        None => out.line(format_args!("Sent the work back in bubble {}", bubble.id)),
    }
}
