//! When the work is accepted, and every reason why it is not yet.

use pairflow_core::ids::Party;
use pairflow_core::log::{Body, MessageKind};
use pairflow_testkit::script::{check, play};

#[test]
fn a_clean_pass_that_completes_the_criteria_accepts() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1",
    );
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass 'all is well' clean",
    );
    let claim = play.log.iter().find(|one| one.event.body.kind() == MessageKind::Convergence).unwrap();
    assert_eq!(claim.event.sender, Party::Orchestrator);
    let Body::Convergence(claim) = &claim.event.body else { panic!() };
    assert_eq!(claim.summary, "all is well");
}

#[test]
fn converged_counts_as_the_callers_clean_review_if_that_completes_the_criteria() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: converged 'nothing grave is left'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1",
    );
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: converged 'nothing grave is left'",
    );
    let claim = play.log.iter().find(|one| one.event.body.kind() == MessageKind::Convergence).unwrap();
    assert_eq!(claim.event.sender.to_string(), "codex");
    assert_eq!(claim.event.recipient, Party::Orchestrator);
    let Body::Convergence(claim) = &claim.event.body else { panic!() };
    assert_eq!(claim.certificate.reviews.len(), 2);
    assert!(play.package().contains("last review, by codex in round 1: nothing grave is left"), "{}", play.package());
}

#[test]
fn converged_is_refused_for_the_implementer() {
    check(
        "start
         codex: converged
         codex edits a.rs
         codex: pass
         codex: converged",
        "#1 RUNNING codex implementer round 1
         refused: only the reviewer may declare convergence; codex is the implementer of round 1
         #2 RUNNING claude reviewer round 1
         refused: round 1 is claude's turn, as reviewer; codex has nothing to hand over",
    );
}

#[test]
fn converged_is_refused_before_the_reviewer_role_has_alternated() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: converged
         claude: pass clean
         codex: converged",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         refused: not converged yet: a second clean review of this tree by another agent (clean so far: claude); the reviewer role has not alternated yet (round_role_history)
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn converged_is_refused_with_every_unmet_criterion_at_once() {
    check(
        "given checks test, lint
         start
         test fails
         codex edits a.rs
         codex: pass
         codex edits a.rs
         codex: pass 'still red'
         codex edits a.rs
         codex: pass 'red again'
         codex edits a.rs
         codex: pass 'I give up'
         claude edits b.rs, c.rs
         claude: converged",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1 failing: test
         #3 RUNNING codex implementer round 1 failing: test
         #4 RUNNING codex implementer round 1 failing: test
         #5 RUNNING claude reviewer round 1 failing: test
         refused: not converged yet: the check 'test' fails on this tree; a second clean review of this tree by another agent (clean so far: claude); the reviewer role has not alternated yet (round_role_history); files changed during the review: b.rs, c.rs",
    );
}

#[test]
fn converged_is_refused_while_a_check_fails() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean (hold)
         step
         step
         human edits a.rs
         test fails
         settle
         codex: converged",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING claude reviewer round 1 closing
         #4 RUNNING codex reviewer round 1 opening clean: claude
         #5 RUNNING codex reviewer round 1 opening clean: claude
         #6 RUNNING codex reviewer round 1 failing: test
         refused: not converged yet: the check 'test' fails on this tree; a second clean review of this tree by another agent (clean so far: codex)",
    );
}

#[test]
fn converged_is_refused_when_the_reviewer_changed_files() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex edits b.rs
         codex: converged
         codex restores b.rs
         codex: converged",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         refused: not converged yet: files changed during the review: b.rs
         #4 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn converged_is_refused_while_a_question_is_open() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         claude: asks 'may it be slow?'
         codex: converged
         codex: pass clean
         human: reply 'yes'
         codex: converged",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 WAITING_HUMAN codex reviewer round 1 clean: claude asks: claude: may it be slow?
         refused: a person is asked first: may it be slow?
         refused: a person is asked first: may it be slow?
         #5 RUNNING codex reviewer round 1 clean: claude
         #6 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn converged_without_words_is_refused() {
    check(
        "start
         codex: pass
         claude: pass clean
         codex: converged ' '",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         refused: the summary must not be empty",
    );
}

#[test]
fn a_refused_claim_counts_nothing() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: converged
         claude: converged",
    );
    assert_eq!((play.state.rounds.spent.looks, play.state.rounds.round), (0, 1));
    assert!(play.state.rounds.streak.is_empty());
}

#[test]
fn a_question_asked_while_the_last_review_is_recorded_holds_acceptance_back() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean (hold)
         claude: asks 'may it be slow?' (hold)
         settle
         human: reply 'yes'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING codex reviewer round 1 closing clean: claude
         #5 WAITING_HUMAN codex reviewer round 1 closing clean: claude asks: claude: may it be slow?
         #6 WAITING_HUMAN codex reviewer round 1 settled clean: claude, codex asks: claude: may it be slow?
         #7 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn a_pause_while_the_last_review_is_recorded_holds_acceptance_back() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean (hold)
         human: pause (hold)
         settle
         human: resume",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING codex reviewer round 1 closing clean: claude
         #5 RUNNING codex reviewer round 1 closing paused clean: claude
         #6 RUNNING codex reviewer round 1 settled paused clean: claude, codex
         #7 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn the_approval_request_follows_the_convergence_in_the_same_append() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean",
    );
    let tail: Vec<_> = play.log.iter().rev().take(4).map(|one| (one.event.body.kind(), one.more)).collect();
    let expected = [
        (MessageKind::ApprovalRequest, 0),
        (MessageKind::Convergence, 1),
        (MessageKind::Verdict, 2),
        (MessageKind::Evidence, 3),
    ];
    assert_eq!(tail, expected);
}

#[test]
fn the_certificate_names_reviews_checks_history_and_what_pairflow_cannot_vouch_for() {
    let play = play(
        "given persistent
         start
         codex edits a.rs
         codex: pass
         claude: pass P3 'slow'
         codex: pass P3 'naming'",
    );
    let json = serde_json::to_value(play.state.gate.certificate.unwrap()).unwrap();
    let expected = serde_json::json!({
        "policy": "strict",
        "policy_version": 2,
        "max_rounds": 8,
        "tree": "tree1",
        "reviews": [
            {"agent": "claude", "round": 1, "own_work": false},
            {"agent": "codex", "round": 1, "own_work": true},
        ],
        "checks": [{"check": "test", "stand": "passed"}],
        "open": [
            {"id": "F1", "severity": "P3", "title": "slow"},
            {"id": "F2", "severity": "P3", "title": "naming"},
        ],
        "ledger": [
            {"id": "F1", "severity": "P3", "state": "open", "settled": false},
            {"id": "F2", "severity": "P3", "state": "open", "settled": false},
        ],
        "round_role_history": [
            {"round": 1, "implementer": "codex", "reviewer": "claude"},
            {"round": 1, "implementer": "claude", "reviewer": "codex"},
        ],
        "looks": 2,
        "looks_needed": 2,
        "notes": [
            "external agents: pairflow cannot vouch that each review began with a fresh context",
            "reviewer_context_mode = \"persistent\": reviews did not begin with a fresh context",
        ],
    });
    assert_eq!(json, expected);
}
