//! The approval package: what a person reads before deciding. Built from facts, never from an agent's claim alone.
//!
//! Every statement links to its evidence: `artifact://…` for diffs and receipts, `ledger://…` for findings. An agent's
//! statement that code cannot tie to any of them is marked. It is quoted, fenced or kept on one line, so that none of it can
//! pass for a part of the package, and it can set no link of its own.

pub(crate) mod references;

use std::sync::LazyLock;

use minijinja::Environment;
use serde::Serialize;

use crate::bubble::{BubbleState, evolve};
use crate::facts::{Certificate, FileChange, RowStand, Seat, Snapshot};
use crate::findings::ReproducerState;
use crate::gates::TestChange;
use crate::ids::{BubbleId, FindingId};
use crate::log::{Body, Envelope};
use crate::progress::{CheckState, HandoverSummary};
use crate::safe::safe_line;
use crate::view::templates::{environment, render as render_template};
use crate::view::words::{claim, ended, looks, one_line, rest, title, weakened, wrapped};
use references::{KnownReferences, Statement, Target, statements};

/// The file's name beneath `artifacts/`.
pub const NAME: &str = "done-package.md";

/// How many columns a line of the commit message takes.
const COLUMNS: usize = 72;
/// How many columns of a summary the commit message keeps, all of its lines together.
const SUMMARY: usize = 6 * COLUMNS;
/// How many summaries it has at most, the newest.
const SUMMARIES: usize = 8;

static PACKAGE: LazyLock<Environment<'static>> =
    LazyLock::new(|| environment(&[("package.md.j2", include_str!("../../templates/package.md.j2"))]));

#[derive(Serialize)]
struct PackageContext<'a> {
    id: &'a BubbleId,
    accepted: String,
    files: u64,
    added: u64,
    removed: u64,
    what: ExplanationPart,
    /// What the implementers said, each after a link to what changed then.
    summaries: Vec<(String, &'a HandoverSummary)>,
    task: &'a str,
    approval: Option<String>,
    documents: Vec<(String, &'a str)>,
    criteria: &'a [String],
    why: ExplanationPart,
    risks: Vec<String>,
    known_risks: ExplanationPart,
    changes: String,
    more_changes: Option<String>,
    plan: Vec<String>,
    test_plan: ExplanationPart,
    message: &'a str,
}

/// One part of the agents' explanation, statement by statement.
#[derive(Serialize)]
struct ExplanationPart {
    name: &'static str,
    statements: Vec<Statement>,
    left_out: usize,
}

/// Renders the package.
pub fn render(state: &BubbleState, certificate: &Certificate, message: &str) -> String {
    let linked = Linked { state, known: KnownReferences::of(state) };
    let snapshot = state.evidence.snapshot.as_ref();
    let (files, added, removed) = snapshot.map(Snapshot::against_base).unwrap_or_default();
    let changed = snapshot.map_or(&[][..], |snapshot| &snapshot.changed);
    let whole = snapshot.and_then(|snapshot| snapshot.whole.as_ref());
    let documents = state.rules.prd.iter().flat_map(|prd| &prd.documents);
    let [what, why, known_risks, test_plan] = state.gate.explanation.parts().map(|part| linked.explained(part));
    let context = PackageContext {
        id: &state.id,
        accepted: accepted(certificate),
        files,
        added,
        removed,
        what,
        summaries: by_implementers(state).map(|said| (diff_link("diff", said.round), said)).collect(),
        task: &state.about.task,
        approval: state.rules.prd.as_ref().map(|prd| inert(&prd.approval())),
        documents: documents.map(|(path, sha256)| (inert(path), sha256.as_str())).collect(),
        criteria: &state.about.acceptance_criteria,
        why,
        risks: linked.risks(certificate),
        known_risks,
        changes: changed.iter().map(|file| linked.change(file)).collect::<Vec<_>>().join("\n"),
        more_changes: rest(changed.len(), whole.map(|whole| &whole.changed)),
        plan: linked.plan(),
        test_plan,
        message,
    };
    render_template(&PACKAGE, "package.md.j2", &context)
}

/// Renders the package again that an acceptance put up for approval, given the state `before` it.
///
/// Returns nothing if `envelope` is no acceptance.
pub fn again(before: &BubbleState, envelope: &Envelope) -> Option<String> {
    let Body::Convergence(claim) = &envelope.event.body else { return None };
    let state = evolve(before.clone(), envelope);
    Some(render(&state, &claim.certificate, &commit_message(&state)))
}

/// Suggests a commit message: the task's title, then what the implementers said last in each round.
pub fn commit_message(state: &BubbleState) -> String {
    let subject = match title(&state.about.task) {
        "" => safe_line(&format!("Work on {}", state.rules.bubble_branch), COLUMNS),
        title => safe_line(title, COLUMNS),
    };
    let body: Vec<String> = match summary_lines(state).as_slice() {
        [] => return subject,
        [one] => wrapped(one, COLUMNS),
        many => many.iter().map(|one| format!("- {}", wrapped(one, COLUMNS - 2).join("\n  "))).collect(),
    };
    format!("{subject}\n\n{}", body.join("\n"))
}

/// What the implementers said last in each round, each in one line; the same words are not repeated.
fn summary_lines(state: &BubbleState) -> Vec<String> {
    let said: Vec<_> = by_implementers(state).collect();
    let last = said.chunk_by(|one, next| one.round == next.round).filter_map(|round| round.last());
    let mut lines: Vec<_> = last.map(|said| safe_line(&said.summary, SUMMARY)).collect();
    lines.retain(|line| !line.is_empty());
    lines.dedup();
    lines.split_off(lines.len().saturating_sub(SUMMARIES))
}

fn by_implementers(state: &BubbleState) -> impl Iterator<Item = &HandoverSummary> {
    state.gate.summaries.iter().filter(|said| said.seat == Seat::Implementer)
}

fn accepted(certificate: &Certificate) -> String {
    let list = |parts: Vec<String>, joint: &str, none: &str| match parts.is_empty() {
        true => none.to_owned(),
        false => parts.join(joint),
    };
    let reviews = certificate.reviews.iter().map(|review| {
        let asides: String = review.asides().iter().map(|aside| format!(", {aside}")).collect();
        format!("{} (round {}{asides})", review.agent, review.round)
    });
    let by = list(reviews.collect(), " and ", "nobody");
    let looked = Some(certificate.looks_needed).filter(|needed| *needed > 0);
    let looks = looked.map_or_else(String::new, |needed| format!(", {}", looks(certificate.looks, Some(needed))));
    let (tree, policy) = (&certificate.tree, &certificate.policy);
    if !certificate.by_person() {
        return format!("Tree {tree}, accepted under the policy `{policy}`, reviewed clean by {by}{looks}.");
    }
    let open = certificate.open_then().map(|finding| inert(&claim(finding)));
    let open = list(open.collect(), ", ", "no P0/P1 finding");
    let missing: Vec<_> = certificate.missing_then().map(inert).collect();
    let missing = if missing.is_empty() { String::new() } else { format!(" Missing then: {}.", missing.join(", ")) };
    format!(
        "Tree {tree}, accepted by a person at a tie-break of the policy `{policy}`, because the reviewers did not agree. \
         Reviewed clean by {by}{looks}. Open then: {open}.{missing}"
    )
}

/// A state, with what can be linked to in it.
struct Linked<'a> {
    state: &'a BubbleState,
    known: KnownReferences<'a>,
}

impl Linked<'_> {
    fn explained(&self, (name, text): (&'static str, &str)) -> ExplanationPart {
        let (said, left_out) = statements(text);
        let marked = |one: Statement| {
            let links = self.links(&format!("{}\n{}", one.text, one.code)).unwrap_or("(no evidence)".to_owned());
            Statement { text: format!("{} {links}", inert(&one.text)).trim_start().to_owned(), code: one.code }
        };
        ExplanationPart { name, statements: said.into_iter().map(marked).collect(), left_out }
    }

    fn risks(&self, certificate: &Certificate) -> Vec<String> {
        let state = self.state;
        let mut rows = Vec::new();
        for finding in &certificate.open {
            let id = finding.id.map(|id| format!("{} ", row_link(id))).unwrap_or_default();
            let decided =
                if certificate.accepted_open(finding) { ", accepted by a person at the tie-break" } else { "" };
            rows.push(format!("open finding{decided}: {id}{} {}", finding.severity, inert(&finding.title)));
        }
        rows.extend(certificate.missing_then().map(|what| {
            let links = self.links(what).map(|links| format!(" {links}")).unwrap_or_default();
            format!("accepted by a person without: {}{links}", inert(what))
        }));
        let closed = certificate.ledger.iter().filter(|row| row.settled);
        let told = |row: &RowStand| format!("{} {} {}", row_link(row.id), row.severity, row.state.told(row.settled));
        let closed: Vec<_> = closed.map(told).collect();
        rows.extend((!closed.is_empty()).then(|| format!("closed findings: {}", closed.join(", "))));
        rows.extend(state.evidence.snapshot.iter().flat_map(|snapshot| self.warnings(snapshot)));
        let unavailable = certificate.checks.iter().filter(|check| check.stand != "passed");
        rows.extend(unavailable.map(|check| {
            format!("check '{}': {}{}", inert(&check.check), inert(&check.stand), self.in_brackets(&check.check))
        }));
        rows.extend(certificate.notes.iter().map(|note| inert(note)));
        let last_review = state.gate.summaries.iter().rev().find(|said| said.seat == Seat::Reviewer);
        rows.extend(last_review.map(|said| {
            let (by, round) = (&said.agent, said.round);
            format!("last review, by {by} in round {round}: {}", inert(&safe_line(&said.summary, 400)))
        }));
        rows
    }

    /// What a snapshot weakens, and what it touches that a reader should look at twice.
    fn warnings(&self, snapshot: &Snapshot) -> Vec<String> {
        let weaker = |change: &TestChange| {
            format!("test {} ({})", inert(&weakened(change)), self.file(&change.path, Some(change.line)))
        };
        let mut rows: Vec<_> = snapshot.weakened.iter().map(weaker).collect();
        rows.extend(snapshot.out_of_scope.iter().map(|path| format!("out of scope: {}", self.file(path, None))));
        let whole = snapshot.whole.as_ref().filter(|whole| whole.out_of_scope > 0);
        rows.extend(whole.map(|whole| format!("out of scope in all: {}", whole.out_of_scope)));
        let ignore = snapshot.ignore_changes.iter();
        rows.extend(
            ignore.map(|path| format!("decides which files count, and was changed: {}", self.file(path, None))),
        );
        rows
    }

    fn change(&self, file: &FileChange) -> String {
        let count = |lines: Option<u64>, sign: char| lines.map_or("-".to_owned(), |lines| format!("{sign}{lines}"));
        let (added, removed) = (count(file.added, '+'), count(file.removed, '-'));
        let diffs: String = self.rounds(&file.path).iter().map(|round| format!(" {}", diff(*round))).collect();
        format!("{} {} {added} {removed}{diffs}", file.status, one_line(&file.path))
    }

    fn plan(&self) -> Vec<String> {
        let state = self.state;
        let mut rows: Vec<String> = Vec::new();
        for check in &state.rules.checks {
            let stand = match (state.check(&check.name), state.evidence.flaky(&check.name)) {
                (CheckState::Passed(_), Some(failed)) => {
                    format!("{}, then passed when pairflow ran it again on the same tree", ended(failed))
                }
                (CheckState::Passed(_), None) => "passed when pairflow ran it on this tree".to_owned(),
                (CheckState::NotAvailable, _) => "not available; run it by hand".to_owned(),
                (CheckState::Waived(reason), _) => format!("waived by a person: {}", inert(reason)),
                (CheckState::Failed(_) | CheckState::Missing, _) => "has not passed".to_owned(),
            };
            let (command, name) = (one_line(&check.command), one_line(&check.name));
            rows.push(format!("`{command}` ({name}): {stand}{}", self.in_brackets(&check.name)));
        }
        rows.extend(state.ledger.rows.iter().filter(|row| row.is_acceptance()).filter_map(|row| {
            let tests = row.reproducer.as_ref()?;
            let passed = if tests.stand == ReproducerState::Passes { "passed" } else { "did not pass" };
            let (command, by) = (one_line(&tests.command), tests.by.as_ref().unwrap_or(&row.by));
            let id = row_link(row.id);
            Some(format!(
                "`{command}` with the acceptance tests of {by} ({id}): {passed} when pairflow ran it on this tree"
            ))
        }));
        rows.extend(state.rules.manual_checks.iter().map(|check| format!("by hand: {}", one_line(check))));
        rows.extend(
            state.about.acceptance_criteria.iter().map(|line| format!("see that it holds: {}", one_line(line))),
        );
        if rows.is_empty() {
            rows.push("read the diff and try the changed behaviour".to_owned());
        }
        rows
    }

    /// Returns links to what a text refers to, in brackets; nothing if it refers to nothing.
    fn links(&self, text: &str) -> Option<String> {
        let mut links = Vec::new();
        for reference in self.known.references(text) {
            let link = match reference.to {
                Target::Finding(id) => Some(row_link(id)),
                Target::Place(path, line) => Some(self.file(path, line)),
                Target::Check(name) => self.receipt(name),
            };
            links.extend(link.filter(|link| !links.contains(link)));
        }
        (!links.is_empty()).then(|| format!("({})", links.join(", ")))
    }

    /// Returns a changed file as a link to the newest diff that shows it.
    fn file(&self, path: &str, line: Option<u32>) -> String {
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        let name = format!("{}{line}", inert(path));
        match self.rounds(path).last() {
            Some(round) => diff_link(&name, *round),
            None => name,
        }
    }

    /// Returns the rounds that changed a file, as far as they were counted.
    fn rounds(&self, path: &str) -> &[u32] {
        self.state.evidence.touched.get(path).map_or(&[], Vec::as_slice)
    }

    fn in_brackets(&self, check: &str) -> String {
        self.receipt(check).map(|link| format!(" ({link})")).unwrap_or_default()
    }

    /// Returns a link to what a check printed on the accepted tree; nothing if there is no receipt.
    fn receipt(&self, check: &str) -> Option<String> {
        let ran = self.state.evidence.superseded.iter().chain(&self.state.evidence.receipts);
        let newest = ran.rev().find(|receipt| receipt.check == check)?;
        let target = newest.output.as_deref().filter(|output| output.starts_with("artifact://"));
        Some(match target {
            Some(target) => format!("[receipt of {}]({})", inert(check), one_line(target)),
            None => format!("receipt of {} on tree {}", inert(check), newest.tree.short()),
        })
    }
}

/// Returns where the difference of a round is kept.
fn diff(round: u32) -> String {
    format!("artifact://round-{round:03}.diff")
}

/// Returns a link to the difference of a round; `name` has to be inert.
fn diff_link(name: &str, round: u32) -> String {
    format!("[{name}]({})", diff(round))
}

/// Returns a link to a row of the ledger.
fn row_link(id: FindingId) -> String {
    format!("[{id}](ledger://{id})")
}

/// Returns foreign text as one line that cannot set a link or a tag.
fn inert(text: &str) -> String {
    let mut line = String::new();
    for c in one_line(text).chars() {
        if matches!(c, '[' | ']' | '<' | '\\') {
            line.push('\\');
        }
        line.push(c);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::safe::width;

    fn state(task: &str, said: &[(u32, Seat, &str)]) -> BubbleState {
        let mut state = BubbleState::new("b1".parse().expect("the name is valid"));
        state.about.task = task.to_owned();
        state.rules.bubble_branch = "bubble/b1".to_owned();
        let agent = || "codex".parse().expect("the name is valid");
        state.gate.summaries.extend(said.iter().map(|(round, seat, summary)| HandoverSummary {
            round: *round,
            seat: *seat,
            agent: agent(),
            summary: (*summary).to_owned(),
        }));
        state
    }

    #[test]
    fn a_round_is_told_once_by_its_last_implementer() {
        let said = [
            (1, Seat::Implementer, "first try"),
            (1, Seat::Reviewer, "reviewed"),
            (2, Seat::Implementer, "second try"),
            (2, Seat::Implementer, "second try,\nwith a test"),
            (3, Seat::Implementer, "second try, with a test"),
        ];
        assert_eq!(
            commit_message(&state("# Fix it\n\nAll of it.", &said)),
            "Fix it\n\n- first try\n- second try, with a test"
        );
        assert_eq!(commit_message(&state("Fix it", &said[..1])), "Fix it\n\nfirst try");
    }

    #[test]
    fn lines_are_wrapped_and_there_are_not_too_many() {
        let long = "words and more words ".repeat(400);
        let rounds: Vec<_> = (1..=30).map(|round| (round, long.clone() + &round.to_string())).collect();
        let said: Vec<_> = rounds.iter().map(|(round, text)| (*round, Seat::Implementer, text.as_str())).collect();
        for said in [&said[..1], &said[..]] {
            let message = commit_message(&state(&"a long task ".repeat(50), said));
            assert!(message.lines().all(|line| width(line) <= COLUMNS), "{message}");
            assert!(message.lines().count() <= 2 + SUMMARIES * 7, "{message}");
        }
    }

    #[test]
    fn without_a_title_the_branch_is_named() {
        assert_eq!(commit_message(&state(" \n#\n", &[])), "Work on bubble/b1");
    }
}
