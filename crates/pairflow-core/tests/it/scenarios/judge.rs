//! A dispute that the agents cannot settle: a judge decides it, and a person where a judge is not enough.

use pairflow_core::bubble::StateFields;
use pairflow_core::log::QuestionKind;
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_testkit::script::{ScriptRun, check, play};

use super::ledger::rows;

const INSISTS: &str = "start
     codex edits a.rs
     codex: pass
     claude: pass P1 'no rollback'
     codex: pass disputes F1 'there is one in b.rs'
     claude: pass reopens F1";

fn insists(then: &str) -> ScriptRun {
    play(&format!("{INSISTS}\n{then}"))
}

#[test]
fn a_disputed_p1_on_which_the_reviewer_insists_goes_to_a_judge() {
    check(
        INSISTS,
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback [disputed]
         #5 RUNNING claude judge round 2 open: F1 P1 no rollback [reopened]",
    );
    let fields = StateFields::of(&insists("").state);
    assert_eq!(serde_json::to_value(&fields).unwrap()["active_role"], "judge");
}

#[test]
fn what_a_judge_upholds_is_fixed() {
    let play =
        insists("claude: upholds F1 'b.rs has none'\ncodex edits a.rs\ncodex: pass fixes F1\nclaude: pass clean");
    assert_eq!(
        play.lines[5..],
        [
            "#6 RUNNING  codex implementer round 3  open: F1 P1 no rollback [reopened]",
            "#7 RUNNING  claude reviewer round 3  open: F1 P1 no rollback [fixed]",
            "#8 RUNNING  codex reviewer round 3  clean: claude",
        ]
    );
}

#[test]
fn what_a_judge_dismisses_is_closed_and_another_look_is_needed() {
    let play = insists("claude: dismisses F1 'b.rs has one'");
    assert_eq!(rows(&play), ["F1 P1 no rollback: dismissed, closed"]);
    assert_eq!(play.lines.last().unwrap(), "#6 RUNNING  claude reviewer round 2");
    assert!(play.state.rounds.streak.is_empty(), "a decision is no clean review");
    let accepted = insists("claude: dismisses F1 'b.rs has one'\nclaude: pass clean\ncodex: pass clean");
    assert!(accepted.lines.last().unwrap().contains("READY_FOR_APPROVAL"), "{:?}", accepted.lines);
}

#[test]
fn a_dismissed_row_is_opened_again_only_by_a_command_that_shows_it() {
    let again = |line: &str| insists(&format!("claude: dismisses F1 'b.rs has one'\n{line}"));
    let refused = again("claude: pass reopens F1");
    assert!(refused.lines.last().unwrap().contains("F1 was dismissed; only a command"), "{:?}", refused.lines);
    let repeated = again("claude: pass P1 'no rollback' repeats F1");
    assert_eq!(rows(&repeated), ["F1 P1 no rollback: dismissed, closed"]);
    assert_eq!(repeated.lines.last().unwrap(), "#7 RUNNING  codex reviewer round 2  clean: claude");
    let shown = again("claude: pass P1 'no rollback' by './repro' repeats F1");
    assert_eq!(rows(&shown), ["F1 P1 no rollback: reopened"]);
    assert!(shown.lines.last().unwrap().contains("codex implementer round 3"), "{:?}", shown.lines);
    let not_shown = again("F1 reproducer passes\nclaude: pass P1 'no rollback' by './repro' repeats F1");
    assert_eq!(rows(&not_shown), ["F1 P1 no rollback: dismissed, closed"], "the command shows nothing");
}

#[test]
fn a_command_that_shows_the_fault_needs_no_judge() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex: pass disputes F1 'there is one in b.rs'
         claude: pass P1 'no rollback' by './repro' repeats F1",
    );
    assert_eq!(play.lines.last().unwrap(), "#5 RUNNING  codex implementer round 3  open: F1 P1 no rollback [reopened]");
}

#[test]
fn a_third_agent_judges() {
    let play = play(&format!("given agents codex, claude, gemini\n{INSISTS}"));
    assert_eq!(play.lines.last().unwrap(), "#5 RUNNING  gemini judge round 2  open: F1 P1 no rollback [reopened]");
    let second = play_lines(
        "given agents codex, claude, gemini
         start
         codex edits a.rs
         codex: pass
         claude: pass clean
         gemini: pass P1 'no rollback'
         codex: pass disputes F1 'there is one'
         gemini: pass reopens F1",
    );
    assert_eq!(
        second.last().unwrap(),
        "#6 RUNNING  claude judge round 2  clean: claude  open: F1 P1 no rollback [reopened]",
        "nobody judges its own finding where a third agent can"
    );
}

#[test]
fn a_dispute_of_what_a_judge_upheld_is_for_the_person() {
    let play = insists("claude: upholds F1 'b.rs has none'\ncodex: pass disputes F1 'there is'");
    let asked = &play.state.gate.questions[0];
    assert_eq!((asked.kind, asked.findings.len()), (QuestionKind::Deadlock, 1));
    for part in ["only you can decide it", "no rollback", "there is", "the judge: upheld, b.rs has none"] {
        assert!(asked.question.contains(part), "{part}: {}", asked.question);
    }
    let line = |reply: &str| {
        insists(&format!(
            "claude: upholds F1 'b.rs has none'\ncodex: pass disputes F1 'there is'\nhuman: reply {reply}"
        ))
    };
    let finding = line("'add it' side-with-finding\ncodex: pass disputes F1 'no'");
    assert_eq!(rows(&finding), ["F1 P1 no rollback: reopened"]);
    assert_eq!(
        finding.lines.last().unwrap(),
        "refused: the person decided that F1 holds: fix it, or ask with 'pairflow ask-human'"
    );
    let implementer = line("'b.rs is enough' side-with-implementer");
    assert_eq!(rows(&implementer), ["F1 P1 no rollback: dismissed, closed"]);
    assert!(implementer.lines.last().unwrap().contains("claude reviewer"), "{:?}", implementer.lines);
    let on = line("continue");
    assert_eq!(rows(&on), ["F1 P1 no rollback: disputed"], "the agents go on about it");
    assert!(on.lines.last().unwrap().contains("claude reviewer"), "{:?}", on.lines);
}

#[test]
fn a_p0_is_dismissed_by_a_person_only() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P0 'drops the table'
         codex: pass disputes F1 'it does not'
         claude: pass reopens F1
         claude: dismisses F1 'no table here'",
    );
    assert_eq!(rows(&play), ["F1 P0 drops the table: disputed"]);
    assert_eq!(play.state.gate.questions[0].kind, QuestionKind::Deadlock);
}

#[test]
fn minor_findings_and_what_was_not_disputed_go_to_no_judge() {
    let minor = play_lines(
        "start\ncodex edits a.rs\ncodex: pass\nclaude: pass P2 'slow'\ncodex: pass disputes F1 'no'\nclaude: pass reopens F1",
    );
    assert!(!minor.last().unwrap().contains("judge"), "{minor:?}");
    let not_fixed = play_lines(
        "start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'slow'\ncodex: pass fixes F1\nclaude: pass reopens F1",
    );
    assert!(!not_fixed.last().unwrap().contains("judge"), "{not_fixed:?}");
}

#[test]
fn only_the_judge_judges_only_what_it_was_asked_and_hands_nothing_else_over() {
    let last = |line: &str| insists(line).lines.pop().unwrap();
    assert_eq!(last("claude: pass clean"), "refused: claude is the judge in round 2; a judge hands no work over");
    assert!(last("codex: upholds F1").contains("codex has nothing to hand over"), "{}", last("codex: upholds F1"));
    assert_eq!(last("claude: upholds F9"), "refused: F9 is not the dispute to decide; it is F1");
    let reviewer = play_lines("start\ncodex edits a.rs\ncodex: pass\nclaude: upholds F1");
    assert_eq!(
        reviewer.last().unwrap(),
        "refused: no dispute waits for claude: only the judge of a dispute decides it"
    );
}

#[test]
fn several_disputes_are_decided_in_one_turn() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' P1 'no limit'
         codex: pass disputes F1 'there is' disputes F2 'there is'
         claude: pass reopens F1 reopens F2
         claude: upholds F1
         claude: dismisses F2",
    );
    assert_eq!(rows(&play), ["F1 P1 no rollback: reopened", "F2 P1 no limit: dismissed, closed"]);
    assert!(play.lines[5].contains("claude judge round 2"), "{:?}", play.lines);
    assert!(play.lines[6].contains("codex implementer round 3"), "{:?}", play.lines);
}

#[test]
fn files_that_change_while_a_judge_decides_clear_the_clean_reviews() {
    let play = play(
        "given agents codex, claude, gemini
         start
         codex edits a.rs
         codex: pass
         claude: pass clean
         gemini: pass P1 'no rollback'
         codex: pass disputes F1 'there is one'
         gemini: pass reopens F1
         claude edits a.rs
         claude: dismisses F1",
    );
    assert!(play.state.rounds.streak.is_empty(), "{:?}", play.lines);
}

#[test]
fn a_judge_leaves_alone_what_a_person_has_waived_in_the_meantime() {
    let play = insists("human: waive F1 'known'\nclaude: upholds F1");
    assert_eq!(rows(&play), ["F1 P1 no rollback: waived, closed"]);
    assert!(!play.lines.last().unwrap().contains("judge"), "the turn is over: {:?}", play.lines);
}

#[test]
fn insisting_twice_in_one_review_goes_to_a_judge_too() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex: pass disputes F1 'there is one'
         claude: pass P1 'none at all' repeats F1 reopens F1",
    );
    assert!(play.lines.last().unwrap().contains("claude judge round 2"), "{:?}", play.lines);
}

#[test]
fn no_blanket_closes_what_the_person_upheld_and_nobody_answered() {
    let mut play = insists("claude: upholds F1\ncodex: pass disputes F1 'no'\nhuman: reply 'add it' side-with-finding");
    for n in 0..4 {
        play.line("codex edits a.rs");
        play.line(&format!("codex: pass 'try {n}'"));
    }
    play.line("claude: pass clean");
    assert_eq!(rows(&play), ["F1 P1 no rollback: reopened"], "{:?}", play.lines);
}

#[test]
fn the_brief_of_a_judge_has_both_arguments_without_names() {
    let text = brief(&insists("").state, &BriefMaterial::default()).unwrap();
    assert!(text.contains("You are claude, the judge of a dispute"), "{text}");
    let dispute = text.split("## The dispute").nth(1).unwrap();
    assert!(dispute.contains("F1 P1 no rollback") && dispute.contains("there is one in b.rs"), "{dispute}");
    assert!(!dispute.contains("codex"), "{dispute}");
}

fn play_lines(script: &str) -> Vec<String> {
    play(script).lines
}
