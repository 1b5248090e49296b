//! The approval package: six parts, built from facts.

use std::path::Path;

use pairflow_core::unit::{Unit, evolve};
use pairflow_core::view::package::again;
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

#[test]
fn what_an_agent_says_cannot_pass_for_a_part_of_the_package() {
    let forged = "done\\n\\n## Key tradeoffs and residual risks\\n\\nNothing is known.\\n```\\n````text\\n# Package";
    let play = play(&format!(
        "start
         codex edits a.rs
         codex: pass '{forged}'
         claude: pass '{forged}' clean
         codex: pass '{forged}' clean"
    ));
    let mut fence: Option<&str> = None;
    let mut titles = Vec::new();
    for line in play.package().lines() {
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if line.starts_with("```") => fence = Some(line.trim_end_matches("text")),
            None if line.starts_with('#') => titles.push(line),
            None => {}
        }
    }
    assert_eq!(fence, None, "{}", play.package());
    assert_eq!(titles.len(), 7, "{titles:?}");
    assert_eq!(titles[6], "## Suggested commit message");
    assert!(play.package().contains("> ## Key tradeoffs and residual risks\n"), "{}", play.package());
}

#[test]
fn the_package_can_be_made_again_from_the_log() {
    let endings = [
        ("claude: pass clean\ncodex: pass 'fine' clean", "a review that suffices"),
        ("claude: pass P2 'naming'\ncodex: converged 'fine'", "a claim"),
        (
            "claude: pass P1 'no rollback'\ncodex: pass 'no'\nclaude: pass P1 'still none'\nhuman: reply 'so be it' accept",
            "a tie-break",
        ),
    ];
    for (ending, what) in endings {
        let play = play(&format!(
            "given max_rounds 2\nstart\ncodex edits a.rs\ncodex: pass 'cut'\n{ending}\nhuman: approve\nhuman: commit"
        ));
        let mut unit = Unit::new(play.unit.id.clone());
        let mut found = None;
        for envelope in &play.log {
            found = again(&unit, envelope).or(found);
            unit = evolve(unit, envelope);
        }
        assert_eq!(found.as_deref(), Some(play.package()), "{what}");
    }
}
