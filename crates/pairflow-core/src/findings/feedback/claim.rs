//! What a findings file says once its form no longer matters.

use crate::facts::Finding;
use crate::ids::FindingId;

/// One findings file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// What the reviewer claims about the work as a whole.
    pub claim: Claim,
    /// What it says in general; may be empty.
    pub summary: String,
    /// What it found, in the order of the file.
    pub findings: Vec<Finding>,
    /// Rows of the ledger that it confirms to be settled.
    pub confirm: Vec<FindingId>,
    /// Rows of the ledger that it opens again.
    pub reopen: Vec<FindingId>,
    /// Rows of the ledger whose reproducer its author takes back.
    pub retract: Vec<FindingId>,
}

/// What a reviewer says about the work: a claim, never a verdict.
///
/// The verdict is reached by the loop, from the ledger and the checks that pairflow ran itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Claim {
    /// Nothing that was found keeps the work from being accepted.
    Approve,
    /// Something has to change first.
    RequestChanges,
    /// A person has to look at it.
    NeedsDiscussion,
}

/// A findings file in pairflow's own form, as an example to copy.
pub const EXAMPLE: &str = r#"{
  "summary": "The happy path works; a failed import loses data.",
  "findings": [
    {
      "severity": "P1",
      "title": "no rollback when the import fails half way",
      "detail": "import() commits every row on its own, so an error in row 7 leaves rows 1 to 6 behind.",
      "file": "src/import.rs",
      "line": 42,
      "class": "data_integrity",
      "suggestion": "Open one transaction around the loop.",
      "reproducer": "cargo test --test import half_way"
    },
    { "severity": "P3", "title": "the log message names the wrong file" }
  ],
  "confirm": ["F1"],
  "reopen": ["F2"]
}
"#;

impl Feedback {
    /// Whether it says in a word of its own that the work has to change. Opening rows again, which only pairflow's own
    /// form can, says of those rows what is wrong, and nothing of the work as a whole.
    pub fn insists(&self) -> bool {
        self.claim == Claim::RequestChanges && self.reopen.is_empty()
    }

    /// Puts together what was read; an approval beside a finding that blocks is none.
    pub(super) fn of(claim: Claim, summary: String, findings: Vec<Finding>) -> Self {
        let blocked = findings.iter().any(|finding| finding.severity.blocks());
        let claim = if blocked && claim == Claim::Approve { Claim::RequestChanges } else { claim };
        Self { claim, summary, findings, confirm: Vec::new(), reopen: Vec::new(), retract: Vec::new() }
    }
}
