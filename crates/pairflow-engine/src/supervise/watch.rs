//! File events: who wrote to which log.

use std::path::{Path, PathBuf};

use notify::event::{CreateKind, EventKind, ModifyKind, RemoveKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Tells when a log grows or goes away.
pub(super) struct Watch {
    watcher: RecommendedWatcher,
}

impl Watch {
    /// Begins to listen; `tell` gets the file of each event.
    pub(super) fn new(tell: impl Fn(PathBuf) + Send + 'static) -> notify::Result<Self> {
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            // Looking at a file is an event, too; only changes matter.
            let matters = matches!(
                event.kind,
                EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Any)
                    | EventKind::Create(CreateKind::File | CreateKind::Any)
                    | EventKind::Remove(RemoveKind::File | RemoveKind::Folder | RemoveKind::Any)
            );
            let log = |path: &PathBuf| path.file_name().is_some_and(|name| name == "transcript.ndjson");
            let gone = matches!(event.kind, EventKind::Remove(_));
            for path in event.paths.into_iter().filter(|path| matters && (log(path) || gone)) {
                tell(path);
            }
        })?;
        Ok(Self { watcher })
    }

    /// Watches the directory of a bubble.
    pub(super) fn add(&mut self, dir: &Path) -> notify::Result<()> {
        self.watcher.watch(dir, RecursiveMode::NonRecursive)
    }

    /// Forgets the directory of a bubble.
    pub(super) fn forget(&mut self, dir: &Path) {
        // A directory that is gone is forgotten already.
        let _ = self.watcher.unwatch(dir);
    }
}
