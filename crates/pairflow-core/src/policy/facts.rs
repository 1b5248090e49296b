//! What a policy is told of a loop (facts, never the machine that runs it), the criteria of acceptance, and the certificate.

use std::fmt;

use crate::facts::{
    Certificate, CheckPlace, CheckStand, CleanReview, Explanation, RowStand, RowState, Severity, Snapshot,
};
use crate::findings::{Fix, FixStand, Ledger, ReproducerState, Row};
use crate::gates::is_test_file;
use crate::ids::{AgentId, BubbleId, FindingId, Party, TreeId};
use crate::log::{Reason, Waivable};
use crate::progress::{CheckState, HandoverSummary, Rounds, WorkEvidence};
use crate::rules::{BubbleKind, Check, ChecksIn, ContextMode, DriverKind, Rules};
use crate::text::list;

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
    pub evidence: &'a WorkEvidence,
    /// What the agents have explained to the person.
    pub explanation: &'a Explanation,
    /// Whether nobody has to say any more that a document is understood.
    pub understood: bool,
    /// How many questions wait for a person.
    pub questions: usize,
    /// What an agent said last when it handed over.
    pub last_said: Option<&'a HandoverSummary>,
    /// How many reviews there were in all, with the one that is about to be recorded.
    pub looks: u32,
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
        let unknown = move |row: &Row| self.evidence.could_not.contains_key(&WorkEvidence::tries_of(row.id));
        let shown = move |row: &&Row| row.proven() && row.state != RowState::Disputed && !unknown(row);
        self.ledger.blocking().filter(shown)
    }

    /// Returns the reproducers that have not been run on the newest tree, with their findings. Before there is any work that
    /// is the base, and only acceptance tests are there to be run.
    pub fn to_reproduce(self) -> impl Iterator<Item = (FindingId, &'a str)> {
        let here = self.evidence.tree();
        here.into_iter().flat_map(|tree| self.ledger.to_reproduce(tree)).map(|(row, command)| (row.id, command))
    }

    /// Returns the fixes whose test has not been run on the newest tree.
    pub fn fixes_to_test(self) -> impl Iterator<Item = FixToTest> {
        let claimed = move |row: &&Row| self.claims_fix(row);
        let alone = self.ledger.open().filter(claimed).count() == 1;
        self.ledger.open().filter(claimed).filter_map(move |row| {
            let fix = row.fix.as_ref()?;
            let command = fix.test.clone().or_else(|| self.own_test().filter(|_| alone && self.tests_changed()))?;
            Some(FixToTest { finding: row.id, command, before: fix.before.clone()? })
        })
    }

    /// Whether a row is said to be fixed by work that nobody has looked at, and nothing is known of its test.
    fn claims_fix(self, row: &Row) -> bool {
        let pending = |fix: &Fix| fix.stand == FixStand::Pending && fix.untestable.is_empty();
        self.rules.kind != BubbleKind::Document && row.needs_test() && row.fix.as_ref().is_some_and(pending)
    }

    /// The test command of the repository, if there is one.
    fn own_test(self) -> Option<String> {
        self.rules.checks.iter().find(|check| check.name == "test").map(|check| check.command.clone())
    }

    /// Whether this round changed files that are tests by their names.
    fn tests_changed(self) -> bool {
        let here = |rounds: &Vec<u32>| rounds.last() == Some(&self.rounds.round);
        self.evidence.touched.iter().any(|(path, rounds)| here(rounds) && is_test_file(path))
    }

    /// Returns the fixes that no test shows and about which the implementer has not been told yet, and those whose test
    /// fails.
    pub fn fixes_not_shown(self) -> impl Iterator<Item = Reason> {
        let claimed = self.ledger.open().filter(|row| row.needs_test());
        claimed.filter(move |_| self.rules.kind != BubbleKind::Document).filter_map(|row| {
            let fix = row.fix.as_ref().filter(|fix| fix.untestable.is_empty())?;
            match fix.stand {
                FixStand::NotGreen => Some(Reason::FixFails { finding: row.id }),
                FixStand::Pending | FixStand::NotRed if !fix.returned => Some(Reason::FixNotShown { finding: row.id }),
                _ => None,
            }
        })
    }

    /// Returns the findings of which the person decided that they hold, and that the implementer has not answered since.
    pub fn decided_by_person(self) -> impl Iterator<Item = Reason> {
        let owed = self.ledger.open().filter(|row| row.must_be_fixed() && !row.answered);
        owed.map(|row| Reason::DecidedByPerson { finding: row.id })
    }

    /// Returns the minor findings that are open, that nobody has answered, and that do not block by themselves.
    pub fn open_minor(self) -> Vec<FindingId> {
        let minor = |row: &&Row| row.severity == Severity::P2 && !row.answered && !row.blocks();
        self.ledger.open().filter(minor).map(|row| row.id).collect()
    }

    /// Whether the work changes a file in which the person sees a risk. Where not all files are listed, it may.
    pub fn is_risky(self) -> bool {
        let here = |path: &String| self.rules.risk.iter().any(|glob| fast_glob::glob_match(glob, path));
        let risky = |snapshot: &Snapshot| {
            let unlisted = snapshot.whole.is_some() && !self.rules.risk.is_empty();
            unlisted || snapshot.changed.iter().any(|file| here(&file.path))
        };
        self.evidence.snapshot.as_ref().is_some_and(risky)
    }

    /// Returns what pairflow ran itself and keeps the newest tree from being accepted.
    pub fn failing(self) -> Vec<Reason> {
        let nothing = self.evidence.changes_nothing().then_some(Reason::NothingChanged);
        let checks = self.failing_checks().map(|check| Reason::CheckFails { check: check.to_owned() });
        let shown = self.failing_rows().map(|row| Reason::ReproducerFails { finding: row.id });
        nothing.into_iter().chain(checks).chain(shown).collect()
    }

    /// Returns what keeps the newest tree from being accepted, whatever reviews say: a required check has not passed on it, or
    /// it is that of the base. The waivers in `later` count as not given.
    pub fn without_evidence(self, later: &[Waivable]) -> impl Iterator<Item = Reason> {
        let checks = self.checks().filter_map(move |name| {
            let waived_later = later.iter().any(|what| matches!(what, Waivable::Check(one) if one == name));
            let evidence = self.evidence;
            let state = if waived_later { evidence.check_without_waiver(name) } else { evidence.check(name) };
            match state {
                CheckState::Failed(_) => Some(Reason::CheckFails { check: name.to_owned() }),
                CheckState::Missing => Some(Reason::CheckMissing { check: name.to_owned() }),
                _ => None,
            }
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
        blocking.into_iter().chain(self.without_evidence(later)).collect()
    }

    /// Returns what every policy needs: there is work, it changes something, every required check passed on it, and no
    /// question is open.
    pub fn unmet_evidence(self) -> impl Iterator<Item = Unmet> {
        self.unmet_work().chain(self.unmet_checks()).chain(self.unmet_questions())
    }

    /// Returns whether there is work, and whether it changes something.
    pub fn unmet_work(self) -> impl Iterator<Item = Unmet> {
        let handed_over = self.evidence.snapshot.is_none().then_some(Unmet::NothingHandedOver);
        handed_over.into_iter().chain(self.evidence.changes_nothing().then_some(Unmet::NothingChanged))
    }

    /// Returns the findings that block acceptance.
    pub fn unmet_findings(self) -> impl Iterator<Item = Unmet> {
        let (unanswered, blocking): (Vec<_>, Vec<_>) = self.ledger.blocking().partition(|row| row.wants_answer());
        let short = |rows: Vec<&Row>| rows.into_iter().map(Row::short).collect::<Vec<_>>();
        let blocking = (!blocking.is_empty()).then(|| Unmet::Blocking(short(blocking)));
        blocking.into_iter().chain((!unanswered.is_empty()).then(|| Unmet::Unanswered(short(unanswered))))
    }

    /// Returns the required checks that have not passed.
    pub fn unmet_checks(self) -> impl Iterator<Item = Unmet> {
        self.checks_not_passed().map(move |check| match self.evidence.check(check) {
            CheckState::Failed(_) => Unmet::CheckFailed(check.to_owned()),
            _ => Unmet::CheckMissing(check.to_owned()),
        })
    }

    /// Returns whether questions are open.
    pub fn unmet_questions(self) -> Option<Unmet> {
        (self.questions > 0).then_some(Unmet::Questions(self.questions))
    }

    /// Returns what the person has not been told, and whether they confirmed that they understood the document. Spec:
    /// criterion 3.
    pub fn unmet_explanation(self) -> impl Iterator<Item = Unmet> {
        let missing = self.explanation.missing();
        let explained = (!missing.is_empty()).then_some(Unmet::Explanation(missing));
        explained.into_iter().chain((!self.understood).then_some(Unmet::Comprehension))
    }
}

/// A fix that a test has to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixToTest {
    /// Of which finding.
    pub finding: FindingId,
    /// The command line.
    pub command: String,
    /// The tree before the fix.
    pub before: TreeId,
}

/// A criterion of convergence that does not hold yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// The rules of the loop are not known here.
    UnknownPolicy(String),
    /// No tree has been handed over yet.
    NothingHandedOver,
    /// The newest tree is that of the base.
    NothingChanged,
    /// Findings of P0 or P1 are open.
    Blocking(Vec<String>),
    /// A required check failed on this tree.
    CheckFailed(String),
    /// A required check has not been run on this tree.
    CheckMissing(String),
    /// There were not enough looks for the size and the risk of the work.
    Looks {
        /// How many there were.
        had: u32,
        /// How many are needed.
        needed: u32,
    },
    /// Minor findings of the first looks that nobody has answered.
    MinorOpen(Vec<FindingId>),
    /// Clean reviews of this tree are missing.
    Reviews {
        /// Who reviewed it clean so far.
        by: Vec<AgentId>,
    },
    /// Nobody has reviewed this tree.
    NotReviewed,
    /// Minor findings that need an answer and have none.
    Unanswered(Vec<String>),
    /// Parts of the explanation pack are missing.
    Explanation(Vec<&'static str>),
    /// The person has not confirmed that they understood the document.
    Comprehension,
    /// The reviewer role has not alternated yet.
    NoAlternation,
    /// Questions wait for an answer.
    Questions(usize),
    /// Files changed during the review.
    TreeChanged(Vec<String>),
    /// Slices of the change that the reviewer has not confirmed.
    Slices(Vec<u32>),
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPolicy(name) => write!(f, "a pairflow that knows the policy '{name}'"),
            Self::NothingHandedOver => f.write_str("no work has been handed over yet"),
            Self::NothingChanged => f.write_str("the work changes no file"),
            Self::Blocking(findings) => write!(f, "open P0/P1 findings: {}", findings.join(", ")),
            Self::CheckFailed(check) => write!(f, "the check '{check}' fails on this tree"),
            Self::CheckMissing(check) => write!(f, "the check '{check}' has not passed on this tree"),
            Self::Reviews { by } if by.is_empty() => f.write_str("two clean reviews of this tree by different agents"),
            Self::Reviews { by } => {
                let names = by.iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ");
                write!(f, "a second clean review of this tree by another agent (clean so far: {names})")
            }
            Self::Looks { had, needed } => {
                write!(f, "more reviews for a change of this size and risk: {had} of {needed} looks")
            }
            Self::MinorOpen(findings) => {
                let ids = findings.iter().map(ToString::to_string).collect::<Vec<_>>();
                write!(f, "P2 findings of the first reviews that are not answered: {}", ids.join(", "))
            }
            Self::NotReviewed => f.write_str("this tree has not been reviewed"),
            Self::Unanswered(findings) => {
                write!(f, "findings that have to be answered (--fixed or --dispute): {}", findings.join(", "))
            }
            Self::Explanation(parts) => {
                write!(f, "an explanation for the person (--explain FILE with the headings: {})", parts.join(", "))
            }
            Self::Comprehension => f.write_str(
                "a person's confirmation that the document is understood; it is asked for once all else holds",
            ),
            Self::NoAlternation => f.write_str("the reviewer role has not alternated yet (round_role_history)"),
            Self::Questions(1) => f.write_str("one question is not answered"),
            Self::Questions(n) => write!(f, "{n} questions are not answered"),
            Self::TreeChanged(files) => {
                write!(f, "files changed during the review: {}", list(files))
            }
            Self::Slices(missing) => {
                let numbers = missing.iter().map(u32::to_string).collect::<Vec<_>>();
                write!(f, "slices of the change that are not confirmed (--reviewed): {}", numbers.join(", "))
            }
        }
    }
}

impl Unmet {
    /// Whether a person may do without it: findings, a second review and the explanation, nothing else.
    pub fn can_be_waived(&self) -> bool {
        matches!(
            self,
            Self::Blocking(_)
                | Self::Unanswered(_)
                | Self::Reviews { .. }
                | Self::Looks { .. }
                | Self::MinorOpen(_)
                | Self::NoAlternation
                | Self::Explanation(_)
                | Self::Comprehension
        )
    }
}

/// Returns what a person does without by accepting the work although these criteria do not hold. Minor findings stay
/// open: nobody has decided on them.
pub fn waivers(facts: Facts<'_>, unmet: &[Unmet]) -> Vec<String> {
    let missing = unmet.iter().filter_map(|criterion| match criterion {
        Unmet::Reviews { by } if by.is_empty() => Some("two clean reviews".to_owned()),
        Unmet::Reviews { .. } => Some("a second clean review".to_owned()),
        Unmet::Looks { had, needed } => Some(format!("{had} of {needed} looks")),
        Unmet::Explanation(missing) => Some(format!("an explanation ({})", missing.join(", "))),
        Unmet::Comprehension => Some("the person's confirmation that the document is understood".to_owned()),
        _ => None,
    });
    facts.ledger.blocking().map(Row::short).chain(missing).collect()
}

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
    checks.extend(ledger.rows.iter().filter_map(acceptance));
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
        looks: facts.looks,
        looks_needed: 0,
        waived,
        notes: notes(facts),
    })
}

fn stands(row: &Row) -> RowStand {
    RowStand { id: row.id, severity: row.severity, state: row.state, settled: row.settled }
}

/// What the acceptance tests of a row say, and who wrote them.
fn acceptance(row: &Row) -> Option<CheckStand> {
    let tests = row.reproducer.as_ref().filter(|one| !one.overlay.is_empty())?;
    let stand = match tests.stand {
        ReproducerState::Passes => "passed",
        ReproducerState::Fails => "failed",
        ReproducerState::Pending => "not run",
        ReproducerState::Dropped => "could not be run",
    };
    let check = format!("acceptance tests of {} ({})", tests.by.as_ref().unwrap_or(&row.by), row.id);
    Some(CheckStand { check, stand: stand.to_owned() })
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
    let warm = |check: &&Check| matches!(evidence.check(&check.name), CheckState::Passed(one) if one.place != CheckPlace::Fresh);
    let elsewhere = rules.checks_in == ChecksIn::Checkout;
    let warm = rules.checks.iter().filter(|check| elsewhere && !check.is_own()).filter(warm);
    notes.extend(warm.map(|check| format!("check '{}': not repeated in a fresh checkout", check.name)));
    let missing = facts.explanation.missing();
    if !missing.is_empty() {
        notes.push(format!("the agents did not explain: {}", missing.join(", ")));
    }
    let answered = ledger.rows.iter().filter(|row| row.state == RowState::Waived);
    notes.extend(answered.map(|row| format!("waived by the person: {}", row.short())));
    let unproven = |row: &Row| row.fix_evidence().filter(|fix| !fix.shown).map(|fix| (row.short(), fix.why));
    let unproven = ledger.rows.iter().filter(|_| rules.kind != BubbleKind::Document).filter_map(unproven);
    notes.extend(unproven.map(|(row, why)| format!("no test shows that it is fixed: {row} ({why})")));
    let judged = |row: &Row| row.ruling.as_ref().map(|(ruling, by)| format!("{ruling} by {by}: {}", row.short()));
    notes.extend(ledger.rows.iter().filter_map(judged));
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
