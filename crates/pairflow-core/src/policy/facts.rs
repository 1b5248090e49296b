//! What a policy is told of a loop: facts, never the machine that runs it.

use crate::facts::{CleanReview, Explanation, RowState};
use crate::findings::{Ledger, Row};
use crate::ids::{AgentId, BubbleId, FindingId, Party};
use crate::log::{Reason, Waivable};
use crate::progress::{CheckState, Evidence, Rounds, Said};
use crate::rules::Rules;

/// The facts of one loop.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The name of the bubble, for the commands that a question names.
    pub id: &'a BubbleId,
    /// The configuration in force.
    pub rules: &'a Rules,
    /// The loop so far.
    pub rounds: &'a Rounds,
    /// The clean reviews of the newest tree, with the one that is about to be recorded; not always those of `rounds`.
    pub streak: &'a [CleanReview],
    /// The findings.
    pub ledger: &'a Ledger,
    /// What pairflow ran itself.
    pub evidence: &'a Evidence,
    /// What the agents have explained to the person.
    pub explanation: &'a Explanation,
    /// Whether nobody has to say any more that a document is understood.
    pub understood: bool,
    /// How many questions wait for a person.
    pub questions: usize,
    /// What an agent said last when it handed over.
    pub last_said: Option<&'a Said>,
}

impl<'a> Facts<'a> {
    /// Returns the clean review that `agent` would add.
    pub fn review_by(self, agent: &AgentId, round: u32) -> CleanReview {
        let own_work = self.rounds.authors.contains(&Party::Agent(agent.clone()));
        CleanReview { agent: agent.clone(), round, own_work, tree: None }
    }

    /// Returns the names of the required checks.
    pub fn checks(self) -> impl Iterator<Item = &'a str> {
        self.rules.checks.iter().map(|check| check.name.as_str())
    }

    /// Returns the required checks that have not passed on the newest tree.
    pub fn checks_not_passed(self) -> impl Iterator<Item = &'a str> {
        let open = move |name: &&str| matches!(self.evidence.check(name), CheckState::Failed(_) | CheckState::Missing);
        self.checks().filter(open)
    }

    /// Returns the required checks that fail on the newest tree.
    pub fn failing_checks(self) -> impl Iterator<Item = &'a str> {
        self.checks().filter(move |name| matches!(self.evidence.check(name), CheckState::Failed(_)))
    }

    /// Returns the rows that block and whose reproducer shows the fault. Where one could not be run, nobody knows; and
    /// what the implementer says against a reproducer is for its author to hear.
    pub fn failing_rows(self) -> impl Iterator<Item = &'a Row> {
        let unknown = move |row: &Row| self.evidence.could_not.contains_key(&Evidence::tries_of(row.id));
        let shown = move |row: &&Row| row.proven() && row.state != RowState::Disputed && !unknown(row);
        self.ledger.blocking().filter(shown)
    }

    /// Returns the reproducers that have not been run on the newest snapshot, with their findings.
    pub fn to_reproduce(self) -> impl Iterator<Item = (FindingId, &'a str)> {
        let here = self.evidence.snapshot.as_ref().map(|snapshot| &snapshot.tree);
        here.into_iter().flat_map(|tree| self.ledger.to_reproduce(tree)).map(|(row, command)| (row.id, command))
    }

    /// Returns what pairflow ran itself and keeps the newest tree from being accepted.
    pub fn failing(self) -> Vec<Reason> {
        let nothing = self.evidence.changes_nothing().then_some(Reason::NothingChanged);
        let checks = self.failing_checks().map(|check| Reason::CheckFails { check: check.to_owned() });
        let shown = self.failing_rows().map(|row| Reason::ReproducerFails { finding: row.id });
        nothing.into_iter().chain(checks).chain(shown).collect()
    }

    /// Returns what keeps the newest tree from being accepted, whatever reviews say: a required check has not passed on it, or
    /// it is that of the base.
    pub fn without_evidence(self) -> impl Iterator<Item = Reason> {
        let checks = self.checks_not_passed().map(move |name| match self.evidence.check(name) {
            CheckState::Failed(_) => Reason::CheckFails { check: name.to_owned() },
            _ => Reason::CheckMissing { check: name.to_owned() },
        });
        checks.chain(self.evidence.changes_nothing().then_some(Reason::NothingChanged))
    }

    /// Returns why a review of the newest tree would not be clean if the waivers in `later` came too late for it: a
    /// finding blocks, a required check has not passed, or the work changes nothing.
    pub fn objections(self, later: &[Waivable]) -> Vec<Reason> {
        let waived_later = later.iter().filter_map(|what| match what {
            Waivable::Finding(id) => Some(*id).filter(|id| self.ledger.get(*id).is_some_and(Row::blocks_if_open)),
            Waivable::Check(_) => None,
        });
        let findings: Vec<_> = self.ledger.blocking().map(|row| row.id).chain(waived_later).collect();
        let blocking = (!findings.is_empty()).then_some(Reason::Blocking { findings });
        let checks = self.checks().filter_map(|name| {
            let waived_later = later.iter().any(|what| matches!(what, Waivable::Check(one) if one == name));
            let evidence = self.evidence;
            let state = if waived_later { evidence.check_without_waiver(name) } else { evidence.check(name) };
            match state {
                CheckState::Failed(_) => Some(Reason::CheckFails { check: name.to_owned() }),
                CheckState::Missing => Some(Reason::CheckMissing { check: name.to_owned() }),
                _ => None,
            }
        });
        let nothing = self.evidence.changes_nothing().then_some(Reason::NothingChanged);
        blocking.into_iter().chain(checks).chain(nothing).collect()
    }
}
