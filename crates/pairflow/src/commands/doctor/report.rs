//! What a doctor found, row by row.

use pairflow_core::text::counted;
use serde::Serialize;

use crate::exit::{CommandError, Exit};
use crate::out::{Line, Out, Paint};

/// Everything that was looked at.
#[derive(Default, Serialize)]
pub(super) struct Report {
    rows: Vec<Finding>,
    problems: usize,
    warnings: usize,
}

/// One thing that was looked at.
#[derive(Serialize)]
struct Finding {
    what: String,
    level: Level,
    /// What was found, as a sentence without its full stop.
    found: String,
    /// The one step that goes on from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip)]
    damaged: bool,
    /// Whether people are only told the number of such rows.
    #[serde(skip)]
    counted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Ok,
    Warning,
    Problem,
}

impl Report {
    /// Something is as it should be.
    pub(super) fn ok(&mut self, what: &str, found: &str) {
        self.add(what, Level::Ok, found, None);
    }

    /// The same, of one of many; people are told how many there are.
    pub(super) fn ok_too(&mut self, what: &str, found: &str) {
        self.add(what, Level::Ok, found, None).counted = true;
    }

    /// Something is missing that not everybody needs.
    pub(super) fn warning(&mut self, what: &str, found: &str, next: Option<&str>) {
        self.warnings += 1;
        self.add(what, Level::Warning, found, next);
    }

    /// Something does not work.
    pub(super) fn problem(&mut self, what: &str, found: &str, next: Option<&str>) {
        self.problems += 1;
        self.add(what, Level::Problem, found, next);
    }

    /// A log is damaged.
    pub(super) fn damage(&mut self, what: &str, found: &str, next: &str) {
        self.problems += 1;
        self.add(what, Level::Problem, found, Some(next)).damaged = true;
    }

    /// Returns how the process ends.
    pub(super) fn exit(&self) -> Exit {
        if self.rows.iter().any(|row| row.damaged) {
            Exit::LogDamaged
        } else if self.problems > 0 {
            Exit::WorldFailed
        } else {
            Exit::Done
        }
    }

    /// Prints the rows, and what they come to.
    pub(super) fn print(&self, out: &mut Out) -> Result<(), CommandError> {
        for row in self.rows.iter().filter(|row| !row.counted) {
            row.print(out)?;
        }
        let (problems, warnings) = (counted(self.problems, "problem"), counted(self.warnings, "warning"));
        match (self.problems, self.warnings) {
            (0, 0) => out.paint(&Line::new().add(Paint::Good, "Everything is in order.")),
            (0, _) => out.paint(&Line::new().add(Paint::Good, "No problems").plain(format!(", {warnings}."))),
            (_, _) => out.paint(&Line::new().add(Paint::Bad, problems).plain(format!(", {warnings}."))),
        }
    }

    fn add(&mut self, what: &str, level: Level, found: &str, next: Option<&str>) -> &mut Finding {
        let (what, found, next) = (what.to_owned(), found.to_owned(), next.map(str::to_owned));
        self.rows.push(Finding { what, level, found, next, damaged: false, counted: false });
        self.rows.last_mut().expect("a row was pushed a line above")
    }
}

impl Finding {
    fn print(&self, out: &mut Out) -> Result<(), CommandError> {
        let (mark, paint) = match self.level {
            Level::Ok => ("ok      ", Paint::Good),
            Level::Warning => ("warning ", Paint::Warn),
            Level::Problem => ("problem ", Paint::Bad),
        };
        let what = format!("{:<12} ", self.what);
        let mut lines = self.found.lines();
        let first = lines.next().unwrap_or_default();
        out.paint(&Line::new().add(paint, mark).add(Paint::Bold, what).plain(first))?;
        let indent = " ".repeat(21);
        for line in lines {
            out.paint(&Line::new().plain(&indent).plain(line))?;
        }
        match &self.next {
            Some(next) => out.paint(&Line::new().plain(&indent).add(Paint::Dim, "next: ").plain(next)),
            None => Ok(()),
        }
    }
}
