//! Claims and what they are worth: one that asks for changes is never a clean review, and a certificate says what
//! follows from the log, and nothing else.

use pairflow_core::bubble::{Unfounded, VerdictStand, recompute, recompute_verdicts};
use pairflow_core::facts::{Certificate, CleanReview};
use pairflow_core::facts::{CheckPlace, Outcome};
use pairflow_core::ids::AgentId;
use pairflow_core::log::{Body, Envelope, Evidence, Judged, Lifecycle, NextTurn, Verdict};
use pairflow_testkit::script::{ScriptRun, broken, check, play};

#[test]
fn a_review_that_asks_for_changes_and_names_nothing_grave_is_refused() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean insists
         claude: pass P3 'naming' P3 'a comma' insists
         claude: pass P3 'naming' P3 'a comma'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         refused: the review asks for changes, but nothing in it is severe enough to send the work back: file what blocks as P0 or P1, or approve
         refused: the review asks for changes, but nothing in it is severe enough to send the work back: file what blocks as P0 or P1, or approve
         #3 RUNNING codex reviewer round 1 clean: claude open: F1 P3 naming, F2 P3 a comma",
    );
}

#[test]
fn a_review_that_asks_for_changes_is_taken_where_something_blocks() {
    let last = |script: &str| play(script).lines.pop().unwrap_or_default();
    let begun = "given checks test, lint\nstart\nhuman: waive lint 'x'\ncodex edits a.rs\ncodex: pass";
    let filed = last(&format!("{begun}\nclaude: pass P1 'no rollback' P2 'naming' insists"));
    assert!(filed.contains("open: F1 P1 no rollback, F2 P2 naming"), "{filed}");
    let again =
        "claude: pass P1 'no rollback'\ncodex: pass disputes F1 'no'\nclaude: pass P2 'naming' reopens F1 insists";
    let reopened = last(&format!("{begun}\n{again}"));
    assert!(reopened.contains("open: F1 P1 no rollback [reopened], F2 P2 naming"), "{reopened}");
    let broken = "start\ncodex edits a.rs\ncodex: pass (hold)\nstep\nstep\nhuman edits b.rs\ntest fails\nsettle";
    let failing = last(&format!("{broken}\nclaude: pass P3 'a comma' insists"));
    assert!(failing.contains("codex implementer round 2"), "{failing}");
    let clean = last(&format!("{begun}\nclaude: pass P3 'a comma' insists"));
    assert!(clean.starts_with("refused: the review asks for changes"), "{clean}");
}

/// Changes what the certificate of an accepted bubble says, and returns what comes of it.
fn forged(play: &ScriptRun, change: fn(&mut Certificate)) -> (Option<Result<(), Unfounded>>, Vec<String>) {
    let mut log = play.log.clone();
    for envelope in &mut log {
        if let Body::Convergence(claim) = &mut envelope.event.body {
            change(&mut claim.certificate);
        }
    }
    (recompute(&play.state.id, &log), broken(&play.state, &log))
}

#[test]
fn a_certificate_is_recomputed_from_the_log_whatever_it_says() {
    let ready = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P3 'naming'
         codex: pass clean",
    );
    let rule = ["the certificate can be recomputed from the log".to_owned()];
    assert_eq!(forged(&ready, |_| {}), (Some(Ok(())), Vec::new()));
    let differs = Some(Err(Unfounded::Differs));
    assert_eq!(forged(&ready, |one| one.open.clear()), (differs.clone(), rule.to_vec()));
    assert_eq!(forged(&ready, |one| one.notes.push("all good".into())), (differs, rule.to_vec()));
    assert_eq!(
        forged(&ready, |one| one.waived.push("nothing".into())),
        (Some(Err(Unfounded::NotAccepted)), rule.to_vec())
    );
    assert_eq!(recompute(&ready.state.id, &ready.log[..3]), None);
}

#[test]
fn a_certificate_that_a_person_has_not_waived_for_needs_every_criterion() {
    let waived = play(
        "given max_rounds 1
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         human: reply accept",
    );
    assert_eq!(forged(&waived, |_| {}), (Some(Ok(())), Vec::new()));
    let (recomputed, _) = forged(&waived, |one| one.waived.clear());
    let other = forged(&waived, |one| one.waived.push("nothing".into())).0;
    assert_eq!(other, Some(Err(Unfounded::Waivers)));
    let Some(Err(Unfounded::Missing(missing))) = recomputed else { panic!("{recomputed:?}") };
    assert_eq!(missing[0].to_string(), "open P0/P1 findings: F1 P1 no rollback");
}

const ACCEPTED: &str = "start
     codex edits a.rs
     codex: pass
     claude: pass P1 'no rollback'
     human: waive F1 'we roll forward'
     codex: pass
     claude: pass clean
     human: waive F1 withdraw
     human: waive F1 'after all'
     codex: pass clean
     human: config test './test --all'
     claude: pass clean
     codex: pass clean
     base moves README.md
     human: update";

/// Recomputes the verdicts of a log after `change` was made to each of them.
fn verdicts(play: &ScriptRun, change: impl Fn(&mut Verdict)) -> Vec<VerdictStand> {
    let mut log = play.log.clone();
    for envelope in &mut log {
        if let Body::Verdict(verdict) = &mut envelope.event.body {
            change(verdict);
        }
    }
    recompute_verdicts(&play.state.id, &log).into_iter().map(|one| one.stand).collect()
}

#[test]
fn every_kind_of_verdict_is_recomputed_from_the_log() {
    let play = play(ACCEPTED);
    let recorded = play.log.iter().filter_map(|envelope| match &envelope.event.body {
        Body::Verdict(verdict) => Some((verdict.on.clone(), verdict.next)),
        _ => None,
    });
    let (claude, codex): (AgentId, AgentId) = ("claude".parse().unwrap(), "codex".parse().unwrap());
    let review = |by: &AgentId, round| Judged::Review { by: by.clone(), round };
    let expected = [
        (review(&claude, 1), NextTurn::Implement),
        (review(&claude, 2), NextTurn::Review),
        (Judged::Waiver, NextTurn::Stay),
        (review(&codex, 2), NextTurn::Review),
        (Judged::Checks, NextTurn::Stay),
        (review(&claude, 2), NextTurn::Review),
        (review(&codex, 2), NextTurn::Accept),
        (Judged::Merge, NextTurn::Recheck),
        (Judged::Work, NextTurn::Accept),
    ];
    assert_eq!(recorded.collect::<Vec<_>>(), expected);
    assert_eq!(verdicts(&play, |_| {}), vec![VerdictStand::Follows; 9]);
}

#[test]
fn a_changed_verdict_is_found() {
    let play = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback'");
    let review = CleanReview { agent: "claude".parse().unwrap(), round: 1, own_work: false, tree: None };
    let differs = VerdictStand::Differs;
    assert_eq!(verdicts(&play, |one| one.clean = Some(review.clone()))[0], differs);
    assert_eq!(verdicts(&play, |one| one.next = NextTurn::Accept)[0], differs);
    assert_eq!(verdicts(&play, |one| one.reasons.clear())[0], differs);
    assert_eq!(verdicts(&play, |one| one.on = Judged::Merge)[0], differs);
    assert_eq!(verdicts(&play, |one| std::mem::swap(&mut one.seats.implementer, &mut one.seats.reviewer))[0], differs);
}

#[test]
fn a_verdict_of_rules_that_are_not_known_here_is_not_recomputed() {
    let play = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback'");
    let unknown = |policy: &str, version| [VerdictStand::NotRecomputed { policy: policy.to_owned(), version }];
    assert_eq!(verdicts(&play, |one| one.version = 1), unknown("strict", 1));
    assert_eq!(verdicts(&play, |one| one.policy = "paired".to_owned()), unknown("paired", 2));
}

#[test]
fn a_verdict_of_another_known_policy_than_that_of_the_bubble_differs() {
    let play = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback'");
    assert_eq!(verdicts(&play, |one| one.policy = "single".to_owned()), [VerdictStand::Differs]);
}

#[test]
fn a_log_of_another_version_of_the_policy_is_not_recomputed_and_misses_nothing() {
    // Under the present rules this failing work would have gone back.
    let mut play = play("start\ncodex edits a.rs\ncodex: pass");
    fail_every_check(&mut play.log);
    assert_eq!(verdicts(&play, |_| {}), [VerdictStand::Missing]);
    for envelope in &mut play.log {
        if let Body::Lifecycle(Lifecycle::Created { rules, .. } | Lifecycle::StartRequested { rules }) =
            &mut envelope.event.body
        {
            assert_eq!(rules.policy_version, 2, "the version is a recorded fact");
            rules.policy_version = 9;
        }
    }
    assert_eq!(verdicts(&play, |_| {}), [VerdictStand::NotRecomputed { policy: "strict".to_owned(), version: 9 }]);
}

#[test]
fn a_recorded_line_moves_a_running_bubble_to_another_version_of_the_policy() {
    let mut play =
        play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback'\nhuman: config test 'make'");
    assert_eq!(verdicts(&play, |_| {}), [VerdictStand::Follows]);
    for envelope in &mut play.log {
        if let Body::Lifecycle(Lifecycle::Configured { rules, .. }) = &mut envelope.event.body {
            rules.policy_version = 9;
        }
    }
    assert_eq!(play.refold().rules.policy_version, 9);
    play.line("codex: pass");
    let later = VerdictStand::NotRecomputed { policy: "strict".to_owned(), version: 9 };
    assert_eq!(verdicts(&play, |_| {}), [VerdictStand::Follows, later]);
}

#[test]
fn a_verdict_that_is_missing_after_a_review_is_found() {
    let mut play = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback'");
    let at = play.log.iter().position(|envelope| matches!(envelope.event.body, Body::Verdict(_))).unwrap();
    play.log.truncate(at);
    play.log[at - 1].more = 0;
    assert_eq!(verdicts(&play, |_| {}), [VerdictStand::Missing]);
}

#[test]
fn failing_work_that_a_reviewer_got_all_the_same_is_found() {
    let mut play = play("start\ncodex edits a.rs\ncodex: pass");
    fail_every_check(&mut play.log);
    assert_eq!(verdicts(&play, |_| {}), [VerdictStand::Missing]);
}

/// Lets the log say that every check failed on the work.
fn fail_every_check(log: &mut [Envelope]) {
    for envelope in log {
        if let Body::Evidence(Evidence::Receipt { receipt }) = &mut envelope.event.body
            && receipt.place != CheckPlace::Base
        {
            receipt.outcome = Outcome::Failed { exit: Some(1), timed_out: false };
        }
    }
}

#[test]
fn a_certificate_of_another_version_of_the_rules_is_not_recomputed() {
    let mut play = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass clean");
    for envelope in &mut play.log {
        if let Body::Convergence(claim) = &mut envelope.event.body {
            claim.certificate.policy_version = 9;
        }
    }
    let other = Unfounded::NotRecomputed { policy: "strict".to_owned(), version: 9 };
    assert_eq!(recompute(&play.state.id, &play.log), Some(Err(other)));
}

#[test]
fn a_missing_verdict_on_work_that_was_merged_and_accepted_is_found() {
    let mut play = play(ACCEPTED);
    let is_last = |one: &Envelope| matches!(&one.event.body, Body::Verdict(verdict) if verdict.on == Judged::Work);
    let at = play.log.iter().rposition(is_last).unwrap();
    play.log.remove(at);
    assert!(verdicts(&play, |_| {}).contains(&VerdictStand::Missing));
}
