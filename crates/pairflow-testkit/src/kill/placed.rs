//! Every single operation on the disk, one after the other: the process is killed at it, or the operation fails.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::judge::{Told, heal, judge, judge_created};
use super::scene::Scene;
use super::stage::Stage;
use super::verbs::Verb;
use crate::home::Ran;

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
    for_each_verb(program, verbs, |stage, verb| {
        let mut points = Points::default();
        for at in 1..=MOST {
            let run = Run { stage, verb, fault: format!("kill@{at}") };
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

/// Fails the operations of every one of `verbs` that `plan` names, each in the way that it names with it.
fn fail(program: &Path, verbs: &[Verb], plan: impl Fn(u64) -> Vec<(u64, String)> + Sync) -> Result<Placed, String> {
    for_each_verb(program, verbs, |stage, verb| {
        let mut points = Points { operations: operations(stage, verb)?, ..Points::default() };
        let mut wrong = Vec::new();
        for (at, way) in plan(points.operations) {
            let fault = if way == "short" { format!("short@{at}") } else { format!("errno@{at}:{way}") };
            let run = Run { stage, verb, fault };
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

/// Has the verbs shared out between the cores, each with a stage of its own.
fn for_each_verb(
    program: &Path,
    verbs: &[Verb],
    work: impl Fn(&Stage, Verb) -> Result<Points, String> + Sync,
) -> Result<Placed, String> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Ok(Placed::default()));
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(verbs.len().max(1));
    let one_after_the_other = || {
        let stage = Stage::new(program);
        while let Some(verb) = verbs.get(next.fetch_add(1, Ordering::SeqCst)) {
            let points = stage.as_ref().map_err(Clone::clone).and_then(|stage| work(stage, *verb));
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
fn operations(stage: &Stage, verb: Verb) -> Result<u64, String> {
    let file = stage.repo().join(format!(".git/count-{}", stage.fresh_id()));
    let (mut command, _scene, _) = prepare(stage, verb)?;
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
    stage: &'a Stage,
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
        let (mut command, scene, id) = prepare(self.stage, self.verb)?;
        let output = command.env("PF_FAULT", &self.fault).output().map_err(|error| error.to_string())?;
        let ran = Ran::of(&output);
        let told = match ran.code {
            0 => Told::Done,
            1 | 2 | 4 => Told::Refused,
            // What was asked for stays asked for when the process fails while it waits for the confirmation.
            3 if ran.stderr.contains("is unknown") || matches!(self.verb, Verb::Start | Verb::Commit) => Told::Nothing,
            3 => Told::Failed,
            _ if ran.stdout.ends_with('\n') => Told::Done,
            _ => Told::Nothing,
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
    fn go_on(&self, mut scene: Scene, told: Told) -> Result<bool, String> {
        let verdict = judge(&mut scene, self.verb, told)?;
        if self.verb != Verb::Env || !verdict.counted {
            let code = run_again(self.stage, self.verb, &scene)?;
            if !(code == 0 || (verdict.counted && code == 1)) {
                return Err(format!("the next run ended with {code}"));
            }
            judge(&mut scene, self.verb, if code == 0 { Told::Done } else { Told::Nothing })?;
        }
        heal(self.stage, &mut scene)?;
        Ok(verdict.counted)
    }

    fn go_on_created(&self, id: &str, told: Told) -> Result<bool, String> {
        let counted = judge_created(self.stage, id, told)?;
        if told == Told::Failed && counted {
            return Err("was told that nothing happened, and it did".to_owned());
        }
        if !counted {
            let mut command = self.stage.command(None, &self.verb.args(id, "again"));
            let code = command.stdout(Stdio::null()).stderr(Stdio::null()).status().map_err(|e| e.to_string())?;
            judge_created(self.stage, id, if code.success() { Told::Done } else { Told::Nothing })?;
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

fn run_again(stage: &Stage, verb: Verb, scene: &Scene) -> Result<i32, String> {
    let agent = verb.agent(scene.state());
    // A hand-over that counted has given the turn away; its sender is still the one who asks again.
    let sender = match scene.state().gate.summaries.back() {
        Some(said) if scene.witness.log.len() > scene.witness.firm() => agent.map(|_| said.agent.clone()),
        _ => agent,
    };
    let args = verb.args(scene.bubble.id.as_str(), "w");
    let mut command = stage.command(sender.as_ref().map(|agent| (scene, agent)), &args);
    let output = command.output().map_err(|error| error.to_string())?;
    Ok(Ran::of(&output).code)
}

/// Makes a bubble for a verb, and the command that calls it.
fn prepare(stage: &Stage, verb: Verb) -> Result<(std::process::Command, Option<Scene>, String), String> {
    if verb == Verb::Create {
        // The first bubble of a repository has the most to do; the others on this stage have been judged.
        let control = stage.repo().join(".pairflow");
        std::fs::remove_dir_all(&control).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(format!("{}: {error}", control.display())),
        })?;
        let id = stage.fresh_id();
        return Ok((stage.command(None, &verb.args(&id, "w")), None, id));
    }
    let scene = verb.scene(stage)?;
    let id = scene.bubble.id.to_string();
    let agent = verb.agent(scene.state());
    let command = stage.command(agent.as_ref().map(|agent| (&scene, agent)), &verb.args(&id, "w"));
    Ok((command, Some(scene), id))
}
