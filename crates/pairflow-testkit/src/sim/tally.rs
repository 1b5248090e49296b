//! What a run of the simulator came to.

use std::collections::BTreeMap;
use std::fmt;

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
