//! What can be seen of a bubble from outside: changes of its log, and when its agent was last active, by its hooks or by
//! the files that it changes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use notify::event::{CreateKind, EventKind, ModifyKind, RemoveKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use pairflow_core::bubble::BubbleState;
use pairflow_core::time::{Moment, Timestamp};

use crate::engine::{Bubble, EngineError};
use crate::session::Activity;

/// Watches logs for changes.
pub(super) struct LogWatcher {
    watcher: RecommendedWatcher,
}

impl LogWatcher {
    /// Starts watching; `tell` gets the file of each event.
    pub(super) fn new(tell: impl Fn(PathBuf) + Send + 'static) -> notify::Result<Self> {
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            // Reading a file is an event, too; only changes matter.
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

    /// Stops watching the directory of a bubble.
    pub(super) fn forget(&mut self, dir: &Path) {
        // A directory that is gone is not watched any more.
        let _ = self.watcher.unwatch(dir);
    }
}

/// How often a watched log is read anyway: a network file system does not report writes of other machines.
const WATCHED: Duration = Duration::from_secs(5);
/// How often a log is read that cannot be watched.
const UNWATCHED: Duration = Duration::from_secs(1);

/// Waits until `done` returns something for the bubble's state; returns `None` after `patience`.
///
/// A bubble that becomes foreign or is deleted meanwhile ends the wait with an error.
pub fn wait_for<T>(
    bubble: &Bubble,
    patience: Option<Duration>,
    mut done: impl FnMut(&BubbleState) -> Option<T>,
) -> Result<Option<T>, EngineError> {
    let until = patience.and_then(|patience| Instant::now().checked_add(patience));
    let (out, touched) = channel();
    // Watched before the first look, so that no change is missed.
    let watch = LogWatcher::new(move |path| {
        // Nobody listens any more once the wait is over.
        let _ = out.send(path);
    });
    let watch = watch.and_then(|mut watch| watch.add(&bubble.dir()).map(|()| watch));
    let pace = if watch.is_ok() { WATCHED } else { UNWATCHED };
    loop {
        bubble.insist_own()?;
        // What is returned is durable, and its files are on disk.
        if done(&bubble.load()?.state).is_some()
            && let Some(result) = done(&bubble.settled()?.state)
        {
            return Ok(Some(result));
        }
        let left = until.map_or(pace, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Ok(None);
        }
        // Without a watch the sender is gone, and the channel would not wait.
        if watch.is_ok() {
            let _ = touched.recv_timeout(left.min(pace));
            touched.try_iter().for_each(drop);
        } else {
            std::thread::sleep(left.min(pace));
        }
    }
}

/// How many files and directories are looked at; the rest of a larger worktree counts as unchanged.
const MOST: usize = 200_000;

/// Returns when the agent that has the turn was last active, and notes it.
pub(super) fn at_work(bubble: &Bubble, state: &BubbleState, activity: &Activity) -> Option<Moment> {
    let agent = &state.phase.turn()?.agent;
    let clock = &bubble.engine.clock;
    let worktree = state.evidence.workspace.as_ref().map(|workspace| Path::new(&workspace.path))?;
    // The agent works while its files are looked at, so each file is compared with the time of its own look.
    let touched = newest(worktree, MOST, || wall(clock.now())).and_then(|at| moment(at, clock.now()));
    let hooks = activity.of(agent);
    let newest = touched.into_iter().chain(hooks).max_by_key(|at| at.up)?;
    activity.note(agent, newest);
    Some(newest)
}

/// Returns when the agent that has the turn was last active, as far as a process other than its supervisor can tell.
pub fn last_seen(bubble: &Bubble, state: &BubbleState) -> Option<Moment> {
    at_work(bubble, state, &Activity::recorded(&bubble.control, &bubble.id, bubble.engine.clock.now()))
}

/// Returns when anything in the worktree last changed, except its git data. Times in the future are ignored: an archive or
/// a wrong clock can set them. At most `most` files and directories are looked at.
fn newest(worktree: &Path, most: usize, now: impl Fn() -> SystemTime) -> Option<SystemTime> {
    let mut dirs = vec![worktree.to_owned()];
    let (mut newest, mut seen) = (None, 0);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            seen += 1;
            if seen > most {
                return newest;
            }
            let Ok(known) = entry.metadata() else { continue };
            if entry.file_name() == ".git" {
                continue;
            }
            let changed = known.modified().ok();
            if changed > newest && changed <= Some(now()) {
                newest = changed;
            }
            if known.is_dir() {
                dirs.push(entry.path());
            }
        }
    }
    newest
}

/// Returns the wall-clock time, rounded up to a millisecond.
fn wall(now: Moment) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(now.ts.millis()).unwrap_or_default() + 1)
}

/// Returns the moment of a wall-clock time; `None` for one in the future or before the boot.
fn moment(time: SystemTime, now: Moment) -> Option<Moment> {
    let millis = i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
    let ago = u64::try_from(now.ts.millis().checked_sub(millis)?).ok()?;
    Some(Moment { ts: Timestamp::from_millis(millis), up: now.up.checked_sub(ago)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(file: &Path, at: SystemTime) {
        std::fs::File::options().create(true).append(true).open(file).unwrap().set_modified(at).unwrap();
    }

    #[test]
    fn a_changed_file_is_a_sign_of_life_and_git_data_is_not() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("src/deep")).unwrap();
        std::fs::create_dir(dir.path().join(".git")).unwrap();
        let later = SystemTime::now() + Duration::from_secs(60);
        let even_later = later + Duration::from_secs(60);
        touch(&dir.path().join("src/deep/a.rs"), later);
        assert_eq!(newest(dir.path(), MOST, || even_later), Some(later));
        touch(&dir.path().join(".git/index"), even_later);
        assert_eq!(newest(dir.path(), MOST, || even_later), Some(later));
    }

    #[test]
    fn a_file_of_tomorrow_hides_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let now = SystemTime::now() + Duration::from_secs(60);
        touch(&dir.path().join("a.rs"), now);
        touch(&dir.path().join("b.rs"), now + Duration::from_secs(86_400));
        assert_eq!(newest(dir.path(), MOST, || now), Some(now));
    }

    #[test]
    fn what_lies_beyond_the_limit_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let now = SystemTime::now() + Duration::from_secs(60);
        touch(&inner.join("a.rs"), now);
        assert_eq!(newest(dir.path(), 2, || now), Some(now));
        assert!(newest(dir.path(), 1, || now) < Some(now), "the directory was seen, but not what is in it");
    }

    #[test]
    fn a_time_to_come_is_no_sign_of_life() {
        let now = Moment { ts: Timestamp::from_millis(1_000_000), up: 500_000 };
        let at = |millis: u64| UNIX_EPOCH + std::time::Duration::from_millis(millis);
        assert_eq!(moment(at(990_000), now), Some(Moment { ts: Timestamp::from_millis(990_000), up: 490_000 }));
        assert_eq!(moment(at(1_000_001), now), None);
        assert_eq!(moment(at(1), now), None, "before the machine was started");
    }
}
