//! `cargo xtask bench`: how fast the product is, each row beside a limit that was measured in the same run.
//!
//! A machine is quick or slow, quiet or loaded; a ratio of two things that ran in turns on it says more than a time. A row
//! is a function of a file below and one line in [`MEASUREMENTS`].

mod hand_over;
mod measure;
mod reading;
mod workspace;

use anyhow::{Context, ensure};

use self::measure::{Asked, MISSES_ALLOWED, Row, Setting, print};
use crate::say;

/// A measurement: the rows that it fills, and how.
struct Measurement {
    rows: &'static [&'static str],
    measure: fn(&Setting, &Asked) -> anyhow::Result<Vec<Row>>,
}

const MEASUREMENTS: &[Measurement] = &[
    Measurement { rows: &["P1", "P1b"], measure: reading::measure_startup },
    Measurement { rows: &["P2"], measure: hand_over::measure_pass },
    Measurement { rows: &["P2c"], measure: hand_over::measure_append },
    Measurement { rows: &["P2d"], measure: hand_over::count_syncs },
    Measurement { rows: &["P4"], measure: reading::measure_status },
    Measurement { rows: &["P5"], measure: reading::measure_verify },
    Measurement { rows: &["P5b"], measure: reading::measure_recovery },
    Measurement { rows: &["P12"], measure: workspace::measure_workspace },
    Measurement { rows: &["P16", "P16b"], measure: workspace::measure_checkout },
];

/// Measures, prints the table, and fails if more rows miss than may.
pub(crate) fn run(args: &[String]) -> anyhow::Result<()> {
    let asked = Asked::parse(args)?;
    let known: Vec<&str> = MEASUREMENTS.iter().flat_map(|one| one.rows).copied().collect();
    asked.check(&known)?;
    let setting = Setting::prepare()?;
    let mut rows = Vec::new();
    for one in MEASUREMENTS.iter().filter(|one| one.rows.iter().any(|row| asked.wants(row))) {
        say::progress(format_args!("measuring {}", one.rows.join(" and ")));
        let measured = (one.measure)(&setting, &asked).with_context(|| format!("row {}", one.rows[0]))?;
        rows.extend(measured.into_iter().filter(|row| asked.wants(row.id)));
    }
    say::line(format_args!("p50 (min); load {}", load()));
    print(&rows);
    let missed = rows.iter().filter(|row| row.misses()).count();
    ensure!(missed <= MISSES_ALLOWED, "{missed} of {} rows miss their limit; {MISSES_ALLOWED} may", rows.len());
    Ok(())
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}
