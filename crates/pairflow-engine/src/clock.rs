//! The only place that reads the clock.

use pairflow_core::time::{Moment, Timestamp};

/// Where the time comes from: the machine, or a simulation.
pub trait Clock: Send + Sync {
    /// Returns the present moment.
    fn now(&self) -> Moment;
}

/// The machine's own clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        // A clock before 1970 is broken, but it must not stop anyone: order is by number, never by time.
        let millis = since_epoch.map_or(0, |age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        Moment { ts: Timestamp::from_millis(millis), up: uptime_millis() }
    }
}

/// Milliseconds since the machine was started, sleep included where the system can tell.
fn uptime_millis() -> u64 {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    let millis = time.tv_sec.saturating_mul(1000).saturating_add(time.tv_nsec / 1_000_000);
    u64::try_from(millis).unwrap_or(0)
}
