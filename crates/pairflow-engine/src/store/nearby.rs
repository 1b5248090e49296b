//! What the log's neighbours need: whether it is there, when it grows, whether `state.json` fits it, and derived files
//! below `artifacts/`.

use std::time::{Duration, Instant};

use pairflow_core::log::scan::{Head, Scan};
use pairflow_core::log::{Envelope, Event, Machine};
use pairflow_core::time::Moment;

use super::cache::{self, CacheStand};
use super::durable;
use super::error::StoreError;
use super::locked::Locked;
use super::log::{Appended, Log};
use super::read;
use super::storage::FileKind;

/// How long a waiter waits at most before it looks again by itself.
const AT_MOST: Duration = Duration::from_millis(250);

impl<M: Machine> Log<M> {
    /// Whether the bubble has a log. A disk that fails to tell does not pass for one that has none.
    pub fn is_there(&self) -> Result<bool, StoreError> {
        Ok(self.disk.stat(&self.files.transcript())?.is_some())
    }

    /// Whether the bubble is known to have a log.
    pub fn exists(&self) -> bool {
        matches!(self.disk.stat(&self.files.transcript()), Ok(Some(_)))
    }

    /// Whether the bubble is known to have had a log that is not there any more: its state is written after it.
    pub fn is_gone(&self) -> bool {
        let (log, state) = (self.disk.stat(&self.files.transcript()), self.disk.stat(&self.files.state()));
        matches!((log, state), (Ok(None), Ok(Some(_))))
    }

    /// Says what is to be thought of `state.json`. Only reads.
    pub fn state_file(&self) -> Result<CacheStand<M>, StoreError> {
        let path = self.files.state();
        match self.disk.stat(&path)? {
            None => Ok(CacheStand::Absent),
            Some(stat) if stat.kind != FileKind::File => Ok(CacheStand::Wrong("it is no file")),
            Some(stat) if stat.len > cache::MOST_BYTES => Ok(CacheStand::Wrong("it is larger than any state")),
            Some(_) => {
                let (bytes, by) = (self.disk.read(&path)?, self.believed()?);
                Ok(bytes.map_or(CacheStand::Absent, |bytes| cache::judge(&bytes, &self.id, &by)))
            }
        }
    }

    /// Hands over the envelopes that stand behind `head`, each of them verified, and returns where the log ends now.
    ///
    /// Returns nothing if the log does not go on from there: then it is another one, to be read from its beginning.
    pub fn visit_after(
        &self,
        head: &Head,
        each: &mut impl FnMut(Envelope<M::Body>),
    ) -> Result<Option<Head>, StoreError> {
        let (handle, cache) = self.open()?;
        let stat = handle.stat()?;
        let goes_on = *head == Head::default() || (stat.len >= head.offset && read::ends_at(&*handle, head)?);
        if !goes_on {
            return Ok(None);
        }
        let scan = Scan::resume(&self.id, *head, read::acknowledged_to(cache.as_ref(), &stat));
        let scanned = read::run(&*handle, stat.len, scan, each).map_err(|error| self.told(error))?;
        Ok(Some(scanned.head))
    }

    /// Waits a little for the log to grow past `head`, looking every `pace`.
    pub fn wait_past(&self, head: &Head, pace: Duration) {
        let until = Instant::now() + AT_MOST;
        while Instant::now() < until {
            let grown = match self.disk.stat(&self.files.transcript()) {
                Ok(Some(stat)) => stat.len != head.offset,
                _ => true,
            };
            if grown {
                return;
            }
            std::thread::sleep(pace);
        }
    }

    /// Replaces a derived file below `artifacts/`, in one step. `name` may have one directory.
    pub fn project_artifact(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['/', '\0']);
        let parts: Vec<_> = name.split('/').collect();
        if parts.len() > 2 || !parts.iter().all(|part| plain(part)) {
            return Err(StoreError::BadName { name: name.to_owned() });
        }
        let path = self.files.artifacts().join(name);
        self.disk.create_dir(durable::parent(&path))?;
        Ok(durable::replace(&*self.disk, &path, bytes)?)
    }

    /// Makes the log of a new bubble, with its configuration beside it. A caller that comes too late changes neither.
    pub fn create_configured(
        &self,
        config: &str,
        events: &[Event<M::Body>],
        at: Moment,
    ) -> Result<(Locked<M>, Appended<M>), StoreError> {
        self.create_after(events, at, || self.put_config(config))
    }

    /// Writes the configuration of a bubble, durably.
    pub fn put_config(&self, text: &str) -> Result<(), StoreError> {
        durable::make_dirs(&*self.disk, &self.files.dir)?;
        Ok(durable::put(&*self.disk, &self.files.dir.join("bubble.toml"), text.as_bytes())?)
    }
}
