//! Which repository and which bubble a command means, and how answers of the engine end the process.
//!
//! A bubble is named by its id, by the beginning of its id, by the current directory, or not at all if only one fits.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use pairflow_core::bubble::{BubbleState, Phase};
use pairflow_core::ids::BubbleId;
use pairflow_core::rules::DriverKind;
use pairflow_core::text::distance;
use pairflow_core::view::ForeignNotice;
use pairflow_engine::engine::{Bubble, Denial, Engine, EngineError, Listed, UserDirs};
use pairflow_engine::git::GitError;
use pairflow_engine::supervisor_client::Client;
use pairflow_engine::verbs::Executor;
use pairflow_engine::workspace::{Location, locate};

use crate::app::{App, quoted};
use crate::args::BubbleArg;
use crate::exit::{CommandError, Exit};
use crate::out::{Out, TakesRepo, line_for};

/// What is said of a repository whose commits carry pairflow's own files.
pub(crate) const TRACKED: &str = "git tracks .pairflow in this repository, so everyone who pulls gets its logs; to \
    stop tracking it, run this and commit: git rm -r --cached .pairflow";

impl App {
    /// Returns the engine on this world's disk and clock.
    pub fn engine(&self) -> Result<Engine, CommandError> {
        let dirs = UserDirs::find(|name| self.env.get(name)).ok_or_else(|| {
            CommandError::io("HOME is not set, so pairflow has no place for its files.").next("export HOME=~")
        })?;
        Ok(Engine { limits: self.limits, ..Engine::new(self.disk.clone(), self.clock.clone(), dirs) })
    }

    /// Finds the repository: the one that was named, else an agent's own, else the one around the current directory.
    pub fn place(&self, named: Option<&Path>) -> Result<Location, CommandError> {
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
    fn agents_place(&self) -> Option<Location> {
        let bubble = self.caller()?.bubble?.parse().ok()?;
        let repo = locate(Path::new(&self.env.text("PAIRFLOW_REPO")?)).ok()?.repo;
        Some(Location { repo, bubble: Some(bubble) })
    }

    /// Returns the bubble that a command acts for; a foreign one is refused.
    pub fn bubble(&self, arg: &BubbleArg, verb: &str) -> Result<Bubble, CommandError> {
        let (root, id) = self.resolve_bubble(arg, verb)?;
        Ok(self.engine()?.bubble(&root, &id)?)
    }

    /// Returns the bubble that a command only reads, own or foreign, and warns if it is foreign.
    pub fn look_at(&self, arg: &BubbleArg, verb: &str, out: &mut Out) -> Result<Bubble, CommandError> {
        let bubble = self.peek(arg, verb)?;
        match bubble.foreign_notice().map_err(CommandError::from) {
            Ok(notice) => notice.iter().for_each(|notice| tell_foreign(&bubble.id, notice, out)),
            // The command reports a damaged log anyway.
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
        let (root, id) = self.resolve_bubble(arg, verb)?;
        Ok(self.engine()?.look_at(&root, &id)?)
    }

    /// Finds out which bubble is meant. Without a name, those that are foreign or finished count only where there are no
    /// others.
    pub(crate) fn resolve_bubble(&self, arg: &BubbleArg, verb: &str) -> Result<(PathBuf, BubbleId), CommandError> {
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
        let id = choose(BubbleQuery { typed: arg.typed(), inside, verb, rest: &rest }, &ids)?;
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
            let message = format!("no bubble can be used with '{verb}': {}{more}", states.join(", "));
            return Err(CommandError::refused(message).next("pairflow list"));
        }
        let rest = self.rest(arg, verb);
        let all: Vec<_> = listed.iter().map(|listed| listed.bubble.id.clone()).collect();
        let meant = if fitting.is_empty() { &all } else { &fitting };
        let id = choose(BubbleQuery { typed: None, inside: None, verb, rest: &rest }, meant)?;
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
        let unknown = || CommandError::io("cannot find the path of the pairflow program.");
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

/// What is known about the bubble that is meant.
#[derive(Debug, Clone, Copy, Default)]
struct BubbleQuery<'a> {
    /// What the person typed.
    pub typed: Option<&'a str>,
    /// The bubble whose worktree the current directory lies in.
    pub inside: Option<&'a BubbleId>,
    /// The verb, for the command that a refusal proposes.
    pub verb: &'a str,
    /// What else was given to the verb, with a space before each; a proposed command keeps it.
    pub rest: &'a str,
}

impl BubbleQuery<'_> {
    /// Returns the command that means `id`; a guess is never offered for a verb that ends something.
    fn line(&self, id: &str) -> String {
        if ENDING.contains(&self.verb) {
            return "pairflow list".to_owned();
        }
        format!("pairflow {} {id}{}", self.verb, self.rest)
    }
}

/// The verbs that end something for good.
const ENDING: [&str; 2] = ["stop", "delete"];

/// How many candidates a refusal lists.
const LISTED: usize = 8;

/// Picks the bubble that is meant out of `candidates`.
///
/// What was typed always wins over the directory; a whole id always wins over a longer one that begins with it.
fn choose(wanted: BubbleQuery<'_>, candidates: &[BubbleId]) -> Result<BubbleId, CommandError> {
    match (wanted.typed, wanted.inside) {
        (Some(typed), _) => by_name(typed, wanted, candidates),
        (None, Some(inside)) => Ok(inside.clone()),
        (None, None) => only_one(wanted, candidates),
    }
}

fn by_name(typed: &str, wanted: BubbleQuery<'_>, candidates: &[BubbleId]) -> Result<BubbleId, CommandError> {
    if let Some(exact) = candidates.iter().find(|id| id.as_str() == typed) {
        return Ok(exact.clone());
    }
    typed
        .parse::<BubbleId>()
        .map_err(|why| CommandError::usage(format_args!("'{typed}' is not a bubble id: {why}.")))?;
    let matching: Vec<_> = candidates.iter().filter(|id| id.as_str().starts_with(typed)).collect();
    match matching[..] {
        [only] => Ok(only.clone()),
        [] => Err(unknown(typed, wanted, candidates)),
        [first, ..] => {
            let message = format!("'{typed}' matches {} bubbles: {}", matching.len(), listed(&matching));
            Err(CommandError::refused(message).next(wanted.line(first.as_str())))
        }
    }
}

fn unknown(typed: &str, wanted: BubbleQuery<'_>, candidates: &[BubbleId]) -> CommandError {
    let error = CommandError::refused(format_args!("there is no bubble '{typed}' in this repository."));
    match nearest(typed, candidates.iter().map(BubbleId::as_str)) {
        Some(near) => error.next(wanted.line(near)),
        None => error.next("pairflow list"),
    }
}

fn only_one(wanted: BubbleQuery<'_>, candidates: &[BubbleId]) -> Result<BubbleId, CommandError> {
    match candidates {
        [only] => Ok(only.clone()),
        [] => {
            Err(CommandError::refused("there is no bubble in this repository yet.").next("pairflow new \"what to do\""))
        }
        [first, ..] => {
            let all: Vec<_> = candidates.iter().collect();
            let message = format!("which bubble? There are {}: {}", all.len(), listed(&all));
            Err(CommandError::refused(message).next(wanted.line(first.as_str())))
        }
    }
}

fn listed(ids: &[&BubbleId]) -> String {
    let mut text = String::new();
    for (index, id) in ids.iter().take(LISTED).enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}{id}");
    }
    if ids.len() > LISTED {
        let _ = write!(text, ", and {} more", ids.len() - LISTED);
    }
    text
}

/// Which states a command is for: where no bubble is named, it means the one in such a state.
pub(crate) mod fits {
    use super::{BubbleState, DriverKind, Phase};

    /// It can be started.
    pub(crate) fn startable(state: &BubbleState) -> bool {
        matches!(state.phase, Phase::Created | Phase::Preparing)
    }

    /// A package is up for approval.
    pub(crate) fn ready(state: &BubbleState) -> bool {
        matches!(state.phase, Phase::ReadyForApproval(_))
    }

    /// Work waits for its commit.
    pub(crate) fn approved(state: &BubbleState) -> bool {
        matches!(state.phase, Phase::Approved(_))
    }

    /// Accepted work waits for a person.
    pub(crate) fn accepted(state: &BubbleState) -> bool {
        ready(state) || approved(state)
    }

    /// A question is open.
    pub(crate) fn asking(state: &BubbleState) -> bool {
        matches!(state.phase, Phase::WaitingHuman(_)) && !state.gate.questions.is_empty()
    }

    /// It is committed, and the base branch does not have it yet.
    pub(crate) fn unmerged(state: &BubbleState) -> bool {
        matches!(state.phase, Phase::Done(_)) && state.gate.merged.is_none()
    }

    /// An agent is at work, or would be.
    pub(crate) fn pausable(state: &BubbleState) -> bool {
        state.phase.turn().is_some() && !state.paused
    }

    /// Its agents work in panes.
    pub(crate) fn attachable(state: &BubbleState) -> bool {
        state.rules.driver == DriverKind::Tmux && state.evidence.workspace.is_some() && !state.phase.is_final()
    }

    /// `resume` continues it: it is paused, only notices of pairflow are open, or a person may have worked in a pane.
    pub(crate) fn resumable(state: &BubbleState) -> bool {
        let stopped = state.paused || asking(state) || attachable(state);
        state.phase.turn().is_some()
            && stopped
            && state.gate.questions.iter().all(|open| open.kind.is_answered_by_resume())
    }

    /// It has not ended.
    pub(crate) fn unfinished(state: &BubbleState) -> bool {
        !state.phase.is_final()
    }

    /// It has ended.
    pub(crate) fn finished(state: &BubbleState) -> bool {
        state.phase.is_final()
    }
}

/// The repositories that a command looks at.
#[derive(Debug, Clone)]
pub struct RepoScope {
    /// Their roots.
    pub roots: Vec<PathBuf>,
    /// The one that is meant, if it is only one.
    pub place: Option<Location>,
    /// The one around the current directory: commands about it need no `--repo`.
    around: Option<PathBuf>,
    takes_repo: TakesRepo,
}

/// The bubbles of one repository, or why they cannot be listed.
pub(crate) struct RepositoryBubbles {
    pub(crate) root: PathBuf,
    pub(crate) bubbles: Result<Vec<Listed>, EngineError>,
}

impl App {
    /// Finds out how far to look: the named repository, else the one around the current directory, else every known
    /// one.
    pub fn repo_scope(&self, named: Option<&Path>) -> Result<RepoScope, CommandError> {
        let around = match self.cwd().ok().map(locate) {
            Some(Ok(place)) => Some(place),
            Some(Err(GitError::NotARepository { .. })) | None => None,
            Some(Err(_)) if named.is_some() => None,
            Some(Err(error)) => return Err(EngineError::from(error).into()),
        };
        let around_root = around.as_ref().map(|place| place.repo.root.clone());
        let place = named.map(|path| self.place(Some(path))).transpose()?.or(around);
        let roots = match &place {
            Some(place) => vec![place.repo.root.clone()],
            None => self.engine()?.repositories(),
        };
        Ok(RepoScope { roots, place, around: around_root, takes_repo: self.grammar.takes_repo })
    }

    /// Returns a reach without any repository.
    pub(crate) fn empty_repo_scope(&self) -> RepoScope {
        RepoScope { roots: Vec::new(), place: None, around: None, takes_repo: self.grammar.takes_repo }
    }

    /// Lists the bubbles of every repository in reach. One bad repository does not hide the others.
    pub(crate) fn found(&self, repo_scope: &RepoScope) -> Result<Vec<RepositoryBubbles>, CommandError> {
        let engine = self.engine()?;
        let found = |root: &PathBuf| RepositoryBubbles { root: root.clone(), bubbles: engine.list(root) };
        Ok(repo_scope.roots.iter().map(found).collect())
    }
}

impl RepoScope {
    /// Returns a command line as it has to be typed from the place of the call.
    pub(crate) fn line(&self, line: &str, root: &Path) -> String {
        if self.around.as_deref() == Some(root) {
            return line.to_owned();
        }
        line_for(line, root, self.takes_repo)
    }
}

/// Returns the candidate that is nearest to `word`, if it is near enough to be meant by it.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (word.len() > 2 && candidate.starts_with(word), distance(word, candidate), candidate))
        .filter(|(begins, away, _)| *begins || *away <= limit)
        // A name that is only half typed is no mistake.
        .min_by_key(|(begins, away, _)| (!begins, *away))
        .map(|(_, _, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    fn ids(names: &[&str]) -> Vec<BubbleId> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn typed<'a>(name: &'a str) -> BubbleQuery<'a> {
        BubbleQuery { typed: Some(name), verb: "status", ..BubbleQuery::default() }
    }

    #[test]
    fn a_whole_id_wins_over_a_longer_one() {
        assert_eq!(choose(typed("login"), &ids(&["login-form", "login"])).unwrap().as_str(), "login");
    }

    #[test]
    fn a_unique_beginning_is_enough() {
        assert_eq!(choose(typed("log"), &ids(&["login", "cart"])).unwrap().as_str(), "login");
    }

    #[test]
    fn an_ambiguous_beginning_is_refused_with_the_choices() {
        let error = choose(typed("log"), &ids(&["login", "logout", "cart"])).unwrap_err();
        assert_eq!(error.exit, Exit::Refused);
        assert_eq!(error.message, "'log' matches 2 bubbles: login, logout");
        assert_eq!(error.hint.unwrap(), "pairflow status login");
    }

    #[test]
    fn an_unknown_id_is_refused_and_a_near_one_suggested() {
        let error = choose(typed("lgoin"), &ids(&["login", "cart"])).unwrap_err();
        assert_eq!((error.exit, error.hint.as_deref()), (Exit::Refused, Some("pairflow status login")));
        let error = choose(typed("zebra"), &ids(&["login"])).unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("pairflow list"));
    }

    #[test]
    fn what_can_be_no_id_is_a_usage_error() {
        for name in ["../../etc", "a b", "$(x)", "Login", "", "-x", "a;b"] {
            assert_eq!(choose(typed(name), &ids(&["login"])).unwrap_err().exit, Exit::Usage, "{name:?}");
        }
    }

    #[test]
    fn inside_a_worktree_its_bubble_is_meant_unless_another_is_named() {
        let all = ids(&["login", "cart"]);
        let inside = BubbleQuery { inside: Some(&all[1]), ..BubbleQuery::default() };
        assert_eq!(choose(inside, &all).unwrap().as_str(), "cart");
        let named = BubbleQuery { typed: Some("login"), ..inside };
        assert_eq!(choose(named, &all).unwrap().as_str(), "login");
    }

    #[test]
    fn the_only_bubble_needs_no_name() {
        let nothing = BubbleQuery { verb: "start", ..BubbleQuery::default() };
        assert_eq!(choose(nothing, &ids(&["login"])).unwrap().as_str(), "login");
        assert_eq!(choose(nothing, &[]).unwrap_err().message, "there is no bubble in this repository yet.");
        let many: Vec<String> = (0..12).map(|n| format!("b{n}")).collect();
        let many = ids(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let error = choose(nothing, &many).unwrap_err();
        assert_eq!(error.message, "which bubble? There are 12: b0, b1, b2, b3, b4, b5, b6, b7, and 4 more");
    }

    #[test]
    fn nobody_is_handed_a_line_that_ends_a_bubble_that_was_guessed() {
        let all = ids(&["login", "logout"]);
        for verb in ["stop", "delete"] {
            for typed in [None, Some("log"), Some("lgoin")] {
                let error =
                    choose(BubbleQuery { typed, verb, rest: " --yes", ..BubbleQuery::default() }, &all).unwrap_err();
                assert_eq!(error.hint.as_deref(), Some("pairflow list"), "{verb} {typed:?}");
            }
        }
    }

    #[test]
    fn a_line_for_another_place_names_the_repository() {
        let repo_scope =
            RepoScope { roots: Vec::new(), place: None, around: Some("/here".into()), takes_repo: |verb| verb == "ok" };
        assert_eq!(repo_scope.line("pairflow ok x", Path::new("/here")), "pairflow ok x");
        assert_eq!(repo_scope.line("pairflow ok x", Path::new("/a/b")), "pairflow ok x --repo /a/b");
        assert_eq!(repo_scope.line("pairflow ok x", Path::new("/a b/it's")), "pairflow ok x --repo '/a b/it'\\''s'");
    }

    const VERBS: [&str; 5] = ["status", "start", "stop", "pass", "request-rework"];

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let cases = [("staus", "status"), ("strat", "start"), ("psas", "pass"), ("request-rewrok", "request-rework")];
        for (typed, meant) in cases {
            assert_eq!(nearest(typed, VERBS), Some(meant), "{typed}");
        }
        assert_eq!(nearest("request", VERBS), Some("request-rework"));
        assert_eq!(nearest("stat", VERBS), Some("status"), "a beginning beats one letter too few");
    }

    #[test]
    fn nothing_is_suggested_for_something_else_altogether() {
        assert_eq!(nearest("frobnicate", VERBS), None);
        assert_eq!(nearest("", VERBS), None);
    }
}
