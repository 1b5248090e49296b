//! The certificate: what was accepted, on which evidence. Every policy writes down the same things.

use crate::facts::{Certificate, CheckStand, Place, RowStand, RowState};
use crate::findings::Row;
use crate::policy::Facts;
use crate::progress::CheckState;
use crate::rules::{Check, ChecksIn, ContextMode, DriverKind};

/// Writes down what a policy accepts: the newest snapshot, with what the person `waived`.
///
/// Returns nothing while there is no snapshot, or a required check has not passed: nobody can waive that.
pub fn certify(policy: &str, version: u32, facts: Facts<'_>, waived: Vec<String>) -> Option<Certificate> {
    let Facts { rules, evidence, ledger, .. } = facts;
    let snapshot = evidence.snapshot.as_ref()?;
    let stand = |check: &Check| {
        let stand = match evidence.check(&check.name) {
            CheckState::Passed(_) => "passed".to_owned(),
            CheckState::NotAvailable => "not available".to_owned(),
            CheckState::Waived(reason) => format!("waived: {reason}"),
            CheckState::Failed(_) | CheckState::Missing => return None,
        };
        Some(CheckStand { check: check.name.clone(), stand })
    };
    let mut checks = rules.checks.iter().map(stand).collect::<Option<Vec<_>>>()?;
    if checks.is_empty() {
        checks.push(CheckStand { check: "test".to_owned(), stand: "not available".to_owned() });
    }
    Some(Certificate {
        policy: policy.to_owned(),
        policy_version: version,
        max_rounds: rules.max_rounds,
        tree: snapshot.tree.clone(),
        reviews: facts.streak.to_vec(),
        checks,
        open: ledger.claims(),
        ledger: ledger.rows.iter().map(stands).collect(),
        round_role_history: facts.rounds.history.clone(),
        waived,
        notes: notes(facts),
    })
}

fn stands(row: &Row) -> RowStand {
    RowStand { id: row.id, severity: row.severity, state: row.state, settled: row.settled }
}

/// What a reader of the certificate should know.
fn notes(facts: Facts<'_>) -> Vec<String> {
    let Facts { rules, evidence, ledger, .. } = facts;
    let flaky = rules.checks.iter().filter(|check| evidence.flaky(&check.name).is_some());
    let mut notes: Vec<_> =
        flaky.map(|check| format!("check '{}': failed, then passed on the same tree", check.name)).collect();
    if rules.checks_in == ChecksIn::Worktree {
        notes.push("checks_in = \"worktree\": checks ran in the agents' own worktree".to_owned());
    }
    let warm =
        |check: &&Check| matches!(evidence.check(&check.name), CheckState::Passed(one) if one.place != Place::Fresh);
    let elsewhere = rules.checks_in == ChecksIn::Checkout;
    let warm = rules.checks.iter().filter(|check| elsewhere && !check.is_own()).filter(warm);
    notes.extend(warm.map(|check| format!("check '{}': not repeated in a fresh checkout", check.name)));
    let missing = facts.explanation.missing();
    if !missing.is_empty() {
        notes.push(format!("the agents did not explain: {}", missing.join(", ")));
    }
    let answered = ledger.rows.iter().filter(|row| row.state == RowState::Waived);
    notes.extend(answered.map(|row| format!("waived by the person: {}", row.short())));
    notes.extend(ledger.withdrawn());
    if rules.agents.same_model() {
        notes.push("same model: both seats were held by the same agent".to_owned());
    }
    if rules.driver == DriverKind::External {
        notes.push("external agents: pairflow cannot vouch that each review began with a fresh context".to_owned());
    }
    if rules.reviewer_context_mode == ContextMode::Persistent {
        notes.push("reviewer_context_mode = \"persistent\": reviews did not begin with a fresh context".to_owned());
    }
    notes
}
