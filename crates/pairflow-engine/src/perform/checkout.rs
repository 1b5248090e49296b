//! Where a bubble's checks run: a checkout of one commit, set up, with its own ports.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::facts::{CheckPlace, Outcome, Receipt};
use pairflow_core::ids::{CommitId, TreeId};
use pairflow_core::rules::ChecksIn;

use crate::checks::{CheckResult, CheckRun, run_check};
use crate::config::person_layer;
use crate::engine::{Bubble, EngineError, port_variables};
use crate::git::{GitError, Repo, Worktree, changes, is_reread, observe};
use crate::process::Cancel;
use crate::workspace::{Checkout, DEFAULT_COUNT, lease};

/// How many files git may read differently (line ends) before a check counts as having changed them.
const REREAD: usize = 100;
/// How much of a check's output is kept, in bytes.
pub(super) const OUTPUT_LIMIT: usize = 4 * 1024 * 1024;

/// A checkout that is set up.
pub(super) struct CheckDir {
    checkout: Checkout,
    place: CheckPlace,
    setup: Option<String>,
    timeout: Duration,
    env: Vec<(String, String)>,
    registry: Option<PathBuf>,
    /// The tree of its files after the setup.
    ready: TreeId,
    /// Whether its installed files may be out of date.
    stale: bool,
}

/// The checkouts that are kept between consecutive commands.
#[derive(Default)]
pub(super) struct KeptCheckouts {
    /// That of the newest tree.
    pub(super) newest: Option<CheckDir>,
    /// That of a tree without a fix.
    pub(super) without_fix: Option<CheckDir>,
}

/// A command to run, and what it is about.
#[derive(Clone, Copy)]
pub(super) struct CheckCommand<'a> {
    /// The name of the check.
    pub(super) name: &'a str,
    /// The command line.
    pub(super) command: &'a str,
    /// The tree that it checks.
    pub(super) tree: &'a TreeId,
}

impl CheckCommand<'_> {
    /// Returns a receipt for this command.
    pub(super) fn receipt(self, outcome: Outcome, tail: String, place: CheckPlace) -> Receipt {
        let (check, command, tree) = (self.name.to_owned(), self.command.to_owned(), self.tree.clone());
        Receipt { check, command, tree, outcome, duration_ms: 0, output: None, place, tail }
    }

    /// Returns a result for which nothing was run.
    pub(super) fn without_run(self, outcome: Outcome, text: String, place: CheckPlace) -> CheckResult {
        let output = format!("{text}\n").into_bytes();
        CheckResult { receipt: self.receipt(outcome, text, place), output }
    }
}

/// The bubble for which commands run, and what cancels them.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// The bubble.
    pub(super) bubble: &'a Bubble,
    /// Its state.
    pub(super) state: &'a BubbleState,
    /// Cancels what runs.
    pub(super) cancel: &'a Cancel,
    /// Whether this process holds the bubble's lock, so that what runs is recorded and ended after a crash.
    pub(super) locked: bool,
}

/// Why a checkout could not be set up.
pub(super) enum SetupFailure {
    /// The setup command failed, with this result.
    NotSetUp(CheckResult),
    /// It was cancelled.
    Cancelled,
}

/// The outer error ends the attempt; the inner one becomes the result of the check.
type SetupResult<T> = Result<Result<T, SetupFailure>, EngineError>;

impl CheckDir {
    /// Brings a checkout to `commit` and sets it up. The setup command runs again if its inputs have changed.
    pub(super) fn open(context: Context<'_>, commit: &CommitId, place: CheckPlace) -> SetupResult<Self> {
        let Context { bubble, state, cancel, .. } = context;
        let repo = Repo::discover(bubble.control.repo())?;
        let like = bubble.workspace(state)?;
        let checkout = match place {
            CheckPlace::Checkout | CheckPlace::Base => Checkout::warm(&repo, &like, commit)?,
            // Where checks run in the worktree, no second checkout is kept.
            CheckPlace::Fresh | CheckPlace::Worktree => Checkout::fresh(&repo, &like, commit)?,
        };
        let ports = lease(&bubble.engine.dirs.state, checkout.path(), DEFAULT_COUNT)?;
        let mut checkout = Self {
            setup: state.rules.setup.clone(),
            timeout: Duration::from_secs(state.rules.check_timeout_secs),
            env: bubble.check_env(port_variables(ports.first, ports.count))?,
            registry: context.locked.then(|| bubble.registry()),
            ready: checkout.tree().clone(),
            stale: true,
            place,
            checkout,
        };
        let set_up_for = checkout.checkout.set_up_for();
        let needs = checkout.setup.as_ref().map(|setup| checkout.checkout.needs(setup)).transpose()?;
        let current = needs.iter().any(|needs| set_up_for.as_ref().is_some_and(|done| done.needs == needs.needs));
        if current || checkout.setup.is_none() {
            checkout.stale = checkout.setup.is_some() && (set_up_for != needs || checkout.checkout.was_rewritten());
            return Ok(Ok(checkout));
        }
        Ok(checkout.set_up(cancel)?.map(|()| checkout))
    }

    /// Returns `used` with its files put back if it holds `commit` in `place`; else opens another one.
    pub(super) fn again(
        used: Option<Self>,
        context: Context<'_>,
        commit: &CommitId,
        place: CheckPlace,
    ) -> SetupResult<Self> {
        let fits = |checkout: &Self| {
            checkout.checkout.commit() == commit && checkout.place == place && checkout.clear().is_ok()
        };
        match used.filter(fits) {
            Some(checkout) => Ok(Ok(checkout)),
            None => Self::open(context, commit, place),
        }
    }

    /// Returns the root of its files.
    pub(super) fn path(&self) -> &Path {
        self.checkout.path()
    }

    /// Runs the setup command on the files as they are now, if there is one.
    pub(super) fn set_up(&mut self, cancel: &Cancel) -> SetupResult<()> {
        let Some(setup) = self.setup.clone() else { return Ok(Ok(())) };
        // Until it has succeeded, it is unknown what is installed.
        self.checkout.note_set_up(None)?;
        let ready = self.ready.clone();
        let Some(ran) = self.run_unchecked(CheckCommand { name: "setup", command: &setup, tree: &ready }, cancel)
        else {
            return Ok(Err(SetupFailure::Cancelled));
        };
        if !ran.receipt.outcome.passed() {
            return Ok(Err(SetupFailure::NotSetUp(ran)));
        }
        self.checkout.note_set_up(Some(&self.checkout.needs(&setup)?))?;
        self.ready = self.checkout.keep_tree()?;
        self.stale = false;
        Ok(Ok(()))
    }

    /// Runs a command. A failure counts only after the setup command has run for this very commit.
    pub(super) fn run_after_setup(
        &mut self,
        command: CheckCommand<'_>,
        may_change_files: bool,
        cancel: &Cancel,
    ) -> Result<Option<CheckResult>, EngineError> {
        let run = |checkout: &Self| {
            if may_change_files { checkout.run_unchecked(command, cancel) } else { checkout.run(command, cancel) }
        };
        let ran = run(self);
        let failed = |ran: &CheckResult| matches!(ran.receipt.outcome, Outcome::Failed { .. });
        if !self.stale || !ran.as_ref().is_some_and(failed) {
            return Ok(ran);
        }
        self.clear()?;
        match self.set_up(cancel)? {
            Ok(()) => Ok(run(self)),
            Err(failure) => Ok(failure.receipt(command)),
        }
    }

    /// Marks the checkout to be set up again: it holds files that are not the commit's.
    pub(super) fn require_setup(&self) -> Result<(), EngineError> {
        Ok(self.checkout.note_set_up(None)?)
    }

    /// Puts the files back as they were after the setup.
    pub(super) fn clear(&self) -> Result<(), EngineError> {
        Ok(self.checkout.put_back(&self.ready)?)
    }

    /// Runs a command that must not change files. Returns `None` if it was cancelled.
    fn run(&self, command: CheckCommand<'_>, cancel: &Cancel) -> Option<CheckResult> {
        let workspace = self.checkout.workspace();
        // Files that the setup command added belong to no tree.
        let now = || Ok(if is_unchanged(workspace, &self.ready)? { command.tree.clone() } else { look(workspace)? });
        let names = |_: &TreeId, now: &TreeId| changed_paths(workspace, &self.ready, now);
        self.ran(command, &now, &names, cancel)
    }

    /// Runs a command that may change files: they are put back or thrown away.
    pub(super) fn run_unchecked(&self, command: CheckCommand<'_>, cancel: &Cancel) -> Option<CheckResult> {
        self.ran(command, &|| Ok(command.tree.clone()), &|_, _| Vec::new(), cancel)
    }

    fn ran(
        &self,
        command: CheckCommand<'_>,
        observe: &dyn Fn() -> Result<TreeId, String>,
        changed_files: &dyn Fn(&TreeId, &TreeId) -> Vec<String>,
        cancel: &Cancel,
    ) -> Option<CheckResult> {
        let run = CheckRun {
            name: command.name,
            command: command.command,
            workspace: self.checkout.path(),
            place: if self.checkout.is_fresh() { CheckPlace::Fresh } else { self.place },
            tree: command.tree,
            timeout: self.timeout,
            max_output: OUTPUT_LIMIT,
            env: &self.env,
            registry: self.registry.clone(),
            observe,
            changed_files,
        };
        run_check(&run, cancel).ok()
    }
}

impl SetupFailure {
    /// Returns the result of `command`, which could not be run; `None` if it was cancelled.
    pub(super) fn receipt(self, command: CheckCommand<'_>) -> Option<CheckResult> {
        let Self::NotSetUp(ran) = self else { return None };
        let why = format!("the setup command `{}` fails in a checkout of the tree", ran.receipt.command);
        let (check, command, tree) = (command.name.to_owned(), command.command.to_owned(), command.tree.clone());
        let receipt = Receipt { check, command, tree, outcome: Outcome::CouldNotCheck { why }, ..ran.receipt };
        Some(CheckResult { receipt, output: ran.output })
    }
}

impl Bubble {
    /// Returns the variables for checks and the setup command beyond what every job inherits: the leased ports, and the
    /// variables of this process that the person's own file names.
    pub(crate) fn check_env(&self, ports: Vec<(String, String)>) -> Result<Vec<(String, String)>, EngineError> {
        let own = person_layer(&self.engine.dirs.config).map_err(|error| EngineError::Effect(error.to_string()))?;
        let names = own.check_env.map(|set| set.value).unwrap_or_default();
        let named = names.into_iter().filter_map(|name| Some((name.clone(), std::env::var(&name).ok()?)));
        Ok(named.chain(ports).collect())
    }
}

/// Returns where reproducers run.
pub(super) fn place(state: &BubbleState) -> CheckPlace {
    match state.rules.checks_in {
        ChecksIn::Checkout => CheckPlace::Checkout,
        ChecksIn::Worktree => CheckPlace::Worktree,
    }
}

/// Returns the tree of the files, or the error as text.
pub(super) fn look(workspace: &Worktree) -> Result<TreeId, String> {
    observe(workspace).map_err(|error| error.to_string())
}

/// Whether every file of the tree `ready` is unchanged, except for line ends that git reads differently. Added files do not
/// matter: in our own checkout they are thrown away.
pub(super) fn is_unchanged(workspace: &Worktree, ready: &TreeId) -> Result<bool, String> {
    let now = look(workspace)?;
    if now == *ready {
        return Ok(true);
    }
    let git_says = |error: GitError| error.to_string();
    let changed = changes(&workspace.git(), ready, &now).map_err(git_says)?;
    let touched: Vec<_> = changed.iter().filter(|change| change.status != 'A').collect();
    if touched.len() > REREAD {
        return Ok(false);
    }
    for change in touched {
        if !is_reread(workspace, (ready, &now), &change.path).map_err(git_says)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the files that differ between two trees.
pub(super) fn changed_paths(workspace: &Worktree, from: &TreeId, to: &TreeId) -> Vec<String> {
    match changes(&workspace.git(), from, to) {
        Ok(changes) => changes.into_iter().map(|change| change.path).collect(),
        Err(error) => vec![format!("(git could not name them: {error})")],
    }
}
