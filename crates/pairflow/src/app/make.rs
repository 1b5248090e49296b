//! A new bubble out of what a person said: the configuration, and the commands that check the work.

use std::path::Path;

use pairflow_core::bubble::BubbleState;
use pairflow_core::config::{Layer, Layers, Set, resolve};
use pairflow_core::ids::BubbleId;
use pairflow_core::rules::{BubbleKind, Rules};
use pairflow_engine::detect::{Detected, Found, detect};
use pairflow_engine::engine::{Bubble, Engine, EngineError};
use pairflow_engine::git::{GitError, Repo};
use pairflow_engine::verbs::{Confirmed, NewBubble};
use pairflow_engine::workspace::Place;

use crate::app::{App, Consent, Purpose, to_trust};
use crate::args::SetupArgs;
use crate::exit::CommandError;
use crate::out::Out;

/// How long an id is that is made out of a task.
const ID_LENGTH: usize = 40;
/// How much of a SHA-256 names a document, in characters.
const HASH_LENGTH: usize = 12;
/// The longest command line that is shown once more, in bytes.
const TYPED_AGAIN: usize = 400;

/// What a person wants done.
pub struct Order<'a> {
    /// The bubble's name; without one it is made out of the task.
    pub id: Option<BubbleId>,
    /// The task.
    pub task: String,
    /// How it is to be set up.
    pub setup: &'a SetupArgs,
    /// Whether it is started at once.
    pub starts: bool,
}

impl App {
    /// Makes a bubble. Its check commands are those that are configured, else those that are detected and confirmed.
    pub fn make(&self, out: &mut Out, order: Order<'_>) -> Result<(Bubble, BubbleState), CommandError> {
        let engine = self.engine()?;
        let mut place = self.place(order.setup.repo.as_deref())?;
        // Beyond what can be seen from its files: it has a commit to cut a branch from.
        place.repo = Repo::discover(&place.repo.root).map_err(EngineError::from)?;
        place.repo.insist_on_usable().map_err(EngineError::from)?;
        let id = match order.id {
            Some(id) => id,
            None => free_id(&engine, &place, &order.task)?,
        };
        let flags = self.flags(order.setup, &id, &place)?;
        let mut layers = self.layers(&place.repo.root, None, flags)?;
        self.base(&mut layers, &place)?;
        let document = layers.flags.kind.as_ref().is_some_and(|kind| kind.value == BubbleKind::Document);
        let known = document || has_checks(&layers);
        let detected = if known { Detected::default() } else { detect(&place.repo.root) };
        take_detected(&mut layers, &detected);
        let resolved = resolve(&layers).map_err(|errors| CommandError::from(&errors))?;
        if engine.look_at(&place.repo.root, &id).is_ok() {
            let message = format!("a bubble '{id}' already exists in {}", place.repo.root.display());
            return Err(CommandError::refused(message).next(format_args!("pairflow status {id}")));
        }
        if order.starts {
            self.can_run(&resolved, &self.again())?;
        }
        if !resolved.no_tests && resolved.rules.checks.is_empty() {
            return Err(nothing_to_run(&place.repo.root));
        }
        let checks = &order.setup.checks;
        let templates = to_trust(&Engine::repository_templates(&place.repo, &resolved.rules.base_branch)?);
        let consent = Consent {
            purpose: Purpose::Make,
            root: &place.repo.root,
            layers: &layers,
            templates: &templates,
            detected: &detected,
            trust: checks.trust.as_deref(),
            yes: checks.yes,
            json: false,
            again: &self.again(),
        };
        let agreed = self.consent(out, &consent)?;
        let confirmed = if resolved.no_tests { Confirmed::NoTests } else { agreed };
        let prd_approved = self.approved_prd(out, &place.repo, &resolved.rules, order.setup)?;
        let new =
            NewBubble { id, repo: &place.repo, task: order.task, resolved, confirmed, identity: None, prd_approved };
        let (bubble, state) = engine.create(new)?;
        if state.about.identity.as_ref().is_none_or(|identity| identity.author.is_none()) {
            out.warn(format_args!("{}", GitError::NoIdentity));
        }
        Ok((bubble, state))
    }

    /// Insists that the document which the work follows is approved: a bubble's result is; of a file the person says so,
    /// on the terminal or by its hash. Returns the hashes that the person vouches for.
    fn approved_prd(
        &self,
        out: &mut Out,
        repo: &Repo,
        rules: &Rules,
        setup: &SetupArgs,
    ) -> Result<Vec<String>, CommandError> {
        let Some(prd) = &rules.prd else { return Ok(Vec::new()) };
        let found = self.engine()?.approved_documents(repo, &prd.source, &rules.base_branch)?;
        let pins = found.pins();
        let Some((path, hash)) = pins.first().filter(|_| !found.by_bubble) else { return Ok(Vec::new()) };
        if setup.prd_approved.as_ref().is_some_and(|said| said.len() >= HASH_LENGTH && hash.starts_with(said.as_str()))
        {
            return Ok(vec![hash.clone()]);
        }
        let criteria = found.criteria();
        let (short, count) = (&hash[..HASH_LENGTH], criteria.len());
        let what =
            format!("{path} (SHA-256 {short}, {count} acceptance criteria) is not the result of a document bubble");
        if !self.interactive() {
            let why = match &setup.prd_approved {
                Some(said) => format!("it does not have the SHA-256 {said}"),
                None => "there is no terminal to confirm on that it is approved".to_owned(),
            };
            let next = format!("{} --prd-approved {short}", self.again());
            return Err(CommandError::refused(format_args!("{what}, and {why}.")).next(next));
        }
        out.progress(format_args!("{what}."));
        criteria.iter().for_each(|one| out.progress(format_args!("  - {one}")));
        match self.confirm(out, &format!("Is {path} the approved document that this work follows?"))? {
            true => Ok(vec![hash.clone()]),
            false => Err(CommandError::refused("you said no, so no bubble was made.")
                .next("pairflow create --kind document --task '…'")),
        }
    }

    fn flags(&self, setup: &SetupArgs, id: &BubbleId, place: &Place) -> Result<Layer, CommandError> {
        let checks = &setup.checks;
        let script = setup.script.as_deref().map(|path| self.resolve(path)).transpose()?;
        let (pair, text) = (setup.pair.as_ref(), |given: &Option<String>| given.clone().map(Set::flag));
        let list = |given: &Vec<String>| (!given.is_empty()).then(|| Set::flag(given.clone()));
        let flags = Layer {
            id: Some(Set::flag(id.clone())),
            repo_path: Some(Set::flag(place.repo.root.display().to_string())),
            base_branch: text(&setup.base),
            work_mode: setup.work_mode.map(|mode| Set::flag(mode.into())),
            max_rounds: setup.max_rounds.map(Set::flag),
            driver: setup.driver.map(|driver| Set::flag(driver.into())),
            script: script.map(|path| Set::flag(path.display().to_string())),
            no_tests: checks.no_tests.then(|| Set::flag(true)),
            manual_checks: list(&checks.manual_check),
            kind: setup.kind.map(|kind| Set::flag(kind.into())),
            documents: list(&setup.documents),
            prd: text(&setup.prd),
            implementer: pair.map(|agents| Set::flag(agents.implementer.clone())),
            reviewer: pair.map(|agents| Set::flag(agents.reviewer.clone())),
            second_reviewer: pair.and_then(|agents| agents.second_reviewer.clone()).map(Set::flag),
            test: text(&checks.test),
            typecheck: text(&checks.typecheck),
            lint: text(&checks.lint),
            setup: text(&checks.setup),
            ..Layer::default()
        };
        Layer::from_flags(flags).map_err(|errors| CommandError::from(&errors))
    }

    /// The base is the current branch, unless somebody has named another one.
    fn base(&self, layers: &mut Layers, place: &Place) -> Result<(), CommandError> {
        let named = [&layers.flags, &layers.repo, &layers.user].iter().any(|layer| layer.base_branch.is_some());
        if named {
            return Ok(());
        }
        let unknown = || {
            let root = place.repo.root.display();
            let there = |name: &&str| place.repo.resolve_branch(name).is_ok();
            let branch = ["main", "master"].into_iter().find(there).unwrap_or("BRANCH");
            CommandError::refused(format_args!("{root} is on no branch, so the base has to be named."))
                .next(format_args!("{} --base {branch}", self.again()))
        };
        layers.flags.base_branch = Some(Set::default(place.repo.current_branch().ok_or_else(unknown)?));
        Ok(())
    }

    /// The command to type again; a task that fills pages is left to the person.
    fn again(&self) -> String {
        let line = self.typed_again();
        let short = line.len() <= TYPED_AGAIN && !line.contains('\n');
        if short { line } else { "pairflow new '…'".to_owned() }
    }
}

/// Whether somebody has said how the work is checked.
fn has_checks(layers: &Layers) -> bool {
    [&layers.flags, &layers.repo, &layers.user].iter().any(|layer| {
        let none = layer.no_tests.as_ref().is_some_and(|none| none.value);
        none || layer.test.is_some() || layer.typecheck.is_some() || layer.lint.is_some()
    })
}

/// Puts what was detected below everything that was said.
pub(crate) fn take_detected(layers: &mut Layers, detected: &Detected) {
    let guess = |found: &Option<Found>| found.as_ref().map(|found| Set::default(found.command.clone()));
    let user = &mut layers.user;
    user.test = user.test.take().or_else(|| guess(&detected.test));
    user.typecheck = user.typecheck.take().or_else(|| guess(&detected.typecheck));
    user.lint = user.lint.take().or_else(|| guess(&detected.lint));
    user.setup = user.setup.take().or_else(|| guess(&detected.setup));
}

fn nothing_to_run(root: &Path) -> CommandError {
    let message = format!("no command that checks the work was found in {}.", root.display());
    CommandError::refused(message)
        .next("add --test \"COMMAND\", or --no-tests with --manual-check \"what a person tries by hand\"")
}

/// Makes an id out of the task that no bubble has yet.
fn free_id(engine: &Engine, place: &Place, task: &str) -> Result<BubbleId, CommandError> {
    let unnamed = || CommandError::usage("the task has no letters to make an id of; name the bubble with --id.");
    let first = task.lines().find(|line| line.contains(char::is_alphanumeric)).unwrap_or(task);
    let wanted = BubbleId::from_text(first, ID_LENGTH).ok_or_else(unnamed)?;
    let numbered = (2..1000).filter_map(|n| format!("{wanted}-{n}").parse().ok());
    let taken = |id: &BubbleId| engine.look_at(&place.repo.root, id).is_ok();
    let free = std::iter::once(wanted.clone()).chain(numbered).find(|id| !taken(id));
    free.ok_or_else(|| CommandError::refused("there are too many bubbles of this name; name this one with --id."))
}
