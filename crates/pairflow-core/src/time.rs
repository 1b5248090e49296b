//! Time as the core sees it: two numbers that arrive as an argument.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in wall-clock time, in milliseconds; printed and stored as RFC 3339 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "&str", into = "String")]
pub struct Timestamp(i64);

/// A moment: the wall clock for people, and the machine's uptime for time-outs.
///
/// Wall clocks jump. Whether a time-out has passed is therefore asked of the uptime, which only grows; only when
/// it is smaller than before (the machine was restarted) does the wall clock answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Moment {
    /// What the wall clock says.
    pub ts: Timestamp,
    /// Milliseconds since the machine was started, sleep included.
    pub up: u64,
}

/// The pauses between attempts: each is twice as long as the one before, up to the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackOff {
    first: Duration,
    longest: Duration,
    attempts: u32,
}

impl BackOff {
    /// Returns pauses that begin with `first`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, attempts: 0 }
    }

    /// Counts an attempt that failed, and returns how long to wait for the next one.
    pub fn pause(&mut self) -> Duration {
        let doublings = self.attempts.min(16);
        self.attempts = self.attempts.saturating_add(1);
        self.first.saturating_mul(1 << doublings).min(self.longest)
    }

    /// Returns how many attempts have failed in a row.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Notes that an attempt succeeded.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }
}

impl Timestamp {
    /// Makes a time out of milliseconds since 1970. Out-of-range values are clamped.
    pub fn from_millis(millis: i64) -> Self {
        let range = jiff::Timestamp::MIN.as_second() * 1000..=jiff::Timestamp::MAX.as_second() * 1000;
        Self(millis.clamp(*range.start(), *range.end()))
    }

    /// Returns milliseconds since 1970.
    pub fn millis(self) -> i64 {
        self.0
    }

    /// Returns the date in UTC as `yyyymmdd`.
    pub fn yyyymmdd(self) -> String {
        let civil = self.jiff().to_zoned(jiff::tz::TimeZone::UTC).date();
        format!("{:04}{:02}{:02}", civil.year(), civil.month(), civil.day())
    }

    /// Returns the time of day in UTC as `hh:mm:ss`.
    pub fn hms(self) -> String {
        let time = self.jiff().to_zoned(jiff::tz::TimeZone::UTC).time();
        format!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())
    }

    /// Returns date and time of day in UTC as `yyyy-mm-dd hh:mm:ss`.
    pub fn date_hms(self) -> String {
        let civil = self.jiff().to_zoned(jiff::tz::TimeZone::UTC).date();
        format!("{:04}-{:02}-{:02} {}", civil.year(), civil.month(), civil.day(), self.hms())
    }

    fn jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).expect("a timestamp is clamped to the range when it is made")
    }
}

impl Moment {
    /// Returns how many milliseconds lie between `earlier` and this moment, never less than zero.
    pub fn since(self, earlier: Moment) -> u64 {
        if self.up >= earlier.up {
            self.up - earlier.up
        } else {
            u64::try_from(self.ts.0.saturating_sub(earlier.ts.0)).unwrap_or(0)
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.3}", self.jiff()))
    }
}

/// Why a text is no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an RFC 3339 time such as 2026-02-21T12:34:56Z")]
pub struct BadTimestamp(String);

impl std::str::FromStr for Timestamp {
    type Err = BadTimestamp;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time: jiff::Timestamp = text.parse().map_err(|_| BadTimestamp(text.to_owned()))?;
        Ok(Self(time.as_millisecond()))
    }
}

impl TryFrom<&str> for Timestamp {
    type Error = BadTimestamp;
    fn try_from(text: &str) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> String {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pause_is_twice_as_long_as_the_one_before_up_to_the_longest() {
        let millis = Duration::from_millis;
        let mut pauses = BackOff::new(millis(5), millis(35));
        assert_eq!([(); 5].map(|()| pauses.pause()), [5, 10, 20, 35, 35].map(millis));
        assert_eq!(pauses.attempts(), 5);
        pauses.reset();
        assert_eq!((pauses.pause(), pauses.attempts()), (millis(5), 1));
    }

    #[test]
    fn pauses_never_overflow() {
        let mut pauses = BackOff { attempts: u32::MAX, ..BackOff::new(Duration::MAX, Duration::MAX) };
        assert_eq!((pauses.pause(), pauses.attempts()), (Duration::MAX, u32::MAX));
    }
}
