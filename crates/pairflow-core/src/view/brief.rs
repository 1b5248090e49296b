//! What the holder of a turn reads: who it is, what is asked, what is known, and the commands that end the turn.

use crate::facts::Snapshot;
use crate::ids::Party;
use crate::rounds::feedback;
use crate::rounds::policy::strict;
use crate::rounds::{Row, RowState, Shown};
use crate::rules::BubbleKind;
use crate::unit::{CheckState, Said, Seat, Stage, Turn, Unit};
use crate::view::markdown::Page;
use crate::view::messages::{criteria, scope};
use crate::view::words::{change, changes, count, ended, one_line, rest, weakened};

/// How many changed files are listed.
const FILES: usize = 100;
/// How many lines of a failed check's output are shown, and how many characters of each.
const TAIL: (usize, usize) = (40, 400);

/// Returns the brief of the present turn; nothing while no agent has the turn or is about to have it.
pub fn brief(unit: &Unit) -> Option<String> {
    let turn = unit.phase.turn().filter(|turn| matches!(turn.stage, Stage::Opening | Stage::Open))?;
    let mut page = Page::new(&format!("Your turn: {} as {}, round {}", turn.agent, turn.seat, unit.round));
    page.line(&opening(unit, turn));
    page.section("Task");
    page.quote(&unit.task);
    page.section("Acceptance criteria");
    criteria(&mut page, &unit.acceptance_criteria);
    place(&mut page, unit);
    notes(&mut page, unit);
    handed_over(&mut page, unit, turn);
    findings(&mut page, unit, turn);
    changed(&mut page, unit, turn);
    checks(&mut page, unit);
    match turn.seat {
        Seat::Producer => produce(&mut page, unit),
        Seat::Critic => criticise(&mut page, unit, turn),
    }
    Some(page.finish())
}

fn opening(unit: &Unit, turn: &Turn) -> String {
    let (id, agent) = (&unit.id, &turn.agent);
    match turn.seat {
        Seat::Producer => {
            format!(
                "You are {agent}, the implementer of bubble {id}. {} reviews what you hand over.",
                unit.seats.critic
            )
        }
        Seat::Critic => {
            let own = if unit.authors.contains(&Party::Agent(agent.clone())) {
                " You wrote part of it yourself: review it as if somebody else had."
            } else {
                ""
            };
            format!("You are {agent}, the reviewer of bubble {id}. Review the tree in the worktree.{own}")
        }
    }
}

fn place(page: &mut Page, unit: &Unit) {
    page.section("Where you work");
    if let Some(workspace) = &unit.workspace {
        page.item(&format!("worktree: {}", one_line(&workspace.path)));
    }
    let (branch, base) = (one_line(&unit.rules.bubble_branch), one_line(&unit.rules.base_branch));
    page.item(&format!("branch: {branch}, cut from {base}; stay on it, do not push or merge"));
    if unit.rules.continues.is_some() {
        page.item(&format!("the worktree began with the work of an earlier bubble, merged with {base}"));
    }
    let conflicts = unit.workspace.iter().flat_map(|workspace| &workspace.ground.conflicts);
    page.items(
        conflicts.map(|path| format!("both had changed the same lines; resolve the markers in {}", one_line(path))),
    );
    scope(page, &unit.rules.scope);
    page.item("files out of scope are shown to the reviewer and block the commit");
}

fn notes(page: &mut Page, unit: &Unit) {
    if unit.notes.is_empty() {
        return;
    }
    page.section("What the person says");
    page.line("This goes before everything that an agent says.");
    for note in &unit.notes {
        page.line("");
        page.quote(note);
    }
}

/// Adds what the other seat said last. A critic is not told what another critic thinks of the same tree.
fn handed_over(page: &mut Page, unit: &Unit, turn: &Turn) {
    let other = unit.summaries.iter().rev().find(|said| said.seat != turn.seat);
    let foreign = |said: &&Said| said.agent != turn.agent || unit.rules.agents.same_model();
    let Some(said) = other.filter(foreign) else { return };
    page.section(&format!("What {} said when handing over (round {}, {})", said.agent, said.round, said.seat));
    page.quote(&said.summary);
}

fn findings(page: &mut Page, unit: &Unit, turn: &Turn) {
    let open: Vec<_> = unit.ledger.open().collect();
    if open.is_empty() {
        return;
    }
    page.section("Open findings");
    for row in &open {
        page.item(&digest(row));
        if turn.seat == Seat::Producer || row.state == RowState::Disputed {
            let texts = [&row.detail, &row.suggestion].into_iter().filter(|text| !text.trim().is_empty());
            texts.for_each(|text| page.quote(text));
        }
    }
    page.line("");
    page.line(match turn.seat {
        Seat::Producer => {
            "Mend every P0 and P1, and answer each finding by its name when you hand over: `--fixed F1` if it is mended, \
             `--dispute F1 --reason '…'` if it is wrong. What you do not answer stays open."
        }
        Seat::Critic => {
            "Look at each again. `--no-findings` takes every answer and settles every P0 and P1. If you report anything, \
             settle each of these by its name: `--confirm F1` if the answer is right, `--reopen F1` if it is not. Do not \
             report them as new findings."
        }
    });
}

/// One row of the ledger for a brief; who filed it is nobody's business.
fn digest(row: &Row) -> String {
    let place = row.file.as_deref().map(|file| match row.line {
        Some(line) => format!(" in {}:{line}", one_line(file)),
        None => format!(" in {}", one_line(file)),
    });
    let said = row.history.iter().rev().find(|change| change.to == row.state && !change.note.is_empty());
    let said = said.map(|change| format!(": {}", one_line(&change.note))).unwrap_or_default();
    let state = if row.state == RowState::Open { String::new() } else { format!(" [{}{said}]", row.state) };
    let answer = if row.wants_answer() { " (has to be answered)" } else { "" };
    let proof = match row.reproducer.as_ref() {
        Some(one) if one.stand == Shown::Fails => format!("; `{}` fails until it is mended", one_line(&one.command)),
        _ => String::new(),
    };
    let place = place.unwrap_or_default();
    format!("{} {} {}{place}{state}{answer}{proof}", row.id, row.severity, one_line(&row.title))
}

fn changed(page: &mut Page, unit: &Unit, turn: &Turn) {
    let Some(snapshot) = &unit.snapshot else { return };
    page.section("What changed");
    page.line(&format!("Against the base: {}. Tree {}.", changes(snapshot.against_base()), snapshot.tree.short()));
    if let (Seat::Critic, Some(workspace)) = (turn.seat, &unit.workspace) {
        page.line(&format!("See it with: git diff {} {}", workspace.base.short(), snapshot.commit.short()));
        files(page, snapshot.changed.iter().map(change));
        page.items(rest(snapshot.changed.len(), snapshot.whole.as_ref().map(|whole| &whole.changed)));
    }
    page.line("");
    page.line(&since_last(snapshot));
    if snapshot.since_last != snapshot.changed || turn.seat == Seat::Producer {
        files(page, snapshot.since_last.iter().map(change));
    }
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
    let of = count(usize::try_from(snapshot.against_last().0).unwrap_or(usize::MAX), "file");
    match &snapshot.author {
        _ if snapshot.since_last.is_empty() => "Since the snapshot before: nothing.".to_owned(),
        Party::Human => {
            format!("Since the snapshot before: {of}, changed BY A PERSON, not by an agent. Take it as wanted.")
        }
        Party::Agent(agent) => format!("Since the snapshot before: {of}, changed by {agent}."),
        Party::Orchestrator => format!("Since the snapshot before: {of}, changed by pairflow."),
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

fn checks(page: &mut Page, unit: &Unit) {
    page.section("Checks");
    if unit.rules.checks.is_empty() {
        page.line("No command checks this work. A person tries by hand:");
        page.line("");
        page.items(unit.rules.manual_checks.iter().map(|what| one_line(what)));
        return;
    }
    page.line("pairflow runs these on every tree that is handed over; nobody's word replaces them.");
    page.line("");
    for check in &unit.rules.checks {
        let (command, name) = (one_line(&check.command), one_line(&check.name));
        match unit.check(&check.name) {
            CheckState::Passed(receipt) => page.item(&match unit.flaky(&check.name) {
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

/// Returns the last lines of an output.
fn tail(text: &str) -> String {
    let (rows, columns) = TAIL;
    let lines: Vec<_> = text.trim_end().lines().map(|line| line.chars().take(columns).collect::<String>()).collect();
    lines[lines.len().saturating_sub(rows)..].join("\n")
}

fn produce(page: &mut Page, unit: &Unit) {
    page.section("What to do");
    if unit.rules.kind == BubbleKind::Document {
        page.item("Write the document in the worktree: scope, non-goals, requirements (numbered), acceptance criteria");
        page.line("  (each naming its requirement), risks, rollout. No vague word without a number beside it.");
    } else {
        page.item("Make the change in the worktree, with tests. Keep it to the task.");
    }
    for (path, _) in unit.rules.prd.iter().flat_map(|prd| &prd.documents) {
        page.item(&format!("Follow the approved document {}.", one_line(path)));
    }
    if unit.rules.checks.iter().any(|check| !check.is_own()) {
        page.item("Run the checks yourself before you hand over.");
    }
    page.item("You need not commit: pairflow records the tree that you leave.");
    page.section("How your turn ends");
    page.line("Run exactly one of these in the worktree, then stop:");
    page.line("");
    let answers = if unit.ledger.open().next().is_some() { " --fixed F1 --dispute F2 --reason '…'" } else { "" };
    page.block(&format!("pairflow pass --summary '…'{answers} --explain FILE\npairflow ask-human --question '…'"));
    explain(page);
}

/// Says what the person wants to be told.
fn explain(page: &mut Page) {
    page.line("");
    page.line(
        "`--explain` takes a Markdown file for the person, with the headings What changed, Why, Risks and Manual test",
    );
    page.line("plan. Keep that file outside the worktree, or pipe it in with `--explain -`. Name files, findings and checks in");
    page.line("it: a statement without any is marked as one without evidence.");
}

/// Names the steps that the review of a document has to go through, and returns them as options.
fn steps(page: &mut Page, unit: &Unit) -> &'static str {
    if unit.rules.kind != BubbleKind::Document {
        return "";
    }
    page.item("Go through these three steps, and say what came of each:");
    page.line("  - contradictions: do scope, requirements and acceptance criteria contradict one another?");
    page.line("  - dry-run: outline how it would be implemented; what blocks it?");
    page.line("  - adversarial: which edge cases and risks are left open?");
    " --step contradictions='…' --step dry-run='…' --step adversarial='…'"
}

fn criticise(page: &mut Page, unit: &Unit, turn: &Turn) {
    page.section("What to do");
    page.item("Do not edit any file: if you do, a clean review does not count.");
    page.item("Look for what is wrong, missing, unsafe or untested; check every acceptance criterion.");
    page.item("Report each problem once, with its file and line, and one of these severities:");
    page.line("  - P0 critical: loses data, opens a security hole, or breaks what worked");
    page.line("  - P1 major: does not do what the task asks, or is wrong in a case that matters");
    page.line("  - P2 minor: works, but should be better");
    page.line("  - P3 nitpick: a matter of taste");
    page.item("P0 and P1 send the work back; P2 and P3 are shown to the person who approves.");
    let steps = steps(page, unit);
    page.section("How your turn ends");
    page.line("Run exactly one of these in the worktree, then stop:");
    page.line("");
    page.block(&format!(
        "pairflow pass --summary '…' --findings FILE{steps}    # or --finding 'P1:title' for each problem\n\
         pairflow pass --summary '…' --no-findings{steps}\n\
         pairflow converged --summary '…'\n\
         pairflow ask-human --question '…'"
    ));
    page.line("");
    page.line(
        "FILE is JSON and lies outside the worktree (or `-` for stdin). A `reproducer` is a command that fails as long",
    );
    page.line("as the fault is there; pairflow runs it, and says by itself when the fault is gone:");
    page.line("");
    page.block(feedback::EXAMPLE.trim_end());
    page.line("");
    let mut streak = unit.streak.clone();
    streak.push(strict::review_by(unit, &turn.agent, unit.round));
    page.line(if strict::suffices(&unit.rules, &streak) && unit.checks_not_passed().is_empty() {
        "Your clean review would be the last one needed: `converged` and `pass --no-findings` both complete it."
    } else {
        "`converged` is refused for now: one more agent has to find this tree clean, or a check has to pass first."
    });
}
