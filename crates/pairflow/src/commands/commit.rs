//! `pairflow commit`: one commit of exactly the approved tree.

use pairflow_core::bubble::{Approval, BubbleState, Command, Phase};
use pairflow_core::ids::CommitId;
use pairflow_engine::engine::Bubble;
use pairflow_engine::perform::seen;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, fits, nonempty, people, status};

const EXAMPLES: &str = r#"Examples:
  pairflow commit login-race --yes
  pairflow commit login-race --override-scope --reason "the lock file had to change""#;

/// Commit the approved snapshot on the bubble's branch
///
/// Returns when the commit was made or has failed. Nothing is pushed.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct CommitArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// The commit message, or `-` for stdin [default: the one of the package]
    #[arg(long, short = 'm', value_name = "TEXT", value_parser = nonempty, allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Commit files outside of the bubble's scope, too
    #[arg(long, requires = "reason")]
    pub override_scope: bool,
    /// The reason to ignore the scope
    #[arg(long, value_name = "TEXT", requires = "override_scope", value_parser = nonempty, allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// Run the repository's own commit hooks
    #[arg(long)]
    pub hooks: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("commit", Decisions, CommitArgs, run, people);

fn run(args: CommitArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble_that(fits::approved, &args.bubble, "commit")?;
    let message = args.message.as_deref().map(|words| app.message("--message", words)).transpose()?;
    let command = Command::Commit { message, override_scope: args.reason, hooks: args.hooks, author: None };
    let state = bubble.load()?.state;
    if let Some(notice) = bubble.identity_notice(&state)? {
        // How to take it over was said before the approval; after the commit it is too late for that.
        out.warn(format_args!("{}", notice.text));
    }
    require_yes(app, out, args.yes, &state, "")?;
    if args.json {
        let (_, state) = committed(app, out, &bubble, &command)?;
        return status::print_json(app, out, &bubble, &state);
    }
    make(app, out, &bubble, &command)?;
    out.next(format_args!("{}", status::merge_line(app, &bubble.load()?.state)));
    Ok(())
}

/// Insists on a yes to the commit of what is approved; `more` says what else follows. A commit that was asked for already
/// is only completed.
pub(crate) fn require_yes(
    app: &App,
    out: &mut Out,
    yes: bool,
    state: &BubbleState,
    more: &str,
) -> Result<(), CommandError> {
    let Phase::Approved(Approval { request, commit: None, .. }) = &state.phase else { return Ok(()) };
    let (tree, branch) = (request.tree.short(), &state.rules.bubble_branch);
    app.require_yes(out, yes, &format!("Commit the approved tree {tree} of {} on branch {branch}{more}?", state.id))
}

/// Makes the commit and prints it.
pub(crate) fn make(app: &App, out: &mut Out, bubble: &Bubble, command: &Command) -> Result<(), CommandError> {
    let (made, state) = committed(app, out, bubble, command)?;
    out.line(format_args!("Committed {made} of bubble {} on branch {}", bubble.id, state.rules.bubble_branch))?;
    // Whether there are any is no reason to fail after the commit is made.
    let hooks = bubble.commit_hooks(&state).unwrap_or_default();
    if matches!(command, Command::Commit { hooks: false, .. }) && !hooks.is_empty() {
        out.note(format_args!(
            "The repository's hooks were not run ({}). To run them for the next commit: `pairflow approve`, then \
             `pairflow commit --hooks`.",
            hooks.join(", ")
        ));
    }
    Ok(())
}

/// Makes the commit, and warns about edits that are not in it.
pub(crate) fn committed(
    app: &App,
    out: &mut Out,
    bubble: &Bubble,
    command: &Command,
) -> Result<(CommitId, BubbleState), CommandError> {
    out.progress(format_args!("committing the approved tree of {} …", bubble.id));
    warn_of_hooks(out, bubble, command)?;
    let made = bubble.commit(command, &app.hands())?;
    let state = bubble.load()?.state;
    // Later edits are only reported if the worktree can be compared.
    let later = seen(bubble, &state).map(|seen| seen.differing).unwrap_or_default();
    if !later.is_empty() {
        out.warn(format_args!(
            "edits after the approval were not committed and stay in the worktree: {}",
            later.join(", ")
        ));
    }
    Ok((made.commit, state))
}

/// Shows how the recorded commit identity differs from the repository's present one, and how to take that over.
pub(crate) fn tell_identity(out: &mut Out, bubble: &Bubble, state: &BubbleState) -> Result<(), CommandError> {
    if let Some(notice) = bubble.identity_notice(state)? {
        out.warn(format_args!("{}", notice.text));
        if let Some(next) = notice.next {
            out.next(format_args!("{next}"));
        }
    }
    Ok(())
}

/// Warns of commit hooks that the work changes.
fn warn_of_hooks(out: &mut Out, bubble: &Bubble, command: &Command) -> Result<(), CommandError> {
    if !matches!(command, Command::Commit { hooks: true, .. }) {
        return Ok(());
    }
    let changed = bubble.hooks_changed_by_work(&bubble.load()?.state)?;
    if !changed.is_empty() {
        out.warn(format_args!("the work changes commit hooks ({}); the hooks of the base are run", changed.join(", ")));
    }
    Ok(())
}
