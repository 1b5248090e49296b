//! A clock that goes on only when it is told to, and may jump.

use std::sync::{Mutex, PoisonError};

use pairflow_core::time::{Moment, Timestamp};
use pairflow_engine::clock::Clock;

/// 2026-02-21T12:00:00Z, when every simulated life begins.
const DAWN: i64 = 1_771_675_200_000;

/// A clock in memory.
#[derive(Debug)]
pub struct SimClock(Mutex<Moment>);

impl SimClock {
    /// Begins at the same moment for everyone.
    pub fn new() -> Self {
        Self(Mutex::new(Moment { ts: Timestamp::from_millis(DAWN), up: 1_000_000 }))
    }

    /// Lets time go by.
    pub fn pass(&self, millis: u64) {
        self.change(|now| {
            now.up += millis;
            now.ts = Timestamp::from_millis(now.ts.millis() + i64::try_from(millis).unwrap_or(i64::MAX));
        });
    }

    /// Lets the wall clock alone jump.
    pub fn jump(&self, millis: i64) {
        self.change(|now| now.ts = Timestamp::from_millis(now.ts.millis().saturating_add(millis)));
    }

    /// Restarts the machine: its uptime begins anew.
    pub fn reboot(&self) {
        self.change(|now| now.up = 100);
    }

    fn change(&self, change: impl FnOnce(&mut Moment)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Default for SimClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SimClock {
    fn now(&self) -> Moment {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
