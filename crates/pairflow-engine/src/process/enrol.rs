//! Puts a process on record that someone else has started for us, such as a terminal multiplexer.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::registry::{self, Kind, Record, RegistryError};
use super::stat;

/// Records process `pid`, whose environment has `mark`, beneath `dir`. One that is gone already is not recorded.
pub fn enrol(dir: &Path, pid: i32, mark: &str, what: &str) -> Result<(), RegistryError> {
    let Some(seen) = stat::of(pid) else { return Ok(()) };
    let record = Record {
        kind: Kind::Agent,
        what: what.to_owned(),
        pid,
        start: seen.start,
        boot: stat::boot(),
        mark: mark.to_owned(),
    };
    registry::write(dir, &record).map(drop)
}

/// Returns at most the last `bytes` of a text file; nothing if it cannot be read.
pub fn end_of(path: &Path, bytes: u64) -> Option<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(bytes)))?;
        let mut end = Vec::new();
        file.take(bytes).read_to_end(&mut end)?;
        Ok(end)
    };
    read().ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
