//! From a call to the engine: which repository, which bubble, and how its answers end the process.

use std::path::{Path, PathBuf};

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use pairflow_core::view::ForeignNotice;
use pairflow_engine::engine::{Bubble, Denial, Engine, EngineError, Listed, UserDirs};
use pairflow_engine::supervisor_client::Client;
use pairflow_engine::verbs::Executor;
use pairflow_engine::workspace::{Place, locate};

use crate::app::pick::{Wanted, pick};
use crate::app::{App, quoted};
use crate::args::BubbleArg;
use crate::exit::{CommandError, Exit};
use crate::out::Out;

/// What is said of a repository whose commits carry pairflow's own files.
pub(crate) const TRACKED: &str = ".pairflow is tracked by git in this repository, so its logs reach everyone who \
    pulls; stop tracking it, then commit: git rm -r --cached .pairflow";

impl App {
    /// Returns the engine on this world's disk and clock.
    pub fn engine(&self) -> Result<Engine, CommandError> {
        let dirs = UserDirs::find(|name| self.env.get(name)).ok_or_else(|| {
            CommandError::world("HOME is not set, so there is no place for pairflow's own files.").next("export HOME=~")
        })?;
        Ok(Engine { limits: self.limits, ..Engine::new(self.disk.clone(), self.clock.clone(), dirs) })
    }

    /// Finds the repository: the one that was named, else an agent's own, else the one around the current directory.
    pub fn place(&self, named: Option<&Path>) -> Result<Place, CommandError> {
        let path = match named {
            Some(path) => self.resolve(path)?,
            None => match self.agents_place() {
                Some(place) => return Ok(place),
                None => self.cwd()?.to_owned(),
            },
        };
        if let Some((_, place)) = self.located.borrow().as_ref().filter(|(then, _)| *then == path) {
            return Ok(place.clone());
        }
        let place = locate(&path).map_err(EngineError::from)?;
        *self.located.borrow_mut() = Some((path, place.clone()));
        Ok(place)
    }

    /// Returns where the agent that is calling works, by its environment; nothing for a person.
    fn agents_place(&self) -> Option<Place> {
        let bubble = self.caller()?.bubble?.parse().ok()?;
        let repo = locate(Path::new(&self.env.text("PAIRFLOW_REPO")?)).ok()?.repo;
        Some(Place { repo, bubble: Some(bubble) })
    }

    /// Returns the bubble that a command acts for; a foreign one is refused.
    pub fn bubble(&self, arg: &BubbleArg, verb: &str) -> Result<Bubble, CommandError> {
        let (root, id) = self.meant(arg, verb)?;
        Ok(self.engine()?.bubble(&root, &id)?)
    }

    /// Returns the bubble that a command only reads, own or foreign, and warns if it is foreign.
    pub fn look_at(&self, arg: &BubbleArg, verb: &str, out: &mut Out) -> Result<Bubble, CommandError> {
        let bubble = self.peek(arg, verb)?;
        match bubble.foreign_notice().map_err(CommandError::from) {
            Ok(notice) => notice.iter().for_each(|notice| tell_foreign(&bubble.id, notice, out)),
            // A damaged log says so by itself.
            Err(error) if error.exit == Exit::LogDamaged => {}
            Err(error) => {
                out.warn(format_args!("{}", error.message));
                error.hint.iter().for_each(|hint| out.next(format_args!("{hint}")));
            }
        }
        Ok(bubble)
    }

    /// Returns the bubble that a command only reads, own or foreign. The command itself shows if it is foreign.
    pub(crate) fn peek(&self, arg: &BubbleArg, verb: &str) -> Result<Bubble, CommandError> {
        let (root, id) = self.meant(arg, verb)?;
        Ok(self.engine()?.look_at(&root, &id)?)
    }

    /// Finds out which bubble is meant. Without a name, those that are foreign or finished count only where there are no
    /// others.
    pub(crate) fn meant(&self, arg: &BubbleArg, verb: &str) -> Result<(PathBuf, BubbleId), CommandError> {
        let engine = self.engine()?;
        let place = self.place(arg.repo.as_deref())?;
        let root = place.repo.root;
        // A whole id needs no list of all bubbles.
        if let Some(id) = arg.typed().and_then(|typed| typed.parse().ok()) {
            match engine.look_at(&root, &id) {
                Err(EngineError::NoBubble { .. }) => {}
                found => return found.map(|_| (root, id)).map_err(CommandError::from),
            }
        }
        let mut ids = engine.ids(&root)?;
        ids.retain(|id| !matches!(engine.look_at(&root, id), Err(EngineError::NoBubble { .. })));
        let inside = place.bubble.as_ref().filter(|id| ids.contains(id));
        if arg.typed().is_none() && inside.is_none() && ids.len() > 1 {
            let candidates = active(owned(engine.list(&root)?));
            ids = candidates.into_iter().map(|listed| listed.bubble.id).collect();
        }
        let inside = place.bubble.as_ref().filter(|id| ids.contains(id));
        let rest = self.rest(arg, verb);
        let id = pick(Wanted { typed: arg.typed(), inside, verb, rest: &rest }, &ids)?;
        Ok((root, id))
    }

    /// Returns the bubble that a command is about; where none is named, the one whose state `fits` the command.
    pub fn bubble_that(
        &self,
        fits: fn(&BubbleState) -> bool,
        arg: &BubbleArg,
        verb: &str,
    ) -> Result<Bubble, CommandError> {
        let place = self.place(arg.repo.as_deref())?;
        if arg.typed().is_some() || place.bubble.is_some() {
            return self.bubble(arg, verb);
        }
        let mut listed = owned(self.engine()?.list(&place.repo.root)?);
        let fit = |listed: &&Listed| listed.own().is_some_and(fits);
        let fitting: Vec<_> = listed.iter().filter(fit).map(|listed| listed.bubble.id.clone()).collect();
        if fitting.is_empty() {
            listed = active(listed);
        }
        if fitting.is_empty() && listed.len() > 1 {
            let state = |listed: &Listed| match &listed.state {
                Ok(state) => format!("{} is {}", state.id, state.phase.name()),
                Err(_) => format!("{} cannot be read", listed.bubble.id),
            };
            let states: Vec<_> = listed.iter().take(8).map(state).collect();
            let more = if listed.len() > 8 { ", …" } else { "" };
            let message = format!("no bubble is in a state for '{verb}': {}{more}", states.join(", "));
            return Err(CommandError::refused(message).next("pairflow list"));
        }
        let rest = self.rest(arg, verb);
        let all: Vec<_> = listed.iter().map(|listed| listed.bubble.id.clone()).collect();
        let meant = if fitting.is_empty() { &all } else { &fitting };
        let id = pick(Wanted { typed: None, inside: None, verb, rest: &rest }, meant)?;
        Ok(self.engine()?.bubble(&place.repo.root, &id)?)
    }

    /// Warns of a repository whose commits carry pairflow's own files: each clone of it gets foreign logs.
    pub(crate) fn warn_of_tracked(&self, named: Option<&Path>, out: &mut Out) {
        let Ok(place) = self.place(named) else { return };
        if self.engine().is_ok_and(|engine| engine.tracks_control(&place.repo)) {
            out.warn(format_args!("{TRACKED}"));
        }
    }

    /// Returns what was given besides the verb and the bubble, as it has to be typed again.
    fn rest(&self, arg: &BubbleArg, verb: &str) -> String {
        let typed = arg.typed().unwrap_or_default();
        let named = [typed.to_owned(), "--id".to_owned(), format!("--id={typed}")];
        // The second word of a verb such as `config apply` was given like an argument.
        let second = verb.split(' ').nth(1).filter(|second| self.given.first().is_some_and(|word| word == second));
        let kept = self.given.iter().skip(usize::from(second.is_some())).filter(|word| !named.contains(word));
        kept.map(|word| format!(" {}", quoted(word))).collect()
    }

    /// Returns whose hands carry out what a verb asks for.
    pub fn hands(&self) -> Executor {
        self.program.clone().map_or(Executor::Own, Executor::Supervisor)
    }

    /// Returns the program itself.
    pub fn program(&self) -> Result<PathBuf, CommandError> {
        let unknown = || CommandError::world("the path of the pairflow program cannot be found out.");
        self.program.clone().ok_or_else(unknown)
    }

    /// Whether a supervisor is there.
    pub fn supervised(&self) -> Result<bool, CommandError> {
        Ok(Client::new(&self.engine()?).is_there())
    }
}

/// Leaves out foreign bubbles, unless there are no others.
fn owned(mut listed: Vec<Listed>) -> Vec<Listed> {
    if listed.iter().any(|one| one.foreign.is_none()) {
        listed.retain(|one| one.foreign.is_none());
    }
    listed
}

/// Leaves out finished bubbles, unless there are no others. One that cannot be read may be active.
fn active(mut listed: Vec<Listed>) -> Vec<Listed> {
    let finished = |one: &Listed| one.state.as_ref().is_ok_and(|state| state.phase.is_final());
    if listed.iter().any(|one| !finished(one)) {
        listed.retain(|one| !finished(one));
    }
    listed
}

/// Warns that a bubble is foreign, and names the step that there is: to adopt it, or else to remove it.
pub(crate) fn tell_foreign(id: &BubbleId, notice: &ForeignNotice, out: &mut Out) {
    out.warn(format_args!("bubble {id} is foreign: {}", notice.why));
    out.next(format_args!("{}", notice.next));
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        match &error {
            EngineError::Config(errors) => errors.into(),
            other => Denial::from(other).into(),
        }
    }
}

impl From<Denial> for CommandError {
    fn from(denial: Denial) -> Self {
        Self { exit: Exit::of_code(denial.exit), message: denial.message, hint: denial.next }
    }
}
