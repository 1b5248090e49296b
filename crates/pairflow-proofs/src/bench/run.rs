//! The whole measurement: row after row, one table at the end.

use anyhow::{Context, ensure};

use super::ask::Asked;
use super::setting::Setting;
use super::table::{MISSES_ALLOWED, Row, print};
use super::{append, checkout, pass, startup, status, verify, workspace};
use crate::say;

/// A measurement: the rows that it fills, and how.
struct Measurement {
    rows: &'static [&'static str],
    measure: fn(&Setting, &Asked) -> anyhow::Result<Vec<Row>>,
}

const MEASUREMENTS: &[Measurement] = &[
    Measurement { rows: &["P1", "P1b"], measure: startup::measure },
    Measurement { rows: &["P2"], measure: pass::measure },
    Measurement { rows: &["P2c"], measure: append::measure },
    Measurement { rows: &["P2d"], measure: pass::count_syncs },
    Measurement { rows: &["P4"], measure: status::measure },
    Measurement { rows: &["P5"], measure: verify::measure },
    Measurement { rows: &["P5b"], measure: status::measure_recovery },
    Measurement { rows: &["P12"], measure: workspace::measure },
    Measurement { rows: &["P16", "P16b"], measure: checkout::measure },
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
