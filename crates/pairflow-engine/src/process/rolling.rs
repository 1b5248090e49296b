//! A log file that keeps the newest output and never outgrows its limit: full, it becomes `<name>.1`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How much the log and its predecessor may hold together.
pub(super) const LOG_LIMIT: u64 = 10 * 1024 * 1024;

pub(super) struct RollingLog {
    path: PathBuf,
    file: File,
    size: u64,
    half: u64,
}

impl RollingLog {
    pub(super) fn open(path: &Path, limit: u64) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let file = append_to(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, size, half: limit / 2 })
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.size >= self.half {
                self.roll()?;
            }
            let room = usize::try_from(self.half - self.size).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.file.write_all(now)?;
            self.size += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    fn roll(&mut self) -> io::Result<()> {
        fs::rename(&self.path, older(&self.path))?;
        self.file = append_to(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    crate::regular::append(path)
}

fn older(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_keeps_the_newest_output_within_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logs/codex.log");
        let mut log = RollingLog::open(&path, 20).unwrap();
        log.write(b"0123456789").unwrap();
        log.write(b"abcdefghijABCDE").unwrap();
        drop(log);
        assert_eq!(fs::read_to_string(&path).unwrap(), "ABCDE");
        assert_eq!(fs::read_to_string(older(&path)).unwrap(), "abcdefghij");
        RollingLog::open(&path, 20).unwrap().write(b"FG").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ABCDEFG");
    }
}
