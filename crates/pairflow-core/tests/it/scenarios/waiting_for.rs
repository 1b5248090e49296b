//! What `status` prints beneath "Now" and "Waiting for" while a criterion of convergence is unmet: one test a criterion.
//!
//! The sentences come from the very function that judges `converged`; the first line says who has to act.

use pairflow_core::view::status::{LABEL_COLUMNS, Status, render};
use pairflow_testkit::script::{ScriptRun, Sent, play};

/// The part of the status that says what is waited for.
fn waiting(play: &ScriptRun) -> String {
    let at = play.log.last().unwrap().at;
    let lines = render(&Status::of(&play.state, at));
    let from = lines.iter().position(|line| line.label == "Now").unwrap();
    let part = lines[from..].iter().take_while(|line| ["Now", "Waiting for", ""].contains(&line.label));
    part.map(|line| format!("{:w$}{}\n", line.label, line.value, w = LABEL_COLUMNS)).collect()
}

#[track_caller]
fn shows(script: &str, expected: &str) {
    let shown = waiting(&play(script));
    assert!(shown == expected, "status shows\n{shown}\ninstead of\n{expected}");
}

#[test]
fn nothing_handed_over() {
    shows(
        "start",
        "Now          codex: hand over (you are asked in 5 min 0 s)
Waiting for  no work has been handed over yet
             the check 'test' has not passed on this tree
             two clean reviews of this tree by different agents
             the reviewer role has not alternated yet
             an explanation for the person (--explain FILE with the headings:
             what changed, why, risks, manual test plan)
",
    );
}

/// A bubble with an explained first hand-over, so that only what is tested stays unmet.
const HANDED_OVER: &str = "start\ncodex edits a.rs\ncodex: pass explained";

#[test]
fn an_open_p0_or_p1() {
    shows(
        &format!("{HANDED_OVER}\nclaude: pass P1 'no rollback' P0 'drops the table' P3 'naming'"),
        "Now          codex: hand over (you are asked in 5 min 0 s)
Waiting for  open P0/P1 findings: F1 P1 no rollback, F2 P0 drops the table
             two clean reviews of this tree by different agents
             the reviewer role has not alternated yet
",
    );
}

#[test]
fn a_risk_that_nobody_answered() {
    shows(
        &format!("{HANDED_OVER}\nclaude: pass P2 'logs the token' class security"),
        "Now          codex: hand over (you are asked in 5 min 0 s)
Waiting for  findings that have to be answered (--fixed or --dispute): F1 P2
             logs the token
             two clean reviews of this tree by different agents
             the reviewer role has not alternated yet
",
    );
}

#[test]
fn a_check_that_failed() {
    shows(
        &format!("test fails\n{HANDED_OVER}"),
        "Now          codex: hand over (you are asked in 5 min 0 s)
Waiting for  the check 'test' fails on this tree
             two clean reviews of this tree by different agents
             the reviewer role has not alternated yet
",
    );
}

#[test]
fn a_check_that_has_not_been_run() {
    shows(
        &format!("{HANDED_OVER} (hold)\nstep"),
        "Now          pairflow: record the tree, run the checks, open the turn
Waiting for  the check 'test' has not passed on this tree
             two clean reviews of this tree by different agents
             the reviewer role has not alternated yet
",
    );
}

#[test]
fn the_first_clean_review() {
    shows(
        HANDED_OVER,
        "Now          claude: hand over (you are asked in 5 min 0 s)
Waiting for  two clean reviews of this tree by different agents
             the reviewer role has not alternated yet
",
    );
}

#[test]
fn the_second_clean_review() {
    shows(
        &format!("{HANDED_OVER}\nclaude: pass clean"),
        "Now          codex: hand over (you are asked in 5 min 0 s)
Waiting for  a second clean review of this tree by another agent (clean so far:
             claude)
",
    );
}

#[test]
fn the_reviewer_role_has_not_alternated() {
    let shown = waiting(&play(HANDED_OVER));
    assert!(shown.contains("the reviewer role has not alternated yet\n"), "{shown}");
    let swapped = waiting(&play(&format!("{HANDED_OVER}\nclaude: pass clean")));
    assert!(!swapped.contains("alternated"), "{swapped}");
}

#[test]
fn an_open_question() {
    shows(
        &format!("{HANDED_OVER}\nclaude: pass clean\ncodex: asks 'which database?'"),
        "Now          you: codex asks: which database?
Waiting for  a second clean review of this tree by another agent (clean so far:
             claude)
             one question is not answered
",
    );
}

#[test]
fn the_explanation() {
    shows(
        "start
         codex edits a.rs
         codex: pass explaining '## Why\\nA race.'
         claude: pass clean",
        "Now          codex: hand over (you are asked in 5 min 0 s)
Waiting for  a second clean review of this tree by another agent (clean so far:
             claude)
             an explanation for the person (--explain FILE with the headings:
             what changed, risks, manual test plan)
",
    );
}

#[test]
fn the_word_that_a_document_is_understood() {
    shows(
        "given document
         start
         codex edits docs/prd.md
         codex: pass explained step dry-run
         claude: pass clean stepped",
        "Now          codex: hand over (you are asked in 5 min 0 s)
Waiting for  a second clean review of this tree by another agent (clean so far:
             claude)
             a person's confirmation that the document is understood; it is
             asked for once all else holds
",
    );
}

#[test]
fn files_that_a_reviewer_changed_are_seen_by_converged_alone() {
    let mut play = play(&format!("{HANDED_OVER}\nclaude: pass clean\ncodex edits b.rs"));
    assert!(!waiting(&play).contains("b.rs"), "status does not look into the worktree");
    play.line("codex: converged");
    assert_eq!(play.lines.last().unwrap(), "refused: not converged yet: files changed during the review: b.rs");
}

#[test]
fn every_criterion_is_shown_and_refused_in_the_same_words() {
    let mut play = play("given risk **\nstart\ncodex edits a.rs\ncodex: pass");
    ["claude: pass P2 'unclear' at a.rs:1", "test fails"].into_iter().for_each(|line| play.line(line));
    for words in ["a", "b", "c", "d"] {
        play.line("codex edits a.rs");
        play.line(&format!("codex: pass '{words}'"));
    }
    let shown = Status::of(&play.state, play.log.last().unwrap().at).missing_for_convergence;
    let command =
        pairflow_testkit::script::samples(&play.state).into_iter().find(|one| one.name == "converged-unexplained");
    let Sent::Refused(refusal) = play.send(&command.unwrap().command) else { panic!("it was not refused") };
    let said = refusal.to_string();
    let shown = shown.iter().map(ToString::to_string);
    let differing: Vec<_> = shown.filter(|criterion| !said.contains(criterion)).collect();
    // The claim counts as a clean review of its caller, so only these sentences are other ones.
    let counted = [
        "two clean reviews of this tree by different agents",
        "more reviews for a change of this size and risk: 1 of 4 looks",
    ];
    assert_eq!(differing, counted);
    assert!(said.contains("2 of 4 looks"), "{said}");
}

#[test]
fn nothing_is_waited_for_but_the_person_once_the_work_is_accepted() {
    shows(
        &format!("{HANDED_OVER}\nclaude: pass clean\ncodex: pass clean"),
        "Now          you: approve the package, or send it back
",
    );
}
