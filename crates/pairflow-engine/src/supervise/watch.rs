//! File events: who wrote to which log.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use notify::event::{CreateKind, EventKind, ModifyKind, RemoveKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use pairflow_core::bubble::BubbleState;
use pairflow_core::time::{Moment, Timestamp};

use crate::engine::{Bubble, EngineError};
use crate::session::Activity;

/// Tells when a log grows or goes away.
pub(super) struct LogWatcher {
    watcher: RecommendedWatcher,
}

impl LogWatcher {
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

/// How often a log is looked at that is watched: a network file system tells nobody what others write.
const WATCHED: Duration = Duration::from_secs(5);
/// How often a log is looked at that cannot be watched.
const UNWATCHED: Duration = Duration::from_secs(1);

/// Waits until `done` says something about the bubble's state; returns nothing when `patience` is used up.
///
/// A bubble that becomes foreign or is deleted meanwhile ends the wait with an error.
pub fn wait_for<T>(
    bubble: &Bubble,
    patience: Option<Duration>,
    mut done: impl FnMut(&BubbleState) -> Option<T>,
) -> Result<Option<T>, EngineError> {
    let until = patience.and_then(|patience| Instant::now().checked_add(patience));
    let (out, touched) = channel();
    // Watched before the first look, so that nothing happens between the two unseen.
    let watch = LogWatcher::new(move |path| {
        // Nobody listens any more once the wait is over.
        let _ = out.send(path);
    });
    let watch = watch.and_then(|mut watch| watch.add(&bubble.dir()).map(|()| watch));
    let pace = if watch.is_ok() { WATCHED } else { UNWATCHED };
    loop {
        bubble.insist_own()?;
        // What is told is durable, and the files that go with it are there.
        if done(&bubble.load()?.state).is_some()
            && let Some(result) = done(&bubble.settled()?.state)
        {
            return Ok(Some(result));
        }
        let left = until.map_or(pace, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Ok(None);
        }
        // Without a watch nobody sends, and the sender is gone: the time passes all the same.
        if watch.is_ok() {
            let _ = touched.recv_timeout(left.min(pace));
            touched.try_iter().for_each(drop);
        } else {
            std::thread::sleep(left.min(pace));
        }
    }
}

/// How many files and directories are looked at; a worktree with more counts as unchanged beyond them.
const MOST: usize = 200_000;

/// Returns when the agent whose turn it is was last seen at work, and notes it.
pub(super) fn at_work(bubble: &Bubble, state: &BubbleState, activity: &Activity) -> Option<Moment> {
    let agent = &state.phase.turn()?.agent;
    let clock = &bubble.engine.clock;
    let worktree = state.evidence.workspace.as_ref().map(|workspace| Path::new(&workspace.path))?;
    // The agent goes on while its files are looked at, so each is judged by the time at which it was.
    let touched = newest(worktree, MOST, || wall(clock.now())).and_then(|at| moment(at, clock.now()));
    let hooks = activity.of(agent);
    let newest = touched.into_iter().chain(hooks).max_by_key(|at| at.up)?;
    activity.note(agent, newest);
    Some(newest)
}

/// Returns when the agent whose turn it is was last seen at work, as far as anyone can tell who is not its supervisor.
pub fn last_seen(bubble: &Bubble, state: &BubbleState) -> Option<Moment> {
    at_work(bubble, state, &Activity::recorded(&bubble.control, &bubble.id, bubble.engine.clock.now()))
}

/// When anything in the worktree was last changed, its git data left aside. A time to come says nothing: any archive or
/// clock that goes wrong can set one. Of more than `most` files and directories the rest is not looked at.
fn newest(worktree: &Path, most: usize, now: impl Fn() -> SystemTime) -> Option<SystemTime> {
    let mut rooms = vec![worktree.to_owned()];
    let (mut newest, mut seen) = (None, 0);
    while let Some(room) = rooms.pop() {
        for entry in std::fs::read_dir(&room).into_iter().flatten().flatten() {
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
                rooms.push(entry.path());
            }
        }
    }
    newest
}

/// What the wall clock shows; the millisecond that has begun counts as a whole.
fn wall(now: Moment) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(now.ts.millis()).unwrap_or_default() + 1)
}

/// The moment at which the wall clock showed `time`; nothing for a time to come or before the machine was started.
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
        let room = dir.path().join("room");
        std::fs::create_dir(&room).unwrap();
        let now = SystemTime::now() + Duration::from_secs(60);
        touch(&room.join("a.rs"), now);
        assert_eq!(newest(dir.path(), 2, || now), Some(now));
        assert!(newest(dir.path(), 1, || now) < Some(now), "the room has been seen, and nothing in it");
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
