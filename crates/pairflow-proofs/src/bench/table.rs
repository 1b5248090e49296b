//! The rows as they are printed, and what counts as a miss.

use std::time::Duration;

use super::sample::Times;
use crate::say;

/// How far over its goal a row may be.
const SLACK: f64 = 1.25;
/// How many rows may miss.
pub(super) const MISSES_ALLOWED: usize = 2;

/// One row.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Its name in the list of goals.
    pub(super) id: &'static str,
    /// What was measured.
    pub(super) what: String,
    /// What it was compared with.
    pub(super) against: &'static str,
    /// What came of it.
    pub(super) result: Outcome,
    /// The most that the ratio or the number is meant to be.
    pub(super) goal: f64,
}

/// What came of a row.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    /// Two times, each with its shortest: what was measured, and what it is compared with.
    Ratio { measured: [Duration; 2], against: [Duration; 2] },
    /// A number that is what it is.
    Count(u32),
    /// Nothing, and why.
    NotMeasured(String),
}

impl Row {
    /// A row that compares two times.
    pub(super) fn ratio(
        id: &'static str,
        what: impl Into<String>,
        against: &'static str,
        times: (&Times, &Times),
        goal: f64,
    ) -> Self {
        let pair = |times: &Times| [times.p50(), times.min()];
        let result = Outcome::Ratio { measured: pair(times.0), against: pair(times.1) };
        Self { id, what: what.into(), against, result, goal }
    }

    /// Whether the row is further from its goal than it may be.
    pub(super) fn misses(&self) -> bool {
        match &self.result {
            Outcome::Ratio { measured, against } => over(measured[0], against[0]) > self.goal * SLACK,
            Outcome::Count(count) => f64::from(*count) > self.goal,
            Outcome::NotMeasured(_) => true,
        }
    }

    fn cells(&self) -> [String; 7] {
        let goal = shown(self.goal);
        let limit = shown(self.goal * SLACK);
        let (measured, against, ratio, limit) = match &self.result {
            Outcome::Ratio { measured, against } => {
                let ratio =
                    format!("{} ({})", shown(over(measured[0], against[0])), shown(over(measured[1], against[1])));
                (times(measured), times(against), ratio, limit)
            }
            Outcome::Count(count) => (count.to_string(), String::new(), String::new(), goal.clone()),
            Outcome::NotMeasured(why) => (format!("not measured: {why}"), String::new(), String::new(), limit),
        };
        let verdict = if self.misses() { "MISS" } else { "ok" };
        let what =
            if self.against.is_empty() { self.what.clone() } else { format!("{} / {}", self.what, self.against) };
        [what, measured, against, ratio, goal, limit, verdict.to_owned()]
    }
}

/// Prints all rows, with the shortest times in brackets.
pub(super) fn print(rows: &[Row]) {
    let head = ["what / compared with", "measured", "compared with", "ratio", "goal", "limit", ""].map(str::to_owned);
    let cells: Vec<_> = rows.iter().map(|row| (row.id, row.cells())).collect();
    let all = || std::iter::once(("row", &head)).chain(cells.iter().map(|(id, cells)| (*id, cells)));
    let widths: [usize; 7] =
        std::array::from_fn(|n| all().map(|(_, cells)| cells[n].chars().count()).max().unwrap_or(0));
    for (id, cells) in all() {
        let padded: Vec<_> = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        say::line(format_args!("{}", format!("{id:<4} {}", padded.join("  ")).trim_end()));
    }
}

fn over(measured: Duration, against: Duration) -> f64 {
    measured.as_secs_f64() / against.as_secs_f64().max(1e-9)
}

fn times(pair: &[Duration; 2]) -> String {
    format!("{} ({})", time(pair[0]), time(pair[1]))
}

fn time(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    if micros < 1000.0 { format!("{micros:.0} us") } else { format!("{:.2} ms", micros / 1000.0) }
}

fn shown(ratio: f64) -> String {
    if ratio < 0.1 { format!("1/{:.0}", 1.0 / ratio) } else { format!("{ratio:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(measured: u64, against: u64, goal: f64) -> Row {
        let twice = |millis| [Duration::from_millis(millis); 2];
        let result = Outcome::Ratio { measured: twice(measured), against: twice(against) };
        Row { id: "P0", what: "a".to_owned(), against: "b", result, goal }
    }

    #[test]
    fn a_row_misses_beyond_a_quarter_over_its_goal() {
        assert!(!row(150, 100, 1.2).misses());
        assert!(row(151, 100, 1.2).misses());
        assert!(!row(1, 40, 1.0 / 40.0).misses());
    }

    #[test]
    fn a_count_has_no_slack_and_what_was_not_measured_is_a_miss() {
        let count = |n| Row { result: Outcome::Count(n), ..row(1, 1, 1.0) };
        assert!(!count(1).misses() && count(2).misses());
        assert!(Row { result: Outcome::NotMeasured("no tool".to_owned()), ..row(1, 1, 1.0) }.misses());
    }

    #[test]
    fn small_ratios_are_shown_as_fractions() {
        assert_eq!([shown(1.0 / 40.0), shown(1.5)], ["1/40", "1.50"]);
    }
}
