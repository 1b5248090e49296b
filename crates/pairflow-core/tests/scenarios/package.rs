//! The approval package: six parts, built from facts.

use std::path::Path;

use pairflow_testkit::script::{Play, compare_document, play};

fn ready(more: &str) -> Play {
    play(&format!(
        "given criterion 'two logins get two tokens'
         given manual 'log in twice at once'
         given deny secrets/**
         {more}
         start
         codex edits src/lib.rs, src/token.rs, secrets/key
         codex deletes README.md
         codex: pass 'Guard the token'
         claude: pass P1 'no rollback'
         codex edits src/lib.rs
         codex: pass 'Roll back'
         claude: pass clean
         codex: pass 'fine by me' P2 'slow under load'"
    ))
}

#[test]
fn the_package_has_six_parts() {
    let play = ready("");
    let titles: Vec<_> = play.package().lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(
        titles,
        [
            "What changed",
            "Why",
            "Key tradeoffs and residual risks",
            "Changed files",
            "Suggested manual test plan",
            "Suggested commit message",
        ]
    );
}

#[test]
fn the_package_reads_like_this() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/package.md");
    compare_document(&path, ready("").package());
}

#[test]
fn the_package_lists_exactly_the_changed_files() {
    let play = ready("");
    let section = play.package().split("## Changed files\n").nth(1).unwrap().split("## ").next().unwrap().to_owned();
    let listed: Vec<_> = section.lines().filter(|line| !line.is_empty() && !line.starts_with("```")).collect();
    assert_eq!(listed, ["D README.md +0 -1", "A secrets/key +1 -0", "M src/lib.rs +1 -1", "A src/token.rs +1 -0"]);
}

#[test]
fn a_package_without_changes_says_so() {
    let play = play("start\ncodex: pass 'nothing to do'\nclaude: pass clean\ncodex: pass clean");
    assert!(play.package().contains("0 file(s) changed"));
    assert!(play.package().contains("## Changed files\n\nNone.\n"));
}

#[test]
fn the_suggested_message_is_the_first_line_of_the_task_and_what_the_implementers_said() {
    let play = ready("given task '\\n## Fix the login race\\nmore'");
    let message = pairflow_core::view::package::commit_message(&play.unit);
    assert_eq!(message, "Fix the login race\n\nGuard the token\n\nRoll back");
}

#[test]
fn a_check_that_is_not_available_is_shown() {
    let play = play(
        "start
         test cannot run
         codex edits a.rs
         codex: pass
         human: reply accept
         claude: pass clean
         codex: pass clean",
    );
    assert!(play.package().contains("- check 'test': not available"), "{}", play.package());
    assert!(play.package().contains("1. `./test` (test): not available; run it by hand"), "{}", play.package());
}

#[test]
fn the_package_exists_before_the_approval_is_asked_for() {
    let play = ready("");
    assert_eq!(play.artifacts.keys().collect::<Vec<_>>(), ["done-package.md"]);
}
