//! Reproducers: where a command shows the fault, pairflow and not a reviewer says when it is gone.

use crate::facts::RowState;
use crate::facts::{Outcome, Receipt};
use crate::findings::ledger::book::change;
use crate::findings::{Ledger, Row, RowChange, Shown};
use crate::ids::{AgentId, FindingId, Party, TreeId};

/// The most reproducers that are run on one tree, beside those that were just filed or still fail.
pub const REPRODUCERS: usize = 50;
/// How many of the last lines that a reproducer printed are remembered, and how many characters of each.
const TAIL_LINES: usize = 8;
const TAIL_COLUMNS: usize = 200;

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

    /// Takes over that `by` takes back the reproducers of these rows: each is a claim like any other from here on.
    pub(crate) fn retract_reproducers(&mut self, by: &AgentId, round: u32, rows: &[FindingId]) {
        for id in rows {
            let Some(row) = self.get_mut(*id) else { continue };
            let Some(one) = row.reproducer.take() else { continue };
            row.withdrawn += 1;
            let note = format!("its reproducer is withdrawn: {}", one.command);
            let (to, settled) = (row.state, row.settled);
            row.become_state(RowChange { settled, ..change(round, &Party::Agent(by.clone()), to, &note) });
        }
    }

    /// Returns "reproducers withdrawn: 1 (F3)", if any was.
    pub fn withdrawn(&self) -> Option<String> {
        let rows: Vec<_> = self.rows.iter().filter(|row| row.withdrawn > 0).collect();
        let (count, ids) =
            (rows.iter().map(|row| row.withdrawn).sum::<u32>(), rows.iter().map(|row| row.id.to_string()));
        (count > 0).then(|| format!("reproducers withdrawn: {count} ({})", ids.collect::<Vec<_>>().join(", ")))
    }

    /// Takes over what the reproducer of row `id` said.
    pub(crate) fn reproduced(&mut self, id: FindingId, receipt: &Receipt, round: u32) {
        let Some(row) = self.get_mut(id) else { return };
        let Some(one) = row.reproducer.as_mut() else { return };
        let (fresh, outcome) = (one.stand == Shown::Pending, &receipt.outcome);
        one.tree = Some(receipt.tree.clone());
        one.tail = if matches!(outcome, Outcome::Failed { .. }) { last_lines(&receipt.tail) } else { String::new() };
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

/// The last lines of what a reproducer printed, as many as a question quotes.
fn last_lines(tail: &str) -> String {
    let lines: Vec<String> = tail.lines().map(|line| line.chars().take(TAIL_COLUMNS).collect()).collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
