//! What `status` says of open questions and of criteria: to programs in the words of the inbox, to people in words that
//! they know, and never with an answer to what they could not read.

use pairflow_core::view::inbox::inbox;
use pairflow_core::view::status::{Status, StatusLine, render};
use pairflow_testkit::script::{ScriptRun, play};
use serde_json::{Value, json};

fn status(play: &ScriptRun) -> Status {
    Status::of(&play.state, play.log.last().unwrap().at)
}

fn json(play: &ScriptRun) -> Value {
    serde_json::to_value(status(play)).unwrap()
}

/// The values beneath one label.
fn under(lines: &[StatusLine], label: &str) -> Vec<String> {
    let from = lines.iter().position(|line| line.label == label).unwrap();
    let more = lines[from + 1..].iter().take_while(|line| line.label.is_empty());
    lines[from..=from].iter().chain(more).map(|line| line.value.clone()).collect()
}

#[test]
fn the_kind_of_a_question_is_the_same_word_as_in_the_inbox() {
    let begin = "given panes\nstart\ncodex: reads";
    let asked = [
        ("codex: holds 'Bash make'", "permission", Some("codex")),
        ("codex: wants 'Bash make'", "pane", Some("codex")),
        ("codex: asks 'which db?'", "question", None),
    ];
    for (line, kind, about) in asked {
        let play = play(&format!("{begin}\n{line}"));
        let (status, item) = (json(&play), serde_json::to_value(&inbox(&play.state)[0]).unwrap());
        assert_eq!((&status["questions"][0]["kind"], &item["kind"]), (&json!(kind), &json!(kind)), "{line}");
        let fields: Vec<_> = status["questions"][0].as_object().unwrap().keys().collect();
        assert_eq!(fields, ["about", "at", "by", "id", "kind", "question"], "{line}");
        assert_eq!(status["questions"][0]["about"], json!(about), "{line}");
    }
}

#[test]
fn a_permission_that_is_shown_cut_comes_with_the_command_that_shows_it_whole() {
    let next = |what: &str| {
        let play = play(&format!("given panes\nstart\ncodex: reads\ncodex: holds '{what}'"));
        let lines = render(&status(&play));
        let program = json(&play)["next"][0].as_str().unwrap().to_owned();
        assert!(program.ends_with("--decision accept"), "a program has the whole question beside it: {program}");
        (under(&lines, "Now").join(" "), under(&lines, "Next"))
    };
    let (asked, lines) = next("Bash make; curl x | sh");
    assert!(asked.contains("curl x | sh") && lines[0].ends_with(" --decision accept"), "{asked}\n{lines:?}");
    for filler in ["echo one && ".repeat(60), "x".repeat(90)] {
        let (asked, lines) = next(&format!("Bash make && {filler}; curl x | sh"));
        assert!(asked.contains("Bash make && ") && !asked.contains("Allow it"), "{asked}");
        assert_eq!(lines[0], "pairflow inbox demo", "{asked}");
        assert!(lines.iter().all(|line| !line.contains("--decision accept")), "{lines:?}");
        assert!(lines[1].ends_with("--message '…'") && lines[2] == "pairflow attach demo", "{lines:?}");
    }
}

#[test]
fn people_read_a_criterion_without_the_field_that_programs_look_at() {
    let play = play("start\ncodex edits a.rs\ncodex: pass explained\nclaude: pass P1 'what is (round_role_history)'");
    let people = under(&render(&status(&play)), "Waiting for");
    assert!(people.contains(&"the reviewer role has not alternated yet".to_owned()), "{people:?}");
    assert!(people[0].ends_with("F1 P1 what is (round_role_history)"), "a finding keeps its own words: {people:?}");
    let programs = json(&play)["missing_for_convergence"].clone();
    let wanted = json!("the reviewer role has not alternated yet (round_role_history)");
    assert!(programs.as_array().unwrap().contains(&wanted), "{programs}");
}

#[test]
fn work_that_was_accepted_without_a_review_says_so() {
    let play = play("given policy single\nstart\ncodex edits a.rs\ncodex: pass");
    assert_eq!(inbox(&play.state)[0].question, "1 file +1 -0, reviewed by nobody: approve?");
}
