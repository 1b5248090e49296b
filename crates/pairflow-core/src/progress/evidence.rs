//! The evidence, as a policy sees it: trees, and what pairflow ran on them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::facts::{Outcome, Receipt, Snapshot};
use crate::ids::{FindingId, TreeId};
use crate::log::Workspace;

/// What is known of the work: its trees, and what pairflow ran on them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Where the agents work.
    pub workspace: Option<Workspace>,
    /// The newest snapshot.
    pub snapshot: Option<Snapshot>,
    /// How many snapshots were taken.
    pub snapshots: u64,
    /// In which rounds each file was changed that differs from the base, as far as the snapshots list them.
    pub touched: BTreeMap<String, Vec<u32>>,
    /// What the checks said of the newest snapshot's tree.
    pub receipts: Vec<Receipt>,
    /// Receipts of the newest snapshot's tree that do not count any more: the check failed, and was to run again.
    pub superseded: Vec<Receipt>,
    /// How often a check could not be run on the newest snapshot's tree.
    pub could_not: BTreeMap<String, u32>,
    /// Checks that a person called not available for the newest snapshot's tree.
    pub not_available: Vec<String>,
    /// What the checks said of the base, before there was any work.
    pub baseline: Vec<Receipt>,
    /// The checks that fail on the base, as the person knows.
    pub known_failures: Vec<String>,
    /// Checks that the person waived, with the reason.
    pub waived_checks: BTreeMap<String, String>,
    /// Whether the next snapshot differs from the newest one by a merged base alone.
    pub base_only: bool,
}

/// What is known of one required check on the newest snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckState<'a> {
    /// It passed.
    Passed(&'a Receipt),
    /// It failed.
    Failed(&'a Receipt),
    /// A person said that it is not available.
    NotAvailable,
    /// A person lives with what it says, for this reason.
    Waived(&'a str),
    /// It has not been run, or could not be.
    Missing,
}

impl Evidence {
    /// Returns the tree that the next turn is expected to find.
    pub fn tree(&self) -> Option<&TreeId> {
        match (&self.snapshot, &self.workspace) {
            (Some(snapshot), _) => Some(&snapshot.tree),
            (None, Some(workspace)) => Some(&workspace.base_tree),
            (None, None) => None,
        }
    }

    /// Whether the newest tree is that of the base.
    pub fn changes_nothing(&self) -> bool {
        let base = self.workspace.as_ref().map(|workspace| &workspace.base_tree);
        base.is_some() && base == self.snapshot.as_ref().map(|one| &one.tree)
    }

    /// Returns what is known of the check called `name` on the newest snapshot.
    pub fn check(&self, name: &str) -> CheckState<'_> {
        match (self.check_without_waiver(name), self.waived_checks.get(name)) {
            (CheckState::NotAvailable, _) => CheckState::NotAvailable,
            (_, Some(reason)) => CheckState::Waived(reason),
            (state, None) => state,
        }
    }

    /// Returns what would be known of that check if nobody had waived it.
    pub fn check_without_waiver(&self, name: &str) -> CheckState<'_> {
        if self.not_available.iter().any(|check| check == name) {
            return CheckState::NotAvailable;
        }
        match self.receipts.iter().rev().find(|receipt| receipt.check == name) {
            Some(receipt) if receipt.outcome.passed() => CheckState::Passed(receipt),
            Some(receipt) if matches!(receipt.outcome, Outcome::Failed { .. }) => CheckState::Failed(receipt),
            _ => CheckState::Missing,
        }
    }

    /// Returns the failed receipt of the check called `name` on a tree on which it passed later.
    pub fn flaky(&self, name: &str) -> Option<&Receipt> {
        let failed = self.superseded.iter().rev().find(|receipt| receipt.check == name);
        failed.filter(|_| matches!(self.check(name), CheckState::Passed(_)))
    }

    /// The name under which the tries of a reproducer are counted in `could_not`.
    pub fn tries_of(finding: FindingId) -> String {
        format!("reproducer of {finding}")
    }
}
