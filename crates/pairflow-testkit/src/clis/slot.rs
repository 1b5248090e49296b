//! How many tests of one program may use real agents at a time: each has two of them, with models, panes and hooks.
//!
//! With cargo-nextest every test is a program of its own, and .config/nextest.toml says the same.

use std::sync::{Condvar, Mutex, PoisonError};

/// How many at a time.
const SLOTS: usize = 2;

static TAKEN: Mutex<usize> = Mutex::new(0);
static FREED: Condvar = Condvar::new();

/// The right to use real agents, until it is dropped.
#[derive(Debug)]
pub struct Slot(());

impl Slot {
    /// Waits until fewer than two others have one.
    pub fn take() -> Self {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = FREED.wait_while(taken, |taken| *taken >= SLOTS).unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        Self(())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        FREED.notify_one();
    }
}
