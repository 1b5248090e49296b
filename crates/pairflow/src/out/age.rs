//! How long ago something was, in one number.

use pairflow_core::time::Timestamp;

/// Returns how long before `now` the time `then` was, such as "12 s", "3 min", "5 h" or "2 d".
pub(crate) fn age(then: Timestamp, now: Timestamp) -> String {
    let secs = now.millis().saturating_sub(then.millis()).max(0) / 1000;
    match secs {
        0..60 => format!("{secs} s"),
        60..3600 => format!("{} min", secs / 60),
        3600..86_400 => format!("{} h", secs / 3600),
        _ => format!("{} d", secs / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_one_number_and_never_negative() {
        let at = Timestamp::from_millis;
        let ages = [(0, "0 s"), (59_999, "59 s"), (60_000, "1 min"), (7_200_000, "2 h"), (172_800_000, "2 d")];
        for (millis, told) in ages {
            assert_eq!(age(at(1_000_000), at(1_000_000 + millis)), told);
        }
        assert_eq!(age(at(5_000), at(1_000)), "0 s", "a clock that was set back");
    }
}
