//! How far a turn has come, in a file outside the worktree: an agent that is started again for the same turn goes on
//! where it stopped.

use pairflow_engine::regular;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The note of one turn.
pub(super) struct Progress {
    file: PathBuf,
    done: usize,
}

impl Progress {
    /// Reads the note of `agent`'s `n`-th turn. No note means that nothing was done.
    pub(super) fn load(dir: &Path, agent: &str, n: u32) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let file = dir.join(format!("{agent}-{n}"));
        let done = match regular::read_text(&file) {
            Ok(text) => text.trim().parse().map_err(|_| io::Error::other(format!("{text:?} is no number of steps")))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(Self { file, done })
    }

    /// Returns how many steps were done.
    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// Notes that one more step was done.
    pub(super) fn step(&mut self) -> io::Result<()> {
        let staged = self.file.with_extension("new");
        regular::write(&staged, (self.done + 1).to_string())?;
        fs::rename(&staged, &self.file)?;
        self.done += 1;
        Ok(())
    }
}
