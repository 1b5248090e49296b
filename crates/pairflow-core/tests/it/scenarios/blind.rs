//! The first looks of a thorough review: no agent knows what the others found before all have looked.

use pairflow_core::bubble::{BubbleState, hidden_from};
use pairflow_core::facts::{RowState, Seat};
use pairflow_core::ids::AgentId;
use pairflow_core::rules::ReviewDepth;
use pairflow_core::view::timeline::TimelineState;
use pairflow_testkit::script::{ScriptRun, play};

/// Work that every agent is to look at without knowing what the others found.
fn handed_over(agents: &str) -> ScriptRun {
    let mut play = play(&format!("given agents {agents}\nstart\ncodex edits a.rs\ncodex: pass"));
    play.state.rules.review_depth = ReviewDepth::Thorough;
    play
}

fn hidden(state: &BubbleState, agent: &str) -> Vec<String> {
    let agent: AgentId = agent.parse().unwrap();
    hidden_from(state, &agent).findings.iter().map(ToString::to_string).collect()
}

/// What an agent is shown of the log.
fn read_by(play: &ScriptRun, agent: &str) -> String {
    let mut story = TimelineState::new(play.state.id.clone());
    story.hide(hidden_from(&play.state, &agent.parse().unwrap()));
    play.log.iter().flat_map(|envelope| story.step(envelope)).map(|row| row.what + "\n").collect()
}

#[test]
fn an_agent_that_has_yet_to_look_is_not_shown_what_the_others_found() {
    let mut play = handed_over("codex claude");
    play.line("claude: pass 'half of it is missing' P1 'no rollback'");
    assert_eq!((hidden(&play.state, "codex"), hidden(&play.state, "claude")), (vec!["F1".to_owned()], Vec::new()));
    let (own, told) = (read_by(&play, "claude"), read_by(&play, "codex"));
    assert!(own.contains("no rollback"), "{own}");
    assert!(!told.contains("no rollback") && !told.contains("half of it"), "{told}");
    assert!(told.contains("has looked at the work; what it found is shown once every agent has looked"), "{told}");
    let shown = play.state.shown_to(&"codex".parse().unwrap());
    assert!(shown.ledger.rows.is_empty() && shown.gate.summaries.iter().all(|said| said.agent.as_str() != "claude"));

    play.line("codex: pass P2 'a typo'");
    assert_eq!((hidden(&play.state, "codex"), hidden(&play.state, "claude")), (Vec::new(), Vec::new()));
    assert!(read_by(&play, "codex").contains("no rollback"));
}

#[test]
fn a_look_without_findings_settles_nothing_that_it_was_not_shown() {
    let mut play = handed_over("codex claude");
    play.line("claude: pass P1 'no rollback'");
    play.line("codex: pass clean");
    let row = &play.state.ledger.rows[0];
    assert!(row.is_open() && row.state == RowState::Open, "{:?}", play.lines);
}

#[test]
fn of_three_agents_the_last_one_is_shown_neither_of_the_other_looks() {
    let mut play = handed_over("codex claude gemini");
    play.line("claude: pass P1 'no rollback'");
    play.line("gemini: pass P1 'the lock is never released'");
    assert_eq!(hidden(&play.state, "codex"), ["F1", "F2"], "{:?}", play.lines);
    assert_eq!(hidden(&play.state, "claude"), ["F2"]);
}

#[test]
fn a_reproducer_of_the_first_look_sends_the_work_back_after_the_last_one() {
    let mut play = handed_over("codex claude");
    play.line("claude: pass P1 'no rollback' by 'sh rollback.sh'");
    let turn = play.state.phase.turn().unwrap();
    assert_eq!((turn.seat, turn.agent.as_str()), (Seat::Reviewer, "codex"), "{:?}", play.lines);
    assert_eq!(hidden(&play.state, "codex"), ["F1"]);
    assert!(!read_by(&play, "codex").contains("does not count"));
    play.line("codex: pass clean");
    let turn = play.state.phase.turn().unwrap();
    assert_eq!((turn.seat, turn.agent.as_str()), (Seat::Implementer, "codex"), "{:?}", play.lines);
}

#[test]
fn a_blind_look_neither_closes_nor_names_what_it_is_not_shown() {
    let dropped = "claude: pass P1 'no rollback' by 'true'";
    let mut play = handed_over("codex claude");
    play.line("F1 reproducer passes");
    play.line(dropped);
    play.line("codex: pass clean");
    assert!(play.state.ledger.open().any(|row| row.severity.blocks()), "{:?}", play.lines);
    let mut play = handed_over("codex claude");
    play.line("claude: pass P1 'no rollback'");
    for line in ["codex: pass P3 'mine' confirms F1", "codex: pass reopens F1", "codex: pass P1 'mine' repeats F1"] {
        play.line(line);
        assert!(play.lines.last().unwrap().contains("F1 is not"), "{line}: {:?}", play.lines);
    }
}

#[test]
fn a_first_look_that_does_not_count_takes_nobody_elses() {
    let mut play = handed_over("codex claude");
    for line in ["claude edits b.rs", "claude: pass clean", "claude: pass P1 'no rollback'"] {
        play.line(line);
    }
    let turn = play.state.phase.turn().unwrap();
    assert_eq!((turn.seat, turn.agent.as_str()), (Seat::Reviewer, "codex"), "{:?}", play.lines);
}
