//! Where a bubble's commands run: a checkout of one commit, set up, with its own ports.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::facts::{CheckPlace, Outcome, Receipt};
use pairflow_core::ids::{CommitId, TreeId};
use pairflow_core::rules::ChecksIn;

use crate::checks::{CheckRun, Checked, run_check};
use crate::config::person_layer;
use crate::engine::{Bubble, EngineError, port_variables};
use crate::git::{GitError, Repo, Workspace, changes, is_reread, observe};
use crate::process::Cancel;
use crate::workspace::{Checkout, DEFAULT_COUNT, lease};

/// How many files may be read otherwise than the tree has them before a check counts as having changed them.
const REREAD: usize = 100;
/// How much of a check's output is kept, in bytes.
pub(super) const OUTPUT_LIMIT: usize = 4 * 1024 * 1024;

/// A checkout that is set up.
pub(super) struct Bench {
    checkout: Checkout,
    place: CheckPlace,
    setup: Option<String>,
    timeout: Duration,
    env: Vec<(String, String)>,
    registry: Option<PathBuf>,
    /// What its files were once it was set up.
    ready: TreeId,
    /// Whether what is installed there may be out of date.
    stale: bool,
}

/// A command to run, with what its receipt says beside the outcome.
#[derive(Clone, Copy)]
pub(super) struct Errand<'a> {
    /// What is run, by name.
    pub(super) name: &'a str,
    /// The command line.
    pub(super) command: &'a str,
    /// The tree that it is about.
    pub(super) tree: &'a TreeId,
}

/// For which bubble commands run, and what ends them early.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    /// The bubble.
    pub(super) bubble: &'a Bubble,
    /// Its state.
    pub(super) state: &'a BubbleState,
    /// Ends what runs.
    pub(super) cancel: &'a Cancel,
    /// Whether nobody else works for the bubble meanwhile, so that what runs can be recorded and ended after a crash.
    pub(super) attended: bool,
}

/// Why there is nothing to run a command in.
pub(super) enum Unready {
    /// The setup command does not work. This is what it said.
    NotSetUp(Checked),
    /// It was cancelled.
    Cancelled,
}

impl Bench {
    /// Brings a checkout to `commit` and sets it up. The setup command runs again where what it reads has changed.
    pub(super) fn open(
        site: Site<'_>,
        commit: &CommitId,
        place: CheckPlace,
    ) -> Result<Result<Self, Unready>, EngineError> {
        let Site { bubble, state, cancel, .. } = site;
        let repo = Repo::discover(bubble.control.repo())?;
        let like = bubble.workspace(state)?;
        let checkout = match place {
            CheckPlace::Checkout | CheckPlace::Base => Checkout::warm(&repo, &like, commit)?,
            // Where the worktree is the place of checks, there is no second checkout that stays.
            CheckPlace::Fresh | CheckPlace::Worktree => Checkout::fresh(&repo, &like, commit)?,
        };
        let ports = lease(&bubble.engine.dirs.state, checkout.path(), DEFAULT_COUNT)?;
        let mut bench = Self {
            setup: state.rules.setup.clone(),
            timeout: Duration::from_secs(state.rules.check_timeout_secs),
            env: bubble.check_env(port_variables(ports.first, ports.count))?,
            registry: site.attended.then(|| bubble.registry()),
            ready: checkout.tree().clone(),
            stale: true,
            place,
            checkout,
        };
        let set_up_for = bench.checkout.set_up_for();
        let needs = bench.setup.as_ref().map(|setup| bench.checkout.needs(setup)).transpose()?;
        let current = needs.iter().any(|needs| set_up_for.as_ref().is_some_and(|done| done.needs == needs.needs));
        if current || bench.setup.is_none() {
            bench.stale = bench.setup.is_some() && (set_up_for != needs || bench.checkout.was_rewritten());
            return Ok(Ok(bench));
        }
        Ok(bench.set_up(cancel)?.map(|()| bench))
    }

    /// Returns this one with its files put back, if it holds `commit` in `place`; else another one.
    pub(super) fn again(
        used: Option<Self>,
        site: Site<'_>,
        commit: &CommitId,
        place: CheckPlace,
    ) -> Result<Result<Self, Unready>, EngineError> {
        let fits = |bench: &Self| bench.checkout.commit() == commit && bench.place == place && bench.clear().is_ok();
        match used.filter(fits) {
            Some(bench) => Ok(Ok(bench)),
            None => Self::open(site, commit, place),
        }
    }

    /// Returns the root of its files.
    pub(super) fn path(&self) -> &Path {
        self.checkout.path()
    }

    /// Runs the setup command on the files as they are now, if there is one.
    pub(super) fn set_up(&mut self, cancel: &Cancel) -> Result<Result<(), Unready>, EngineError> {
        let Some(setup) = self.setup.clone() else { return Ok(Ok(())) };
        // Until it has worked, nobody knows what is installed.
        self.checkout.note_set_up(None)?;
        let ready = self.ready.clone();
        let Some(ran) = self.run_freely(Errand { name: "setup", command: &setup, tree: &ready }, cancel) else {
            return Ok(Err(Unready::Cancelled));
        };
        if !ran.receipt.outcome.passed() {
            return Ok(Err(Unready::NotSetUp(ran)));
        }
        self.checkout.note_set_up(Some(&self.checkout.needs(&setup)?))?;
        self.ready = self.checkout.keep_tree()?;
        self.stale = false;
        Ok(Ok(()))
    }

    /// Runs a command. Before a failure counts, the setup command has run for this very commit.
    pub(super) fn judge(
        &mut self,
        errand: Errand<'_>,
        freely: bool,
        cancel: &Cancel,
    ) -> Result<Option<Checked>, EngineError> {
        let run = |bench: &Self| if freely { bench.run_freely(errand, cancel) } else { bench.run(errand, cancel) };
        let ran = run(self);
        let failed = |ran: &Checked| matches!(ran.receipt.outcome, Outcome::Failed { .. });
        if !self.stale || !ran.as_ref().is_some_and(failed) {
            return Ok(ran);
        }
        self.clear()?;
        match self.set_up(cancel)? {
            Ok(()) => Ok(run(self)),
            Err(unready) => Ok(unready.receipt(errand)),
        }
    }

    /// Has the next use of this checkout set it up again: files were put into it that are not the commit's.
    pub(super) fn spoil(&self) -> Result<(), EngineError> {
        Ok(self.checkout.note_set_up(None)?)
    }

    /// Puts the files back as they were once it was set up.
    pub(super) fn clear(&self) -> Result<(), EngineError> {
        Ok(self.checkout.put_back(&self.ready)?)
    }

    /// Runs a command that has to leave the files alone. Returns nothing if it was cancelled.
    fn run(&self, errand: Errand<'_>, cancel: &Cancel) -> Option<Checked> {
        let workspace = self.checkout.workspace();
        // What the setup command added belongs to no tree.
        let now = || Ok(if unharmed(workspace, &self.ready)? { errand.tree.clone() } else { look(workspace)? });
        let names = |_: &TreeId, now: &TreeId| named(workspace, &self.ready, now);
        self.ran(errand, &now, &names, cancel)
    }

    /// Runs a command whose changes of files do not matter: they are put back, or thrown away.
    pub(super) fn run_freely(&self, errand: Errand<'_>, cancel: &Cancel) -> Option<Checked> {
        self.ran(errand, &|| Ok(errand.tree.clone()), &|_, _| Vec::new(), cancel)
    }

    fn ran(
        &self,
        errand: Errand<'_>,
        observe: &dyn Fn() -> Result<TreeId, String>,
        changed_files: &dyn Fn(&TreeId, &TreeId) -> Vec<String>,
        cancel: &Cancel,
    ) -> Option<Checked> {
        let run = CheckRun {
            name: errand.name,
            command: errand.command,
            workspace: self.checkout.path(),
            place: if self.checkout.is_fresh() { CheckPlace::Fresh } else { self.place },
            tree: errand.tree,
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

impl Unready {
    /// What comes of `errand`, which could not be run; nothing if it was cancelled.
    pub(super) fn receipt(self, errand: Errand<'_>) -> Option<Checked> {
        let Self::NotSetUp(ran) = self else { return None };
        let why = format!("the setup command `{}` does not work in a checkout of the tree", ran.receipt.command);
        let (check, command, tree) = (errand.name.to_owned(), errand.command.to_owned(), errand.tree.clone());
        let receipt = Receipt { check, command, tree, outcome: Outcome::CouldNotCheck { why }, ..ran.receipt };
        Some(Checked { receipt, output: ran.output })
    }
}

impl Bubble {
    /// Returns what checks and the setup command get on top of the few variables that every job inherits: the leased
    /// ports, and those variables of this process that the person's own file names.
    pub(crate) fn check_env(&self, ports: Vec<(String, String)>) -> Result<Vec<(String, String)>, EngineError> {
        let own = person_layer(&self.engine.dirs.config).map_err(|error| EngineError::Effect(error.to_string()))?;
        let named = own.check_env.map(|set| set.value).unwrap_or_default();
        let named = named.into_iter().filter_map(|name| Some((name.clone(), std::env::var(&name).ok()?)));
        Ok(named.chain(ports).collect())
    }
}

/// Where reproducers run.
pub(super) fn place(state: &BubbleState) -> CheckPlace {
    match state.rules.checks_in {
        ChecksIn::Checkout => CheckPlace::Checkout,
        ChecksIn::Worktree => CheckPlace::Worktree,
    }
}

/// Returns the tree of the files, or why they could not be read.
pub(super) fn look(workspace: &Workspace) -> Result<TreeId, String> {
    observe(workspace).map_err(|error| error.to_string())
}

/// Whether every file of the tree `ready` is still as it was, apart from line ends that git reads otherwise. What was added in a checkout of our own is thrown away, so
/// it does no harm: what was checked was the tree.
pub(super) fn unharmed(workspace: &Workspace, ready: &TreeId) -> Result<bool, String> {
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
pub(super) fn named(workspace: &Workspace, from: &TreeId, to: &TreeId) -> Vec<String> {
    match changes(&workspace.git(), from, to) {
        Ok(changes) => changes.into_iter().map(|change| change.path).collect(),
        Err(error) => vec![format!("(git could not name them: {error})")],
    }
}
