//! Races: two callers want the same thing at once, and exactly one of them gets it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Barrier, Mutex, PoisonError};

use pairflow_core::bubble::{BubbleState, Command, Phase, Refusal, WorktreeSeen};
use pairflow_core::log::{Body, Envelope, Lifecycle, RetryKey};
use pairflow_engine::clock::SystemClock;
use pairflow_engine::engine::{Applied, Engine, EngineError, UserDirs};
use pairflow_engine::store::RealDisk;
use tempfile::TempDir;

use super::judge::{Answered, judge};
use super::scene::Site;
use super::scene::{Scene, imaginary};
use super::verbs::{Verb, ask, blocking_findings, pass_with};
use crate::home::temporary_dir;

/// What races came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Raced {
    /// How many rounds there were; each had exactly one winner.
    pub rounds: u64,
    /// In how many of them the loser had seen the state from before (exit 4).
    pub lost: u64,
    /// In how many of them the loser came late (exit 1).
    pub refused: u64,
}

/// A log that is longer than this is left for a new one.
const LONGEST: usize = 60;

type Answer = Result<Applied, EngineError>;

/// Two threads, each with an engine of its own, race `rounds` times on real files.
pub fn race_threads(rounds: u64) -> Result<Raced, String> {
    let ground = Ground::new()?;
    let (start, end) = (Barrier::new(3), Barrier::new(3));
    let jobs: [Mutex<Option<(Engine, Job)>>; 2] = [Mutex::new(None), Mutex::new(None)];
    let answers: [Mutex<Option<Answer>>; 2] = [Mutex::new(None), Mutex::new(None)];
    std::thread::scope(|scope| {
        for side in 0..2 {
            let (start, end, job, answer) = (&start, &end, &jobs[side], &answers[side]);
            scope.spawn(move || side_of_a_race((start, end), job, answer));
        }
        let judged = race(&ground, rounds, |scene, commands| {
            for (side, command) in commands.into_iter().enumerate() {
                let job = Job { repo: ground.repo(), id: scene.bubble.id.clone(), command };
                *open(&jobs[side]) = Some((ground.engine.clone(), job));
            }
            start.wait();
            end.wait();
            answers.each_ref().map(|answer| open(answer).take())
        });
        start.wait();
        judged
    })
}

/// Does one job after the other, each begun and ended together with the other side.
fn side_of_a_race(
    (start, end): (&Barrier, &Barrier),
    job: &Mutex<Option<(Engine, Job)>>,
    answer: &Mutex<Option<Answer>>,
) {
    loop {
        start.wait();
        let Some((engine, job)) = open(job).take() else { return };
        let answered = engine.bubble(&job.repo, &job.id).and_then(|bubble| bubble.apply(&job.command));
        *open(answer) = Some(answered);
        end.wait();
    }
}

/// What one side of a race does.
struct Job {
    repo: PathBuf,
    id: pairflow_core::ids::BubbleId,
    command: Command,
}

fn open<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn race(
    ground: &Ground,
    rounds: u64,
    run: impl Fn(&Scene, [Command; 2]) -> [Option<Answer>; 2],
) -> Result<Raced, String> {
    let mut raced = Raced::default();
    let mut scene = ground.scene(0)?;
    for round in 1..=rounds {
        if scene.witness.log.len() > LONGEST || scene.state().phase.is_final() {
            scene = ground.scene(round)?;
        }
        let (commands, own) = rivals(scene.state(), round);
        let answers = run(&scene, commands);
        let bytes = scene.transcript()?;
        scene.witness.look(&bytes)?;
        let fresh = &scene.witness.log[scene.witness.firm()..];
        let recorded = fresh.iter().filter(|envelope| own(envelope)).count();
        if recorded != 1 {
            return Err(format!("round {round}: {recorded} records of one race: {fresh:?}"));
        }
        raced.judge(round, &answers)?;
        scene.witness.make_firm();
        scene.settle(&imaginary())?;
    }
    let verified = scene.bubble.log().verify().map_err(|error| error.to_string())?;
    if verified.state == *scene.state() { Ok(raced) } else { Err("the verified log tells another state".to_owned()) }
}

impl Raced {
    fn judge(&mut self, round: u64, answers: &[Option<Answer>; 2]) -> Result<(), String> {
        self.rounds += 1;
        let won = answers.iter().flatten().filter(|answer| answer.is_ok()).count();
        for answer in answers.iter().flatten() {
            match answer {
                Ok(_) => {}
                Err(EngineError::Refused { refusal, .. }) if matches!(**refusal, Refusal::LostRace(_)) => {
                    self.lost += 1
                }
                Err(EngineError::Refused { .. }) => self.refused += 1,
                Err(error) => return Err(format!("round {round}: the loser failed: {error}")),
            }
        }
        if won == 1 { Ok(()) } else { Err(format!("round {round}: {won} winners: {answers:?}")) }
    }
}

/// Two commands of which only one can win in this state, and how its record is known.
fn rivals(state: &BubbleState, round: u64) -> ([Command; 2], fn(&Envelope) -> bool) {
    let both = |make: &dyn Fn(&str) -> Command| [make(&format!("a{round}")), make(&format!("b{round}"))];
    let key = |words: &str| Some(RetryKey(words.to_owned()));
    match &state.phase {
        Phase::Created => {
            let start = Command::Start { rules: Box::new(state.rules.clone()) };
            ([start.clone(), start], |it| matches!(it.event.body, Body::Lifecycle(Lifecycle::StartRequested { .. })))
        }
        Phase::WaitingHuman(_) => {
            let reply = |words: &str| Command::Reply {
                message: words.to_owned(),
                question: None,
                decision: None,
                refs: Vec::new(),
                key: key(words),
            };
            (both(&reply), |it| matches!(it.event.body, Body::HumanReply(_)))
        }
        Phase::ReadyForApproval(request) => {
            let seen = WorktreeSeen { tree: request.tree.clone(), differing: Vec::new() };
            let package_sha256 = request.package_sha256.clone();
            let approve = |words: &str| Command::Approve {
                package_sha256: package_sha256.clone(),
                seen: seen.clone(),
                key: key(words),
            };
            (both(&approve), |it| matches!(it.event.body, Body::ApprovalDecision(_)))
        }
        Phase::Approved(_) if round.is_multiple_of(2) => {
            let commit = |words: &str| Command::Commit {
                message: Some(words.to_owned()),
                override_scope: None,
                hooks: false,
                author: None,
            };
            (both(&commit), |it| matches!(it.event.body, Body::Lifecycle(Lifecycle::CommitRequested { .. })))
        }
        Phase::Approved(_) => {
            let rework = |words: &str| Command::Rework {
                message: words.to_owned(),
                reject: false,
                findings: Vec::new(),
                refs: Vec::new(),
                key: key(words),
            };
            (both(&rework), |it| matches!(it.event.body, Body::ApprovalDecision(_)))
        }
        Phase::Running(turn) => {
            let reviews = turn.seat == pairflow_core::facts::Seat::Reviewer;
            let findings =
                reviews.then(|| if round.is_multiple_of(5) { blocking_findings("no rollback") } else { Vec::new() });
            let pass = |words: &str| pass_with(&turn.agent, findings.clone(), words);
            (both(&pass), |it| matches!(it.event.body, Body::Pass(_)))
        }
        _ => ([Command::Tick { active: None }, Command::Tick { active: None }], |_| false),
    }
}

/// Two processes of `program` race `rounds` times, with hand-overs, answers, approvals and starts.
pub fn race_processes(program: &Path, rounds: u64) -> Result<Raced, String> {
    let site = Site::new(program)?;
    let verbs = [Verb::PassWork, Verb::Reply, Verb::Approve, Verb::PassFindings, Verb::Start];
    let mut raced = Raced::default();
    for round in 0..rounds {
        let verb = verbs[(round % verbs.len() as u64) as usize];
        let mut scene = verb.scene(&site)?;
        let codes = race_once(&site, &scene, verb, round)?;
        judge(&mut scene, verb, Answered::Done)?;
        let won = codes.iter().filter(|code| **code == 0).count();
        raced.rounds += 1;
        raced.lost += codes.iter().filter(|code| **code == 4).count() as u64;
        raced.refused += codes.iter().filter(|code| **code == 1).count() as u64;
        // Both may wait for the same start; it was asked for once, as the records say.
        let fits = won == 1 || (verb == Verb::Start && won == 2);
        if !fits || codes.iter().any(|code| !matches!(code, 0 | 1 | 4)) {
            return Err(format!("round {round}: two of {} ended with {codes:?}", verb.name()));
        }
    }
    Ok(raced)
}

fn race_once(site: &Site, scene: &Scene, verb: Verb, round: u64) -> Result<Vec<i32>, String> {
    let agent = verb.agent(scene.state());
    let mut runners = Vec::new();
    for side in ["a", "b"] {
        let args = verb.args(scene.bubble.id.as_str(), &format!("{side}{round}"));
        let mut command = site.command(agent.as_ref().map(|agent| (scene, agent)), &args);
        let spawned = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        runners.push(spawned.map_err(|error| error.to_string())?);
    }
    let wait = |mut runner: std::process::Child| runner.wait().map(|status| status.code().unwrap_or(-1));
    runners.into_iter().map(|runner| wait(runner).map_err(|error| error.to_string())).collect()
}

/// `writers` threads append `each` records to one bubble at once; returns how many records it has then.
pub fn crowd(writers: usize, each: usize) -> Result<u64, String> {
    let ground = Ground::new()?;
    let mut scene = ground.scene(1)?;
    let before = scene.witness.log.len();
    let agent = scene.state().rounds.seats.implementer.clone();
    let first = scene.bubble.id.clone();
    std::thread::scope(|scope| {
        let work = |writer: usize| {
            let bubble = ground.engine.bubble(&ground.repo(), &first).map_err(|error| error.to_string())?;
            for number in 0..each {
                let token_sha256 = format!("{writer}-{number}");
                let minted = bubble.apply(&Command::MintToken { agent: agent.clone(), token_sha256 });
                minted.map_err(|error| format!("writer {writer}: {error}"))?;
            }
            Ok::<(), String>(())
        };
        let all: Vec<_> = (0..writers).map(|writer| scope.spawn(move || work(writer))).collect();
        all.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| Err("a writer panicked".to_owned())))
    })?;
    scene.catch_up()?;
    let verified = scene.bubble.log().verify().map_err(|error| error.to_string())?;
    let mut minted: Vec<_> = scene.witness.log[before..].iter().filter_map(token).collect();
    minted.sort();
    minted.dedup();
    if minted.len() != writers * each || verified.state != *scene.state() {
        return Err(format!("{} of {} records are there", minted.len(), writers * each));
    }
    Ok(verified.envelopes)
}

fn token(envelope: &Envelope) -> Option<String> {
    match &envelope.event.body {
        Body::Lifecycle(Lifecycle::TokenMinted { token_sha256, .. }) => Some(token_sha256.clone()),
        _ => None,
    }
}

/// A directory for bubbles without git.
struct Ground {
    dir: TempDir,
    engine: Engine,
}

impl Ground {
    fn new() -> Result<Self, String> {
        let dir = temporary_dir();
        let own = || dir.path().join("own");
        let dirs = UserDirs { runtime: own(), state: own(), config: own() };
        let engine = Engine::new(Arc::new(RealDisk), Arc::new(SystemClock), dirs);
        Ok(Self { dir, engine })
    }

    fn repo(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Makes a bubble; every fourth waits for its start, every fifth for an answer.
    fn scene(&self, round: u64) -> Result<Scene, String> {
        let id = format!("b{round}");
        if round.is_multiple_of(4) {
            return Scene::create(&self.engine, self.dir.path(), &id);
        }
        let mut scene = Scene::start(&self.engine, self.dir.path(), &id, &imaginary())?;
        if round.is_multiple_of(5) {
            let agent = scene.state().rounds.seats.implementer.clone();
            scene.apply(&ask(&agent))?;
        }
        Ok(scene)
    }
}
