//! The findings of a bubble, with a name for each.
//!
//! What is open is what the reviews of the present tree found. A review that names nothing grave settles what was grave
//! before; what is not grave stays open for the person, whoever looks at the same tree next. With the first review of
//! another tree everything begins anew.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, FindingId};
use crate::rounds::{Finding, Severity};
use crate::unit::MAX_FINDINGS;

/// The findings of a bubble.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// How many names were given out.
    pub named: u32,
    /// The findings that the reviews of the last reviewed tree left open.
    pub open: Vec<Row>,
}

/// One open finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub id: FindingId,
    /// How grave it is.
    pub severity: Severity,
    /// What is wrong.
    pub title: String,
    /// Who found it.
    pub by: AgentId,
    /// In which round.
    pub round: u32,
}

impl Ledger {
    /// Gives names to the findings of a review that is about to be recorded.
    pub fn name(&self, findings: &[Finding]) -> Vec<Finding> {
        let ids = (self.named + 1..).map(FindingId);
        let named = |(id, finding): (FindingId, &Finding)| Finding { id: Some(id), ..finding.clone() };
        ids.zip(findings).map(named).collect()
    }

    /// Takes over the findings of a recorded review; `again` says that the tree is the one reviewed before.
    pub(crate) fn review(&mut self, by: &AgentId, round: u32, findings: &[Finding], again: bool) {
        let rows = findings.iter().enumerate().map(|(at, finding)| Row {
            id: finding
                .id
                .unwrap_or(FindingId(self.named + 1 + u32::try_from(at).unwrap_or(u32::MAX - self.named - 1))),
            severity: finding.severity,
            title: finding.title.clone(),
            by: by.clone(),
            round,
        });
        let new: Vec<Row> = rows.collect();
        self.named = new.iter().map(|row| row.id.0).fold(self.named, u32::max);
        let grave = new.iter().any(|row| row.severity.blocks());
        let repeated = |old: &Row| new.iter().any(|row| row.title.trim().eq_ignore_ascii_case(old.title.trim()));
        self.open.retain(|old| again && (grave || !old.severity.blocks()) && !repeated(old));
        self.open.extend(new);
        self.bound();
    }

    /// Leaves the gravest out of more than a line of the log can name, the oldest first among equals.
    fn bound(&mut self) {
        if self.open.len() > MAX_FINDINGS {
            self.open.sort_by_key(|row| row.severity);
            self.open.truncate(MAX_FINDINGS);
            self.open.sort_by_key(|row| row.id);
        }
    }

    /// Returns the open findings that keep the loop going.
    pub fn blocking(&self) -> impl Iterator<Item = &Row> {
        self.open.iter().filter(|row| row.severity.blocks())
    }

    /// Returns the open findings as claims.
    pub fn claims(&self) -> Vec<Finding> {
        let claim = |row: &Row| Finding { id: Some(row.id), ..Finding::new(row.severity, row.title.clone()) };
        self.open.iter().map(claim).collect()
    }
}
