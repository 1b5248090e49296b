//! Waiting for something to happen: a test looks again and again, with a deadline, and leaves the machine to others in
//! between. Nothing else in a test may sleep or spin.

use std::path::Path;
use std::time::{Duration, Instant};

use pairflow_core::time::BackOff;

/// The longest time that a test waits for something. Only a failing test uses it up.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// The pauses between two looks. The longer something takes, the less it matters to see it at once.
const PAUSES: BackOff = BackOff::new(Duration::from_millis(2), Duration::from_millis(50));

/// After how long a look is repeated although the log has not grown: not everything that is waited for stands there.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Waits until `done` says yes.
///
/// # Panics
/// If it never does.
#[track_caller]
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    eventually(what, || done().then_some(()));
}

/// Waits until `look` finds something.
///
/// # Panics
/// If it never does.
#[track_caller]
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    eventually_or(what, String::new, look)
}

/// Waits until `look` finds something; `known` says what a person needs to know if it never does.
///
/// # Panics
/// If it never does.
#[track_caller]
pub fn eventually_or<T>(what: &str, known: impl Fn() -> String, look: impl FnMut() -> Option<T>) -> T {
    // Not `unwrap_or_else`: a closure would hide the caller's place.
    match within(PATIENCE, look) {
        Some(found) => found,
        None => panic!("never saw {what}\n{}", known()),
    }
}

/// Looks until `look` finds something; nothing comes back once `limit` has passed.
pub fn within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + limit;
    let mut pauses = PAUSES;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= until {
            return found;
        }
        std::thread::sleep(pauses.pause());
    }
}

/// Looks until `look` finds something: each time that the log of a bubble has grown, and now and then besides. For looks
/// that start a process: to do that all the time would take the machine from the work that is waited for.
pub fn following<T>(log: &Path, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let (mut seen, mut looked) = (None, Instant::now());
    within(PATIENCE, || {
        let size = std::fs::metadata(log).map_or(0, |file| file.len());
        if seen.replace(size) == Some(size) && looked.elapsed() < LOOK_AGAIN {
            return None;
        }
        let found = look();
        looked = Instant::now();
        found
    })
}
