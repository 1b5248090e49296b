//! Kills at random moments: some at any time, some when the log has just grown.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::judge::{Answered, Histogram, Landing, heal, judge, judge_created};
use super::scene::{Scene, Site};
use super::verbs::Verb;
use crate::disk::Rng;

/// How many kills, and how.
#[derive(Debug, Clone, Copy)]
pub struct Kills {
    /// How many have to land.
    pub total: u64,
    /// Where chance begins.
    pub seed: u64,
    /// How many processes are killed side by side.
    pub workers: usize,
}

/// A log that is longer than this is left for a new one.
const LONGEST: usize = 120;
/// Kills processes of `program` until enough kills have landed, and checks every bubble after each.
pub fn kill_at_random(program: &Path, kills: Kills) -> Result<Histogram, String> {
    let landed = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    let work = |number: usize| {
        let seed = kills.seed.wrapping_mul(1000) + number as u64;
        let ended = Killer::new(program, seed).and_then(|killer| killer.work(&landed, kills.total, &over));
        over.fetch_or(ended.is_err(), Ordering::SeqCst);
        ended.map_err(|why| format!("killing with seed {}, worker {number}: {why}", kills.seed))
    };
    let ended: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..kills.workers.max(1)).map(|number| scope.spawn(move || work(number))).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".to_owned())))
            .collect()
    });
    let mut all = Histogram::default();
    for one in ended {
        all.add(&one?);
    }
    Ok(all)
}

struct Killer {
    site: Site,
    scene: Scene,
    rng: Rng,
    /// How long each verb takes when it is not killed.
    times: BTreeMap<Verb, Duration>,
    histogram: Histogram,
    runs: u64,
}

impl Killer {
    fn new(program: &Path, seed: u64) -> Result<Self, String> {
        let site = Site::new(program)?;
        let scene = site.scene()?;
        let rng = Rng::new(seed);
        Ok(Self { site, scene, rng, times: BTreeMap::new(), histogram: Histogram::default(), runs: 0 })
    }

    fn work(mut self, landed: &AtomicU64, total: u64, over: &AtomicBool) -> Result<Histogram, String> {
        while landed.load(Ordering::SeqCst) < total && !over.load(Ordering::SeqCst) {
            let kills = self.cycle()?;
            landed.fetch_add(u64::from(kills), Ordering::SeqCst);
        }
        Ok(self.histogram)
    }

    /// Runs one command, kills it, and asks the questions; returns whether the kill landed.
    fn cycle(&mut self) -> Result<bool, String> {
        self.runs += 1;
        let words = format!("w{}-{:08x}", self.runs, self.rng.number() >> 32);
        match self.rng.below(24) {
            0 => self.kill_create(&words),
            1 => {
                let other = Verb::Start.scene(&self.site)?;
                let kept = std::mem::replace(&mut self.scene, other);
                let landed = self.kill(Verb::Start, &words);
                self.scene = kept;
                landed
            }
            _ => {
                if self.scene.witness.log.len() > LONGEST || self.scene.state().phase.is_final() {
                    self.scene = self.site.scene()?;
                }
                let verb = self.choose();
                self.kill(verb, &words)
            }
        }
    }

    fn choose(&mut self) -> Verb {
        let rare = |verb: Verb| matches!(verb, Verb::Stop | Verb::Status | Verb::Pause | Verb::Env);
        let state = self.scene.state();
        let skip = !self.rng.once_in(6);
        let fitting: Vec<Verb> =
            Verb::ALL.into_iter().filter(|verb| verb.fits(state) && !(skip && rare(*verb))).collect();
        fitting.get(self.rng.below(fitting.len())).copied().unwrap_or(Verb::Status)
    }

    fn kill(&mut self, verb: Verb, words: &str) -> Result<bool, String> {
        let args = verb.args(self.scene.bubble.id.as_str(), words);
        let agent = verb.agent(self.scene.state());
        let command = || self.site.command(agent.as_ref().map(|agent| (&self.scene, agent)), &args);
        let log = self.scene.bubble.log().files().transcript();
        let before = self.scene.witness.len();
        let aim = Aim::draw(&mut self.rng, self.times.get(&verb).copied(), &log, before);
        let ending = end(command(), &aim).map_err(|error| format!("{}: {error}", verb.name()))?;
        let again = verb != Verb::Env && self.rng.once_in(8);
        let rerun = if again { Some(command()) } else { None };
        let told = ending.told();
        let verdict = judge(&mut self.scene, verb, told)?;
        self.note(verb, &ending, verdict.counted, verdict.torn);
        if let Some(mut rerun) = rerun {
            let code = rerun.stdout(Stdio::null()).stderr(Stdio::null()).status().map_err(|error| error.to_string())?;
            if !(code.code() == Some(0) || (verdict.counted && code.code() == Some(1))) {
                return Err(format!("{} after a kill ended with {code}", verb.name()));
            }
            judge(&mut self.scene, verb, if code.success() { Answered::Done } else { Answered::Nothing })?;
        }
        heal(&self.site, &mut self.scene).map_err(|why| format!("after {}: {why}", verb.name()))?;
        if verb == Verb::Env {
            self.scene.mint()?;
        }
        Ok(ending.killed)
    }

    fn kill_create(&mut self, words: &str) -> Result<bool, String> {
        let verb = Verb::Create;
        let id = self.site.fresh_id();
        let args = verb.args(&id, words);
        let dir = self.site.repo().join(".pairflow/bubbles").join(&id);
        let aim = Aim::draw(&mut self.rng, self.times.get(&verb).copied(), &dir, 0);
        let ending = end(self.site.command(None, &args), &aim).map_err(|error| error.to_string())?;
        let began = dir.exists();
        let counted = judge_created(&self.site, &id, ending.told())?;
        if !counted {
            let again = self.site.command(None, &args).stdout(Stdio::null()).stderr(Stdio::null()).status();
            let code = again.map_err(|error| error.to_string())?;
            if !code.success() {
                return Err(format!("create after a killed create ended with {code}"));
            }
            judge_created(&self.site, &id, Answered::Done)?;
        }
        self.note(verb, &ending, began, false);
        Ok(ending.killed)
    }

    fn note(&mut self, verb: Verb, ending: &Ending, wrote: bool, torn: bool) {
        self.histogram.torn += u64::from(torn);
        if !ending.killed {
            let known = self.times.entry(verb).or_insert(ending.took);
            *known = (*known * 3 + ending.took) / 4;
            self.histogram.missed += 1;
            return;
        }
        let landing = match (ending.said, wrote || torn) {
            (true, _) => Landing::AfterAck,
            (false, true) => Landing::BetweenWriteAndAck,
            (false, false) => Landing::BeforeFirstWrite,
        };
        self.histogram.count(verb, landing);
    }
}

/// How long a process may take at most.
const DEADLINE: Duration = Duration::from_secs(60);
/// How long to wait before looking again whether the log has grown.
const LOOK: Duration = Duration::from_micros(15);

/// A process that was ended.
pub(super) struct Ending {
    /// Whether the kill ended it.
    pub(super) killed: bool,
    pub(super) code: Option<i32>,
    /// Whether it answered.
    pub(super) said: bool,
    /// What it answered.
    pub(super) answer: Vec<u8>,
    pub(super) took: Duration,
}

/// When a process is killed.
pub(super) enum Aim {
    /// After this time.
    After(Duration),
    /// As soon as this file has another size than this, and then after a moment.
    OnGrowth(PathBuf, u64, Duration),
    /// As soon as it begins to answer.
    OnAnswer,
    /// Not at all, to learn how long it takes.
    Never,
}

impl Aim {
    /// Draws when to kill a process that usually takes so long, and lets `file` grow from `size`.
    pub(super) fn draw(rng: &mut Rng, usual: Option<Duration>, file: &Path, size: u64) -> Self {
        let Some(usual) = usual else { return Self::Never };
        let micros = usize::try_from(usual.as_micros()).unwrap_or(usize::MAX);
        match rng.below(20) {
            0 => Self::OnAnswer,
            1..=4 => Self::OnGrowth(file.to_owned(), size, Duration::ZERO),
            5..=8 => Self::OnGrowth(file.to_owned(), size, Duration::from_micros(rng.below(600) as u64)),
            _ => Self::After(Duration::from_micros(rng.below(micros) as u64)),
        }
    }
}

/// Runs a command and kills it.
pub(super) fn end(mut command: std::process::Command, aim: &Aim) -> std::io::Result<Ending> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let began = Instant::now();
    let mut said = Vec::new();
    match aim {
        Aim::After(delay) => std::thread::sleep(*delay),
        Aim::OnGrowth(file, size, delay) => {
            while !grown(file, *size) && child.try_wait()?.is_none() && began.elapsed() < DEADLINE {
                std::thread::sleep(LOOK);
            }
            std::thread::sleep(*delay);
        }
        Aim::OnAnswer => said = first_byte(&mut child)?,
        Aim::Never => return gather(child, began, said),
    }
    child.kill()?;
    gather(child, began, said)
}

/// Waits for the first byte of an answer, and takes it.
fn first_byte(child: &mut Child) -> std::io::Result<Vec<u8>> {
    let mut byte = Vec::new();
    let Some(out) = &mut child.stdout else { return Ok(byte) };
    out.take(1).read_to_end(&mut byte)?;
    Ok(byte)
}

fn gather(child: Child, began: Instant, mut answer: Vec<u8>) -> std::io::Result<Ending> {
    let output = child.wait_with_output()?;
    let killed = output.status.signal() == Some(9);
    let said = !answer.is_empty() || output.stdout.ends_with(b"\n");
    answer.extend_from_slice(&output.stdout);
    Ok(Ending { killed, code: output.status.code(), said, answer, took: began.elapsed() })
}

fn grown(file: &Path, size: u64) -> bool {
    std::fs::metadata(file).is_ok_and(|meta| meta.is_dir() || meta.len() != size)
}

impl Ending {
    /// What its caller knows then.
    pub(super) fn told(&self) -> Answered {
        match self.code {
            Some(0) => Answered::Done,
            Some(1 | 4) => Answered::Refused,
            Some(_) => Answered::Failed,
            None if self.said => Answered::Done,
            None => Answered::Nothing,
        }
    }
}
