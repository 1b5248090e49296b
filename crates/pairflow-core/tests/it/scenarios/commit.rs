//! The last gate: approval of a tree, scope, one commit, done package.

use pairflow_core::bubble::{Command, Effect, owed};
use pairflow_core::ids::Party;
use pairflow_core::log::{Body, CommitIdentity, Lifecycle, MessageKind, Person};
use pairflow_testkit::script::{check, play};

const READY: &str = "start
    codex edits a.rs
    codex: pass 'Guard the token'
    claude: pass clean
    codex: pass clean";

#[test]
fn a_commit_needs_an_explicit_approval() {
    check(
        "start
         human: commit
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: commit
         human: approve
         human: commit",
        "#1 RUNNING codex implementer round 1
         refused: cannot commit: the bubble is RUNNING; round 1, codex has the turn as implementer
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         refused: cannot commit: the bubble is READY_FOR_APPROVAL; the package waits for a person's decision
         #5 APPROVED_FOR_COMMIT tree1
         #6 DONE commit1 tree1",
    );
}

#[test]
fn approval_is_refused_when_the_worktree_differs_from_the_reviewed_tree() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human edits b.rs, c.rs
         human: approve
         human restores b.rs, c.rs
         human: approve",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         refused: the worktree differs from the reviewed tree: b.rs, c.rs
         #5 APPROVED_FOR_COMMIT tree1",
    );
}

#[test]
fn edits_after_the_approval_do_not_touch_what_is_committed() {
    let play = play(&format!("{READY}\nhuman: approve\nhuman edits z.rs\nhuman: commit"));
    let Body::DonePackage(done) = &play.log.last().unwrap().event.body else { panic!() };
    let approval = play.log.iter().find(|one| one.event.body.kind() == MessageKind::ApprovalDecision).unwrap();
    let Body::ApprovalDecision(approval) = &approval.event.body else { panic!() };
    assert_eq!(done.tree, approval.tree);
}

#[test]
fn the_approval_is_the_persons_and_names_the_tree() {
    let play = play(&format!("{READY}\nhuman: approve"));
    let approval = play.log.last().unwrap();
    assert_eq!(approval.event.sender, Party::Human);
    assert_eq!(approval.event.body.to_json(), r#"{"decision":"approve","tree":"tree1"}"#);
}

#[test]
fn files_out_of_scope_block_the_commit_by_name() {
    check(
        "given deny secrets/**
         start
         codex edits a.rs, secrets/key
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         human: commit
         human: commit override ' '
         human: commit override 'the key is a test key'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 APPROVED_FOR_COMMIT tree1
         refused: files outside the bubble's scope would be committed: secrets/key
         refused: the reason of the override must not be empty
         #6 DONE commit1 tree1",
    );
}

#[test]
fn with_an_allow_list_everything_else_is_out_of_scope() {
    check(
        "given allow src/**
         start
         codex edits src/lib.rs, Cargo.toml
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         human: commit",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 APPROVED_FOR_COMMIT tree1
         refused: files outside the bubble's scope would be committed: Cargo.toml",
    );
}

#[test]
fn the_reason_of_an_override_is_recorded() {
    let play = play(
        "given deny a.rs
         start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         human: commit override 'the key is a test key'",
    );
    let reasons = play.log.iter().filter_map(|one| match &one.event.body {
        Body::Lifecycle(Lifecycle::CommitRequested { override_scope, .. }) => override_scope.clone(),
        _ => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), ["the key is a test key"]);
}

#[test]
fn a_commit_that_fails_can_be_tried_again() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         commit fails 'the index is locked'
         human: commit
         commit works
         human: commit",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 APPROVED_FOR_COMMIT tree1
         #6 APPROVED_FOR_COMMIT tree1 failed: the index is locked
         #7 DONE commit1 tree1",
    );
}

#[test]
fn while_a_commit_is_under_way_nothing_else_happens() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         human: commit (hold)
         human: commit (hold)
         human: rework 'no' (hold)
         human: update (hold)
         crash
         settle",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 APPROVED_FOR_COMMIT tree1
         #6 APPROVED_FOR_COMMIT tree1 committing
         refused: a commit is already under way
         refused: a commit is already under way
         refused: a commit is already under way
         #7 DONE commit1 tree1",
    );
}

#[test]
fn the_suggested_message_is_used_unless_another_is_given() {
    let order = |line: &str| {
        let play = play(&format!("{READY}\nhuman: approve\n{line} (hold)"));
        match owed(&play.state).remove(0) {
            Effect::Commit(order) => (order.message, order.hooks),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(order("human: commit"), ("Fix the login race\n\nGuard the token".to_owned(), false));
    assert_eq!(order("human: commit 'My words' hooks"), ("My words".to_owned(), true));
    let play = play(&format!("{READY}\nhuman: approve\nhuman: commit ' '"));
    assert_eq!(play.lines.last().unwrap(), "refused: the commit message must not be empty");
}

#[test]
fn the_done_package_follows_the_commit_and_names_it() {
    let play = play(&format!("{READY}\nhuman: approve\nhuman: commit"));
    let Body::DonePackage(done) = &play.log.last().unwrap().event.body else { panic!() };
    assert_eq!(done.commit.0, "commit1");
    assert_eq!(done.package, "done-package.md");
    assert_eq!(done.package_sha256, pairflow_core::hash::sha256(play.package().as_bytes()));
    assert_eq!(done.summary, "Fix the login race");
    assert_eq!(play.log.last().unwrap().event.refs, ["artifact://done-package.md"]);
}

#[test]
fn a_result_that_nobody_asked_for_is_refused() {
    check(
        "start
         raw commit-made
         raw record-done
         raw workspace-ready
         raw start-failed
         raw update-made
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         raw commit-made
         raw commit-failed
         raw snapshot-taken",
        "#1 RUNNING codex implementer round 1
         refused: this is no longer owed
         refused: this is no longer owed
         refused: this is no longer owed
         refused: this is no longer owed
         refused: this is no longer owed
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 APPROVED_FOR_COMMIT tree1
         refused: this is no longer owed
         refused: this is no longer owed
         refused: this is no longer owed",
    );
}

#[test]
fn the_merge_is_recorded_once_and_only_when_done() {
    check(
        "start
         human: merge
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         human: commit
         human: merge
         human: merge",
        "#1 RUNNING codex implementer round 1
         refused: cannot merged: the bubble is RUNNING; round 1, codex has the turn as implementer
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 APPROVED_FOR_COMMIT tree1
         #6 DONE commit1 tree1
         #7 DONE commit1 tree1
         nothing happens",
    );
}

#[test]
fn a_bubble_is_not_stopped_while_its_commit_is_under_way() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         human: commit (hold)
         human: stop (hold)
         settle
         human: stop",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 APPROVED_FOR_COMMIT tree1
         #6 APPROVED_FOR_COMMIT tree1 committing
         refused: a commit is already under way
         #7 DONE commit1 tree1
         refused: cannot stop: the bubble is DONE; its commit is commit1",
    );
}

#[test]
fn an_approval_is_of_the_package_that_was_shown() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve package another
         human: approve",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         refused: someone else was faster: the package up for approval is not the one that was shown
         #5 APPROVED_FOR_COMMIT tree1",
    );
}

#[test]
fn who_commits_is_recorded_and_changes_only_when_the_person_says_so() {
    let person = |name: &str| Some(Person { name: name.to_owned(), email: "ada@example.org".to_owned() });
    let identity = |name: &str| CommitIdentity { author: person(name), committer: person(name), ..Default::default() };
    let mut play = play("start");
    assert_eq!(play.state.about.identity, None, "a bubble of an older version has none");
    play.send(&Command::SetIdentity { identity: identity("Ada") });
    assert_eq!(play.state.about.identity, Some(identity("Ada")));
    let lines = play.log.len();
    play.send(&Command::SetIdentity { identity: identity("Ada") });
    assert_eq!(play.log.len(), lines, "the same again records nothing");
    play.send(&Command::SetIdentity { identity: identity("Eve") });
    assert_eq!(play.refold().about.identity, Some(identity("Eve")));
}
