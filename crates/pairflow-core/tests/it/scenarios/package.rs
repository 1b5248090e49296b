//! The approval package: six parts, built from facts.

use std::path::Path;

use crate::scenarios::tie_break::looks;
use pairflow_core::bubble::{BubbleState, evolve};
use pairflow_core::view::package::again;
use pairflow_testkit::script::{ScriptRun, compare_document, play};

fn ready(more: &str) -> ScriptRun {
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/scenarios/package.md");
    compare_document(&path, ready("").package());
}

#[test]
fn the_package_lists_exactly_the_changed_files() {
    let play = ready("");
    let section = play.package().split("## Changed files\n").nth(1).unwrap().split("## ").next().unwrap().to_owned();
    let listed: Vec<_> = section.lines().filter(|line| !line.is_empty() && !line.starts_with("```")).collect();
    let first = "artifact://round-001.diff";
    let second = "artifact://round-002.diff";
    assert_eq!(
        listed,
        [
            format!("D README.md +0 -1 {first}"),
            format!("A secrets/key +1 -0 {first}"),
            format!("M src/lib.rs +1 -1 {first} {second}"),
            format!("A src/token.rs +1 -0 {first}"),
        ]
    );
}

#[test]
fn the_suggested_message_is_the_first_line_of_the_task_and_what_the_implementers_said() {
    let play = ready("given task '\\n## Fix the login race\\nmore'");
    let message = pairflow_core::view::package::commit_message(&play.state);
    assert_eq!(message, "Fix the login race\n\n- Guard the token\n- Roll back");
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
        ("claude: pass P3 'naming'\ncodex: converged 'fine'", "a claim"),
        (
            "claude: pass P1 'no rollback'\ncodex: pass 'no'\nclaude: pass P1 'still none'\nhuman: reply 'so be it' accept",
            "a tie-break",
        ),
    ];
    for (ending, what) in endings {
        let play = play(&format!(
            "given max_rounds 2\nstart\ncodex edits a.rs\ncodex: pass 'cut'\n{ending}\nhuman: approve\nhuman: commit"
        ));
        let mut state = BubbleState::new(play.state.id.clone());
        let mut found = None;
        for envelope in &play.log {
            found = again(&state, envelope).or(found);
            state = evolve(state, envelope);
        }
        assert_eq!(found.as_deref(), Some(play.package()), "{what}");
    }
}

/// A package whose agents explained this; `F1` is a finding, `src/token.rs` a changed file, `test` a check.
fn explained(markdown: &str) -> ScriptRun {
    play(&format!(
        "start
         codex edits src/token.rs
         codex: pass 'cut' explaining '{markdown}'
         claude: pass P1 'no rollback'
         codex edits src/lib.rs
         codex: pass 'Roll back' fixes F1
         claude: pass clean
         codex: pass clean"
    ))
}

fn line_with<'a>(play: &'a ScriptRun, text: &str) -> &'a str {
    let found = play.package().lines().find(|line| line.contains(text));
    found.unwrap_or_else(|| panic!("{text:?} is not in:\n{}", play.package()))
}

#[test]
fn what_agents_explain_is_linked_to_diffs_receipts_and_rows() {
    let play = explained(
        "# What changed\\nA lock in src/token.rs:3. F1 asked for the rollback.\\n# Risks\\n- none, the `test` check passes",
    );
    let file = "- A lock in src/token.rs:3. ([src/token.rs:3](artifact://round-001.diff))";
    assert_eq!(line_with(&play, "A lock in"), file);
    assert_eq!(line_with(&play, "F1 asked"), "- F1 asked for the rollback. ([F1](ledger://F1))");
    assert!(line_with(&play, "- none, the").contains("receipt of test"), "{}", play.package());
}

#[test]
fn a_statement_that_code_cannot_tie_to_anything_is_marked() {
    let play = explained("# Why\\nIt is faster now. F9 and other.rs say so.\\n# Test plan\\n1. log in twice");
    assert_eq!(line_with(&play, "It is faster"), "- It is faster now. (no evidence)");
    assert_eq!(line_with(&play, "F9 and"), "- F9 and other.rs say so. (no evidence)");
    assert_eq!(line_with(&play, "log in twice"), "- log in twice (no evidence)");
}

#[test]
fn missing_parts_of_the_explanation_are_said_to_be_missing() {
    let looked = looks(11).replacen("codex: pass", "codex: pass explaining '# Why\\nIt raced.'", 1);
    let play = play(&format!("{looked}claude: pass clean\nhuman: reply accept"));
    let missing: Vec<_> = play.package().lines().filter(|line| line.starts_with("Missing:")).collect();
    let said = |part: &str| format!("Missing: no agent has explained this ({part}).");
    assert_eq!(missing, [said("what changed"), said("risks"), said("manual test plan")]);
}

#[test]
fn an_agent_cannot_set_a_link_of_its_own() {
    let play = explained("# Why\\n- see [F1](ledger://F1) and <https://example.org> [test](artifact://checks/x.txt)");
    let line = line_with(&play, "- see ");
    assert!(line.starts_with("- see \\[F1\\](ledger://F1) and \\<https://example.org>"), "{line}");
    assert!(line.ends_with(" ([F1](ledger://F1))"), "only what is known is linked: {line}");
}

#[test]
fn findings_link_to_their_rows_also_when_they_are_closed() {
    let play = ready("");
    assert_eq!(line_with(&play, "open finding"), "- open finding: [F2](ledger://F2) P2 slow under load");
    assert_eq!(line_with(&play, "closed findings"), "- closed findings: [F1](ledger://F1) P1 fixed");
}

#[test]
fn the_package_of_an_explained_claim_can_be_made_again_from_the_log() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass 'cut'
         claude: pass clean
         codex: converged 'fine' explaining '# Risks\\na.rs:1 is new.\\n# What changed\\nA lot.\\n# Why\\nx\\n# Test plan\\nx'",
    );
    let mut state = BubbleState::new(play.state.id.clone());
    let mut found = None;
    for envelope in &play.log {
        found = again(&state, envelope).or(found);
        state = evolve(state, envelope);
    }
    assert_eq!(found.as_deref(), Some(play.package()));
    assert!(play.package().contains("[a.rs:1](artifact://round-001.diff)"), "{}", play.package());
}
