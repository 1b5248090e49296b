//! Where kills landed.

use std::collections::BTreeMap;
use std::fmt;

use super::verbs::Verb;

/// When in the life of a process its end came, as seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Landing {
    /// Nothing had been written to the log.
    BeforeFirstWrite,
    /// The log had grown, but nobody had been told.
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
