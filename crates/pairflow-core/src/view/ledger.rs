//! All findings of a bubble as JSON, for programs.

use serde::Serialize;

use crate::bubble::BubbleState;
use crate::findings::Row;
use crate::ids::BubbleId;
use crate::rules::BubbleKind;

/// The schema of [`LedgerShown`] as JSON; `pairflow.` comes before it.
pub const SCHEMA: &str = "findings/1";

/// Every finding of a bubble.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerShown {
    /// The bubble.
    pub bubble_id: BubbleId,
    /// The findings, in the order of their names.
    pub findings: Vec<RowShown>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowShown {
    /// Everything that is known of it.
    #[serde(flatten)]
    pub row: Row,
    /// Whether it is open.
    pub open: bool,
    /// Whether it blocks acceptance.
    pub blocks: bool,
    /// Whether its reviewer had reviewed these lines before and no reproducer shows the fault.
    pub late: bool,
    /// What shows the fix that is claimed, or why nothing does; nothing if none is claimed, or a reproducer tells.
    pub fix_evidence: Option<FixShown>,
}

/// How a fix is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FixShown {
    /// Whether a test shows it.
    pub shown: bool,
    /// By what, or why not.
    pub why: String,
}

impl LedgerShown {
    /// Reads the ledger off a state.
    pub fn of(state: &BubbleState) -> Self {
        let fix = |row: &Row| {
            let fix = row.fix_evidence().filter(|_| state.rules.kind != BubbleKind::Document)?;
            Some(FixShown { shown: fix.shown, why: fix.why })
        };
        let shown = |row: &Row| RowShown {
            row: row.clone(),
            open: row.is_open(),
            blocks: row.blocks(),
            late: row.late(),
            fix_evidence: fix(row),
        };
        Self { bubble_id: state.id.clone(), findings: state.ledger.rows.iter().map(shown).collect() }
    }
}
