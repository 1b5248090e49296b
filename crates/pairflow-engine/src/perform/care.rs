//! Who looks after a bubble: one process at a time, by a lock that the kernel frees with its holder.
//!
//! Two supervisors of one user can exist, as when two shells name different runtime directories. The one that has a bubble in
//! care starts its agents and checks and ends those that nobody attends any more; everybody else leaves it alone.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::{Bubble, EngineError};
use crate::process::reap;
use crate::store::StoreError;
use crate::store::storage::{Guard, LockMode};

/// How long a command waits for another process to let go of a bubble.
const PATIENCE: Duration = Duration::from_secs(10);

/// A bubble in the care of this process; dropping it gives the bubble out of care.
#[derive(Debug)]
pub(crate) struct Care(#[expect(dead_code, reason = "held for its drop alone")] Guard);

impl Care {
    /// Takes the bubble into care; nothing if someone else has it for all of `patience`.
    pub(crate) fn take(bubble: &Bubble, patience: Duration) -> Result<Option<Self>, EngineError> {
        let disk = &bubble.engine.disk;
        disk.create_dir(&bubble.control.locks()).map_err(StoreError::from)?;
        let guard = disk.lock(&path(bubble), LockMode::Exclusive, patience).map_err(StoreError::from)?;
        Ok(guard.map(Self))
    }

    /// Takes the bubble into care for processes of this command's own, after the end of those that nobody attends.
    pub(crate) fn alone(bubble: &Bubble) -> Result<Self, EngineError> {
        let id = &bubble.id;
        let care = Self::take(bubble, PATIENCE)?.ok_or_else(|| {
            EngineError::Effect(format!(
                "another process works for bubble {id}; look at it with 'pairflow status {id}'"
            ))
        })?;
        reap(&bubble.registry()).map_err(|error| EngineError::Effect(error.to_string()))?;
        Ok(care)
    }

    /// Waits until the process that has the bubble lets go of it, and takes it into care. Sleeps in the kernel meanwhile.
    pub(crate) fn wait(bubble: &Bubble) -> Result<Self, EngineError> {
        let path = path(bubble);
        let failed = |error| EngineError::io(format!("cannot lock {}", path.display()), error);
        loop {
            let file = crate::regular::open_to_lock(&path).map_err(failed)?;
            file.lock().map_err(failed)?;
            // A file that lost its name meanwhile does not count: others would lock the new one.
            if is_named(&file, &path).map_err(failed)? {
                return Ok(Self(Box::new(file)));
            }
        }
    }
}

fn path(bubble: &Bubble) -> PathBuf {
    bubble.control.locks().join(format!("{}.care", bubble.id))
}

fn is_named(file: &std::fs::File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(named) => Ok((own.dev(), own.ino()) == (named.dev(), named.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
