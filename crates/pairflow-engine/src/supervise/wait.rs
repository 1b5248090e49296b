//! Waits for something of one bubble: woken by its log, with a slow look besides where files cannot be watched.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use pairflow_core::bubble::BubbleState;

use super::watch::Watch;
use crate::engine::{Bubble, EngineError};

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
    let watch = Watch::new(move |path| {
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
