//! The person's side of the gate: inbox, reply, approve, request-rework and commit.

use pairflow_testkit::home::Home;
use serde_json::{Value, json};

use crate::support::bubbles::{created, handed_over, home, ready, started};
use crate::support::log::lines_of;
use crate::support::terminal::on_terminal;

#[test]
fn an_empty_inbox_says_so() {
    let home = home();
    created(&home, "b1");
    home.pairflow(&["inbox", "b1"]).ok().says("Nothing waits for you in bubble b1");
    assert_eq!(home.pairflow(&["inbox", "b1", "--json"]).ok().json()["items"], json!([]));
    home.pairflow(&["inbox", "nope"]).ends(1);
}

#[test]
fn a_question_is_asked_shown_and_answered_and_the_turn_goes_on() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    codex.pairflow(&["ask-human", "--question", "May the API change?"]).ok().says("Asked as msg_");
    assert_eq!(home.status("b1")["state"], "WAITING_HUMAN");
    let item = home.pairflow(&["inbox", "b1", "--json"]).ok().json()["items"][0].clone();
    assert_eq!((&item["kind"], &item["by"]), (&json!("question"), &json!("codex")));
    home.pairflow(&["inbox"]).ok().says("codex asks: May the API change?").says("pairflow reply b1");
    codex.pairflow(&["pass", "--summary", "anyway"]).ends(1).says("a person is asked first");
    home.pairflow(&["resume", "b1"]).ends(1).says("a person is asked first");
    home.pairflow(&["reply", "b1", "--message", "no", "--decision", "accept"])
        .ends(1)
        .says("does not take that decision");
    home.pairflow(&["reply", "b1", "--message", "no"]).ok().says("codex continues in bubble b1");
    home.wait_for_turn("b1", "codex");
    home.pairflow(&["reply", "b1", "--message", "again"]).ends(1).says("no question is open");
}

#[test]
fn of_several_questions_one_has_to_be_named() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.pairflow(&["ask-human", "--question", "first?"]).ok();
    claude.pairflow(&["ask-human", "--question", "second?"]).ok();
    home.pairflow(&["reply", "b1", "--message", "yes"]).ends(1).says("2 questions are open").says("--question msg_");
    let items = home.pairflow(&["inbox", "b1", "--json"]).ok().json()["items"].clone();
    let id = items[1]["id"].as_str().unwrap();
    home.pairflow(&["reply", "b1", "--message", "yes", "--question", id]).ok().says("1 more open");
    home.pairflow(&["reply", "b1", "--message", "yes", "--question", id]).ends(1).says("is not an open question");
    home.pairflow(&["reply", "b1", "--message", "yes"]).ok();
    assert_eq!(home.status("b1")["state"], "RUNNING");
}

#[test]
fn approve_needs_a_package() {
    let home = home();
    created(&home, "b1");
    home.pairflow(&["approve", "b1", "--yes"]).ends(1).says("the bubble is CREATED");
    home.pairflow(&["start", "b1"]).ok();
    home.pairflow(&["approve", "b1", "--yes"]).ends(1).says("RUNNING");
    home.pairflow(&["commit", "b1", "--yes"]).ends(1).says("RUNNING");
    home.pairflow(&["request-rework", "b1", "--message", "x"]).ends(1).says("RUNNING");
    home.pairflow(&["approve", "nope", "--yes"]).ends(1).says("there is no bubble 'nope'");
}

#[test]
fn approve_refuses_a_worktree_that_is_not_what_was_reviewed() {
    let home = home();
    let (codex, _) = ready(&home, "b1");
    codex.write("late.txt", "sneaked in\n");
    home.pairflow(&["approve", "b1", "--yes"]).ends(1).says("late.txt").says("pairflow request-rework b1");
    std::fs::remove_file(codex.worktree.join("late.txt")).unwrap();
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["approve", "b1", "--yes"]).ends(1).says("APPROVED_FOR_COMMIT");
}

#[test]
fn edits_after_the_approval_are_not_committed_but_reported() {
    let home = home();
    let (codex, _) = ready(&home, "b1");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    codex.write("late.txt", "sneaked in\n");
    let hooks = home.repo.join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    pairflow_testkit::home::write_program(&hooks.join("pre-commit"), "#!/bin/sh\nexit 1\n");
    home.pairflow(&["commit", "b1", "-m", "My own words", "--yes"])
        .ok()
        .says("stay in the worktree: late.txt")
        .says("hooks were not run");
    assert_eq!(home.git(&["log", "-1", "--format=%s", "bubble/b1"]), "My own words");
    assert_eq!(home.git(&["ls-tree", "--name-only", "bubble/b1"]), "README.md\ndone.txt");
    assert!(codex.worktree.join("late.txt").exists());
    home.pairflow(&["commit", "b1", "--yes"]).ends(1).says("DONE");
}

#[test]
fn rework_sends_the_work_back_also_after_the_approval() {
    let home = home();
    ready(&home, "b1");
    home.pairflow(&["request-rework", "b1", "--message", "x", "--finding", "F9"]).ends(1).says("F9");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["request-rework", "b1", "--message", "handle the empty list"]).ok().says("as implementer");
    let status = home.wait_for("b1", |status| status["turn_state"] == "open");
    assert_eq!((&status["state"], &status["active_role"]), (&json!("RUNNING"), &json!("implementer")));
    let holder = status["active_agent"].as_str().unwrap();
    assert_eq!(holder, "codex", "who was chosen to implement");
    let brief = home.repo.join(format!(".pairflow/bubbles/b1/artifacts/brief-{holder}.md"));
    assert!(std::fs::read_to_string(brief).unwrap().contains("handle the empty list"));
    assert_eq!(decisions(&home, "b1"), ["approve", "revise"]);
}

/// Returns the words of the person's decisions on the package.
fn decisions(home: &Home, id: &str) -> Vec<Value> {
    lines_of(home, id, "APPROVAL_DECISION").iter().map(|line| line["payload"]["decision"].clone()).collect()
}

#[test]
fn a_rejection_is_recorded_as_one() {
    let home = home();
    ready(&home, "b1");
    home.pairflow(&["request-rework", "b1", "--reject", "--message", "start over"]).ok().says("as implementer");
    assert_eq!(decisions(&home, "b1"), ["reject"]);
}

#[test]
fn files_out_of_scope_block_the_commit_unless_a_reason_is_given() {
    let home = home();
    home.commit("pairflow.toml", "[scope]\ndeny = [\"done.txt\"]\n", "configuration");
    ready(&home, "b1");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ends(1).says("done.txt").says("--override-scope --reason");
    home.pairflow(&["commit", "b1", "--override-scope", "--yes"]).ends(2);
    home.pairflow(&["commit", "b1", "--override-scope", "--reason", "it had to be", "--yes"]).ok();
}

#[test]
fn a_tie_break_is_decided_by_the_person() {
    let home = home();
    home.commit("pairflow.toml", "max_rounds = 1\n", "configuration");
    let (_, claude) = handed_over(&home, "b1");
    claude.pairflow(&["pass", "--summary", "no", "--finding", "P1:wrong"]).ok();
    home.wait_for_state("b1", "WAITING_HUMAN");
    home.pairflow(&["inbox", "b1"]).ok().says("--decision accept").says("--decision continue");
    home.pairflow(&["resume", "b1"]).ends(1);
    home.pairflow(&["reply", "b1", "--decision", "accept"]).ok().says("READY_FOR_APPROVAL");
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn what_cannot_be_taken_back_is_asked_about_or_confirmed_with_yes() {
    let home = home();
    let refused = |args: &[&str], question: &str| {
        let ran = home.pairflow(args).ends(1).says(question).says("There is no terminal to ask on; add --yes.");
        assert!(ran.stderr.contains(&format!("next: pairflow {} --yes\n", args.join(" "))), "{ran:?}");
    };
    ready(&home, "b1");
    refused(&["approve", "b1"], "Approve tree ");
    refused(&["ok", "b1"], "Approve tree ");
    assert_eq!(home.status("b1")["state"], "READY_FOR_APPROVAL");
    home.pairflow(&["commit", "b1"]).ends(1).says("cannot commit: the bubble is READY_FOR_APPROVAL");
    let (code, shown) = on_terminal(home.command(&["approve", "b1"]), &[("of b1? [y/N]", "n\n")]);
    assert_eq!((code, shown.contains("nothing was changed")), (1, true), "{shown}");
    let (code, shown) = on_terminal(home.command(&["approve", "b1"]), &[("of b1? [y/N]", "y\n")]);
    assert_eq!(code, 0, "{shown}");
    refused(&["commit", "b1"], "Commit the approved tree ");
    refused(&["ok", "b1"], "Commit the approved tree ");
    assert_eq!(home.status("b1")["state"], "APPROVED_FOR_COMMIT");
    home.pairflow(&["commit", "b1", "-y"]).ok();
    home.wait_for_state("b1", "DONE");
    refused(&["merge", "b1", "--here"], "Merge bubble b1 into main?");
    refused(&["ok", "b1", "--merge", "--here"], "Merge bubble b1 into main?");
    refused(&["delete", "b1"], "Its commit is not merged yet; the archive keeps it. Delete bubble b1 (DONE)?");
    home.pairflow(&["merge", "b1", "--here", "--yes"]).ok();
    started(&home, "b2");
    refused(&["stop", "b2"], "Cancel bubble b2 (RUNNING) for good?");
}
