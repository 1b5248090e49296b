//! Makes a new bubble from what a person said: configuration, checks, and whether its agents can run here.

use std::path::Path;

use pairflow_agents::script::Script;
use pairflow_agents::spec::spec_of;
use pairflow_core::bubble::BubbleState;
use pairflow_core::config::{Layer, Layers, Resolved, Set, resolve};
use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::rules::{BubbleKind, DriverKind, ReviewDepth, Rules};
use pairflow_engine::detect::{Detected, DetectedCommand, detect};
use pairflow_engine::engine::{Bubble, Engine, EngineError};
use pairflow_engine::git::{GitError, Repo};
use pairflow_engine::verbs::{Confirmed, NewBubble};
use pairflow_engine::workspace::Location;

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
pub struct BubbleRequest<'a> {
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
    pub fn make(&self, out: &mut Out, order: BubbleRequest<'_>) -> Result<(Bubble, BubbleState), CommandError> {
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
            let message = format!("bubble '{id}' already exists in {}", place.repo.root.display());
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

    /// Requires that the document which the work follows is approved: the result of a bubble is; a file has to be
    /// confirmed on the terminal or by its hash. Returns the confirmed hashes.
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
                None => "there is no terminal to confirm that it is approved".to_owned(),
            };
            let next = format!("{} --prd-approved {short}", self.again());
            return Err(CommandError::refused(format_args!("{what}, and {why}.")).next(next));
        }
        out.progress(format_args!("{what}."));
        criteria.iter().for_each(|one| out.progress(format_args!("  - {one}")));
        match self.confirm(out, &format!("Is {path} the approved document that this work follows?"))? {
            true => Ok(vec![hash.clone()]),
            false => Err(CommandError::refused("cancelled; no bubble was created.")
                .next("pairflow create --kind document --task '…'")),
        }
    }

    fn flags(&self, setup: &SetupArgs, id: &BubbleId, place: &Location) -> Result<Layer, CommandError> {
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
            review_depth: setup.thorough.then(|| Set::flag(ReviewDepth::Thorough)),
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

    /// Sets the base to the current branch, unless another one is configured.
    fn base(&self, layers: &mut Layers, place: &Location) -> Result<(), CommandError> {
        let named = [&layers.flags, &layers.repo, &layers.user].iter().any(|layer| layer.base_branch.is_some());
        if named {
            return Ok(());
        }
        let unknown = || {
            let root = place.repo.root.display();
            let there = |name: &&str| place.repo.resolve_branch(name).is_ok();
            let branch = ["main", "master"].into_iter().find(there).unwrap_or("BRANCH");
            CommandError::refused(format_args!("{root} is not on a branch; name the base with --base."))
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

/// Returns whether checks are configured.
fn has_checks(layers: &Layers) -> bool {
    [&layers.flags, &layers.repo, &layers.user].iter().any(|layer| {
        let none = layer.no_tests.as_ref().is_some_and(|none| none.value);
        none || layer.test.is_some() || layer.typecheck.is_some() || layer.lint.is_some()
    })
}

/// Puts what was detected below everything that was said.
pub(crate) fn take_detected(layers: &mut Layers, detected: &Detected) {
    let guess = |found: &Option<DetectedCommand>| found.as_ref().map(|found| Set::default(found.command.clone()));
    let user = &mut layers.user;
    user.test = user.test.take().or_else(|| guess(&detected.test));
    user.typecheck = user.typecheck.take().or_else(|| guess(&detected.typecheck));
    user.lint = user.lint.take().or_else(|| guess(&detected.lint));
    user.setup = user.setup.take().or_else(|| guess(&detected.setup));
}

fn nothing_to_run(root: &Path) -> CommandError {
    let message = format!("no command to check the work was found in {}.", root.display());
    CommandError::refused(message)
        .next("add --test \"COMMAND\", or --no-tests with --manual-check \"what to try by hand\"")
}

/// Makes an id out of the task that no bubble has yet.
fn free_id(engine: &Engine, place: &Location, task: &str) -> Result<BubbleId, CommandError> {
    let unnamed = || CommandError::usage("cannot make an id from the task; name the bubble with --id.");
    let first = task.lines().find(|line| line.contains(char::is_alphanumeric)).unwrap_or(task);
    let wanted = BubbleId::from_text(first, ID_LENGTH).ok_or_else(unnamed)?;
    let numbered = (2..1000).filter_map(|n| format!("{wanted}-{n}").parse().ok());
    let taken = |id: &BubbleId| engine.look_at(&place.repo.root, id).is_ok();
    let free = std::iter::once(wanted.clone()).chain(numbered).find(|id| !taken(id));
    free.ok_or_else(|| CommandError::refused("too many bubbles have this name; name this one with --id."))
}

/// Something that agents need and that is not there.
struct Missing {
    /// What, as a sentence without its full stop.
    what: String,
    /// Whether the sentence names the line of a file that has to be corrected.
    in_file: bool,
}

impl App {
    /// Insists that the agents of a configuration can be run; `again` is the command that is typed once they can.
    pub(crate) fn can_run(&self, resolved: &Resolved, again: &str) -> Result<(), CommandError> {
        readable(&resolved.rules)?;
        self.installed(resolved, again)
    }

    /// Insists that what runs in panes is there; names everything that is missing.
    fn installed(&self, resolved: &Resolved, again: &str) -> Result<(), CommandError> {
        if resolved.rules.driver != DriverKind::Tmux {
            return Ok(());
        }
        let tmux =
            self.on_path("tmux").is_none().then(|| Missing { what: "tmux is not on PATH".into(), in_file: false });
        let programs = resolved.rules.agents.all().filter_map(|agent| self.lacks(resolved, agent));
        let missing: Vec<_> = tmux.into_iter().chain(programs).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let all: Vec<_> = missing.iter().map(|one| one.what.as_str()).collect();
        let error = CommandError::io(format_args!("agents cannot run here: {}. Nothing was started.", all.join("; ")));
        let correct = missing.iter().all(|one| one.in_file);
        Err(error.next(if correct { again } else { "pairflow doctor" }))
    }

    /// What keeps one agent from being started. A file that counts is named: the bubble's own is not the repository's.
    fn lacks(&self, resolved: &Resolved, agent: &AgentId) -> Option<Missing> {
        let program = match spec_of(agent, resolved.rules.agents_custom.get(agent)) {
            Ok(spec) => spec.fresh.command.first().cloned().unwrap_or_default(),
            Err(why) => return Some(Missing { what: format!("{agent}: {why}"), in_file: false }),
        };
        if self.on_path(&program).is_some() {
            return None;
        }
        let key = format!("agent.{agent}.command");
        let place = resolved.explained.iter().find(|row| row.key == key).and_then(|row| row.source.place());
        let named =
            place.map(|place| format!("; correct `command` of [agent.{agent}] in {}, line {}", place.file, place.line));
        let what = format!("{program}, the program of {agent}, was not found{}", named.as_deref().unwrap_or_default());
        Some(Missing { what, in_file: named.is_some() })
    }
}

/// Insists that the agents' script can be played.
fn readable(rules: &Rules) -> Result<(), CommandError> {
    let Some(path) = rules.script.as_ref().filter(|_| rules.driver == DriverKind::Script) else { return Ok(()) };
    let text = pairflow_engine::regular::read_text(std::path::Path::new(path))
        .map_err(|error| CommandError::usage(format_args!("cannot read the script {path}: {error}.")));
    let played = text.and_then(|text| Script::parse(path, &text).map(drop).map_err(CommandError::usage));
    played.map_err(|error| error.or_next("pairflow start --help"))
}
