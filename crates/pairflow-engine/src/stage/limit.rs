//! Reads out of an agent's own words that its account is used up, and until when.

use pairflow_core::time::Timestamp;

/// What the programs and their services say when an account is used up.
const MARKS: [&str; 6] = ["usage limit", "rate limit", "rate_limit", "limit reached", "quota", "too many requests"];

/// Whether `said` speaks of a used-up account, and until when, if it says so: as seconds since 1970, as an RFC 3339
/// time, or as a time of day in UTC (`resets at 14:00`), which is the next one after `now`.
pub(super) fn limit_in(said: &str, now: Timestamp) -> Option<Option<Timestamp>> {
    let lower = said.to_lowercase();
    MARKS.iter().any(|mark| lower.contains(mark)).then(|| until(said, now))
}

fn until(said: &str, now: Timestamp) -> Option<Timestamp> {
    let words = said.split(|c: char| c.is_whitespace() || matches!(c, '|' | ',' | '(' | ')' | '"'));
    let words: Vec<_> = words.map(|word| word.trim_end_matches(['.', ';'])).filter(|word| !word.is_empty()).collect();
    let later = |at: Timestamp| (at > now).then_some(at);
    let stamp = words.iter().find_map(|word| word.parse::<Timestamp>().ok().and_then(later));
    let seconds = || {
        let whole = words.iter().filter(|word| word.len() == 10).find_map(|word| word.parse::<i64>().ok());
        whole.map(|secs| Timestamp::from_millis(secs * 1000)).and_then(later)
    };
    let clock = || words.iter().find_map(|word| time_of_day(word)).map(|minutes| next(now, minutes));
    stamp.or_else(seconds).or_else(clock)
}

/// Reads `14:00`, `2pm` or `2:30pm` as minutes since midnight.
fn time_of_day(word: &str) -> Option<i64> {
    let lower = word.to_lowercase();
    let (clock, half) = match (lower.strip_suffix("am"), lower.strip_suffix("pm")) {
        (Some(rest), _) => (rest, Some(0)),
        (_, Some(rest)) => (rest, Some(12)),
        _ => (&*lower, None),
    };
    let (hours, minutes) = match clock.split_once(':') {
        Some((hours, minutes)) => (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?),
        None => (half.and_then(|_| clock.parse().ok())?, 0),
    };
    let hours = half.map_or(hours, |half| hours % 12 + half);
    ((0..24).contains(&hours) && (0..60).contains(&minutes)).then_some(hours * 60 + minutes)
}

/// The next moment at which it is so many minutes past midnight in UTC.
fn next(now: Timestamp, minutes: i64) -> Timestamp {
    const DAY: i64 = 86_400_000;
    let midnight = now.millis().div_euclid(DAY) * DAY;
    let today = midnight + minutes * 60_000;
    Timestamp::from_millis(if today > now.millis() { today } else { today + DAY })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_used_up_account_is_told_from_other_failures() {
        let now = at("2026-03-01T10:00:00Z");
        let reset = |said: &str| limit_in(said, now);
        assert_eq!(reset("connection refused"), None);
        assert_eq!(reset("Claude AI usage limit reached|1772367600"), Some(Some(at("2026-03-01T12:20:00Z"))));
        assert_eq!(reset("You've hit your usage limit. Try again at 14:30."), Some(Some(at("2026-03-01T14:30:00Z"))));
        assert_eq!(reset("5-hour limit reached, resets 3am"), Some(Some(at("2026-03-02T03:00:00Z"))));
        assert_eq!(reset("rate_limit_error: too many requests"), Some(None));
        assert_eq!(reset("quota exceeded until 2026-03-01T11:00:00Z"), Some(Some(at("2026-03-01T11:00:00Z"))));
    }

    #[test]
    fn a_time_that_is_past_says_nothing() {
        let now = at("2026-03-01T10:00:00Z");
        assert_eq!(limit_in("usage limit reached|1000000000", now), Some(None));
    }
}
