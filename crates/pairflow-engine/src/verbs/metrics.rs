//! Reads the figures of all bubbles of a repository, one log after the other. One that cannot be read is named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pairflow_core::ids::BubbleId;
use pairflow_core::log::frame::LineHash;
use pairflow_core::log::seal::SealState;
use pairflow_core::view::metrics::{BubbleMeter, MetricsReport, UnreadableBubble};

use crate::engine::{Bubble, Engine, EngineError, sentence};
use crate::store::{Log, LogFiles, StoreError};
use crate::workspace::archives;

impl Engine {
    /// Returns the figures of the repository at `root`: of its bubbles, and of those in its archive. Only reads.
    pub fn metrics(&self, root: &Path) -> Result<MetricsReport, EngineError> {
        let mut report = MetricsReport { repo: root.display().to_string(), ..MetricsReport::default() };
        let mut seen = BTreeSet::new();
        for id in self.ids(root)? {
            let bubble = self.handle(root, &id);
            if !bubble.has_files() {
                continue;
            }
            match read(bubble.log()).and_then(|measured| Ok((measured, is_own(&bubble)?))) {
                Ok(((meter, first), own)) => {
                    seen.extend(first.map(|first| first.to_string()));
                    meter.add_to(if own { &mut report.own } else { &mut report.foreign }, false);
                }
                Err(error) => report.add_unreadable(unreadable(id.to_string(), false, &error)),
            }
        }
        for (id, dir) in archives(root) {
            match self.read_archive(root, &id, &dir) {
                // A restore that was interrupted leaves the bubble and its archive.
                Ok((_, Some(first), _)) if seen.contains(&first.to_string()) => {}
                Ok((meter, _, own)) => meter.add_to(if own { &mut report.own } else { &mut report.foreign }, true),
                Err(error) => {
                    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    report.add_unreadable(unreadable(name, true, &error));
                }
            }
        }
        Ok(report)
    }

    /// Reads an archived log. It is own if this user deleted the bubble on this machine, and nobody changed the log since.
    fn read_archive(
        &self,
        root: &Path,
        id: &BubbleId,
        dir: &Path,
    ) -> Result<(BubbleMeter, Option<LineHash>, bool), EngineError> {
        // Nobody writes to an archive, so its lock is never taken.
        let files = LogFiles { dir: dir.to_owned(), lock: PathBuf::new() };
        let log = Log::new(self.disk.clone(), files, id.clone());
        let (meter, first) = read(&log)?;
        let registry = self.registry();
        let deleted = match first {
            Some(first) => registry.is_retired(root, id, first).map_err(StoreError::from)?,
            None => false,
        };
        let own = match registry.key().map_err(StoreError::from)?.filter(|_| deleted) {
            Some(key) => log.seals(&key)?.0.worst == SealState::Own,
            None => false,
        };
        Ok((meter, first, own))
    }
}

/// Reads a whole log; one that is damaged counts for nothing.
fn read(log: &Log) -> Result<(BubbleMeter, Option<LineHash>), EngineError> {
    let mut meter = BubbleMeter::new(log.id().clone());
    log.visit(&mut |envelope| meter.step(&envelope))?;
    Ok((meter, log.first_line()?))
}

fn is_own(bubble: &Bubble) -> Result<bool, EngineError> {
    Ok(bubble.foreign()?.is_none())
}

fn unreadable(bubble_id: String, archived: bool, error: &EngineError) -> UnreadableBubble {
    UnreadableBubble { bubble_id, archived, error: sentence(error) }
}
