//! Reproducers: where a command shows the fault, pairflow and not a critic says when it is gone.

use crate::facts::Outcome;
use crate::ids::{FindingId, Party, TreeId};
use crate::rounds::ledger::book::change;
use crate::rounds::{Ledger, Row, RowChange, RowState, Shown};

/// The most reproducers that are run on one tree, beside those that were just filed or still fail.
pub const REPRODUCERS: usize = 50;

impl Ledger {
    /// Returns the rows whose reproducer has not been run on `tree` yet: what was just filed, then what is open, then
    /// what could come back; the newest first.
    pub fn to_reproduce<'a>(&'a self, tree: &'a TreeId) -> impl Iterator<Item = (&'a Row, &'a str)> {
        let wanted = self.rows.iter().rev().filter(|row| row.state != RowState::Waived);
        let kept = wanted.filter_map(|row| row.reproducer.as_ref().map(|one| (row, one)));
        let mut kept: Vec<_> = kept.filter(|(_, one)| one.stand != Shown::Dropped).collect();
        kept.sort_by_key(|(row, one)| (one.stand != Shown::Pending, !row.is_open()));
        kept.into_iter()
            .take(REPRODUCERS)
            .filter(move |(_, one)| one.tree.as_ref() != Some(tree))
            .map(|(row, one)| (row, one.command.as_str()))
    }

    /// Has every reproducer run again: what it said does not count.
    pub(crate) fn reproduce_again(&mut self) {
        for one in self.rows.iter_mut().filter_map(|row| row.reproducer.as_mut()) {
            one.tree = None;
        }
    }

    /// Takes over what the reproducer of row `id` said on `tree`.
    pub(crate) fn reproduced(&mut self, id: FindingId, tree: &TreeId, outcome: &Outcome, round: u32) {
        let Some(row) = self.get_mut(id) else { return };
        let Some(one) = row.reproducer.as_mut() else { return };
        let fresh = one.stand == Shown::Pending;
        one.tree = Some(tree.clone());
        one.stand = match outcome {
            Outcome::Failed { .. } => Shown::Fails,
            Outcome::Passed if !fresh => Shown::Passes,
            // What once showed the fault still counts where it cannot be run: unknown is never success.
            Outcome::CouldNotCheck { .. } if !fresh => one.stand,
            Outcome::Passed | Outcome::CouldNotCheck { .. } => Shown::Dropped,
        };
        let stand = one.stand;
        let by = Party::Orchestrator;
        match stand {
            Shown::Dropped => {
                let note = if matches!(outcome, Outcome::Passed) {
                    "its reproducer did not fail, so it counts no more"
                } else {
                    "its reproducer could not be run, so it counts no more"
                };
                let (to, settled) = (row.state, row.settled);
                row.become_state(RowChange { settled, ..change(round, &by, to, note) });
            }
            _ if matches!(outcome, Outcome::CouldNotCheck { .. }) => {
                let (to, settled, note) = (row.state, row.settled, "its reproducer could not be run on this tree");
                row.become_state(RowChange { settled, ..change(round, &by, to, note) });
            }
            // What an implementer calls a blocker is closed by an answer to it.
            Shown::Passes if row.is_open() && !row.unresolved() => {
                let fixed = change(round, &by, RowState::Fixed, "its reproducer passes now");
                row.become_state(RowChange { settled: true, ..fixed });
            }
            Shown::Fails if !fresh && (row.settled || row.state == RowState::Fixed) => {
                row.become_state(change(round, &by, RowState::Reopened, "its reproducer still fails"));
            }
            _ => {}
        }
    }
}
