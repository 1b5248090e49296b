//! What is checked after a process ended, and a histogram of the moments at which kills hit.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use pairflow_core::bubble::Phase;
use pairflow_core::log::scan::End;
use pairflow_core::log::{Body, Envelope};
use pairflow_engine::engine::ControlDir;

use super::scene::{Scene, Site};
use super::verbs::Verb;
use crate::script::broken;
use crate::sim::Witness;

/// How long the next writer waits for those who are still at work.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known of how a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    /// It said that it was done.
    Done,
    /// It said that it was refused.
    Refused,
    /// It said that the world failed, and that nothing was recorded.
    Failed,
    /// It said nothing, or that it does not know.
    Nothing,
}

/// What the log says after an ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Whether the command had counted.
    pub(super) counted: bool,
    /// Whether it left a torn tail.
    pub(super) torn: bool,
}

/// Looks at the log after a process ended: everything acknowledged is there, and the command counted or did not.
pub(super) fn judge(scene: &mut Scene, verb: Verb, told: Answered) -> Result<Verdict, String> {
    let bytes = scene.transcript()?;
    let news = scene.witness.look(&bytes)?;
    let fresh = &scene.witness.log[scene.witness.firm()..];
    let counted = counted(verb, fresh)?;
    let wrong = match told {
        Answered::Done => !counted && verb != Verb::Status,
        Answered::Refused | Answered::Failed => counted,
        Answered::Nothing => false,
    };
    if wrong {
        return Err(format!("{} was told {told:?}, and the log says counted: {counted}", verb.name()));
    }
    let rules = broken(&scene.witness.state, &scene.witness.log);
    if !rules.is_empty() {
        return Err(rules.join("; "));
    }
    Ok(Verdict { counted, torn: matches!(news.end, End::Torn(_)) })
}

/// The next writer heals what was left: the store and the witness tell the same, and nothing is torn any more.
///
/// No one else may write while both are asked: a dead caller's request may still be in progress.
pub(super) fn heal(site: &Site, scene: &mut Scene) -> Result<(), String> {
    let log = scene.bubble.log();
    let alone = log.lock(PATIENCE).map_err(|error| format!("the next command: {error}"))?;
    let bytes = scene.transcript()?;
    let news = scene.witness.look(&bytes)?;
    let loaded = scene.bubble.load().map_err(|error| error.to_string())?;
    if news.end != End::Clean || loaded.torn.is_some() || loaded.unterminated {
        return Err(format!("the end of the log was not repaired: {:?}", news.end));
    }
    if loaded.state != scene.witness.state {
        return Err(format!("the store tells another state than the log (read from {:?})", loaded.from));
    }
    drop(alone);
    scene.witness.make_firm();
    if matches!(scene.state().phase, Phase::Created) { Ok(()) } else { scene.settle(site.workspace()) }
}

/// Whether these new records say that the verb counted; it must have counted at most once.
fn counted(verb: Verb, fresh: &[Envelope]) -> Result<bool, String> {
    let own = fresh.iter().filter(|envelope| verb.leaves(&envelope.event.body)).count();
    let strange =
        fresh.iter().find(|envelope| !verb.leaves(&envelope.event.body) && !belongs(verb, &envelope.event.body));
    match (own, strange) {
        (_, Some(envelope)) => Err(format!("{} left {:?}", verb.name(), envelope.event.body)),
        (0 | 1, None) => Ok(own == 1),
        (many, None) => Err(format!("{} was recorded {many} times", verb.name())),
    }
}

/// Whether a record may stand beside the verb's own: a warning, an acceptance, or what someone was waiting for.
fn belongs(verb: Verb, body: &Body) -> bool {
    match body {
        Body::ProtocolWarning(_) => true,
        Body::ApprovalRequest(_) => verb == Verb::Converged,
        Body::Lifecycle(_) | Body::Task(_) | Body::DonePackage(_) => matches!(verb, Verb::Start | Verb::Commit),
        _ => false,
    }
}

/// A bubble that was being created is there as a whole, or not at all.
pub(super) fn judge_created(site: &Site, id: &str, told: Answered) -> Result<bool, String> {
    let id = id.parse().map_err(|why| format!("{id}: {why}"))?;
    let files = ControlDir::of(site.repo()).files(&id);
    let Ok(bytes) = std::fs::read(files.transcript()) else {
        return if told == Answered::Done { Err(format!("{id} was created, and is not there")) } else { Ok(false) };
    };
    let mut witness = Witness::new(id.clone());
    witness.look(&bytes)?;
    let whole = matches!(&witness.log[..], [one] if Verb::Create.leaves(&one.event.body));
    let bubble = site.engine().bubble(site.repo(), &id).map_err(|error| error.to_string())?;
    let state = bubble.load().map_err(|error| error.to_string())?.state;
    if whole && state == witness.state { Ok(true) } else { Err(format!("{id} was created in part: {:?}", witness.log)) }
}

/// When in the life of a process its end came, as seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Landing {
    /// Nothing had been written to the log.
    BeforeFirstWrite,
    /// The log had grown, but the caller had no answer yet.
    BetweenWriteAndAck,
    /// The answer was out.
    AfterAck,
}

/// How many kills landed where, by verb.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: BTreeMap<(Verb, Landing), u64>,
    /// Processes that ended by themselves before the kill came; they do not count.
    pub missed: u64,
    /// Torn tails that a kill left and the next command set aside.
    pub torn: u64,
}

impl Histogram {
    /// Counts a kill.
    pub fn count(&mut self, verb: Verb, landing: Landing) {
        *self.counts.entry((verb, landing)).or_default() += 1;
    }

    /// Returns how many kills landed at `landing`.
    pub fn at(&self, landing: Landing) -> u64 {
        self.counts.iter().filter(|((_, one), _)| *one == landing).map(|(_, count)| count).sum()
    }

    /// Returns how many kills there were.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Adds another one to this one.
    pub fn add(&mut self, other: &Self) {
        self.missed += other.missed;
        self.torn += other.torn;
        for (key, count) in &other.counts {
            *self.counts.entry(*key).or_default() += count;
        }
    }
}

const PLACES: [Landing; 3] = [Landing::BeforeFirstWrite, Landing::BetweenWriteAndAck, Landing::AfterAck];

impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {:<20}{:>14}{:>22}{:>14}", "killed", "before write", "between write and ack", "after ack")?;
        let mut verbs: Vec<Verb> = self.counts.keys().map(|(verb, _)| *verb).collect();
        verbs.dedup();
        for verb in verbs {
            let [before, between, after] = PLACES.map(|at| self.counts.get(&(verb, at)).copied().unwrap_or(0));
            writeln!(f, "  {:<20}{before:>14}{between:>22}{after:>14}", verb.name())?;
        }
        let [before, between, after] = PLACES.map(|at| self.at(at));
        writeln!(f, "  {:<20}{before:>14}{between:>22}{after:>14}", "all")?;
        for (place, count) in [("before the first write", before), ("between", between), ("after the ack", after)] {
            let share = if self.total() == 0 { 0 } else { count * 50 / self.total() };
            writeln!(f, "  {place:<24}{:<50} {count}", "#".repeat(share as usize))?;
        }
        let (torn, missed) = (self.torn, self.missed);
        write!(f, "  torn tails set aside: {torn}; processes that had ended before the kill, not counted: {missed}")
    }
}
