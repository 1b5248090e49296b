//! The sections that briefs share.

use crate::bubble::{BubbleState, Turn};
use crate::facts::RowState;
use crate::facts::Seat;
use crate::facts::Snapshot;
use crate::findings::{ReproducerState, Row};
use crate::ids::Party;
use crate::progress::{CheckState, HandoverSummary};
use crate::rules::Prd;
use crate::view::markdown::Page;
use crate::view::messages::{criteria, scope};
use crate::view::words::{change, changes, count, ended, one_line, rest, weakened};

/// How many changed files are listed.
const FILES: usize = 100;
/// How many lines of a failed check's output are shown, and how many characters of each.
const TAIL: (usize, usize) = (40, 400);

/// Begins the brief of a turn.
pub(super) fn page(state: &BubbleState, turn: &Turn) -> Page {
    Page::new(&format!("Your turn: {} as {}, round {}", turn.agent, turn.seat, state.rounds.round))
}

/// Adds what is to be done, and how to tell that it is.
pub(super) fn task(page: &mut Page, state: &BubbleState) {
    page.section("Task");
    page.quote(&state.about.task);
    page.section("Acceptance criteria");
    criteria(page, &state.about.acceptance_criteria);
}

/// Adds where the agent works, and what it may touch.
pub(super) fn place(page: &mut Page, state: &BubbleState) {
    page.section("Where you work");
    if let Some(workspace) = &state.evidence.workspace {
        page.item(&format!("worktree: {}", one_line(&workspace.path)));
    }
    let (branch, base) = (one_line(&state.rules.bubble_branch), one_line(&state.rules.base_branch));
    page.item(&format!("branch: {branch}, cut from {base}; stay on it, do not push or merge"));
    if state.rules.continues.is_some() {
        page.item(&format!("the worktree began with the work of an earlier bubble, merged with {base}"));
    }
    let conflicts = state.evidence.workspace.iter().flat_map(|workspace| &workspace.ground.conflicts);
    page.items(
        conflicts.map(|path| format!("both had changed the same lines; resolve the markers in {}", one_line(path))),
    );
    scope(page, &state.rules.scope);
    page.item("files out of scope are shown to the reviewer and block the commit");
}

/// Adds what the person has answered and asked for.
pub(super) fn notes(page: &mut Page, state: &BubbleState) {
    let said = [("What the person says", &state.gate.notes), ("What the person said before", &state.gate.said_before)];
    for (heading, notes) in said.into_iter().filter(|(_, notes)| !notes.is_empty()) {
        page.section(heading);
        page.line("This goes before everything that an agent says.");
        for note in notes {
            page.line("");
            page.quote(note);
        }
    }
}

/// Adds what the other seat said last. A reviewer is not told what another reviewer thinks of the same tree.
pub(super) fn handed_over(page: &mut Page, state: &BubbleState, turn: &Turn) {
    let other = state.gate.summaries.iter().rev().find(|said| said.seat != turn.seat);
    let foreign = |said: &&HandoverSummary| said.agent != turn.agent || state.rules.agents.same_model();
    let Some(said) = other.filter(foreign) else { return };
    page.section(&format!("What {} said when handing over (round {}, {})", said.agent, said.round, said.seat));
    page.quote(&said.summary);
}

/// One row of the ledger for a brief; who filed it is nobody's business.
pub(super) fn digest(row: &Row) -> String {
    let place = row.file.as_deref().map(|file| match row.line {
        Some(line) => format!(" in {}:{line}", one_line(file)),
        None => format!(" in {}", one_line(file)),
    });
    let said = row.history.iter().rev().find(|change| change.to == row.state && !change.note.is_empty());
    let said = said.map(|change| format!(": {}", one_line(&change.note))).unwrap_or_default();
    let state = if row.state == RowState::Open { String::new() } else { format!(" [{}{said}]", row.stands()) };
    let answer = match row {
        _ if row.wants_answer() => " (has to be answered)",
        _ if row.unresolved() => " (blocks the implementation, says the implementer)",
        _ => "",
    };
    let proof = match row.reproducer.as_ref() {
        Some(one) if one.stand == ReproducerState::Fails => {
            format!("; `{}` fails until it is fixed", one_line(&one.command))
        }
        _ => String::new(),
    };
    let place = place.unwrap_or_default();
    format!("{} {} {}{place}{state}{answer}{proof}", row.id, row.severity, one_line(&row.title))
}

/// Adds what a claim says beside its title.
pub(super) fn claim_at_length(page: &mut Page, row: &Row) {
    let texts = [&row.detail, &row.suggestion].into_iter().filter(|text| !text.trim().is_empty());
    texts.for_each(|text| page.quote(text));
}

/// Adds which files changed, and everything about them that needs a look.
pub(super) fn changed(page: &mut Page, state: &BubbleState, seat: Seat) {
    let Some(snapshot) = &state.evidence.snapshot else { return };
    page.section("What changed");
    page.line(&format!("Against the base: {}. Tree {}.", changes(snapshot.against_base()), snapshot.tree.short()));
    if let (Seat::Reviewer, Some(workspace)) = (seat, &state.evidence.workspace) {
        page.line(&format!("See it with: git diff {} {}", workspace.base.short(), snapshot.commit.short()));
        files(page, snapshot.changed.iter().map(change));
        page.items(rest(snapshot.changed.len(), snapshot.whole.as_ref().map(|whole| &whole.changed)));
    }
    page.line("");
    page.line(&since_last(snapshot));
    if snapshot.since_last != snapshot.changed || seat == Seat::Implementer {
        files(page, snapshot.since_last.iter().map(change));
    }
    alarms(page, snapshot);
}

/// Adds what a snapshot has that nobody may overlook.
fn alarms(page: &mut Page, snapshot: &Snapshot) {
    if !snapshot.out_of_scope.is_empty() {
        page.line("");
        page.line("OUT OF SCOPE, changed nevertheless:");
        files(page, snapshot.out_of_scope.iter().map(|path| one_line(path)));
    }
    if !snapshot.weakened.is_empty() {
        page.line("");
        page.line("TESTS that the change deletes, skips or weakens; make sure that each is meant:");
        files(page, snapshot.weakened.iter().map(weakened));
    }
    if !snapshot.ignore_changes.is_empty() {
        page.line("");
        page.line(
            "CHANGED, and decides which files count at all (checks see ignored files, the tree does not have them):",
        );
        files(page, snapshot.ignore_changes.iter().map(|path| one_line(path)));
    }
}

fn since_last(snapshot: &Snapshot) -> String {
    let of = count(snapshot.against_last().0, "file");
    match &snapshot.author {
        _ if snapshot.since_last.is_empty() => "Since the snapshot before: nothing.".to_owned(),
        Some(Party::Human) => {
            format!("Since the snapshot before: {of}, changed BY A PERSON, not by an agent. Take it as wanted.")
        }
        Some(Party::Agent(agent)) => format!("Since the snapshot before: {of}, changed in {agent}'s turn."),
        Some(Party::Orchestrator) => format!("Since the snapshot before: {of}, changed by pairflow."),
        None => {
            format!("Since the snapshot before: {of}; it is NOT KNOWN WHO changed it. Review it as part of the work.")
        }
    }
}

fn files(page: &mut Page, names: impl ExactSizeIterator<Item = String>) {
    let more = names.len().saturating_sub(FILES);
    if names.len() > 0 {
        page.line("");
    }
    page.items(names.take(FILES));
    page.items((more > 0).then(|| format!("and {more} more")));
}

/// Adds the receipts: how each check ended on this tree, and the end of the output where it failed.
pub(super) fn checks(page: &mut Page, state: &BubbleState) {
    page.section("Checks");
    if state.rules.checks.is_empty() {
        page.line("No command checks this work. A person tries by hand:");
        page.line("");
        page.items(state.rules.manual_checks.iter().map(|what| one_line(what)));
        return;
    }
    page.line("pairflow runs these on every tree that is handed over; nobody's word replaces them.");
    page.line("");
    for check in &state.rules.checks {
        let (command, name) = (one_line(&check.command), one_line(&check.name));
        match state.check(&check.name) {
            CheckState::Passed(receipt) => page.item(&match state.evidence.flaky(&check.name) {
                Some(failed) => {
                    format!("{name} ({command}): {}, then {} on the same tree", ended(failed), ended(receipt))
                }
                None => format!("{name} ({command}): {}", ended(receipt)),
            }),
            CheckState::Failed(receipt) => {
                page.item(&format!("{name} ({command}): {}", ended(receipt)));
                page.block(&tail(&receipt.tail));
            }
            CheckState::NotAvailable => page.item(&format!("{name} ({command}): not available, says a person")),
            CheckState::Waived(reason) => {
                page.item(&format!("{name} ({command}): waived by a person: {}", one_line(reason)));
            }
            CheckState::Missing => page.item(&format!("{name} ({command}): not run yet")),
        }
    }
}

/// Names the documents that the work follows, and where the version lies that was approved: the worktree may have
/// another one, or none.
pub(super) fn approved(page: &mut Page, state: &BubbleState, what: &str) {
    for (path, sha256) in state.rules.prd.iter().flat_map(|prd| &prd.documents) {
        page.item(&format!("{what} {}; do not change it. The approved version of it is", one_line(path)));
        let (repo, id, copy) = (one_line(&state.about.repo), &state.id, Prd::artifact(sha256));
        page.line(&format!("  {repo}/.pairflow/bubbles/{id}/artifacts/{copy}"));
    }
}

/// Returns the last lines of an output.
fn tail(text: &str) -> String {
    let (rows, columns) = TAIL;
    let lines: Vec<_> = text.trim_end().lines().map(|line| line.chars().take(columns).collect::<String>()).collect();
    lines[lines.len().saturating_sub(rows)..].join("\n")
}
