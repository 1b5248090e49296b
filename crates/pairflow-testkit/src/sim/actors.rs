//! The actors of a simulated life: agents and a person that mostly do the right thing, and sometimes do not. Each command
//! runs in a process of its own, which may be killed or overtaken.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pairflow_core::bubble::{BubbleState, Command, HeadSeen, OpenQuestion, PassCommand, Phase, Turn};
use pairflow_core::facts::{
    AcceptanceFile, AcceptanceTests, Answers, Class, Dispute, Explanation, Finding, FixTest, Judgement, Ruling, Seat,
    Severity,
};
use pairflow_core::ids::{AgentId, BubbleId, FindingId};
use pairflow_core::log::{Decision, QuestionKind, RetryKey};
use pairflow_engine::engine::{Applied, Bubble, ControlDir, Engine, EngineError, UserDirs};
use pairflow_engine::store::{Log, Storage};
use rustix::io::Errno;

use super::world::{SimClock, World};
use crate::disk::{Fault, FaultyDisk, Rng, SimDisk};
use crate::script::samples;

/// What happens next.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum Act {
    /// Someone sends a command.
    Send(Command),
    /// Someone changes files of the worktree.
    Edit,
    /// Someone moves the base branch.
    MoveBase,
    /// Time goes by.
    Wait(u64),
    /// The wall clock jumps.
    Jump(i64),
    /// The machine is restarted; the power was off.
    Reboot,
    /// Somebody deletes, replaces or garbles the cache.
    HarmCache,
}

/// Ten years in milliseconds.
const TEN_YEARS: i64 = 315_576_000_000;

/// Chooses what happens next to a bubble in this state.
pub(super) fn next(state: &BubbleState, world: &World, rng: &mut Rng) -> Act {
    match rng.below(40) {
        0 => Act::HarmCache,
        1 => Act::Wait(rng.below(400_000) as u64),
        2 => Act::Jump(if rng.once_in(2) { TEN_YEARS } else { -TEN_YEARS }),
        3 if rng.once_in(3) => Act::Reboot,
        4 => Act::MoveBase,
        5 => Act::Edit,
        6 | 7 => astray(state, rng),
        8 => Act::Send(Command::Tick { active: None }),
        _ => fitting(state, world, rng),
    }
}

/// A command that need not fit: any verb of any agent or person, at any time.
fn astray(state: &BubbleState, rng: &mut Rng) -> Act {
    let lies = ["approve", "approve-changed-worktree", "stop", "merged"];
    let mut all = samples(state);
    all.retain(|sample| matches!(sample.from, "agent" | "human") && !lies.contains(&sample.name));
    let chosen = rng.below(all.len());
    Act::Send(all.swap_remove(chosen).command)
}

fn fitting(state: &BubbleState, world: &World, rng: &mut Rng) -> Act {
    match &state.phase {
        Phase::Created => Act::Send(Command::Start { rules: Box::new(state.rules.clone()) }),
        Phase::Running(_) if state.paused => on_a_pause(rng),
        Phase::Running(turn) if turn.is_open() => in_turn(state, turn, world, rng),
        Phase::WaitingHuman(_) => answer(state, rng),
        Phase::ReadyForApproval(_) => at_the_gate(state, world, rng),
        Phase::Approved(_) => approved(rng),
        Phase::Done(_) if rng.once_in(2) => Act::Send(Command::Escaped { severity: Severity::P1, text: words(rng) }),
        Phase::Done(at) => Act::Send(Command::Merged { commit: at.commit.clone() }),
        _ => Act::Wait(1000),
    }
}

fn on_a_pause(rng: &mut Rng) -> Act {
    match rng.below(6) {
        0 => Act::Send(Command::Update),
        1 => Act::Edit,
        _ => Act::Send(Command::Resume),
    }
}

fn in_turn(state: &BubbleState, turn: &Turn, world: &World, rng: &mut Rng) -> Act {
    let by = turn.agent.clone();
    match (rng.below(24), turn.seat) {
        (0, _) => Act::Send(ask(by, rng)),
        (1, _) => Act::Send(Command::Pause { reason: "lunch".to_owned() }),
        (2, _) if rng.once_in(6) => Act::Send(Command::Stop { reason: "enough".to_owned() }),
        (3, _) => Act::Send(Command::MintToken { agent: by, token_sha256: format!("{:016x}", rng.number()) }),
        (4, _) => Act::Send(Command::AgentEnded {
            turn: turn.number,
            how: "with exit code 3".to_owned(),
            output: String::new(),
        }),
        (5 | 6, Seat::Reviewer) => {
            let seen = world.seen(state);
            Act::Send(Command::Converged {
                by,
                summary: words(rng),
                refs: Vec::new(),
                explanation: rng.once_in(2).then(|| explanation(rng)),
                reviewed: Vec::new(),
                seen,
                key: key(rng),
            })
        }
        (5..=11, Seat::Implementer) => Act::Edit,
        (_, Seat::Judge) => Act::Send(judge(state, by, rng)),
        (_, Seat::Reviewer) if turn.acceptance => Act::Send(accept(state, by, rng)),
        (7..=11, Seat::Reviewer) => Act::Send(pass(state, by, Some(findings(rng)), rng)),
        (_, Seat::Reviewer) => Act::Send(pass(state, by, Some(Vec::new()), rng)),
        (_, Seat::Implementer) => Act::Send(pass(state, by, None, rng)),
    }
}

/// A judge decides on one of the disputes before it.
fn judge(state: &BubbleState, by: AgentId, rng: &mut Rng) -> Command {
    let contested = &state.rounds.contested;
    let finding = contested.get(rng.below(contested.len().max(1))).copied().unwrap_or(FindingId(1));
    let ruling = if rng.once_in(2) { Ruling::Upheld } else { Ruling::Dismissed };
    Command::Judge { by, judgement: Judgement { finding, ruling, reason: words(rng) }, key: key(rng) }
}

/// An agent writes acceptance tests, or says that there can be none.
fn accept(state: &BubbleState, by: AgentId, rng: &mut Rng) -> Command {
    let Command::Pass(plain) = pass(state, by, None, rng) else { unreachable!("a hand-over is one") };
    let file = AcceptanceFile { path: "tests/task.py".to_owned(), content: "artifact://acceptance/0".to_owned() };
    let tests = AcceptanceTests { run: "./accept".to_owned(), files: vec![file] };
    let no_acceptance = rng.once_in(4);
    let acceptance = (!no_acceptance).then_some(tests);
    Command::Pass(PassCommand { acceptance, no_acceptance, answers: Answers::default(), ..plain })
}

fn pass(state: &BubbleState, by: AgentId, findings: Option<Vec<Finding>>, rng: &mut Rng) -> Command {
    let branch = HeadSeen::Branch(state.rules.bubble_branch.clone());
    let head = if rng.once_in(30) { HeadSeen::Detached } else { branch };
    let answers = answers(state, &by, findings.is_some(), rng);
    let plain = PassCommand::new(by, words(rng), head);
    let explanation = rng.once_in(2).then(|| explanation(rng));
    Command::Pass(PassCommand { findings, answers, explanation, key: key(rng), ..plain })
}

fn explanation(rng: &mut Rng) -> Explanation {
    Explanation { what: words(rng), why: words(rng), risks: words(rng), test_plan: words(rng) }
}

/// What an agent says to some of the open rows.
fn answers(state: &BubbleState, by: &AgentId, reviews: bool, rng: &mut Rng) -> Answers {
    let mut answers = Answers::default();
    for row in state.ledger.open() {
        match (reviews, rng.below(4)) {
            (false, 0 | 1) => {
                answers.fixed.push(row.id);
                match rng.below(3) {
                    0 => answers.tests.push(FixTest { finding: row.id, command: "./fixed".to_owned() }),
                    1 => answers.untestable.push(Dispute { finding: row.id, reason: words(rng) }),
                    _ => {}
                }
            }
            (false, 2) => answers.disputed.push(Dispute { finding: row.id, reason: words(rng) }),
            (true, 0) if !row.proven() => answers.confirmed.push(row.id),
            (true, 1) => answers.reopened.push(row.id),
            (_, 3) if row.reproducer_by() == Some(by) => answers.retracted.push(row.id),
            _ => {}
        }
    }
    answers
}

fn findings(rng: &mut Rng) -> Vec<Finding> {
    let severities = [Severity::P0, Severity::P1, Severity::P1, Severity::P2, Severity::P3];
    let classes = [None, None, Some(Class::Security), Some(Class::Style)];
    let mut finding = || Finding {
        class: classes[rng.below(4)],
        reproducer: rng.once_in(4).then(|| "./reproduce".to_owned()),
        seen: rng.once_in(3).then_some(1),
        ..Finding::new(severities[rng.below(5)], words(rng))
    };
    let first = finding();
    if first.severity.blocks() { vec![first, finding()] } else { vec![first] }
}

fn ask(by: AgentId, rng: &mut Rng) -> Command {
    Command::AskHuman { by, question: words(rng), refs: Vec::new(), key: key(rng) }
}

fn answer(state: &BubbleState, rng: &mut Rng) -> Act {
    let Some(open) = state.gate.questions.get(rng.below(state.gate.questions.len())) else { return Act::Wait(1) };
    match rng.below(10) {
        0 => Act::Send(ask(state.rounds.seats.implementer.clone(), rng)),
        1 => Act::Send(Command::Pause { reason: String::new() }),
        2 | 3 => Act::Send(Command::Resume),
        _ => Act::Send(reply(open, rng)),
    }
}

fn reply(open: &OpenQuestion, rng: &mut Rng) -> Command {
    let decides = (open.kind.is_tie_break() || open.kind == QuestionKind::CouldNotCheck) && rng.once_in(2);
    let decision = decides.then(|| match rng.below(6) {
        0 => Decision::SideWithFinding,
        1 => Decision::SideWithImplementer,
        2 => Decision::Continue,
        _ => Decision::Accept,
    });
    Command::Reply {
        message: words(rng),
        question: Some(open.id.clone()),
        decision,
        refs: Vec::new(),
        key: fresh_key(rng),
    }
}

fn at_the_gate(state: &BubbleState, world: &World, rng: &mut Rng) -> Act {
    match rng.below(12) {
        0 | 1 => Act::Send(rework(rng)),
        2 => Act::Send(Command::Update),
        3 => Act::Edit,
        _ => {
            let package_sha256 =
                state.phase.request().map(|request| request.package_sha256.clone()).unwrap_or_default();
            Act::Send(Command::Approve { package_sha256, seen: world.seen(state), key: fresh_key(rng) })
        }
    }
}

fn approved(rng: &mut Rng) -> Act {
    match rng.below(12) {
        0 => Act::Send(rework(rng)),
        1 => Act::Send(Command::Update),
        _ => Act::Send(Command::Commit { message: None, override_scope: None, hooks: rng.once_in(2), author: None }),
    }
}

fn rework(rng: &mut Rng) -> Command {
    Command::Rework {
        message: words(rng),
        reject: rng.once_in(3),
        findings: Vec::new(),
        refs: Vec::new(),
        key: fresh_key(rng),
    }
}

/// A few words, or so many that they fill sectors of a disk.
fn words(rng: &mut Rng) -> String {
    let name = format!("{:08x} ", rng.number() >> 32);
    let times = if rng.once_in(12) { 20 + rng.below(120) } else { 1 + rng.below(4) };
    name.repeat(times)
}

/// A retry key, or none: then the content makes it.
fn key(rng: &mut Rng) -> Option<RetryKey> {
    if rng.once_in(2) { fresh_key(rng) } else { None }
}

fn fresh_key(rng: &mut Rng) -> Option<RetryKey> {
    Some(RetryKey(format!("key-{:016x}", rng.number())))
}

/// What happens to a process at its n-th operation on the disk.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum Fate {
    /// Nothing.
    Lives,
    /// It is killed.
    Killed(u64),
    /// The power goes.
    PowerLost(u64),
    /// The operation fails, with an error or after half of the bytes.
    Fails(u64, Option<Errno>),
    /// Another process runs a command of its own.
    Rivalled(u64, Command),
}

/// How a process ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// It answered its caller.
    Answered(Box<Result<Applied, EngineError>>),
    /// It was gone before it could answer.
    Died,
}

/// The machine that processes run on.
pub(super) struct Machine {
    /// Its disk.
    pub(super) disk: SimDisk,
    /// Its clock.
    pub(super) clock: Arc<SimClock>,
    id: BubbleId,
}

type Answer = Result<Applied, EngineError>;

impl Machine {
    /// A machine with an empty disk.
    pub(super) fn new(id: BubbleId) -> Self {
        Self { disk: SimDisk::new(), clock: Arc::new(SimClock::new()), id }
    }

    /// Draws a fate: mostly a quiet one.
    pub(super) fn fate(rng: &mut Rng, rival: impl FnOnce(&mut Rng) -> Command) -> Fate {
        let at = 1 + rng.below(22) as u64;
        let errors = [Errno::NOSPC, Errno::IO, Errno::DQUOT, Errno::INTR, Errno::MFILE];
        match rng.below(16) {
            0 | 1 => Fate::Killed(at),
            2 | 3 => Fate::PowerLost(at),
            4 if rng.once_in(4) => Fate::Fails(at, None),
            4 => Fate::Fails(at, Some(errors[rng.below(errors.len())])),
            5 => Fate::Rivalled(1 + rng.below(6) as u64, rival(rng)),
            _ => Fate::Lives,
        }
    }

    /// Runs a command; returns how that ended, and how it ended for the rival, if there was one.
    pub(super) fn run(&self, command: &Command, fate: &Fate) -> (Ended, Option<Answer>) {
        let rival = Arc::new(Mutex::new(None));
        let (at, fault) = match fate {
            Fate::Lives => (0, Fault::Crash),
            Fate::Killed(at) | Fate::PowerLost(at) => (*at, Fault::Crash),
            Fate::Fails(at, None) => (*at, Fault::Short),
            Fate::Fails(at, Some(errno)) => (*at, Fault::Error(*errno)),
            Fate::Rivalled(at, rivals) => (*at, self.rival(rivals.clone(), &rival)),
        };
        if at == 0 {
            return (Ended::Answered(Box::new(self.apply(Arc::new(self.disk.clone()), command))), None);
        }
        let disk = FaultyDisk::new(Arc::new(self.disk.clone()), at, fault);
        let answer = self.apply(Arc::new(disk.clone()), command);
        let dies = matches!(fate, Fate::Killed(_) | Fate::PowerLost(_));
        // A process that has no operation left to die at has answered already.
        let ended = if dies && disk.struck() { Ended::Died } else { Ended::Answered(Box::new(answer)) };
        let rival = rival.lock().unwrap_or_else(PoisonError::into_inner).take();
        (ended, rival)
    }

    fn rival(&self, command: Command, answer: &Arc<Mutex<Option<Answer>>>) -> Fault {
        let (disk, clock, id) = (self.disk.clone(), Arc::clone(&self.clock), self.id.clone());
        let answer = Arc::clone(answer);
        Fault::Call(Arc::new(move || {
            let other = Machine { disk: disk.clone(), clock: Arc::clone(&clock), id: id.clone() };
            let told = other.apply(Arc::new(disk.clone()), &command);
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        }))
    }

    fn apply(&self, disk: Arc<dyn Storage>, command: &Command) -> Answer {
        self.bubble(disk)?.apply(command)
    }

    /// Returns the bubble as a process on this disk would have it.
    pub(super) fn bubble(&self, disk: Arc<dyn Storage>) -> Result<Bubble, EngineError> {
        self.engine(disk).bubble(repo(), &self.id)
    }

    fn engine(&self, disk: Arc<dyn Storage>) -> Engine {
        let home = || PathBuf::from("/home");
        let dirs = UserDirs { runtime: home(), state: home(), config: home() };
        Engine::new(disk, self.clock.clone(), dirs)
    }

    /// Returns the log as a process on this disk would have it.
    pub(super) fn log(&self, disk: Arc<dyn Storage>) -> Log {
        let registry = self.engine(disk.clone()).registry();
        Log::new(disk, ControlDir::of(repo()).files(&self.id), self.id.clone()).owned(registry)
    }
}

fn repo() -> &'static Path {
    Path::new("/repo")
}
