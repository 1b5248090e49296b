//! The brief of the reviewing agent.

use crate::bubble::{BubbleState, Turn};
use crate::facts::RowState;
use crate::facts::Seat;
use crate::findings::{Row, feedback};
use crate::ids::Party;
use crate::policy::Facts;
use crate::rules::BubbleKind;
use crate::view::brief::severity::severities;
use crate::view::brief::{BriefMaterial, Diff, Slice, Standard, commands, parts};
use crate::view::markdown::Page;
use crate::view::words::{count, one_line};

/// How many rows are listed that nobody has to look at any more.
const SETTLED: usize = 50;
/// How many files of a slice are named.
const FILES: usize = 12;
/// How many characters of one line of a difference are shown.
const COLUMNS: usize = 600;

/// Returns the brief of a reviewer.
pub(super) fn brief(state: &BubbleState, turn: &Turn, material: &BriefMaterial) -> String {
    let mut page = parts::page(state, turn);
    opening(&mut page, state, turn);
    parts::task(&mut page, state);
    parts::notes(&mut page, state);
    standards(&mut page, state, &material.standards);
    parts::place(&mut page, state);
    parts::handed_over(&mut page, state, turn);
    outline(&mut page, state);
    open_findings(&mut page, state, turn);
    settled_findings(&mut page, state);
    parts::checks(&mut page, state);
    parts::changed(&mut page, state, Seat::Reviewer);
    since_last(&mut page, state, turn, material.since_last.as_ref());
    let slices = commands::slices(turn, material.slices());
    whole(&mut page, state, material.whole.as_ref(), slices);
    work(&mut page, state, slices);
    severities(&mut page, state.rules.kind);
    let last = would_be_last(state, turn);
    report(&mut page, state, last);
    commands::end(&mut page, state, &commands::of_reviewer(state, slices, last));
    page.finish()
}

fn opening(page: &mut Page, state: &BubbleState, turn: &Turn) {
    let own = if state.rounds.authors.contains(&Party::Agent(turn.agent.clone())) {
        " Part of it changed in a turn of yours: review it as if somebody else had written it."
    } else {
        ""
    };
    let (agent, id) = (&turn.agent, &state.id);
    page.line(&format!("You are {agent}, the reviewer of bubble {id}. Review the tree in the worktree.{own}"));
}

/// Adds what the project expects of every change. The base speaks, not the work that is under review.
fn standards(page: &mut Page, state: &BubbleState, standards: &[Standard]) {
    if standards.is_empty() {
        return;
    }
    page.section("Project standards");
    page.line("The work has to follow these; a violation is a finding. They are quoted as the base has them.");
    for standard in standards {
        let path = one_line(&standard.path);
        page.line("");
        page.line(&format!("### {path}"));
        page.line("");
        if standard.changed {
            page.line(
                "THE WORK CHANGES THIS FILE. Make sure that the task asks for it; what it says here still holds.",
            );
            page.line("");
        }
        page.quote(&standard.text);
        if standard.cut {
            page.line("");
            let base = state.evidence.workspace.as_ref().map_or("HEAD", |workspace| workspace.base.short());
            page.line(&format!("There is more of it; read it with: git show {base}:{path}"));
        }
    }
}

/// Adds how the implementer of a document would implement it.
fn outline(page: &mut Page, state: &BubbleState) {
    if state.gate.outline.is_empty() {
        return;
    }
    page.section("The implementer's dry run");
    page.line(
        "This is how the implementer would implement the document. Say in your own dry run where that does not work.",
    );
    page.line("");
    page.quote(&state.gate.outline);
}

fn open_findings(page: &mut Page, state: &BubbleState, turn: &Turn) {
    if state.ledger.open().next().is_none() {
        return;
    }
    page.section("Open findings");
    for row in state.ledger.open() {
        page.item(&parts::digest(row));
        if row.state == RowState::Disputed {
            parts::claim_at_length(page, row);
        }
    }
    page.line("");
    page.line(
        "Look at each again. `--no-findings` takes every answer and settles every P0 and P1 that no reproducer shows. If you report anything, \
         settle each of these by its name: `--confirm F1` if the answer is right, `--reopen F1` if it is not. If you \
         report one again in other words, name it: `\"repeats\": \"F1\"` in the file, or `--finding 'P1:…' --repeats F1`.",
    );
    let mine = |row: &&Row| row.proven() && row.reproducer_by() == Some(&turn.agent);
    let mine: Vec<_> = state.ledger.open().filter(mine).map(|row| row.id.to_string()).collect();
    if !mine.is_empty() {
        page.line(&format!(
            "No review settles what a reproducer shows. Where a reproducer of yours ({}) is itself wrong, take it back with \
             `--retract {}`; the finding is then a claim like any other.",
            mine.join(", "),
            mine[0]
        ));
    }
    if state.ledger.open().any(Row::unresolved) {
        page.line(
            "What blocks the implementation is not settled by a review: the work goes back to its implementer until it is \
             resolved or a person waives it.",
        );
    }
}

/// Adds what is closed, so that nobody claims it a second time without knowing.
fn settled_findings(page: &mut Page, state: &BubbleState) {
    let settled = |row: &&Row| !row.is_open();
    let rows: Vec<_> = state.ledger.rows.iter().filter(settled).collect();
    if rows.is_empty() {
        return;
    }
    page.section("Settled findings");
    page.line("Closed by earlier reviews. `--reopen F1` opens one again that came back, unless a person waived it.");
    page.line("");
    page.items(rows.iter().rev().take(SETTLED).rev().map(|row| parts::digest(row)));
    let more = rows.len().saturating_sub(SETTLED);
    page.items((more > 0).then(|| format!("and {more} older")));
}

fn since_last(page: &mut Page, state: &BubbleState, turn: &Turn, diff: Option<&Diff>) {
    let Some((diff, reviewed)) = diff.zip(state.rounds.reviewed_by.get(&turn.agent)) else { return };
    page.section(&format!("The difference since your last review (round {})", reviewed.round));
    match diff {
        Diff::Inline(patch) if patch.trim().is_empty() => page.line("Nothing: it is the tree that you reviewed then."),
        Diff::Inline(patch) => page.patch(&shortened(patch)),
        Diff::Apart(slices) => {
            page.line("It is long; read it in these files first:");
            page.line("");
            page.items(slices.iter().map(listed));
        }
    }
}

/// Adds the whole difference, or where its slices are.
fn whole(page: &mut Page, state: &BubbleState, diff: Option<&Diff>, slices: u32) {
    if state.evidence.snapshot.is_none() {
        return;
    }
    match diff {
        Some(Diff::Inline(patch)) if patch.trim().is_empty() => {}
        Some(Diff::Inline(patch)) => {
            page.section("The whole difference");
            page.patch(&shortened(patch));
        }
        Some(Diff::Apart(files)) => {
            page.section(&format!("The whole difference, in {}", count(files.len(), "slice")));
            page.line("It is too long to be read at once. Read every slice on its own, look at the files around it, and write");
            page.line("down what you find before you open the next one:");
            page.line("");
            let numbered = files.iter().enumerate().map(|(at, slice)| format!("slice {}: {}", at + 1, listed(slice)));
            page.items(numbered);
        }
        // What was cut stays cut, also where its files cannot be named now.
        None if slices > 0 => {
            page.section(&format!("The whole difference, in {}", count(slices, "slice")));
            page.line(&format!("They are numbered 1 to {slices}; their files are beside this one, in `review/`."));
        }
        None => {}
    }
}

fn listed(slice: &Slice) -> String {
    let names: Vec<_> = slice.files.iter().take(FILES).map(|file| one_line(file)).collect();
    let more = match slice.files.len().saturating_sub(FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{} ({}: {}{more})", one_line(&slice.path), count(slice.changed, "changed line"), names.join(", "))
}

/// Cuts lines that no eye would follow to their end.
fn shortened(patch: &str) -> String {
    let short = |line: &str| match line.char_indices().nth(COLUMNS) {
        Some((end, _)) => format!("{} … [cut: {} characters]", &line[..end], line.chars().count()),
        None => line.to_owned(),
    };
    patch.split('\n').map(short).collect::<Vec<_>>().join("\n")
}

fn work(page: &mut Page, state: &BubbleState, slices: u32) {
    page.section("What to do");
    page.item("Do not edit any file: if you do, a clean review does not count.");
    page.item("Look for what is wrong, missing, unsafe or untested; check every acceptance criterion.");
    parts::approved(page, state, "Hold it against the approved document");
    page.item(
        "Report each problem once, with its file and line. Report all of them now: what you say only later about",
    );
    page.line("  lines that you have seen counts as late.");
    if slices > 0 {
        page.item(
            "Confirm the slices that you have read: `--reviewed 1,2`. A review that finds nothing grave has to confirm",
        );
        page.line("  all of them; one that sends the work back may name those that it got to.");
    }
    if state.rules.kind == BubbleKind::Document {
        page.item("Go through these three steps, and say what came of each:");
        page.line("  - contradictions: do scope, requirements and acceptance criteria contradict one another?");
        page.line("  - dry-run: outline how it would be implemented; what blocks it?");
        page.line("  - adversarial: which edge cases and risks are left open?");
    }
}

/// Whether a clean review by the holder of this turn would complete what is needed.
fn would_be_last(state: &BubbleState, turn: &Turn) -> bool {
    let facts = state.facts();
    let review = facts.review_by(&turn.agent, state.rounds.round);
    let streak: Vec<_> = facts.streak.iter().chain([&review]).cloned().collect();
    let suffice = state.policy().reviews_suffice(Facts { streak: &streak, ..facts });
    suffice && facts.checks_not_passed().next().is_none()
}

fn report(page: &mut Page, state: &BubbleState, last: bool) {
    page.section("How findings are reported");
    page.line(
        "For each problem `--finding 'P1:title'`, or all of them as a JSON file with `--findings FILE`; the file lies",
    );
    page.line("outside the worktree (or is `-` for stdin). A `reproducer` is a command that fails as long as the fault is there;");
    page.line("pairflow runs it, and says by itself when the fault is gone:");
    page.line("");
    page.block(feedback::EXAMPLE.trim_end());
    page.line("");
    page.line(if last {
        "Your clean review would be the last one needed: `converged` and `pass --no-findings` both complete it."
    } else {
        "`converged` is refused for now: one more agent has to find this tree clean, or a check has to pass first."
    });
    let missing = state.gate.explanation.missing();
    if last && !missing.is_empty() {
        page.line(&format!(
            "It has to tell the person what is still missing ({}): `--explain` takes a Markdown file with these headings.",
            missing.join(", ")
        ));
    }
}
