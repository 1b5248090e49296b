//! The findings of a bubble, and the ledger that keeps them: what reviewers filed, implementers answered, reviewers confirmed,
//! and the person waived. `feedback` reads what a reviewer wrote; `identity` says which claims are the same.
//!
//! A claim that a row already makes is that row again. A review that found nothing closes what was severe and what was
//! answered; beside findings, a row is settled only by name. What a reproducer still shows stays open, no matter who says
//! otherwise, and so does a blocker that its implementer has not resolved.

pub mod feedback;
pub mod identity;
mod row;

use serde::{Deserialize, Serialize};

use crate::facts::{Answers, Class, Finding, FixTest, Judgement, Outcome, Receipt, RowState, Ruling, Severity};
use crate::ids::{AgentId, FindingId, Party, TreeId};
use crate::log::MAX_DETAIL;

use identity::{reversed, same_claim, same_words};
pub use row::*;

/// The most rows that are kept; the oldest settled ones go first. The log has them all.
pub const ROWS_KEPT: usize = 500;

/// The findings of a bubble.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// How many names were given out.
    pub named: u32,
    /// The rows, in the order of their names.
    pub rows: Vec<Row>,
}

/// One review, as it is taken over.
#[derive(Debug, Clone, Copy)]
pub struct Review<'a> {
    /// Who reviewed.
    pub by: &'a AgentId,
    /// In which round.
    pub round: u32,
    /// What was found, with the names that [`Ledger::name`] gave.
    pub findings: &'a [Finding],
    /// What was said to older rows.
    pub answers: &'a Answers,
    /// Whether the person has to decide first, so that nothing is settled by this review.
    pub discuss: bool,
}

impl Ledger {
    /// Gives names to the findings of a review that is about to be recorded: that of the row which makes the same
    /// claim, or a new one. Two findings of one review never become one. Marks what asks to undo an earlier row, and what
    /// touches a risk: by its class, or by the paths that `risk` has as globs.
    pub fn name(&self, findings: &[Finding], risk: &[String]) -> Vec<Finding> {
        let repeated: Vec<_> = findings.iter().filter_map(|finding| finding.repeats).collect();
        let mut named: Vec<Finding> = Vec::with_capacity(findings.len());
        let mut next = self.named;
        for finding in findings {
            let taken = |id: &FindingId| repeated.contains(id) || named.iter().any(|one| one.id == Some(*id));
            let again = || self.rows.iter().filter(|row| !taken(&row.id)).find(|row| same_claim(&row.claim(), finding));
            let id = finding.repeats.or_else(|| again().map(|row| row.id)).unwrap_or_else(|| {
                next += 1;
                FindingId(next)
            });
            let mut finding = Finding { id: Some(id), risk: is_risk(finding, risk), ..finding.clone() };
            finding.reverses = self.undoes(&finding);
            named.push(finding);
        }
        named
    }

    /// The answered row that `finding` wants undone: the one that the reviewer names, or that code recognises.
    fn undoes(&self, finding: &Finding) -> Option<FindingId> {
        let named = finding.reverses.filter(|id| Some(*id) != finding.id && self.get(*id).is_some());
        let heeded = self.rows.iter().filter(|row| row.state == RowState::Fixed && Some(row.id) != finding.id);
        named.or_else(|| heeded.rev().find(|row| reversed(&row.claim(), finding)).map(|row| row.id))
    }

    /// Applies what an implementer said to the rows. `before` is the tree that was reviewed last.
    pub(crate) fn answer(&mut self, by: &AgentId, round: u32, answers: &Answers, before: Option<&TreeId>) {
        self.retract_reproducers(by, round, &answers.retracted);
        let by = Party::Agent(by.clone());
        // What was shown for the last tree of this round has to be shown for this one, too.
        let same_round = |fix: &&mut Fix| fix.before.as_ref() == before && fix.stand != FixStand::CouldNotRun;
        for fix in self.rows.iter_mut().filter_map(|row| row.fix.as_mut()).filter(same_round) {
            fix.stand = FixStand::Pending;
        }
        for id in &answers.fixed {
            self.change(*id, true, change(round, &by, RowState::Fixed, ""));
            self.claim_fix(*id, answers, before);
        }
        for dispute in &answers.disputed {
            self.change(dispute.finding, true, change(round, &by, RowState::Disputed, &dispute.reason));
        }
    }

    /// Notes how a fix is to be shown.
    fn claim_fix(&mut self, id: FindingId, answers: &Answers, before: Option<&TreeId>) {
        let Some(row) = self.get_mut(id) else { return };
        let test = answers.tests.iter().find(|test| test.finding == id).map(|FixTest { command, .. }| command.clone());
        let why = answers.untestable.iter().find(|one| one.finding == id).map(|one| one.reason.clone());
        let returned = row.fix.as_ref().is_some_and(|fix| fix.returned && fix.before.as_ref() == before);
        row.fix = Some(Fix {
            test,
            untestable: why.unwrap_or_default(),
            before: before.cloned(),
            stand: FixStand::Pending,
            returned,
            tail: String::new(),
        });
    }

    /// Applies what the test of a fix said without the fix, and with it.
    pub(crate) fn fix_tested(&mut self, id: FindingId, before: &Receipt, after: Option<&Receipt>) {
        let Some(fix) = self.get_mut(id).and_then(|row| row.fix.as_mut()) else { return };
        let (stand, unexpected) = match (&before.outcome, after.map(|after| (&after.outcome, after))) {
            (Outcome::Passed, _) => (FixStand::NotRed, Some(before)),
            (Outcome::Failed { timed_out: false, .. }, Some((Outcome::Passed, _))) => (FixStand::Shown, None),
            (Outcome::Failed { timed_out: false, .. }, Some((Outcome::Failed { .. }, after))) => {
                (FixStand::NotGreen, Some(after))
            }
            (_, Some((Outcome::CouldNotCheck { .. }, after))) => (FixStand::CouldNotRun, Some(after)),
            _ => (FixStand::CouldNotRun, Some(before)),
        };
        fix.stand = stand;
        fix.tail = unexpected.map(told).unwrap_or_default();
    }

    /// Applies that work went back because these fixes were not shown.
    pub(crate) fn fixes_returned(&mut self, rows: &[FindingId]) {
        for fix in self.rows.iter_mut().filter(|row| rows.contains(&row.id)).filter_map(|row| row.fix.as_mut()) {
            fix.returned = true;
        }
    }

    /// Applies a judge's decision. A P0 is dismissed by a person only.
    pub(crate) fn judged(&mut self, by: &AgentId, round: u32, judgement: &Judgement) {
        let by = Party::Agent(by.clone());
        // What a person has waived in the meantime stays waived.
        let Some(row) = self.get_mut(judgement.finding).filter(|row| row.is_open()) else { return };
        row.ruling = Some((judgement.ruling, by.clone()));
        let (to, settled) = match judgement.ruling {
            Ruling::Dismissed if row.severity == Severity::P0 => (RowState::Disputed, false),
            Ruling::Dismissed => (RowState::Dismissed, true),
            Ruling::Upheld => (RowState::Reopened, false),
        };
        row.become_state(RowChange { settled, ..change(round, &by, to, &judgement.reason) });
    }

    /// Applies the person's decision on rows that the agents do not agree on.
    pub(crate) fn decided(&mut self, rows: &[FindingId], round: u32, ruling: Ruling, note: &str) {
        let chosen = self.rows.iter_mut().filter(|row| rows.contains(&row.id) && row.is_open());
        for row in chosen {
            row.ruling = Some((ruling, Party::Human));
            let (to, settled) = match ruling {
                Ruling::Upheld => (RowState::Reopened, false),
                Ruling::Dismissed => (RowState::Dismissed, true),
            };
            row.answered &= settled;
            row.become_state(RowChange { settled, ..change(round, &Party::Human, to, note) });
        }
    }

    /// Lets the agents go on about rows that the person did not decide.
    pub(crate) fn undecided(&mut self, rows: &[FindingId]) {
        self.rows.iter_mut().filter(|row| rows.contains(&row.id)).for_each(|row| row.ruling = None);
    }

    /// Files what an implementer cannot resolve.
    pub(crate) fn block(&mut self, review: &Review<'_>) {
        review.findings.iter().for_each(|blocker| self.file(blocker, review));
        self.bound();
    }

    /// Returns the ledger as a review would leave it.
    pub fn reviewed(&self, review: &Review<'_>) -> Self {
        let mut ledger = self.clone();
        ledger.review(review);
        ledger
    }

    /// Applies a recorded review. Returns the rows that it closed.
    pub(crate) fn review(&mut self, review: &Review<'_>) -> Vec<FindingId> {
        let open: Vec<_> = self.open().map(|row| row.id).collect();
        let by = Party::Agent(review.by.clone());
        let nothing = review.findings.is_empty() && review.answers.reopened.is_empty() && !review.discuss;
        self.retract_reproducers(review.by, review.round, &review.answers.retracted);
        for id in &review.answers.confirmed {
            self.confirm(*id, review.round, &by);
        }
        for id in &review.answers.reopened {
            self.change(*id, false, change(review.round, &by, RowState::Reopened, ""));
        }
        if nothing {
            // What another agent has just claimed in this round waits for its implementer: it is not known to this review.
            let by_agent = |change: &&RowChange| matches!(change.by, Party::Agent(_));
            let new = |row: &Row| {
                row.history
                    .iter()
                    .rev()
                    .find(by_agent)
                    .is_some_and(|last| last.opens_for_others(review.by, review.round))
            };
            let due = |row: &&Row| row.is_open() && (row.severity.blocks() || row.answered) && !new(row);
            let due: Vec<_> = self.rows.iter().filter(due).map(|row| row.id).collect();
            due.into_iter().for_each(|id| self.confirm(id, review.round, &by));
        }
        for finding in review.findings {
            self.file(finding, review);
        }
        self.bound();
        open.into_iter().filter(|id| self.get(*id).is_some_and(|row| row.settled)).collect()
    }

    /// Opens the rows that a review closed which does not count, because files changed during it. A row that something else
    /// changed since stays as it is.
    pub(crate) fn retract(&mut self, by: &AgentId, round: u32, closed: &[FindingId]) {
        let by = Party::Agent(by.clone());
        let is_last = |change: &RowChange| change.settled && change.round == round && change.by == by;
        for row in self.rows.iter_mut().filter(|row| closed.contains(&row.id)) {
            if row.history.last().is_some_and(is_last) {
                let before = row.history.iter().rev().nth(1).map_or(RowState::Open, |change| change.to);
                let note = "files changed during the review, so it does not count";
                row.become_state(change(round, &Party::Orchestrator, before, note));
            }
        }
    }

    /// Applies a waiver of a finding.
    pub(crate) fn waive(&mut self, id: FindingId, round: u32, reason: &str) {
        let waived = RowChange { settled: true, ..change(round, &Party::Human, RowState::Waived, reason) };
        self.change(id, false, waived);
    }

    /// Applies the withdrawal of a waiver.
    pub(crate) fn withdraw(&mut self, id: FindingId, round: u32, reason: &str) {
        let Some(row) = self.get_mut(id).filter(|row| row.state == RowState::Waived) else { return };
        row.answered = false;
        let note = if reason.trim().is_empty() { String::new() } else { format!(": {reason}") };
        let note = format!("the waiver was withdrawn{note}");
        row.become_state(change(round, &Party::Human, RowState::Reopened, &note));
    }

    /// Returns the ledger as it is without the waiver of a finding.
    pub fn without_waiver(&self, id: FindingId) -> Self {
        let mut ledger = self.clone();
        ledger.withdraw(id, 0, "");
        ledger
    }

    /// Opens every row again that a person waived or decided: the bubble is another person's now.
    pub(crate) fn drop_waivers(&mut self, round: u32) {
        let by_person = |row: &&mut Row| row.ruling.as_ref().is_some_and(|(_, by)| *by == Party::Human);
        for row in self.rows.iter_mut().filter(|row| row.state == RowState::Waived || by_person(row)) {
            (row.answered, row.ruling) = (false, None);
            let note = "the bubble was adopted, so the person's decision does not count";
            row.become_state(change(round, &Party::Orchestrator, RowState::Reopened, note));
        }
    }

    /// Applies that the person sent a finding back by name.
    pub(crate) fn demand(&mut self, id: FindingId, round: u32) {
        let Some(row) = self.get_mut(id) else { return };
        (row.demanded, row.answered) = (true, false);
        row.become_state(change(round, &Party::Human, RowState::Reopened, "sent back by the person"));
    }

    /// Lets the loop treat findings that asked to undo something like any other: the person has seen them.
    pub(crate) fn admit_reversals(&mut self, round: u32) {
        for row in self.rows.iter_mut().filter(|row| row.state == RowState::Reversal) {
            row.become_state(change(round, &Party::Human, RowState::Open, "the person was asked about it"));
        }
    }

    /// Takes a row as closed: as disputed if that was the answer, else as fixed. A failing reproducer forbids it, and so
    /// does a blocker without an answer.
    fn confirm(&mut self, id: FindingId, round: u32, by: &Party) {
        // What the person decided to hold is closed only after the implementer has answered it.
        let owed = |row: &Row| row.unresolved() || (row.must_be_fixed() && !row.answered);
        let row = self.get_mut(id).filter(|row| row.is_open() && !row.proven() && !owed(row));
        let Some(row) = row else { return };
        let to = if row.state == RowState::Disputed { RowState::Disputed } else { RowState::Fixed };
        row.become_state(RowChange { settled: true, ..change(round, by, to, "") });
    }

    fn change(&mut self, id: FindingId, answered: bool, change: RowChange) {
        let Some(row) = self.get_mut(id) else { return };
        row.answered |= answered;
        row.become_state(change);
    }

    /// Files one finding: a new row, or the row that makes the same claim.
    fn file(&mut self, finding: &Finding, review: &Review<'_>) {
        let id = finding.id.unwrap_or(FindingId(self.named + 1));
        self.named = self.named.max(id.0);
        match self.get_mut(id) {
            Some(row) => join(row, finding, review),
            None => self.rows.push(new_row(id, finding, review)),
        }
    }

    /// Keeps the ledger small: settled rows go first, then the least severe, the oldest first among equals; what a
    /// reproducer shows stays longest.
    fn bound(&mut self) {
        let surplus = self.rows.len().saturating_sub(ROWS_KEPT);
        if surplus == 0 {
            return;
        }
        // What keeps the work from being accepted is the last that is forgotten.
        let worth =
            |row: &Row| (row.unresolved(), row.blocks(), row.is_open(), row.proven(), std::cmp::Reverse(row.severity));
        let mut order: Vec<_> = self.rows.iter().map(|row| (worth(row), row.id)).collect();
        order.sort_unstable();
        let gone: Vec<_> = order.iter().take(surplus).map(|(_, id)| *id).collect();
        self.rows.retain(|row| !gone.contains(&row.id));
    }

    /// Returns the row called `id`.
    pub fn get(&self, id: FindingId) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }

    fn get_mut(&mut self, id: FindingId) -> Option<&mut Row> {
        self.rows.iter_mut().find(|row| row.id == id)
    }

    /// Returns the rows that nobody has closed.
    pub fn open(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_open())
    }

    /// Returns the open rows that keep the loop going.
    pub fn blocking(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.blocks())
    }

    /// Returns the open rows in short, as a certificate names them.
    pub fn claims(&self) -> Vec<Finding> {
        self.open().map(|row| Finding { id: Some(row.id), ..Finding::new(row.severity, row.title.clone()) }).collect()
    }
}

/// Adds what another claim of the same row brings: the more severe severity, the risk, a reproducer. The title stays, and so
/// does what was said at length; other words are added to that.
fn absorb(row: &mut Row, finding: &Finding, review: &Review<'_>) {
    row.class = row.class.or(finding.class);
    row.severity = row.severity.min(finding.severity);
    row.risk |= finding.risk;
    row.blocker |= finding.blocker;
    row.line = finding.line.or(row.line);
    // What was said in time once is not late when it is said again.
    row.seen = row.seen.and(finding.seen);
    if !same_words(&row.title, &finding.title) || !same_words(&row.detail, &finding.detail) {
        add_words(row, finding, review);
    }
    if !finding.anchor.is_empty() {
        row.anchor.clone_from(&finding.anchor);
    }
    // An agent that brings a new command after the old one passed shows the fault in another way.
    if row.reproducer.as_ref().is_none_or(|one| matches!(one.stand, ReproducerState::Dropped | ReproducerState::Passes))
    {
        let newer = Reproducer::of(finding, review.by);
        row.reproducer = newer.or(row.reproducer.take());
    }
}

/// Adds what a reviewer says of a row in other words. What was said first and what is said now have their place; where that
/// is too much, the words between are left out. The log has them all.
fn add_words(row: &mut Row, finding: &Finding, review: &Review<'_>) {
    let said =
        [&finding.title, &finding.detail].into_iter().filter(|text| !text.trim().is_empty() && **text != row.title);
    let said = said.map(String::as_str).collect::<Vec<_>>().join(": ");
    if said.is_empty() || row.detail.contains(&said) {
        return;
    }
    if row.detail.len() > MAX_DETAIL {
        let end = (0..=MAX_DETAIL).rev().find(|at| row.detail.is_char_boundary(*at)).unwrap_or(0);
        row.detail.truncate(end);
        row.detail.push('…');
    }
    match row.detail.is_empty() && finding.title == row.title {
        true => row.detail = said,
        false => row.detail.push_str(&format!("\n\n{} in round {}: {said}", review.by, review.round)),
    }
    row.detail = row.detail.trim_start().to_owned();
}

/// Whether a claim blocks and is more severe than its row was.
fn more_severe(finding: &Finding, row: &Row) -> bool {
    finding.severity.blocks() && finding.severity < row.severity
}

/// A claim that a row makes already: the row keeps the more severe severity, and is open again if it was closed.
fn join(row: &mut Row, finding: &Finding, review: &Review<'_>) {
    // A waiver covers neither a more severe claim nor the implementer's word that it blocks the implementation.
    let exceeds = more_severe(finding, row) || (finding.blocker && !row.blocker);
    absorb(row, finding, review);
    let by = Party::Agent(review.by.clone());
    let again = match finding.title == row.title {
        true => "claimed again".to_owned(),
        false => format!("claimed again: {}", finding.title),
    };
    let asked_about = row.history.iter().any(|change| change.to == RowState::Reversal);
    let undoes = finding.reverses.filter(|_| row.state != RowState::Waived && !asked_about);
    if let Some(older) = undoes {
        row.reverses = Some(older);
        row.become_state(change(review.round, &by, RowState::Reversal, &undoing(older)));
        return;
    }
    match row.state {
        // What was waived was less than what is claimed now.
        RowState::Waived if !exceeds => row.become_state(RowChange {
            settled: true,
            ..change(review.round, &by, RowState::Waived, &format!("{again}; the waiver still holds"))
        }),
        // Only a command that shows it opens a row again that a judge or the person dismissed.
        RowState::Dismissed if !exceeds && finding.reproducer.is_none() => row.become_state(RowChange {
            settled: true,
            ..change(review.round, &by, RowState::Dismissed, &format!("{again}; it stays dismissed"))
        }),
        RowState::Open if !row.settled => row.become_state(change(review.round, &by, RowState::Open, &again)),
        _ => row.become_state(change(review.round, &by, RowState::Reopened, &again)),
    }
}

fn new_row(id: FindingId, finding: &Finding, review: &Review<'_>) -> Row {
    let (state, note) = match finding.reverses {
        Some(older) => (RowState::Reversal, undoing(older)),
        None => (RowState::Open, String::new()),
    };
    let filed = change(review.round, &Party::Agent(review.by.clone()), state, &note);
    let mut row = Row {
        id,
        severity: finding.severity,
        title: finding.title.clone(),
        detail: finding.detail.clone(),
        file: finding.file.clone(),
        line: finding.line,
        class: finding.class,
        suggestion: finding.suggestion.clone(),
        anchor: finding.anchor.clone(),
        by: review.by.clone(),
        round: review.round,
        state,
        settled: false,
        answered: false,
        demanded: false,
        risk: finding.risk,
        seen: finding.seen,
        reproducer: Reproducer::of(finding, review.by),
        withdrawn: 0,
        reverses: finding.reverses,
        blocker: finding.blocker,
        fix: None,
        ruling: None,
        history: Vec::new(),
    };
    row.become_state(filed);
    row
}

fn undoing(older: FindingId) -> String {
    format!("asks to undo {older}")
}

/// Whether a finding touches core logic, security or data integrity: by its class, or by where it is.
fn is_risk(finding: &Finding, globs: &[String]) -> bool {
    let here = |path: &String| globs.iter().any(|glob| fast_glob::glob_match(glob, path));
    finding.class.is_some_and(Class::is_risk) || finding.file.as_ref().is_some_and(here)
}

fn change(round: u32, by: &Party, to: RowState, note: &str) -> RowChange {
    RowChange { round, by: by.clone(), to, settled: false, note: note.to_owned() }
}

/// The most reproducers that are run on one tree, beside those that were just filed or still fail.
pub const REPRODUCERS: usize = 50;
/// How many of the last lines that a reproducer printed are remembered, and how many characters of each.
const TAIL_LINES: usize = 8;
const TAIL_COLUMNS: usize = 200;

impl Ledger {
    /// Returns the rows whose reproducer has not been run on `tree` yet: what was just filed, then what is open, then
    /// what could come back; the newest first.
    pub fn to_reproduce<'a>(&'a self, tree: &'a TreeId) -> impl Iterator<Item = (&'a Row, &'a str)> {
        let closed = |row: &&Row| matches!(row.state, RowState::Waived | RowState::Dismissed);
        let wanted = self.rows.iter().rev().filter(|row| !closed(row));
        let kept = wanted.filter_map(|row| row.reproducer.as_ref().map(|one| (row, one)));
        let mut kept: Vec<_> = kept.filter(|(_, one)| one.stand != ReproducerState::Dropped).collect();
        kept.sort_by_key(|(row, one)| (one.stand != ReproducerState::Pending, !row.is_open()));
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

    /// Applies that `by` withdraws the reproducers of these rows: each is a claim like any other from here on.
    pub(crate) fn retract_reproducers(&mut self, by: &AgentId, round: u32, rows: &[FindingId]) {
        for id in rows {
            let Some(row) = self.get_mut(*id) else { continue };
            let Some(one) = row.reproducer.take() else { continue };
            row.withdrawn += 1;
            let note = format!("its reproducer is withdrawn: {}", one.command);
            // Without its tests, a row about acceptance tests claims nothing.
            let tests = !one.overlay.is_empty();
            let (to, settled) = if tests { (RowState::Dismissed, true) } else { (row.state, row.settled) };
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

    /// Applies what the reproducer of row `id` said.
    pub(crate) fn reproduced(&mut self, id: FindingId, receipt: &Receipt, round: u32, keeps_tests: bool) {
        let Some(row) = self.get_mut(id) else { return };
        let Some(one) = row.reproducer.as_mut() else { return };
        if keeps_tests && !one.overlay.is_empty() && matches!(receipt.outcome, Outcome::CouldNotCheck { .. }) {
            // They may need what only the work brings, so the first work decides.
            one.tree = Some(receipt.tree.clone());
            return;
        }
        let (fresh, outcome) = (one.stand == ReproducerState::Pending, &receipt.outcome);
        one.tree = Some(receipt.tree.clone());
        one.tail = if matches!(outcome, Outcome::Failed { .. }) { last_lines(&receipt.tail) } else { String::new() };
        one.stand = match outcome {
            Outcome::Failed { .. } => ReproducerState::Fails,
            // Acceptance tests may pass from the start; a later tree may break what they check.
            Outcome::Passed if !fresh || !one.overlay.is_empty() => ReproducerState::Passes,
            // What once showed the fault still counts where it cannot be run: unknown is never success.
            Outcome::CouldNotCheck { .. } if !fresh => one.stand,
            Outcome::Passed | Outcome::CouldNotCheck { .. } => ReproducerState::Dropped,
        };
        let stand = one.stand;
        let by = Party::Orchestrator;
        match stand {
            ReproducerState::Dropped => {
                let note = match outcome {
                    Outcome::CouldNotCheck { why } if !one.overlay.is_empty() => format!("could not be run: {why}"),
                    Outcome::Passed => "its reproducer did not fail and no longer counts".to_owned(),
                    _ => "its reproducer could not be run and no longer counts".to_owned(),
                };
                // What was dismissed before, and opened for this command alone, is dismissed again.
                // Acceptance tests that cannot run claim nothing either.
                let dismissed = row.ruling.as_ref().is_some_and(|(ruling, _)| *ruling == Ruling::Dismissed);
                let (to, settled) = if (dismissed && row.severity != Severity::P0) || row.has_lost_tests() {
                    (RowState::Dismissed, true)
                } else {
                    (row.state, row.settled)
                };
                row.become_state(RowChange { settled, ..change(round, &by, to, &note) });
            }
            _ if matches!(outcome, Outcome::CouldNotCheck { .. }) => {
                let (to, settled, note) = (row.state, row.settled, "its reproducer could not be run on this tree");
                row.become_state(RowChange { settled, ..change(round, &by, to, note) });
            }
            // What an implementer calls a blocker is closed by an answer to it.
            ReproducerState::Passes if row.is_open() && !row.unresolved() => {
                let fixed = change(round, &by, RowState::Fixed, "its reproducer passes now");
                row.become_state(RowChange { settled: true, ..fixed });
            }
            ReproducerState::Fails if !fresh && (row.settled || row.state == RowState::Fixed) => {
                row.become_state(change(round, &by, RowState::Reopened, "its reproducer still fails"));
            }
            _ => {}
        }
    }
}

/// What a run says that did not go as it should.
fn told(receipt: &Receipt) -> String {
    match &receipt.outcome {
        Outcome::CouldNotCheck { why } => why.clone(),
        _ => last_lines(&receipt.tail),
    }
}

/// The last lines of what a reproducer printed, as many as a question quotes.
fn last_lines(tail: &str) -> String {
    let lines: Vec<String> = tail.lines().map(|line| line.chars().take(TAIL_COLUMNS).collect()).collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Severity;

    fn filed(ledger: &mut Ledger, round: u32, findings: &[Finding]) {
        let by: AgentId = "claude".parse().expect("the name is valid");
        let answers = &Answers::default();
        ledger.review(&Review { by: &by, round, findings, answers, discuss: false });
    }

    #[test]
    fn a_row_that_becomes_severe_keeps_its_title_and_tells_what_is_severe() {
        let claim = |severity, title: &str| Finding { id: Some(FindingId(1)), ..Finding::new(severity, title) };
        let mut ledger = Ledger::default();
        filed(&mut ledger, 1, &[claim(Severity::P3, "the lock has an odd name")]);
        filed(&mut ledger, 2, &[claim(Severity::P0, "the lock is never released")]);
        assert_eq!(ledger.rows[0].short(), "F1 P0 the lock has an odd name");
        assert_eq!(ledger.rows[0].detail, "claude in round 2: the lock is never released");
        assert_eq!(ledger.rows[0].history[1].note, "claimed again: the lock is never released");
        filed(&mut ledger, 3, &[claim(Severity::P3, "the lock has an odd name")]);
        assert_eq!(ledger.rows[0].detail, "claude in round 2: the lock is never released");
    }
}
