//! The ledger: one row for each claim over all rounds, owned by code.

use pairflow_core::facts::RowState;
use pairflow_core::findings::{CHANGES_KEPT, ROWS_KEPT};
use pairflow_core::view::status::{Status, render};
use pairflow_core::view::timeline::timeline;
use pairflow_testkit::script::{ScriptRun, check, play};

/// Every row with its state: `F1 P1 no rollback: fixed, closed`.
pub(crate) fn rows(play: &ScriptRun) -> Vec<String> {
    let closed = |settled| if settled { ", closed" } else { "" };
    play.state.ledger.rows.iter().map(|row| format!("{}: {}{}", row.short(), row.state, closed(row.settled))).collect()
}

/// A script whose first review files one P1 in `a.rs`; nobody is asked about findings without proof.
fn filed(rest: &str) -> ScriptRun {
    play(&format!("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback' at a.rs:3\n{rest}"))
}

#[test]
fn a_look_that_does_not_count_leaves_what_an_earlier_look_closed() {
    let mut play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex edits a.rs
         codex: pass fixes F1
         claude: pass clean
         codex edits b.rs
         codex: pass clean
         codex: pass clean",
    );
    assert_eq!((play.state.rounds.round, play.state.ledger.open().count()), (2, 0), "{:?}", play.lines);
    play.line("claude edits c.rs");
    play.line("claude: pass clean");
    assert_eq!(play.state.ledger.open().count(), 0, "{:?}", play.state.ledger.rows[0].history);
    assert!(play.lines.last().unwrap().ends_with("claude reviewer round 2"), "{:?}", play.lines);
}

#[test]
fn the_same_finding_in_round_5_is_the_same_row() {
    let again = "codex edits a.rs\ncodex: pass fixes F1\nclaude: pass P1 'no rollback' at a.rs:3\n";
    let play = filed(&again.repeat(4));
    assert_eq!((play.state.rounds.round, rows(&play)), (6, vec!["F1 P1 no rollback: reopened".to_owned()]));
    let row = &play.state.ledger.rows[0];
    assert_eq!((row.round, row.by.as_str()), (1, "claude"), "it keeps who found it first, and when");
}

#[test]
fn the_same_title_in_another_file_is_another_row() {
    let play = filed("codex: pass\nclaude: pass P1 'no rollback' at b.rs:3");
    assert_eq!(rows(&play), ["F1 P1 no rollback: open", "F2 P1 no rollback: open"]);
}

#[test]
fn a_joined_row_keeps_the_graver_severity_and_a_fixed_one_is_reopened() {
    let play = filed(
        "codex edits a.rs
         codex: pass fixes F1
         claude: pass P3 'no rollback' at a.rs:3
         codex edits a.rs
         codex: pass fixes F1
         claude: pass clean
         codex: pass P0 'no way back' at a.rs:4 repeats F1",
    );
    assert_eq!(rows(&play), ["F1 P0 no rollback: reopened"]);
    assert_eq!(play.state.ledger.rows[0].line, Some(4), "the line is where it was last reported");
}

#[test]
fn a_row_that_a_person_waived_stays_waived_when_it_is_claimed_again() {
    let play = filed(
        "human: waive F1 'we live with it'
         codex: pass
         claude: pass P1 'no rollback' at a.rs:3",
    );
    assert_eq!(rows(&play), ["F1 P1 no rollback: waived, closed"]);
    assert_eq!(play.state.ledger.rows[0].history.last().unwrap().note, "claimed again; the waiver still holds");
    assert!(play.state.ledger.blocking().next().is_none());
}

#[test]
fn a_graver_claim_opens_a_waived_row_again() {
    let waived =
        "start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'x is odd' P2 'no rollback'\nhuman: waive F2 'fine'";
    let graver = play(&format!("{waived}\ncodex: pass\nclaude: pass P0 'no rollback'"));
    assert_eq!(rows(&graver)[1], "F2 P0 no rollback: reopened");
    let named = play(&format!("{waived}\ncodex: pass\nclaude: pass P2 'no rollback' P1 'loses rows' repeats F2"));
    assert_eq!(rows(&named)[1..], ["F2 P1 no rollback: reopened", "F3 P2 no rollback: open"]);
}

#[test]
fn no_review_reopens_what_a_person_waived() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: waive F1 'we live with it'
         codex: pass
         claude: pass reopens F1",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING codex implementer round 2
         #5 RUNNING claude reviewer round 2
         refused: F1 was waived and cannot be reopened; say in the summary why it should be",
    );
}

#[test]
fn findings_of_one_review_are_never_joined_and_a_row_is_repeated_once() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P2 'no rollback' at a.rs:3 P1 'No rollback' at a.rs:3 by './repro'",
    );
    assert_eq!(rows(&play), ["F1 P2 no rollback: open", "F2 P1 No rollback: open"]);
    let again = filed("codex: pass\nclaude: pass P1 'no rollback' at a.rs:3 P1 'no rollback' at a.rs:3");
    assert_eq!(rows(&again), ["F1 P1 no rollback: open", "F2 P1 no rollback: open"], "the second is a row of its own");
    let mut twice = filed("codex: pass\nclaude: pass P1 'a' repeats F1 P1 'b' repeats F1");
    let refused = "refused: two findings repeat F1; if they are two defects, file the second one as new";
    assert_eq!(twice.lines.last().unwrap(), refused);
    twice.line("claude: pass P1 'a' repeats F9");
    assert_eq!(twice.lines.last().unwrap(), "refused: F9 is not an open finding");
}

#[test]
fn a_repeated_row_keeps_its_title_and_gains_what_is_said_now() {
    let play = filed("codex: pass\nclaude: pass P0 'a failed import keeps half of the rows' at b.rs:9 repeats F1");
    assert_eq!(rows(&play), ["F1 P0 no rollback: open"]);
    let row = &play.state.ledger.rows[0];
    assert_eq!(row.detail, "claude in round 2: a failed import keeps half of the rows");
    assert_eq!(row.history.last().unwrap().note, "claimed again: a failed import keeps half of the rows");
}

#[test]
fn every_change_of_a_row_is_remembered_with_who_and_when() {
    let play = filed(
        "codex: pass disputes F1 'there is one in b.rs'
         claude: pass P3 'naming' reopens F1
         claude: upholds F1 'b.rs has none'
         codex edits a.rs
         codex: pass fixes F1
         claude: pass clean",
    );
    let told: Vec<_> = play.state.ledger.rows[0]
        .history
        .iter()
        .map(|one| format!("{} {} {}{} {}", one.round, one.by, one.to, if one.settled { "!" } else { "" }, one.note))
        .map(|line| line.trim().to_owned())
        .collect();
    assert_eq!(
        told,
        [
            "1 claude open",
            "2 codex disputed there is one in b.rs",
            "2 claude reopened",
            "2 claude reopened b.rs has none",
            "3 codex fixed",
            "3 claude fixed!",
        ]
    );
}

#[test]
fn a_dispute_stays_open_until_the_reviewer_takes_it() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex: pass disputes F1
         codex: pass disputes F1 'there is one in b.rs'
         claude: pass P3 'naming' confirms F1",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         refused: the reason of a dispute must not be empty
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback [disputed]
         #5 RUNNING codex reviewer round 2 clean: claude open: F2 P3 naming",
    );
    let play = filed("codex: pass disputes F1 'no'\nclaude: pass clean");
    assert_eq!(rows(&play), ["F1 P1 no rollback: disputed, closed"]);
}

#[test]
fn rows_that_a_pass_leaves_unanswered_stay_open_and_the_pass_is_accepted_also_with_an_unchanged_tree() {
    check(
        "
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' P1 'leaks memory'
         codex: pass fixes F2
         claude: pass P3 'naming' confirms F2",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback, F2 P1 leaks memory
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback, F2 P1 leaks memory [fixed]
         #5 RUNNING codex implementer round 3 open: F1 P1 no rollback, F3 P3 naming",
    );
}

#[test]
fn no_findings_confirms_every_answer_and_every_p0_and_p1() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P0 'drops the table' P1 'no rollback' P2 'slow start' P3 'naming'
         codex edits a.rs
         codex: pass fixes F1 fixes F3
         claude: pass clean",
    );
    assert_eq!(
        rows(&play),
        [
            "F1 P0 drops the table: fixed, closed",
            "F2 P1 no rollback: fixed, closed",
            "F3 P2 slow start: fixed, closed",
            "F4 P3 naming: open",
        ]
    );
}

#[test]
fn beside_findings_rows_are_settled_only_by_confirm_and_reopen() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' P1 'leaks memory' P1 'drops the lock'
         codex edits a.rs
         codex: pass fixes F1 fixes F2 fixes F3
         claude: pass P3 'naming' confirms F1 reopens F2",
    );
    assert_eq!(
        rows(&play),
        [
            "F1 P1 no rollback: fixed, closed",
            "F2 P1 leaks memory: reopened",
            "F3 P1 drops the lock: fixed",
            "F4 P3 naming: open",
        ]
    );
}

#[test]
fn reopening_alone_is_a_review_and_settles_nothing_else() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' P1 'leaks memory'
         codex edits a.rs
         codex: pass fixes F1 fixes F2
         claude: pass reopens F1",
    );
    assert_eq!(rows(&play), ["F1 P1 no rollback: reopened", "F2 P1 leaks memory: fixed"]);
    assert_eq!(play.state.rounds.spent.looks, 2);
}

#[test]
fn confirming_alone_does_not_say_what_was_found() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex: pass fixes F1
         claude: pass confirms F1",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback [fixed]
         refused: a reviewer says what it found: give --finding 'P1:title' for each finding, or --no-findings",
    );
}

#[test]
fn each_seat_answers_in_its_own_way() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex: pass confirms F1
         codex: pass fixes F2
         codex: pass
         claude: pass clean fixes F1
         claude: pass clean confirms F1 reopens F1
         claude: pass reopens F9",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         refused: an implementer answers with --fixed and --dispute; --confirm and --reopen are the reviewer's
         refused: F2 is not an open finding
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback
         refused: a reviewer answers with --confirm and --reopen; --fixed and --dispute are the implementer's
         refused: F1 is answered in two ways at once; give one answer
         refused: F9 is not an open finding",
    );
}

#[test]
fn what_a_reviewer_that_changed_files_called_settled_is_open_again() {
    check(
        "
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex edits a.rs
         codex: pass fixes F1
         claude edits b.rs
         claude: pass clean
         claude: pass P3 'naming'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback [fixed]
         #5 RUNNING claude reviewer round 2 open: F1 P1 no rollback [fixed]
         #6 RUNNING codex implementer round 3 open: F1 P1 no rollback [fixed], F2 P3 naming",
    );
}

#[test]
fn names_are_never_given_twice_whatever_becomes_of_their_rows() {
    let play = filed(
        "codex edits a.rs
         codex: pass fixes F1
         claude: pass P1 'leaks memory' P1 'Leaks memory' confirms F1
         codex edits a.rs
         codex: pass fixes F2
         claude: pass clean
         codex: pass P1 'drops the lock'",
    );
    let names: Vec<_> = play.state.ledger.rows.iter().map(|row| row.id.to_string()).collect();
    assert_eq!((names.join(" "), play.state.ledger.named), ("F1 F2 F3 F4".to_owned(), 4));
}

#[test]
fn the_ledger_is_bounded_and_keeps_what_is_grave_and_proven_longest() {
    let mut play =
        play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P0 'drops the table' by './repro' P3 'nit'");
    for round in 0..7 {
        // What is proven comes back three times before anyone reviews it again.
        (0..4).for_each(|pass| {
            play.line("codex edits a.rs");
            play.line(&format!("codex: pass 'try {pass} of {round}'"));
        });
        let found: Vec<_> = (0..100).map(|n| format!("P1 'no rollback' at r{round}/{n}.rs")).collect();
        play.line(&format!("claude: pass {}", found.join(" ")));
        play.line("human: reply continue");
    }
    let ledger = &play.state.ledger;
    assert_eq!(ledger.rows.len(), ROWS_KEPT);
    assert!(ledger.rows.iter().any(|row| row.short() == "F1 P0 drops the table"), "it is proven, so it stays");
    assert!(!ledger.rows.iter().any(|row| row.title == "nit"), "a nitpick goes first");
    assert_eq!(ledger.named, 702, "names are given out all the same");
}

#[test]
fn the_history_of_one_row_is_bounded() {
    let again = "codex: pass disputes F1 'no'\nclaude: pass P3 'naming' reopens F1\nclaude: upholds F1\nhuman: reply continue\n";
    let play = filed(&again.repeat(20));
    assert_eq!(play.state.ledger.rows[0].history.len(), CHANGES_KEPT);
    assert_eq!(play.state.ledger.rows[0].state, RowState::Disputed);
}

#[test]
fn what_an_implementer_says_to_have_fixed_is_called_a_claim_until_it_is_closed() {
    let claimed = filed("codex edits a.rs\ncodex: pass fixes F1");
    let row = &claimed.state.ledger.rows[0];
    assert_eq!((row.stands(), row.state.name()), ("claimed fixed", "fixed"), "programs read the word of the log");
    let status = render(&Status::of(&claimed.state, claimed.log.last().unwrap().at));
    let line = status.iter().find(|line| line.label == "Findings").unwrap();
    assert!(line.value.contains("(claimed fixed, shown, claude, round 1)"), "{}", line.value);
    let told: Vec<_> = claimed.log.iter().filter_map(timeline).map(|row| row.what).collect();
    assert!(told.iter().any(|what| what.contains("(F1 claimed fixed, with a test)")), "{told:?}");
    let closed = filed("codex edits a.rs\ncodex: pass fixes F1\nclaude: pass clean");
    assert_eq!(closed.state.ledger.rows[0].stands(), "fixed");
}
