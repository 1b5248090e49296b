//! Runs the bubble's checks on exactly the newest snapshot, and keeps their output.
//!
//! A check that passed on a base is remembered, so that the next bubble from it does not run it again. A failure is not: it
//! may have been fixed on this machine since.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::bubble::{BubbleState, Command};
use pairflow_core::facts::{CheckPlace, Outcome, Receipt};
use pairflow_core::hash::sha256;
use pairflow_core::ids::{CommitId, TreeId};
use pairflow_core::rules::{Check, ChecksIn};

use super::checkout::{CheckCommand, CheckDir, Context, OUTPUT_LIMIT, SetupFailure, changed_paths};
use super::own_checks::{check_document, check_red_green};
use crate::checks::{CheckResult, CheckRun, run_check};
use crate::engine::{Bubble, EngineError, port_variables};
use crate::git::observe;
use crate::process::Cancel;

/// Runs one check; returns `None` if it was cancelled. The checkout is kept for the next command.
pub(super) fn run_one(
    context: Context<'_>,
    (check, place): (&Check, CheckPlace),
    checkout: &mut Option<CheckDir>,
) -> Result<Option<Command>, EngineError> {
    let Context { bubble, state, .. } = context;
    let Some(workspace) = &state.evidence.workspace else { return Ok(None) };
    let (tree, commit) = match &state.evidence.snapshot {
        Some(snapshot) if place != CheckPlace::Base => (&snapshot.tree, &snapshot.commit),
        _ => (&workspace.base_tree, &workspace.base),
    };
    let command = CheckCommand { name: &check.name, command: &check.command, tree };
    let known = BaselineNote::of(bubble, state, command);
    let checked = match check {
        check if check.command == Check::BUILT_IN => Some(check_document(bubble, state, check, tree)?),
        check if check.name == Check::RED_GREEN => {
            // It brings the same checkout to the base and sets it up there.
            *checkout = None;
            check_red_green(context, check)?
        }
        _ if place == CheckPlace::Base && known.passed() => {
            Some(command.without_run(Outcome::Passed, PASSED_BEFORE.to_owned(), CheckPlace::Base))
        }
        _ if state.rules.checks_in == ChecksIn::Worktree => run_in_worktree(context, command, place)?,
        _ => run_on_site(context, command, (commit, place, false), checkout)?,
    };
    let Some(checked) = checked else { return Ok(None) };
    // What pairflow reads from the tree itself is the same in any place.
    let receipt = Receipt { place, ..store_output(bubble, checked)? };
    if place == CheckPlace::Base {
        known.note(&receipt);
    } else {
        write_tests_file(bubble, state, &receipt)?;
    }
    Ok(Some(Command::Checked { receipt }))
}

/// Runs a command in a checkout of `commit`, which is kept for the next command.
pub(super) fn run_on_site(
    context: Context<'_>,
    command: CheckCommand<'_>,
    (commit, place, may_change_files): (&CommitId, CheckPlace, bool),
    checkout: &mut Option<CheckDir>,
) -> Result<Option<CheckResult>, EngineError> {
    let mut ready = match CheckDir::again(checkout.take(), context, commit, place)? {
        Ok(ready) => ready,
        Err(failure) => return Ok(failure.receipt(command)),
    };
    let ran = ready.run_after_setup(command, may_change_files, context.cancel)?;
    // After a command that could not be run, the checkout is not trusted.
    let sound = |ran: &CheckResult| !matches!(ran.receipt.outcome, Outcome::CouldNotCheck { .. });
    *checkout = Some(ready).filter(|_| ran.as_ref().is_some_and(sound));
    Ok(ran)
}

/// Runs a command in the agents' worktree, and checks whether files changed in the meantime.
fn run_in_worktree(
    context: Context<'_>,
    command: CheckCommand<'_>,
    place: CheckPlace,
) -> Result<Option<CheckResult>, EngineError> {
    let Context { bubble, state, cancel, .. } = context;
    let workspace = bubble.workspace(state)?;
    workspace.connected()?;
    // Before the first turn there may be files from the setup command.
    let ready = if place == CheckPlace::Base { observe(&workspace)? } else { command.tree.clone() };
    let ports = state.evidence.workspace.as_ref().map(|record| port_variables(record.port, record.ports));
    let now = || match observe(&workspace) {
        Ok(now) if now == ready => Ok(command.tree.clone()),
        other => other.map_err(|error| error.to_string()),
    };
    let run = CheckRun {
        name: command.name,
        command: command.command,
        workspace: &workspace.path,
        place,
        tree: command.tree,
        timeout: Duration::from_secs(state.rules.check_timeout_secs),
        max_output: OUTPUT_LIMIT,
        env: &bubble.check_env(ports.unwrap_or_default())?,
        registry: Some(bubble.registry()),
        observe: &now,
        changed_files: &|_, now| changed_paths(&workspace, &ready, now),
    };
    Ok(run_check(&run, cancel).ok())
}

/// Stores the output by its hash and completes the receipt.
pub(super) fn store_output(bubble: &Bubble, checked: CheckResult) -> Result<Receipt, EngineError> {
    let name = bubble.artifacts().put_hashed("checks", "txt", &checked.output)?;
    Ok(Receipt { output: Some(format!("artifact://{name}")), ..checked.receipt })
}

/// Adds the result to `artifacts/round-<nnn>.tests.txt`.
fn write_tests_file(bubble: &Bubble, state: &BubbleState, receipt: &Receipt) -> Result<(), EngineError> {
    let name = format!("round-{:03}.tests.txt", state.rounds.round);
    let mut text = state.evidence.superseded.iter().chain(&state.evidence.receipts).map(paragraph).collect::<String>();
    text.push_str(&paragraph(receipt));
    Ok(bubble.log().project_artifact(&name, text.as_bytes())?)
}

fn paragraph(receipt: &Receipt) -> String {
    let result = match &receipt.outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Failed { timed_out: true, .. } => "failed: timed out".to_owned(),
        Outcome::Failed { exit: Some(code), .. } => format!("failed with exit code {code}"),
        Outcome::Failed { exit: None, .. } => "failed: killed by a signal".to_owned(),
        Outcome::CouldNotCheck { why } => format!("could not be run: {why}"),
    };
    let (check, command, tree) = (&receipt.check, &receipt.command, &receipt.tree);
    let output = receipt.output.as_deref().unwrap_or("-");
    format!(
        "== {check}: {result} ({} ms)\ncommand: {command}\ntree: {tree}\nwhole output: {output}\n\n{}\n\n",
        receipt.duration_ms, receipt.tail
    )
}

/// What the receipt of a check says that is known to pass on this tree.
const PASSED_BEFORE: &str = "it passed on this tree before, so it was not run again";
/// How many notes are kept at most.
const MAX_NOTES: usize = 1_000;

/// A note that a command passes on a tree.
struct BaselineNote {
    note: PathBuf,
}

impl BaselineNote {
    /// Returns the note about this command on this tree, after this setup command.
    fn of(bubble: &Bubble, state: &BubbleState, command: CheckCommand<'_>) -> Self {
        let (setup, place) = (state.rules.setup.as_deref().unwrap_or_default(), state.rules.checks_in);
        let what = format!("{}\0{}\0{setup}\0{place:?}", command.tree, command.command);
        Self { note: bubble.engine.dirs.state.join("baselines").join(sha256(what.as_bytes())) }
    }

    /// Whether the note exists.
    fn passed(&self) -> bool {
        self.note.is_file()
    }

    /// Writes the note if the check passed.
    fn note(&self, receipt: &Receipt) {
        if receipt.outcome.passed() {
            // Without the note the check runs once more.
            let _ = self.note.parent().map(make_room);
            let _ = crate::regular::write(&self.note, "");
        }
    }
}

/// Creates the directory of notes, or empties it when there are many: most are about old bases.
fn make_room(notes: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(notes)?;
    if std::fs::read_dir(notes)?.count() >= MAX_NOTES {
        std::fs::remove_dir_all(notes)?;
        std::fs::create_dir_all(notes)?;
    }
    Ok(())
}

/// A commit that merges the work with the base branch.
#[derive(Clone, Copy)]
pub(crate) struct MergedCommit<'a> {
    /// The commit.
    pub(crate) commit: &'a CommitId,
    /// Its tree.
    pub(crate) tree: &'a TreeId,
    /// Whether the caller holds the bubble's lock.
    pub(crate) locked: bool,
}

/// Runs the setup command and the checks in a fresh checkout of a merged commit. Returns the first that does not pass.
pub(crate) fn check_merged(
    bubble: &Bubble,
    state: &BubbleState,
    joined: MergedCommit<'_>,
    say: &dyn Fn(&str),
) -> Result<Option<Receipt>, EngineError> {
    let cancel = Cancel::new().map_err(|error| EngineError::io("cannot create a pipe", error))?;
    let cancelled = || EngineError::Effect("the checks of the merged tree were cancelled".to_owned());
    let running = |command: &str| say(&format!("running '{command}' on the merged tree"));
    let context = Context { bubble, state, cancel: &cancel, locked: joined.locked };
    state.rules.setup.iter().for_each(|command| running(command));
    let mut checkout = match CheckDir::open(context, joined.commit, CheckPlace::Fresh)? {
        Ok(checkout) => checkout,
        Err(SetupFailure::NotSetUp(ran)) => return Ok(Some(ran.receipt)),
        Err(SetupFailure::Cancelled) => return Err(cancelled()),
    };
    // Built-in checks judge the work, not what the base brings.
    let given_up =
        |name: &String| state.evidence.waived_checks.contains_key(name) || state.evidence.not_available.contains(name);
    let wanted = |check: &&Check| !check.is_own() && !given_up(&check.name);
    for check in state.rules.checks.iter().filter(wanted) {
        running(&check.command);
        let command = CheckCommand { name: &check.name, command: &check.command, tree: joined.tree };
        let ran = checkout.run_after_setup(command, false, &cancel)?.ok_or_else(cancelled)?;
        if !ran.receipt.outcome.passed() {
            return Ok(Some(ran.receipt));
        }
        checkout.clear()?;
    }
    Ok(None)
}
