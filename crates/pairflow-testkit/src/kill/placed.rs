//! Every single operation on the disk in turn: the process is killed at it, or the operation fails.
//!
//! The same for adoptions and moved repositories: after each kill the bubble is still foreign and can be adopted, or it is
//! the person's own. In both cases its log is complete and its worktree has the work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use pairflow_core::log::{Body, Envelope, Lifecycle};
use pairflow_engine::engine::Bubble;

use super::judge::{Answered, heal, judge, judge_created};
use super::scene::{Scene, Site};
use super::verbs::Verb;
use crate::home::Ran;
use crate::sim::Witness;

/// What a run over every operation came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placed {
    /// How many operations each verb has, and in how many of the runs it had counted nevertheless.
    pub verbs: BTreeMap<Verb, Points>,
}

/// The runs of one verb.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Points {
    /// How many operations it has.
    pub operations: u64,
    /// How often it was run.
    pub runs: u64,
    /// How often it had counted although it was ended or disturbed.
    pub counted: u64,
}

/// No verb has more operations than this.
pub(super) const MOST: u64 = 400;

impl Placed {
    /// Returns how many processes were run.
    pub fn runs(&self) -> u64 {
        self.verbs.values().map(|points| points.runs).sum()
    }
}

impl std::fmt::Display for Placed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "  {:<20}{:>12}{:>10}{:>22}", "verb", "operations", "runs", "counted nevertheless")?;
        for (verb, Points { operations, runs, counted }) in &self.verbs {
            writeln!(f, "  {:<20}{operations:>12}{runs:>10}{counted:>22}", verb.name())?;
        }
        write!(f, "  {:<20}{:>22}", "all", self.runs())
    }
}

/// Kills `program` (which understands `PF_FAULT`) at every operation of every one of `verbs`.
pub fn kill_everywhere(program: &Path, verbs: &[Verb]) -> Result<Placed, String> {
    for_each_verb(program, verbs, |site, verb| {
        let mut points = Points::default();
        for at in 1..=MOST {
            let run = Run { site, verb, fault: format!("kill@{at}") };
            let ended = run.perform()?;
            points.runs += 1;
            points.counted += u64::from(ended.counted);
            if ended.code != KILLED {
                return if ended.code == 0 {
                    Ok(points)
                } else {
                    Err(format!("{} ended with {}", run.told(), ended.code))
                };
            }
            points.operations = at;
        }
        Err(format!("{} has no end of operations", verb.name()))
    })
}

/// How an operation can fail: with an error of the kernel, or with half a write.
pub const WAYS: [&str; 6] = ["ENOSPC", "EIO", "EDQUOT", "EINTR", "EMFILE", "short"];

/// Fails every operation of every one of `verbs` in each of these ways of [`WAYS`].
pub fn fail_everywhere(program: &Path, verbs: &[Verb], ways: &[&str]) -> Result<Placed, String> {
    fail(program, verbs, |operations| {
        let of_way = |way: &&str| (1..=operations).map(|at| (at, (*way).to_owned())).collect::<Vec<_>>();
        ways.iter().flat_map(of_way).collect()
    })
}

/// Fails every operation of every one of `verbs` in one of [`WAYS`], which take turns.
pub fn fail_in_turn(program: &Path, verbs: &[Verb]) -> Result<Placed, String> {
    let way = |at: u64| WAYS[(at % WAYS.len() as u64) as usize].to_owned();
    fail(program, verbs, |operations| (1..=operations).map(|at| (at, way(at))).collect())
}

/// Fails the operations of every one of `verbs` that `plan` names, each with the fault that it names.
fn fail(program: &Path, verbs: &[Verb], plan: impl Fn(u64) -> Vec<(u64, String)> + Sync) -> Result<Placed, String> {
    for_each_verb(program, verbs, |site, verb| {
        let mut points = Points { operations: operations(site, verb)?, ..Points::default() };
        let mut wrong = Vec::new();
        for (at, way) in plan(points.operations) {
            let fault = if way == "short" { format!("short@{at}") } else { format!("errno@{at}:{way}") };
            let run = Run { site, verb, fault };
            points.runs += 1;
            match run.perform() {
                Ok(ended) if matches!(ended.code, 0 | 3) => points.counted += u64::from(ended.counted),
                Ok(ended) => wrong.push(format!("{} ended with {}: {}", run.told(), ended.code, ended.stderr)),
                Err(why) => wrong.push(why),
            }
        }
        if wrong.is_empty() { Ok(points) } else { Err(wrong.join("\n")) }
    })
}

/// What a shell would say of a process that was killed.
pub(super) const KILLED: i32 = 128 + 9;

/// Has the verbs shared out between the cores, each with a site of its own.
fn for_each_verb(
    program: &Path,
    verbs: &[Verb],
    work: impl Fn(&Site, Verb) -> Result<Points, String> + Sync,
) -> Result<Placed, String> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Ok(Placed::default()));
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(verbs.len().max(1));
    let one_after_the_other = || {
        let site = Site::new(program);
        while let Some(verb) = verbs.get(next.fetch_add(1, Ordering::SeqCst)) {
            let points = site.as_ref().map_err(Clone::clone).and_then(|site| work(site, *verb));
            gather(&mut all.lock().unwrap_or_else(PoisonError::into_inner), *verb, points);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(one_after_the_other);
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Adds what one verb came to; of failures, all are told.
fn gather(all: &mut Result<Placed, String>, verb: Verb, points: Result<Points, String>) {
    match (points, all) {
        (Ok(points), Ok(placed)) => drop(placed.verbs.insert(verb, points)),
        (Err(why), all @ Ok(_)) => *all = Err(why),
        (Err(why), Err(first)) => first.push_str(&format!("\n{why}")),
        (Ok(_), Err(_)) => {}
    }
}

/// Counts the operations of an undisturbed run.
fn operations(site: &Site, verb: Verb) -> Result<u64, String> {
    let file = site.repo().join(format!(".git/count-{}", site.fresh_id()));
    let (mut command, _scene, _) = prepare(site, verb)?;
    let output = command.env("PF_FAULT_COUNT", &file).output().map_err(|error| error.to_string())?;
    let ran = Ran::of(&output);
    if ran.code != 0 {
        return Err(format!("{} without any fault ended with {}: {}", verb.name(), ran.code, ran.stderr));
    }
    let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
    text.trim().parse().map_err(|_| format!("{text:?} is no count"))
}

/// One run of one verb with one fault.
struct Run<'a> {
    site: &'a Site,
    verb: Verb,
    fault: String,
}

struct Ended {
    code: i32,
    counted: bool,
    stderr: String,
}

impl Run<'_> {
    fn perform(&self) -> Result<Ended, String> {
        let (mut command, scene, id) = prepare(self.site, self.verb)?;
        let output = command.env("PF_FAULT", &self.fault).output().map_err(|error| error.to_string())?;
        let ran = Ran::of(&output);
        let told = match ran.code {
            0 => Answered::Done,
            1 | 2 | 4 => Answered::Refused,
            // What was asked for stays asked for when the process fails while it waits for the confirmation.
            3 if ran.stderr.contains("is unknown") || matches!(self.verb, Verb::Start | Verb::Commit) => {
                Answered::Nothing
            }
            3 => Answered::Failed,
            _ if ran.stdout.ends_with('\n') => Answered::Done,
            _ => Answered::Nothing,
        };
        if ran.code == 3 && ran.stderr.trim().is_empty() {
            return Err(format!("{} failed without a word", self.told()));
        }
        let judged = match scene {
            Some(scene) => self.go_on(scene, told),
            None => self.go_on_created(&id, told),
        };
        let counted = judged.map_err(|why| format!("{}: {why}\n{}", self.told(), ran.stderr))?;
        Ok(Ended { code: ran.code, counted, stderr: ran.stderr })
    }

    /// Judges, then has the same command run once more without a fault: it works, or has counted already.
    fn go_on(&self, mut scene: Scene, told: Answered) -> Result<bool, String> {
        let verdict = judge(&mut scene, self.verb, told)?;
        if self.verb != Verb::Env || !verdict.counted {
            let code = run_again(self.site, self.verb, &scene)?;
            if !(code == 0 || (verdict.counted && code == 1)) {
                return Err(format!("the next run ended with {code}"));
            }
            judge(&mut scene, self.verb, if code == 0 { Answered::Done } else { Answered::Nothing })?;
        }
        heal(self.site, &mut scene)?;
        Ok(verdict.counted)
    }

    fn go_on_created(&self, id: &str, told: Answered) -> Result<bool, String> {
        let counted = judge_created(self.site, id, told)?;
        if told == Answered::Failed && counted {
            return Err("was told that nothing happened, and it did".to_owned());
        }
        if !counted {
            let mut command = self.site.command(None, &self.verb.args(id, "again"));
            let code = command.stdout(Stdio::null()).stderr(Stdio::null()).status().map_err(|e| e.to_string())?;
            judge_created(self.site, id, if code.success() { Answered::Done } else { Answered::Nothing })?;
            if !code.success() {
                return Err(format!("the next run ended with {code}"));
            }
        }
        Ok(counted)
    }

    fn told(&self) -> String {
        format!("{} with {}", self.verb.name(), self.fault)
    }
}

fn run_again(site: &Site, verb: Verb, scene: &Scene) -> Result<i32, String> {
    let agent = verb.agent(scene.state());
    // A hand-over that counted has given the turn away; its sender is still the one who asks again.
    let sender = match scene.state().gate.summaries.back() {
        Some(said) if scene.witness.log.len() > scene.witness.firm() => agent.map(|_| said.agent.clone()),
        _ => agent,
    };
    let args = verb.args(scene.bubble.id.as_str(), "w");
    let mut command = site.command(sender.as_ref().map(|agent| (scene, agent)), &args);
    let output = command.output().map_err(|error| error.to_string())?;
    Ok(Ran::of(&output).code)
}

/// Makes a bubble for a verb, and the command that calls it.
fn prepare(site: &Site, verb: Verb) -> Result<(std::process::Command, Option<Scene>, String), String> {
    if verb == Verb::Create {
        // The first bubble of a repository has the most to do; the others on this site have been judged.
        let control = site.repo().join(".pairflow");
        std::fs::remove_dir_all(&control).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(format!("{}: {error}", control.display())),
        })?;
        let id = site.fresh_id();
        return Ok((site.command(None, &verb.args(&id, "w")), None, id));
    }
    let scene = verb.scene(site)?;
    let id = scene.bubble.id.to_string();
    let agent = verb.agent(scene.state());
    let command = site.command(agent.as_ref().map(|agent| (&scene, agent)), &verb.args(&id, "w"));
    Ok((command, Some(scene), id))
}

/// A file of half-done work in the worktree.
const WORK: &str = "half.txt";

/// What the kills of an adoption or a move came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Adoptions {
    /// How many operations there are.
    pub operations: u64,
    /// After how many kills the bubble was the person's own.
    pub own: u64,
}

/// Kills `program` at every operation of an adoption of a bubble that is not on record.
pub fn kill_adoptions(program: &Path) -> Result<Adoptions, String> {
    let site = Site::new(program)?;
    let id = site.scene()?.bubble.id.to_string();
    every_operation(&site, &id, |_| {
        let bubble = at(&site, site.repo(), &id)?;
        let registry = site.engine().registry();
        registry.forget(site.repo(), &bubble.id).map_err(|error| error.to_string())?;
        Ok((site.repo().to_owned(), 1))
    })
}

/// Kills `program` at every operation by which a bubble is found again whose repository was moved.
pub fn kill_moves(program: &Path) -> Result<Adoptions, String> {
    let site = Site::new(program)?;
    let id = site.scene()?.bubble.id.to_string();
    let (home, away) = (site.repo().to_owned(), site.repo().with_file_name("away"));
    every_operation(&site, &id, |run| {
        let (from, to) = if run % 2 == 1 { (&home, &away) } else { (&away, &home) };
        std::fs::rename(from, to).map_err(|error| format!("{}: {error}", to.display()))?;
        Ok((to.clone(), 0))
    })
}

/// Has the bubble made foreign by `estrange`, adopted with a kill at the next operation, and looked at, until an adoption
/// is not killed any more. `estrange` says where the repository is then, and how many adoptions the log will tell of.
fn every_operation(
    site: &Site,
    id: &str,
    estrange: impl Fn(u64) -> Result<(PathBuf, usize), String>,
) -> Result<Adoptions, String> {
    let mut points = Adoptions::default();
    let worktree = worktree(&at(site, site.repo(), id)?)?;
    std::fs::write(worktree.join(WORK), id).map_err(|error| error.to_string())?;
    let mut before = log(&at(site, site.repo(), id)?)?;
    for run in 1..=MOST {
        let (repo, adoptions) = estrange(run)?;
        let ran = adopt(site, &repo, id, &format!("kill@{run}"))?;
        let told = |why: String| format!("adopt with kill@{run}: {why}\n{}", ran.stderr);
        let (own, after) = judge_adopted(site, &repo, id, &before, adoptions).map_err(told)?;
        before = after;
        if ran.code != KILLED {
            return if ran.code == 0 && own { Ok(points) } else { Err(told(format!("it ended with {}", ran.code))) };
        }
        points.operations = run;
        points.own += u64::from(own);
    }
    Err("an adoption has no end of operations".to_owned())
}

/// Looks at the bubble after a kill, adopts it if it is foreign still, and returns whether it was not, with its log.
fn judge_adopted(
    site: &Site,
    repo: &Path,
    id: &str,
    before: &[Envelope],
    adoptions: usize,
) -> Result<(bool, Vec<Envelope>), String> {
    let bubble = at(site, repo, id)?;
    let own = bubble.foreign().map_err(|error| error.to_string())?.is_none();
    if !own {
        let again = adopt(site, repo, id, "")?;
        if again.code != 0 {
            return Err(format!("the next adoption ended with {}: {}", again.code, again.stderr));
        }
    }
    bubble.insist_own().map_err(|error| error.to_string())?;
    let after = log(&bubble)?;
    let Some(fresh) = after.strip_prefix(before) else { return Err("lines of the log are lost".to_owned()) };
    let adopts = |one: &&Envelope| matches!(one.event.body, Body::Lifecycle(Lifecycle::Adopted { .. }));
    let count = fresh.iter().filter(adopts).count();
    if count != adoptions {
        return Err(format!("the log tells of {count} adoptions, not of {adoptions}"));
    }
    let work = worktree(&bubble)?.join(WORK);
    if !work.is_file() {
        return Err(format!("{} is lost", work.display()));
    }
    Ok((own, after))
}

/// Runs the adoption, with a fault if one is named.
fn adopt(site: &Site, repo: &Path, id: &str, fault: &str) -> Result<Ran, String> {
    let mut command = site.command(None, &["adopt", id, "--yes"].map(str::to_owned));
    command.current_dir(repo);
    if !fault.is_empty() {
        command.env("PF_FAULT", fault);
    }
    Ok(Ran::of(&command.output().map_err(|error| error.to_string())?))
}

fn at(site: &Site, repo: &Path, id: &str) -> Result<Bubble, String> {
    let id = id.parse().map_err(|why| format!("{id}: {why}"))?;
    site.engine().look_at(repo, &id).map_err(|error| error.to_string())
}

/// Reads the log as a witness does.
fn log(bubble: &Bubble) -> Result<Vec<Envelope>, String> {
    let path = bubble.log().files().transcript();
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut witness = Witness::<pairflow_core::bubble::BubbleState>::new(bubble.id.clone());
    witness.look(&bytes)?;
    Ok(witness.log)
}

fn worktree(bubble: &Bubble) -> Result<PathBuf, String> {
    let state = bubble.load().map_err(|error| error.to_string())?.state;
    let problem = bubble.worktree_problem(&state).map(|problem| problem.to_string());
    problem.map_or_else(|| Ok(bubble.worktree_for(bubble.control.repo())), Err)
}
