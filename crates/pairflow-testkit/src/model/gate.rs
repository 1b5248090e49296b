//! Gates: a stream waits at one until the test opens it, so that a busy agent is busy for as long as the test wants.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long anything may take that a test waits for.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How often a waiting stream shows that it is alive, and learns that nobody listens any more.
const BEAT: Duration = Duration::from_millis(250);

/// A gate of one name. It is closed until it is opened.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<Inside>);

#[derive(Debug, Default)]
struct Inside {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    waiting: usize,
}

impl Gate {
    /// Lets everything through, now and from now on.
    pub fn open(&self) {
        self.0.lock().open = true;
        self.0.changed.notify_all();
    }

    /// Holds what comes from now on.
    pub fn close(&self) {
        self.0.lock().open = false;
    }

    /// Returns how many streams stand at the gate.
    pub fn waiting(&self) -> usize {
        self.0.lock().waiting
    }

    /// Waits until a stream stands at the gate.
    #[track_caller]
    pub fn wait_until_reached(&self) {
        let until = Instant::now() + PATIENCE;
        let mut state = self.0.lock();
        while state.waiting == 0 {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no stream came to the gate in {} s", PATIENCE.as_secs());
            state = self.0.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Stands at the gate until it opens. `beat` is called now and then; what it says of a lost listener ends the wait.
    pub(super) fn pass(&self, mut beat: impl FnMut() -> std::io::Result<()>) -> std::io::Result<()> {
        let mut state = self.0.lock();
        state.waiting += 1;
        self.0.changed.notify_all();
        let mut outcome = Ok(());
        while !state.open && outcome.is_ok() {
            let waited = self.0.changed.wait_timeout(state, BEAT).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() {
                drop(state);
                outcome = beat();
                state = self.0.lock();
            }
        }
        state.waiting -= 1;
        outcome
    }
}

impl Inside {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All gates of a server.
#[derive(Debug, Default)]
pub(super) struct Gates(Mutex<BTreeMap<String, Gate>>);

impl Gates {
    pub(super) fn get(&self, name: &str) -> Gate {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().clone()
    }

    pub(super) fn open_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(Gate::open);
    }
}
