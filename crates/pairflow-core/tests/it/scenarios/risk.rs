//! Minor findings: those that touch a risk are answered once, the others are the person's at the approval.

use pairflow_core::bubble::{BubbleState, evolve};
use pairflow_core::log::{Body, Lifecycle};
use pairflow_testkit::script::{check, play};

use super::ledger::rows;

#[test]
fn a_p2_of_a_risky_class_has_to_be_answered_once_and_a_fix_is_an_answer() {
    check(
        "
         start
         codex edits a.rs
         codex: pass
         claude: pass P2 'logs the token' class security
         codex: pass
         claude: pass clean
         codex: pass fixes F1
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P2 logs the token
         #4 RUNNING claude reviewer round 2 open: F1 P2 logs the token
         #5 RUNNING codex implementer round 3 open: F1 P2 logs the token
         #6 RUNNING claude reviewer round 3 open: F1 P2 logs the token [fixed]
         #7 RUNNING codex reviewer round 3 clean: claude
         #8 READY_FOR_APPROVAL round 3 tree1",
    );
}

#[test]
fn a_dispute_is_an_answer_and_one_answer_is_enough() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P2 'rounds the sum' class data_integrity
         codex: pass disputes F1 'the ledger is in cents'
         claude: pass reopens F1
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P2 rounds the sum
         #4 RUNNING claude reviewer round 2 open: F1 P2 rounds the sum [disputed]
         #5 RUNNING codex reviewer round 2 clean: claude open: F1 P2 rounds the sum [reopened]
         #6 READY_FOR_APPROVAL round 2 tree1",
    );
}

#[test]
fn each_risky_class_and_no_other_asks_for_an_answer() {
    let blocks = |class: &str| {
        let found = format!("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P2 'x is odd' class {class}");
        play(&found).state.ledger.blocking().next().is_some()
    };
    let all = ["core_logic", "security", "data_integrity", "performance", "tests", "docs", "style", "other"];
    let asking: Vec<_> = all.into_iter().filter(|class| blocks(class)).collect();
    assert_eq!(asking, ["core_logic", "security", "data_integrity"]);
}

#[test]
fn a_p2_in_a_risky_path_has_to_be_answered() {
    check(
        "given risk src/auth/**
         start
         codex edits src/auth/token.rs
         codex: pass
         claude: pass P2 'unclear name' at src/auth/token.rs:3 P2 'unclear file' at src/main.rs:3
         codex: converged
         codex: pass disputes F2 'it is clear'
         claude: pass reopens F2
         codex: pass fixes F1
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P2 unclear name, F2 P2 unclear file
         refused: only the reviewer may declare convergence; codex is the implementer of round 2
         #4 RUNNING claude reviewer round 2 open: F1 P2 unclear name, F2 P2 unclear file [disputed]
         #5 RUNNING codex implementer round 3 open: F1 P2 unclear name, F2 P2 unclear file [reopened]
         #6 RUNNING claude reviewer round 3 open: F1 P2 unclear name [fixed], F2 P2 unclear file [reopened]
         #7 RUNNING codex reviewer round 3 clean: claude",
    );
}

#[test]
fn converged_names_what_has_to_be_answered() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P2 'logs the token' class security
         codex: pass
         claude: converged",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P2 logs the token
         #4 RUNNING claude reviewer round 2 open: F1 P2 logs the token
         refused: not converged yet: findings that have to be answered (--fixed or --dispute): F1 P2 logs the token; a second clean review of this tree by another agent (clean so far: claude); the reviewer role has not alternated yet (round_role_history)",
    );
}

#[test]
fn a_risky_p3_never_buys_a_round_and_other_p2s_do_after_the_first_two_looks_only() {
    check(
        "given risk src/**
         start
         codex edits src/lib.rs
         codex: pass
         claude: pass P3 'naming' at src/lib.rs:1
         codex: pass P2 'slow start' class performance
         claude: pass disputes F2 'it is fast'
         codex: pass P2 'no comment' class docs confirms F2
         claude: pass P2 'no index' class docs",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude open: F1 P3 naming
         #4 RUNNING claude implementer round 2 clean: claude open: F1 P3 naming, F2 P2 slow start
         #5 RUNNING codex reviewer round 2 clean: claude open: F1 P3 naming, F2 P2 slow start [disputed]
         #6 RUNNING claude reviewer round 2 clean: claude, codex open: F1 P3 naming, F3 P2 no comment
         #7 READY_FOR_APPROVAL round 2 tree1",
    );
}

#[test]
fn approving_accepts_the_minor_findings_and_rework_sends_one_back_that_then_has_to_be_answered() {
    let ready = "start
         codex edits a.rs
         codex: pass
         claude: pass P3 'slow start' P3 'naming'
         codex: pass clean";
    let approved = play(&format!("{ready}\nhuman: approve"));
    assert_eq!(approved.state.phase.name().as_str(), "APPROVED_FOR_COMMIT");
    assert_eq!(rows(&approved), ["F1 P3 slow start: open", "F2 P3 naming: open"]);
    check(
        &format!(
            "{ready}
             human: rework F2
             codex: pass 'again'
             claude: converged
             claude: pass clean
             codex: pass fixes F2
             claude: pass clean
             codex: pass clean"
        ),
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude open: F1 P3 slow start, F2 P3 naming
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 RUNNING codex implementer round 2 open: F1 P3 slow start, F2 P3 naming [reopened]
         #6 RUNNING claude reviewer round 2 open: F1 P3 slow start, F2 P3 naming [reopened]
         refused: not converged yet: findings that have to be answered (--fixed or --dispute): F2 P3 naming; a second clean review of this tree by another agent (clean so far: claude)
         #7 RUNNING codex implementer round 3 open: F1 P3 slow start, F2 P3 naming [reopened]
         #8 RUNNING claude reviewer round 3 open: F1 P3 slow start, F2 P3 naming [fixed]
         #9 RUNNING codex reviewer round 3 clean: claude open: F1 P3 slow start
         #10 READY_FOR_APPROVAL round 3 tree1",
    );
}

#[test]
fn what_touches_a_risk_is_recorded_with_the_finding() {
    let play = play("given risk db/**\nstart\ncodex edits a.rs\ncodex: pass\nclaude: pass P2 'no index' at db/a.sql:1");
    let mut log = play.log.clone();
    let filed = log.iter().find_map(|envelope| match &envelope.event.body {
        Body::Pass(pass) => pass.findings.as_ref().and_then(|findings| findings.first()),
        _ => None,
    });
    assert!(filed.unwrap().risk);
    // The rules that were in force by then have no say when the log is read again.
    for envelope in &mut log {
        if let Body::Lifecycle(Lifecycle::Created { rules, .. } | Lifecycle::StartRequested { rules }) =
            &mut envelope.event.body
        {
            rules.risk.clear();
        }
    }
    let again = log.iter().fold(BubbleState::new(play.state.id.clone()), evolve);
    assert_eq!(again.ledger, play.state.ledger);
}
