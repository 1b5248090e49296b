//! Documents: the implementer's dry run, the steps of their review, and the person's word that they are understood.

use pairflow_core::bubble::owed;
use pairflow_core::log::{Body, QuestionKind};
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_testkit::script::{check, play};

const READ: &str = "given document
    start
    codex edits docs/prd.md
    codex: pass explained step dry-run
    claude: pass clean stepped
    codex: pass clean stepped";

#[test]
fn a_review_of_a_document_goes_through_three_steps() {
    check(
        "given document
         start
         codex edits docs/prd.md
         codex: pass step dry-run
         claude: pass clean
         claude: pass P1 'no scope' step dry-run
         claude: pass clean stepped",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         refused: a review of a document goes through three steps; give --step NAME=RESULT for: contradictions, dry-run, adversarial
         refused: a review of a document goes through three steps; give --step NAME=RESULT for: contradictions, adversarial
         #3 RUNNING codex reviewer round 1 clean: claude",
    );
}

#[test]
fn the_steps_are_recorded_with_the_review() {
    let play = play(READ);
    let steps: Vec<_> = play.state.gate.steps.iter().map(|step| (step.step.name(), step.result.as_str())).collect();
    assert_eq!(
        steps,
        [("contradictions", "contradictions done"), ("dry-run", "dry-run done"), ("adversarial", "adversarial done"),]
    );
    let passed = play.log.iter().filter(|one| one.event.body.to_json().contains("\"adversarial done\"")).count();
    assert_eq!(passed, 2, "once in each review");
}

/// A document with one blocker, as its first reviewer gets it.
const BLOCKED: &str = "given document
    start
    codex edits docs/prd.md
    codex: pass explained step dry-run blocked 'no limit for retries'";

#[test]
fn a_document_is_handed_over_with_the_implementers_outline() {
    check(
        "given document
         start
         codex edits docs/prd.md
         codex: pass
         codex: pass stepped
         codex: pass step dry-run",
        "#1 RUNNING codex implementer round 1
         refused: a document is handed over with an outline of its implementation; give --step dry-run='…'
         refused: the implementer of a document goes through one step, dry-run; contradictions is the reviewer's
         #2 RUNNING claude reviewer round 1",
    );
    let play = play("given document\nstart\ncodex edits docs/prd.md\ncodex: pass step dry-run");
    let told = brief(&play.state, &BriefMaterial::default()).unwrap();
    assert!(told.contains("## The implementer's dry run") && told.contains("> dry-run done"), "{told}");
}

#[test]
fn an_unresolved_blocker_is_a_p1_finding_of_the_implementer() {
    let play = play(BLOCKED);
    let row = &play.state.ledger.rows[0];
    assert_eq!(row.short(), "F1 P1 no limit for retries");
    assert!(row.by.as_str() == "codex" && row.blocks() && row.unresolved());
    let passed = play.log.iter().find(|one| matches!(one.event.body, Body::Pass(_))).unwrap();
    assert!(passed.event.body.to_json().contains(r#""title":"no limit for retries","blocker":true"#));
}

#[test]
fn no_review_accepts_a_document_with_an_unresolved_blocker() {
    check(
        &format!(
            "{BLOCKED}
             claude: pass clean confirms F1 stepped
             claude: converged
             claude: pass clean stepped
             codex: pass step dry-run
             claude: pass clean stepped"
        ),
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1 open: F1 P1 no limit for retries
         refused: F1 is a blocker that the implementer has not resolved: no review can confirm it
         refused: not converged yet: open P0/P1 findings: F1 P1 no limit for retries; a second clean review of this tree by \
         another agent (clean so far: claude); the reviewer role has not alternated yet (round_role_history); a person's \
         confirmation that the document is understood; it is asked for once all else holds
         #3 RUNNING codex implementer round 2 open: F1 P1 no limit for retries
         #4 RUNNING claude reviewer round 2 open: F1 P1 no limit for retries
         #5 RUNNING codex implementer round 3 open: F1 P1 no limit for retries",
    );
}

#[test]
fn a_blocker_that_was_resolved_and_confirmed_lets_the_document_be_accepted() {
    let play = play(&format!(
        "{BLOCKED}
         claude: pass clean stepped
         codex edits docs/prd.md
         codex: pass fixes F1 step dry-run
         claude: pass P3 'a typo' confirms F1 stepped
         codex: pass clean stepped
         human: reply accept"
    ));
    assert_eq!(play.state.phase.name().as_str(), "READY_FOR_APPROVAL");
    assert_eq!(play.state.ledger.blocking().count(), 0);
}

#[test]
fn a_blocker_that_comes_back_is_unresolved_again() {
    let play = play(&format!(
        "{BLOCKED}
         claude: pass clean stepped
         codex edits docs/prd.md
         codex: pass fixes F1 step dry-run blocked 'no limit for retries'
         claude: pass clean stepped"
    ));
    assert!(play.state.ledger.rows[0].unresolved());
    assert!(play.state.rounds.streak.is_empty());
}

#[test]
fn a_person_can_waive_a_blocker() {
    let play = play(&format!("{BLOCKED}\nhuman: waive F1 'later'\nclaude: pass clean stepped"));
    assert_eq!(play.lines.last().unwrap(), "#4 RUNNING  codex reviewer round 1  clean: claude");
}

#[test]
fn only_the_implementer_of_a_document_gives_blockers() {
    check(
        "given document
         start
         codex edits docs/prd.md
         codex: pass step dry-run blocked ' '
         codex: pass step dry-run
         claude: pass clean stepped blocked 'no limit'",
        "#1 RUNNING codex implementer round 1
         refused: a blocker must not be empty
         #2 RUNNING claude reviewer round 1
         refused: --blocker is for the implementer of a document",
    );
    check(
        "start
         codex edits a.rs
         codex: pass blocked 'no limit'",
        "#1 RUNNING codex implementer round 1
         refused: --blocker is for the implementer of a document",
    );
}

#[test]
fn a_review_of_code_has_no_steps() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean stepped",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         refused: --step is for the review of a document",
    );
}

#[test]
fn the_checks_of_a_document_are_pairflows_own_and_no_command_is_needed() {
    let play = play("given document\nstart\ncodex edits docs/prd.md\ncodex: pass step dry-run (hold)\nstep");
    let owed = format!("{:?}", owed(&play.state));
    for check in &play.state.rules.checks {
        assert_eq!(check.command, "built in");
        assert!(owed.contains(&check.name), "{owed}");
    }
    assert!(!play.state.rules.checks.is_empty() && play.state.rules.checks.iter().all(|check| check.is_own()));
}

#[test]
fn two_clean_reviews_lead_to_the_question_whether_the_document_is_understood() {
    let play = play(READ);
    assert_eq!(play.state.phase.name().as_str(), "WAITING_HUMAN");
    assert_eq!(play.state.gate.questions.len(), 1);
    let asked = &play.state.gate.questions[0];
    assert_eq!(asked.kind, QuestionKind::Comprehension);
    assert_eq!(
        asked.question,
        "the document is reviewed (docs/prd.md). Have you read and understood it? `--decision accept` confirms it; \
         anything else goes to the implementer. what changed: the what\nwhy: the why\nrisks: the risks\nmanual test \
         plan: the test plan"
    );
}

#[test]
fn one_clean_review_of_a_document_is_not_enough() {
    let play = play(
        "given document
         start
         codex edits docs/prd.md
         codex: pass step dry-run
         claude: pass clean stepped
         codex: pass P1 'the scope contradicts R2' stepped",
    );
    assert!(
        play.state.gate.questions.is_empty()
            && play.state.rounds.streak.len() == 1
            && play.state.gate.certificate.is_none()
    );
}

#[test]
fn accept_leads_to_the_approval_and_approve_is_refused_before() {
    let question = "orchestrator: the document is reviewed (docs/prd.md). Have you read and understood it? `--decision accept` \
                    confirms it; anything else goes to the implementer. what changed: the what";
    let refused = question.replace("orchestrator: the document", "orchestrator asked: the document");
    check(
        &format!("{READ}\nhuman: approve\nhuman: resume\nhuman: reply accept\nhuman: approve"),
        &format!(
            "#1 RUNNING codex implementer round 1
             #2 RUNNING claude reviewer round 1
             #3 RUNNING codex reviewer round 1 clean: claude
             #4 WAITING_HUMAN codex reviewer round 1 settled clean: claude, codex asks: {question}
             refused: cannot approve: the bubble is WAITING_HUMAN; {refused}
             refused: a person is asked first: {}
             #5 READY_FOR_APPROVAL round 1 tree1
             #6 APPROVED_FOR_COMMIT tree1",
            question.trim_start_matches("orchestrator: ")
        )
        .replace("\\n", " "),
    );
}

#[test]
fn any_other_answer_goes_to_the_implementer_with_the_words_and_a_fresh_budget() {
    let play = play(&format!(
        "{}\nhuman: reply 'what is a bubble?'",
        READ.replace("document\n", "document\ngiven max_rounds 2\n")
    ));
    let turn = play.state.phase.turn().unwrap();
    assert_eq!((turn.agent.as_str(), turn.seat.to_string()), ("codex", "implementer".to_owned()));
    assert!(brief(&play.state, &BriefMaterial::default()).unwrap().contains("what is a bubble?"));
    assert!(play.state.rounds.streak.is_empty(), "what was not understood is reviewed anew");
    assert_eq!(play.state.rounds.spent.looks, 0);
    let mut play = play;
    for line in [
        "codex edits docs/prd.md",
        "codex: pass step dry-run",
        "claude: pass clean stepped",
        "codex: pass clean stepped",
    ] {
        play.line(line);
    }
    assert_eq!(play.state.gate.questions[0].kind, QuestionKind::Comprehension, "it is asked again of the new text");
}

#[test]
fn a_claim_of_convergence_cannot_speak_for_the_person() {
    let play = play(&READ.replace("codex: pass clean stepped", "codex: converged explained"));
    let refused = play.lines.last().unwrap();
    let reason = "not converged yet: a person's confirmation that the document is understood; it is asked for once all else holds";
    assert_eq!(*refused, format!("refused: {reason}"));
}

#[test]
fn a_change_of_the_document_asks_anew() {
    let mut play = play(&format!("{READ}\nhuman: reply accept\nhuman: rework 'name the metric'"));
    for line in [
        "codex edits docs/prd.md",
        "codex: pass step dry-run",
        "claude: pass clean stepped",
        "codex: pass clean stepped",
    ] {
        play.line(line);
    }
    assert_eq!(play.state.gate.questions[0].kind, QuestionKind::Comprehension);
}

#[test]
fn a_check_of_a_document_is_waived_by_the_person_alone_and_the_certificate_says_so() {
    let check = play(READ).state.rules.checks[0].name.clone();
    let failing = READ.replace("start\n", &format!("{check} fails\nstart\n"));
    assert!(play(&failing).state.gate.questions.is_empty(), "a failing check holds everything up");
    let waived = failing.replace(
        "codex: pass explained step dry-run",
        &format!("human: waive {check} 'a draft'\ncodex: pass explained step dry-run"),
    );
    let play = play(&format!("{waived}\nhuman: reply accept"));
    let stand = &play.state.gate.certificate.as_ref().unwrap().checks[0].stand;
    assert_eq!(stand, "waived: a draft");
    assert!(play.package().contains("a draft"), "{}", play.package());
}

#[test]
fn at_a_tie_break_the_certificate_says_that_nobody_confirmed_to_have_understood() {
    let play = play(
        "given document
         given max_rounds 1
         start
         codex edits docs/prd.md
         codex: pass explained step dry-run
         claude: pass P1 'no scope' stepped
         human: reply accept",
    );
    let waived = play.state.gate.certificate.unwrap().waived;
    assert_eq!(
        waived,
        ["F1 P1 no scope", "two clean reviews", "the person's confirmation that the document is understood"]
    );
}

#[test]
fn a_reproducer_that_passes_does_not_resolve_a_blocker() {
    let play = play(
        "given document
         start
         codex edits docs/prd.md
         codex: pass explained step dry-run blocked 'no limit for retries'
         F1 fails
         claude: pass P1 'no limit for retries' by './repro' stepped
         codex edits docs/prd.md
         F1 passes
         codex: pass step dry-run",
    );
    assert!(play.state.ledger.open().any(|row| row.id.0 == 1 && row.unresolved()), "{:?}", play.state.ledger.rows);
}

#[test]
fn the_waiver_of_a_finding_does_not_cover_a_blocker_that_says_the_same() {
    let play = play(
        "given document
         start
         codex edits docs/prd.md
         codex: pass explained step dry-run
         claude: pass P1 'no limit for retries' stepped
         human: waive F1 'we live without'
         codex edits docs/prd.md
         codex: pass step dry-run blocked 'no limit for retries'",
    );
    assert!(play.state.ledger.open().any(|row| row.id.0 == 1 && row.unresolved()), "{:?}", play.state.ledger.rows);
}
