//! One life of a bubble, from its creation to its end, with everything checked after each step; and the totals of many.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use pairflow_core::bubble::{BubbleState, Command, Phase, create, evolve, owed};
use pairflow_core::ids::BubbleId;
use pairflow_core::log::scan::End;
use pairflow_core::log::{Envelope, Lifecycle};
use pairflow_core::rules::{Agents, Check, DriverKind, ReviewDepth, Rules};
use pairflow_engine::clock::Clock;
use pairflow_engine::engine::{Applied, EngineError};
use pairflow_engine::store::{Loaded, Storage, StoreError};

use super::actors::{Act, Ended, Fate, Machine, next};
use super::witness::{Expect, Witness, expect, tells_repair};
use super::world::World;
use crate::disk::{Fault, FaultyDisk, Rng};
use crate::script::{broken, stuck};

/// No act leaves more debts than this.
const ENOUGH: u32 = 60;

/// Lives one life of at most `steps` commands; says what promise was broken, if one was.
pub fn live(seed: u64, steps: u32) -> Result<Tally, String> {
    let mut life = Life::begin(seed)?;
    while life.steps < steps && !life.witness.state.phase.is_final() {
        life.step().map_err(|why| life.told(&why))?;
    }
    // Work that is done can still be merged, and turn out to have a defect.
    while life.steps < steps && matches!(life.witness.state.phase, Phase::Done(_)) && life.rng.once_in(2) {
        life.step().map_err(|why| life.told(&why))?;
    }
    life.end().map_err(|why| life.told(&why))?;
    life.tally.seeds = 1;
    Ok(life.tally)
}

struct Life {
    rng: Rng,
    machine: Machine,
    world: World,
    witness: Witness,
    tally: Tally,
    steps: u32,
    last: String,
    old_cache: Vec<u8>,
}

impl Life {
    /// Creates the bubble, however often that takes.
    fn begin(seed: u64) -> Result<Self, String> {
        let id: BubbleId = "sim".parse().expect("'sim' is a valid bubble id");
        let mut rng = Rng::new(seed);
        let rules = rules(&mut rng);
        let created = Lifecycle::Created {
            repo: "/repo".to_owned(),
            task: "fix the login race".to_owned(),
            acceptance_criteria: vec!["two logins never share a token".to_owned()],
            rules: Box::new(rules),
            confirmed: "explicit".to_owned(),
            identity: None,
        };
        let mut life = Self {
            machine: Machine::new(id.clone()),
            witness: Witness::new(id),
            world: World::default(),
            tally: Tally::default(),
            steps: 0,
            last: "create".to_owned(),
            old_cache: Vec::new(),
            rng,
        };
        while life.witness.is_empty() {
            life.try_to_create(created.clone()).map_err(|why| life.told(&why))?;
        }
        Ok(life)
    }

    fn try_to_create(&mut self, created: Lifecycle) -> Result<(), String> {
        let at = self.rng.below(40) as u64;
        let disk = FaultyDisk::new(Arc::new(self.machine.disk.clone()), at.max(1), Fault::Crash);
        let disk: Arc<dyn Storage> =
            if at == 0 || self.rng.once_in(3) { Arc::new(self.machine.disk.clone()) } else { Arc::new(disk) };
        let now = self.machine.clock.now();
        let made = self.machine.log(disk).create(&create(created), now).map(drop);
        if made.is_err() || self.rng.once_in(3) {
            self.cut_power();
        }
        match self.transcript() {
            Some(bytes) => self.witness.look(&bytes)?,
            None if made.is_err() => return Ok(()),
            None => return Err("a bubble that was created is not there".to_owned()),
        };
        match self.witness.log.len() {
            1 => self.witness.make_firm(),
            other => return Err(format!("a new bubble has {other} records")),
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        let act = next(&self.witness.state, &self.world, &mut self.rng);
        match act {
            Act::Send(command) => self.insist(&command)?,
            Act::Edit => self.world.edit(&mut self.rng),
            Act::MoveBase => self.world.move_base(),
            Act::Wait(millis) => self.machine.clock.pass(millis),
            Act::Jump(millis) => self.machine.clock.jump(millis),
            Act::HarmCache => self.harm_cache(),
            Act::Reboot => {
                self.machine.clock.reboot();
                self.cut_power();
                self.look_again()?;
            }
        }
        self.steps += 1;
        self.settle()
    }

    /// Sends a command; a caller that got no answer may ask again, and one that did may have missed it.
    fn insist(&mut self, command: &Command) -> Result<(), String> {
        let answered = self.send(command)?;
        let times = if answered { 8 } else { 2 };
        if self.rng.once_in(times) {
            self.tally.count("commands sent again");
            self.send(command)?;
        }
        Ok(())
    }

    /// Pays what is owed, until nothing is.
    fn settle(&mut self) -> Result<(), String> {
        let mut quiet = 0;
        loop {
            let state = self.stand()?;
            let payable = owed(&state).into_iter().find(|effect| !effect.lasts());
            let Some(effect) = payable else { return stuck(&state).map_or(Ok(()), Err) };
            let command = self.world.perform(&state, &effect, &mut self.rng);
            quiet += u32::from(self.send(&command)?);
            if quiet > ENOUGH {
                return Err(format!("still owed after {ENOUGH} effects: {effect:?}"));
            }
        }
    }

    /// Returns the state that effects are performed on: it is durable, so what follows from it is never forgotten.
    fn stand(&mut self) -> Result<BubbleState, String> {
        let bubble = self.machine.bubble(Arc::new(self.machine.disk.clone()));
        let loaded = bubble.and_then(|bubble| bubble.durable()).map_err(|error| error.to_string())?;
        let bytes = self.transcript().ok_or("the transcript is gone")?;
        self.witness.look(&bytes)?;
        self.witness.make_firm();
        self.agrees(&loaded)?;
        Ok(loaded.state)
    }

    /// Sends a command through a process of its own and checks everything; returns whether there was an answer.
    fn send(&mut self, command: &Command) -> Result<bool, String> {
        let state = self.witness.state.clone();
        let world = &self.world;
        let fate = Machine::fate(&mut self.rng, |rng| match next(&state, world, rng) {
            Act::Send(other) => other,
            _ => command.clone(),
        });
        self.last = format!("{} with fate {fate:?}", command.name());
        self.steps += 1;
        self.tally.count(command_of(command));
        let (ended, rival) = self.machine.run(command, &fate);
        let sent = Sent { state: &state, command, rivals: rivals_of(&fate), loose: self.loose() };
        match (&ended, &fate) {
            (Ended::Died, Fate::PowerLost(_)) => self.after_power_loss(&sent)?,
            (Ended::Died, _) => self.after_death(&sent)?,
            (Ended::Answered(answer), _) => {
                let failing = matches!(fate, Fate::Fails(..));
                self.after_answer(&sent, answer, rival.as_ref(), failing)?;
                if matches!(fate, Fate::PowerLost(_)) {
                    self.cut_power();
                    self.tally.count("power lost after the answer");
                }
            }
        }
        match fate {
            // What effects are performed on is read from the store next, and compared there.
            Fate::Lives => self.sound()?,
            _ => self.look_again()?,
        }
        Ok(matches!(ended, Ended::Answered(_)))
    }

    fn after_death(&mut self, sent: &Sent<'_>) -> Result<(), String> {
        self.machine.disk.kill();
        self.tally.count("processes killed");
        let rest = self.found(sent)?;
        self.before_or_after(sent, &rest)
    }

    fn after_power_loss(&mut self, sent: &Sent<'_>) -> Result<(), String> {
        self.cut_power();
        let bytes = self.transcript().ok_or("the transcript is gone")?;
        self.witness.look(&bytes)?;
        let found = &self.witness.log[self.witness.firm()..];
        let kept = found.len().min(sent.loose.len());
        if found[..kept] != sent.loose[..kept] {
            return Err("after the power loss other records stand there than before".to_owned());
        }
        let rest = without_repairs(&found[kept..]);
        self.before_or_after(sent, &rest)
    }

    /// After a crash the bubble is as before or as after the command.
    fn before_or_after(&mut self, sent: &Sent<'_>, rest: &[Envelope]) -> Result<(), String> {
        if rest.is_empty() {
            return Ok(());
        }
        self.tally.count("crashes after which the command had counted");
        let expected = expect(sent.state, sent.command, self.machine.clock.now());
        if expected.is_met_by(rest, sent.command) { Ok(()) } else { Err(format!("{rest:?} instead of {expected:?}")) }
    }

    fn after_answer(
        &mut self,
        sent: &Sent<'_>,
        answer: &Result<Applied, EngineError>,
        rival: Option<&Result<Applied, EngineError>>,
        failing: bool,
    ) -> Result<(), String> {
        let found = self.found(sent)?;
        let (state, rest) = self.without_rival(sent, rival, found)?;
        let now = self.machine.clock.now();
        let expected = expect(&state, sent.command, now);
        // Where nothing is recorded, the answer may also be that of the moment before a rival came.
        let before = if rival.is_some() { expect(sent.state, sent.command, now) } else { expected.clone() };
        match answer {
            Ok(applied) if applied.id.is_none() && rest.is_empty() && matches!(before, Expect::Nothing) => Ok(()),
            Ok(applied) => self.acknowledged(sent, applied, &expected, &rest),
            Err(EngineError::Refused { refusal, .. }) => {
                self.tally.count("commands refused");
                let refused = matches!(expected, Expect::Refused) || matches!(before, Expect::Refused);
                let fits = refused && Expect::Refused.is_met_by(&rest, sent.command);
                self.firm_if(fits && !rest.is_empty());
                if fits { Ok(()) } else { Err(format!("refused ({refusal}), but {expected:?}; found {rest:?}")) }
            }
            Err(error) if failing => self.failed(sent, error, &rest),
            Err(error) => Err(format!("failed without a fault: {error}")),
        }
    }

    fn acknowledged(
        &mut self,
        sent: &Sent<'_>,
        applied: &Applied,
        expected: &Expect,
        rest: &[Envelope],
    ) -> Result<(), String> {
        let id = match expected {
            Expect::Repeated(id) if applied.repeated => Some(id),
            Expect::Facts(_) if !applied.repeated => rest.first().map(|first| &first.id),
            Expect::Nothing => None,
            _ => return Err(format!("acknowledged as {:?}, but {expected:?}", applied.id)),
        };
        if applied.id.as_ref() != id || !expected.is_met_by(rest, sent.command) {
            return Err(format!("acknowledged as {:?}, expected {expected:?}, found {rest:?}", applied.id));
        }
        self.tally.count(if applied.repeated { "commands acknowledged again" } else { "commands acknowledged" });
        if applied.repaired.is_some() {
            self.tally.count("torn tails set aside");
        }
        self.firm_if(applied.id.is_some());
        Ok(())
    }

    fn failed(&mut self, sent: &Sent<'_>, error: &EngineError, rest: &[Envelope]) -> Result<(), String> {
        self.tally.count("commands failed by the disk");
        let unknown = matches!(error, EngineError::Store(StoreError::NotAppended { undone: false, .. }));
        if rest.is_empty() {
            return Ok(());
        }
        if unknown { self.before_or_after(sent, rest) } else { Err(format!("failed ({error}), but left {rest:?}")) }
    }

    /// Takes what a rival recorded out of the records, and returns the state that the command then met.
    fn without_rival(
        &mut self,
        sent: &Sent<'_>,
        rival: Option<&Result<Applied, EngineError>>,
        found: Vec<Envelope>,
    ) -> Result<(BubbleState, Vec<Envelope>), String> {
        let (Some(answer), Some(command)) = (rival, sent.rivals) else { return Ok((sent.state.clone(), found)) };
        let expected = expect(sent.state, command, self.machine.clock.now());
        let count = match (answer, &expected) {
            (Ok(applied), Expect::Facts(facts)) if applied.id.is_some() => facts.len(),
            (Ok(_), Expect::Repeated(_) | Expect::Nothing) => 0,
            (Err(EngineError::Refused { .. }), Expect::Refused) => usize::from(warned(&found, command)),
            (Err(EngineError::Store(StoreError::Busy { .. })), _) => 0,
            (answer, expected) => return Err(format!("the rival got {answer:?} instead of {expected:?}")),
        };
        if count > 0 {
            self.tally.count("rivals that were faster");
        }
        let own = found.get(..count).ok_or("what the rival was acknowledged is not there")?;
        if count > 0 && !expected.is_met_by(own, command) {
            return Err(format!("the rival left {own:?} instead of {expected:?}"));
        }
        let met = own.iter().fold(sent.state.clone(), evolve);
        Ok((met, found[count..].to_vec()))
    }

    /// Looks at the transcript and returns what is there besides what was there when the command was sent.
    fn found(&mut self, sent: &Sent<'_>) -> Result<Vec<Envelope>, String> {
        let bytes = self.transcript().ok_or("the transcript is gone")?;
        self.witness.look(&bytes)?;
        let known = self.witness.firm() + sent.loose.len();
        Ok(without_repairs(&self.witness.log[known..]))
    }

    /// Compares what the store says with what the witness saw, and checks the state.
    fn look_again(&mut self) -> Result<(), String> {
        let bytes = self.transcript().ok_or("the transcript is gone")?;
        let news = self.witness.look(&bytes)?;
        let disk = Arc::new(self.machine.disk.clone());
        let loaded = self.machine.log(disk).load().map_err(|error| error.to_string())?;
        self.agrees(&loaded)?;
        if loaded.torn.is_some() != matches!(news.end, End::Torn(_)) {
            return Err(format!("the store says {:?} of the end, which is {:?}", loaded.torn, news.end));
        }
        self.sound()
    }

    /// Checks what must hold in every state.
    fn sound(&self) -> Result<(), String> {
        let rules = broken(&self.witness.state, &self.witness.log);
        if rules.is_empty() { Ok(()) } else { Err(rules.join("; ")) }
    }

    fn agrees(&self, loaded: &Loaded) -> Result<(), String> {
        let same = loaded.head.seq == self.witness.log.len() as u64 && loaded.state == self.witness.state;
        if same { Ok(()) } else { Err(format!("the store tells another state than the log, from {:?}", loaded.from)) }
    }

    /// Whatever happened, the next command heals, and then everything verifies.
    fn end(&mut self) -> Result<(), String> {
        let log = self.machine.log(Arc::new(self.machine.disk.clone()));
        drop(log.lock(std::time::Duration::ZERO).map_err(|error| error.to_string())?);
        self.look_again()?;
        let verified = log.verify().map_err(|error| error.to_string())?;
        if verified.state != self.witness.state || verified.envelopes != self.witness.log.len() as u64 {
            return Err("the verified log tells another state".to_owned());
        }
        self.tally.count(ended_in(&self.witness.state));
        if !self.witness.state.gate.escaped.is_empty() {
            self.tally.count("lives with a defect found later");
        }
        Ok(())
    }

    fn cut_power(&mut self) {
        self.machine.disk.crash(self.rng.number());
        self.witness.lose_power();
        self.tally.count("power losses");
    }

    fn harm_cache(&mut self) {
        let path = self.machine.log(Arc::new(self.machine.disk.clone())).files().state();
        let bytes = self.machine.disk.read(&path).ok().flatten().unwrap_or_default();
        match self.rng.below(4) {
            0 => self.machine.disk.erase(&path),
            1 => self.machine.disk.plant(&path, b"{\"cache\":{}}\n"),
            2 => self.machine.disk.plant(&path, &bytes[..self.rng.below(bytes.len() + 1)]),
            _ if self.old_cache.is_empty() => {}
            _ => self.machine.disk.plant(&path, &self.old_cache),
        }
        self.old_cache = bytes;
        self.tally.count("caches harmed");
    }

    fn transcript(&self) -> Option<Vec<u8>> {
        let path = self.machine.log(Arc::new(self.machine.disk.clone())).files().transcript();
        self.machine.disk.read(&path).ok().flatten()
    }

    fn loose(&self) -> Vec<Envelope> {
        self.witness.log[self.witness.firm()..].to_vec()
    }

    fn firm_if(&mut self, acknowledged: bool) {
        if acknowledged {
            self.witness.make_firm();
        }
    }

    fn told(&self, why: &str) -> String {
        format!("step {}, {}, in {}: {why}", self.steps, self.last, self.witness.state.phase.name())
    }
}

/// A command as it was sent.
struct Sent<'a> {
    /// The state that it was sent to.
    state: &'a BubbleState,
    command: &'a Command,
    /// What a rival sends meanwhile.
    rivals: Option<&'a Command>,
    /// Records that were there without having been acknowledged.
    loose: Vec<Envelope>,
}

fn without_repairs(found: &[Envelope]) -> Vec<Envelope> {
    found.iter().filter(|envelope| !tells_repair(envelope)).cloned().collect()
}

fn rivals_of(fate: &Fate) -> Option<&Command> {
    if let Fate::Rivalled(_, command) = fate { Some(command) } else { None }
}

fn warned(found: &[Envelope], command: &Command) -> bool {
    command.agent().is_some()
        && Expect::Refused.is_met_by(found.get(..1).unwrap_or_default(), command)
        && !found.is_empty()
}

fn command_of(command: &Command) -> &'static str {
    if command.is_result() { "effects reported" } else { "commands sent" }
}

fn ended_in(state: &BubbleState) -> &'static str {
    match state.phase.name().as_str() {
        "DONE" => "lives ended DONE",
        "CANCELLED" => "lives ended CANCELLED",
        "FAILED" => "lives ended FAILED",
        _ => "lives that were still going on",
    }
}

/// Rules of a life: which policy, who sits where, what is checked, how many reviews there may be.
fn rules(rng: &mut Rng) -> Rules {
    let agent = |name: &str| name.parse().expect("the names of the agents are valid");
    let (reviewer, second) = match rng.below(6) {
        0 => ("codex", None),
        1 => ("claude", Some("gemini")),
        _ => ("claude", None),
    };
    let names = ["test", "lint"];
    let checks =
        names[..rng.below(3)].iter().map(|name| Check { name: (*name).to_owned(), command: format!("./{name}") });
    let policy = match rng.below(8) {
        0 => "single",
        1 => "any_review",
        _ => "strict",
    };
    Rules {
        policy: policy.to_owned(),
        agents: Agents { implementer: agent("codex"), reviewer: agent(reviewer), second_reviewer: second.map(agent) },
        base_branch: "main".to_owned(),
        bubble_branch: "bubble/sim".to_owned(),
        max_rounds: 1 + rng.below(5) as u32,
        driver: if rng.once_in(2) { DriverKind::Script } else { DriverKind::External },
        checks: checks.collect(),
        manual_checks: vec!["log in twice".to_owned()],
        review_depth: if rng.once_in(4) { ReviewDepth::Thorough } else { ReviewDepth::Standard },
        min_looks: if rng.once_in(4) { 3 } else { 0 },
        ..Rules::default()
    }
}

/// Counts of what happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many lives were lived.
    pub seeds: u64,
    /// What happened, by name.
    pub counts: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Counts one more of `what`.
    pub fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Returns how many of `what` there were.
    pub fn of(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// Adds another run to this one.
    pub fn add(&mut self, other: &Self) {
        self.seeds += other.seeds;
        for (what, count) in &other.counts {
            *self.counts.entry(what).or_default() += count;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {:<44}{:>12}", "seeds", self.seeds)?;
        for (what, count) in &self.counts {
            writeln!(f, "  {what:<44}{count:>12}")?;
        }
        Ok(())
    }
}

/// A life in which a promise was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Which life.
    pub seed: u64,
    /// What was wrong.
    pub why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}\n  repeat it with: cargo xtask sim --seed {}", self.seed, self.why, self.seed)
    }
}

impl std::error::Error for Broken {}
