//! Whose process a process is: found by those that it descends from, and otherwise by the mark that they left.
//!
//! A process can change its own environment and that of its children, but not its parents. So descent outweighs the mark.

use rustix::process::Pid;

use super::gone::Process;
use super::registry::{MARK, Record};
use super::stat::{self, Stat};

/// A process and those that it descends from, as they were when it was looked at.
#[derive(Debug)]
pub enum Lineage {
    /// They are known.
    Known {
        /// The process itself, then its parent, and so on.
        line: Line,
        /// Which boot it was.
        boot: String,
    },
    /// There is no such process any more.
    Gone,
    /// The system does not tell.
    Untold,
}

/// A process and its ancestors, the nearest first.
#[derive(Debug)]
pub struct Line(Vec<Stat>);

impl Lineage {
    /// Looks at process `pid`.
    pub fn of(pid: i32) -> Self {
        let line: Vec<Stat> = stat::line(pid).collect();
        if !line.is_empty() {
            return Self::Known { line: Line(line), boot: stat::boot() };
        }
        // Without /proc nobody's parents are known; that is no reason to take a process for dead.
        match Pid::from_raw(pid).filter(|_| pid > 0).map(Process::find) {
            Some(Ok(None)) => Self::Gone,
            _ => Self::Untold,
        }
    }

    /// Looks at this process.
    pub fn own() -> Self {
        i32::try_from(std::process::id()).map_or(Self::Untold, Self::of)
    }

    /// Returns the same without the process itself.
    pub fn parents(self) -> Self {
        match self {
            Self::Known { line: Line(mut line), boot } => {
                line.remove(0);
                Self::Known { line: Line(line), boot }
            }
            other => other,
        }
    }

    /// Returns the values that these variables had when the process, or the nearest of its ancestors that has the first
    /// of them, was started.
    pub fn variables<const N: usize>(&self, names: [&str; N]) -> Option<[Option<String>; N]> {
        let Self::Known { line, .. } = self else { return None };
        let has = |stat: &&Stat| names.first().is_some_and(|name| stat::variable(stat.pid, name).is_some());
        let found = line.0.iter().find(has)?;
        Some(names.map(|name| stat::variable(found.pid, name)))
    }

    /// Returns the one of `records` to which the process or the nearest of its ancestors belongs.
    pub fn born_of<'a, T>(&self, records: &'a [(T, Record)]) -> Option<&'a (T, Record)> {
        let Self::Known { line, boot } = self else { return None };
        let first = |stat: &Stat, one: &Record| one.boot == *boot && (one.pid, one.start) == (stat.pid, stat.start);
        line.0.iter().find_map(|stat| records.iter().find(|(_, one)| first(stat, one)))
    }

    /// Returns the one of `records` whose mark the process or the nearest of its ancestors has.
    pub fn marked_by<'a, T>(&self, records: &'a [(T, Record)]) -> Option<&'a (T, Record)> {
        let Self::Known { line, boot } = self else { return None };
        let marks = line.0.iter().filter_map(|stat| stat::variable(stat.pid, MARK));
        let mut known = marks.filter_map(|mark| records.iter().find(|(_, one)| one.boot == *boot && one.mark == mark));
        known.next()
    }
}
