//! Puts a process on record that someone else starts for us, such as a terminal multiplexer.
//!
//! Between its start and our note of it we may die. So the process writes the note itself, before it becomes the program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::registry::{self, Kind, Record, RegistryError};
use super::stat;

/// Where and as what an agent's process puts itself on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enrolment {
    /// The directory of the records.
    pub dir: PathBuf,
    /// The mark that its environment is going to have.
    pub mark: String,
    /// What runs, in words for a person.
    pub what: String,
}

impl Enrolment {
    /// Records this process, and has every process below it stay below it: one that loses its parent gets this one.
    ///
    /// Both outlast what this process becomes. Where there is no `/proc`, nothing is recorded.
    pub fn enrol(&self) -> Result<(), RegistryError> {
        keep_orphans();
        let Some(seen) = i32::try_from(std::process::id()).ok().and_then(stat::of) else { return Ok(()) };
        let record = Record {
            kind: Kind::Agent,
            what: self.what.clone(),
            pid: seen.pid,
            start: seen.start,
            boot: stat::boot(),
            mark: self.mark.clone(),
        };
        registry::write(&self.dir, &record).map(drop)
    }
}

#[cfg(target_os = "linux")]
fn keep_orphans() {
    // A kernel that cannot do it leaves the group and the mark to find them by.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
fn keep_orphans() {}
