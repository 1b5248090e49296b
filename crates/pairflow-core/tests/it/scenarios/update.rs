//! The base branch moves: it is merged as the person's work, and reviewed.

use pairflow_core::facts::CheckPlace;
use pairflow_core::ids::Party;
use pairflow_core::log::{Body, Evidence};
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_core::view::package::render;
use pairflow_testkit::script::{check, play};

const ACCEPTED: &str = "start\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass clean";

#[test]
fn an_update_of_accepted_work_is_checked_and_reviewed_twice_again() {
    check(
        "start
         codex edits a.rs
         codex edits b.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         base moves b.rs
         human: update
         codex: pass clean
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 RUNNING codex reviewer round 1
         #6 RUNNING claude reviewer round 1 clean: codex
         #7 READY_FOR_APPROVAL round 1 tree2",
    );
}

#[test]
fn an_update_of_approved_work_withdraws_the_approval() {
    check(
        "start
         codex edits a.rs
         codex edits b.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         base moves b.rs
         human: update
         human: commit",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 APPROVED_FOR_COMMIT tree1
         #6 RUNNING codex reviewer round 1
         refused: cannot commit: the bubble is RUNNING; round 1, codex has the turn as reviewer",
    );
}

#[test]
fn clean_reviews_are_kept_where_the_base_changed_no_file_of_the_work() {
    let mut play = play(ACCEPTED);
    play.line("human: approve");
    play.line("base moves README.md");
    play.line("human: update");
    assert!(play.lines.last().unwrap().contains("READY_FOR_APPROVAL  round 1 tree2"), "{:?}", play.lines);
    let certificate = play.state.gate.certificate.as_ref().unwrap();
    assert_eq!(certificate.tree.0, "tree2");
    let trees: Vec<_> = certificate.reviews.iter().map(|review| review.tree.as_ref().unwrap().0.as_str()).collect();
    assert_eq!(trees, ["tree1", "tree1"], "the certificate names what was reviewed");
    let fresh = play
        .state
        .evidence
        .receipts
        .iter()
        .all(|receipt| receipt.place == CheckPlace::Fresh && receipt.tree.0 == "tree2");
    assert!(fresh && !play.state.evidence.receipts.is_empty(), "{:?}", play.state.evidence.receipts);
    let package = render(&play.state, certificate, "");
    assert!(package.contains("of tree tree1; the base was merged since"), "{package}");
}

#[test]
fn kept_reviews_do_not_accept_a_merged_tree_on_which_a_check_fails() {
    let mut play = play(ACCEPTED);
    play.line("base moves README.md");
    play.line("test fails afresh");
    play.line("human: update");
    let question = &play.state.gate.questions[0].question;
    assert!(
        question.starts_with("since main was merged into the reviewed work, the check 'test' fails."),
        "{question}"
    );
    play.line("human: reply 'adapt the work'");
    assert!(play.lines.last().unwrap().contains("RUNNING  claude implementer round 2"), "{:?}", play.lines);
    let told = brief(&play.state, &BriefMaterial::default()).unwrap();
    assert!(told.contains("**Since main was merged into the work: the check 'test' fails.**"), "{told}");
    play.line("test passes afresh");
    play.line("claude edits a.rs");
    play.line("claude: pass");
    assert!(play.state.rounds.streak.is_empty(), "what was changed is reviewed again: {:?}", play.lines);
}

#[test]
fn a_first_clean_review_is_kept_and_the_second_is_of_the_merged_tree() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         base moves README.md
         human: pause
         human: update
         human: resume
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING codex reviewer round 1 paused clean: claude
         #5 RUNNING codex reviewer round 1 opening paused clean: claude unchecked: test
         #6 RUNNING codex reviewer round 1 clean: claude
         #7 READY_FOR_APPROVAL round 1 tree2",
    );
}

#[test]
fn work_that_was_changed_since_its_review_is_reviewed_again_whatever_the_base_changed() {
    let mut play = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass clean");
    play.line("human: pause");
    play.line("codex edits c.rs");
    play.line("base moves README.md");
    play.line("human: update");
    assert!(play.state.rounds.streak.is_empty(), "{:?}", play.lines);
}

#[test]
fn during_a_turn_an_update_needs_a_pause() {
    check(
        "start
         base moves README.md
         human: update
         human: pause
         human: update
         human: resume
         codex edits a.rs
         codex: pass",
        "#1 RUNNING codex implementer round 1
         refused: cannot update: the bubble is RUNNING; an agent is working; pause the bubble first
         #2 RUNNING codex implementer round 1 paused
         #3 RUNNING codex implementer round 1 opening paused
         #4 RUNNING codex implementer round 1
         #5 RUNNING claude reviewer round 1",
    );
}

#[test]
fn the_merged_tree_is_the_persons_work_and_the_agents_part_stays_the_agents() {
    let play = play(
        "start
         codex edits a.rs
         base moves README.md
         human: pause
         human: update",
    );
    let authors = play.log.iter().filter_map(|envelope| match &envelope.event.body {
        Body::Evidence(Evidence::Snapshot { snapshot }) => Some(snapshot.author.clone()),
        _ => None,
    });
    assert_eq!(authors.collect::<Vec<_>>(), [Some(Party::Agent("codex".parse().unwrap())), Some(Party::Human)]);
}

#[test]
fn an_update_of_the_same_files_clears_the_streak() {
    check(
        "start
         codex edits a.rs
         codex edits b.rs
         codex: pass
         claude: pass clean
         base moves b.rs
         human: pause
         human: update
         human: resume
         codex: pass clean
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING codex reviewer round 1 paused clean: claude
         #5 RUNNING codex reviewer round 1 opening paused unchecked: test
         #6 RUNNING codex reviewer round 1
         #7 RUNNING claude reviewer round 1 clean: codex
         #8 READY_FOR_APPROVAL round 1 tree2",
    );
}

#[test]
fn an_update_while_acceptance_is_held_back_leads_to_another_review() {
    check(
        "start
         codex edits a.rs
         codex edits b.rs
         codex: pass
         claude: pass clean
         codex: pass clean (hold)
         human: pause
         base moves b.rs
         human: update
         human: resume
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING codex reviewer round 1 closing clean: claude
         #5 RUNNING codex reviewer round 1 settled paused clean: claude, codex
         #6 RUNNING codex reviewer round 1 opening paused unchecked: test
         #7 RUNNING codex reviewer round 1
         #8 RUNNING claude reviewer round 1 clean: codex",
    );
}

#[test]
fn an_update_while_acceptance_is_held_back_costs_no_round() {
    check(
        "given max_rounds 1
         start
         codex edits a.rs
         codex edits b.rs
         codex: pass
         claude: pass clean
         codex: pass clean (hold)
         human: pause
         base moves b.rs
         human: update
         human: resume",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING codex reviewer round 1 closing clean: claude
         #5 RUNNING codex reviewer round 1 settled paused clean: claude, codex
         #6 RUNNING codex reviewer round 1 opening paused unchecked: test
         #7 RUNNING codex reviewer round 1",
    );
}

#[test]
fn an_update_waits_for_the_snapshot_of_a_hand_over() {
    check(
        "given max_rounds 1
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' (hold)
         human: pause (hold)
         base moves README.md
         human: update (hold)
         raw update-made (hold)
         settle",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING claude reviewer round 1 closing open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 1 closing paused open: F1 P1 no rollback
         #5 RUNNING claude reviewer round 1 closing paused updating open: F1 P1 no rollback
         refused: this is no longer owed
         #6 WAITING_HUMAN codex implementer round 1 opening paused unchecked: test open: F1 P1 no rollback asks: orchestrator: one round has ended without agreement; one P0/P1 finding is open.",
    );
}

#[test]
fn while_the_base_is_merged_nobody_resumes_approves_or_commits() {
    check(
        "start
         human: pause
         human: update (hold)
         human: update (hold)
         human: resume (hold)
         raw turn-ready (hold)
         settle
         human: resume",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING codex implementer round 1 paused
         #3 RUNNING codex implementer round 1 paused updating
         nothing happens
         refused: cannot resume: the bubble is RUNNING; the base branch is being merged into the worktree
         refused: this is no longer owed
         #4 RUNNING codex implementer round 1 opening paused
         #5 RUNNING codex implementer round 1",
    );
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: update (hold)
         human: approve (hold)
         human: stop (hold)
         raw update-made",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 READY_FOR_APPROVAL round 1 tree1 updating
         refused: cannot approve: the bubble is READY_FOR_APPROVAL; the base branch is being merged into the worktree
         #6 CANCELLED
         refused: this is no longer owed",
    );
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         human: update (hold)
         human: commit (hold)
         raw update-failed",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 APPROVED_FOR_COMMIT tree1
         #6 APPROVED_FOR_COMMIT tree1 updating
         refused: cannot commit: the bubble is APPROVED_FOR_COMMIT; the base branch is being merged into the worktree
         #7 APPROVED_FOR_COMMIT tree1",
    );
}

#[test]
fn an_update_that_fails_changes_nothing() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         update fails 'README.md has a conflict'
         human: update
         human: approve",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 READY_FOR_APPROVAL round 1 tree1
         #6 APPROVED_FOR_COMMIT tree1",
    );
}

#[test]
fn rework_while_the_base_is_merged_opens_no_turn_before_the_merge_is_done() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         base moves README.md
         human: update (hold)
         human: rework 'name the token' (hold)
         raw turn-ready (hold)
         settle",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 READY_FOR_APPROVAL round 1 tree1 updating
         #6 RUNNING codex implementer round 2 opening updating
         refused: this is no longer owed
         #7 RUNNING codex implementer round 2",
    );
}
