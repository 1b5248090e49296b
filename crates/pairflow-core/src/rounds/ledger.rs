//! The findings of a bubble, with a name for each.
//!
//! What is open is what the last review said: a later review that does not repeat a finding has settled it.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, FindingId};
use crate::rounds::{Finding, Severity};

/// The findings of a bubble.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// How many names were given out.
    pub named: u32,
    /// The findings that the last review left open.
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

    /// Takes over the findings of a recorded review.
    pub(crate) fn review(&mut self, by: &AgentId, round: u32, findings: &[Finding]) {
        let rows = findings.iter().enumerate().map(|(at, finding)| Row {
            id: finding.id.unwrap_or(FindingId(self.named + 1 + u32::try_from(at).unwrap_or(u32::MAX - self.named - 1))),
            severity: finding.severity,
            title: finding.title.clone(),
            by: by.clone(),
            round,
        });
        self.open = rows.collect();
        self.named = self.open.iter().map(|row| row.id.0).fold(self.named, u32::max);
    }

    /// Returns the open findings that keep the loop going.
    pub fn blocking(&self) -> impl Iterator<Item = &Row> {
        self.open.iter().filter(|row| row.severity.blocks())
    }

    /// Returns the open findings as claims.
    pub fn claims(&self) -> Vec<Finding> {
        let claim = |row: &Row| Finding { id: Some(row.id), severity: row.severity, title: row.title.clone() };
        self.open.iter().map(claim).collect()
    }
}
