//! The judge's seat: there for the policies to come, and given out by none yet.

use pairflow_core::bubble::{Phase, StateFields};
use pairflow_core::facts::Seat;
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_testkit::script::{ScriptRun, play};

/// A dispute, with the reviewer's agent in the judge's seat.
fn judging() -> ScriptRun {
    let mut play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex: pass disputes F1 'there is one in b.rs'",
    );
    let Phase::Running(turn) = &mut play.state.phase else { panic!("{:?}", play.lines) };
    turn.seat = Seat::Judge;
    play.state.rounds.contested = vec![pairflow_core::ids::FindingId(1)];
    play
}

#[test]
fn a_judge_is_the_active_role_and_hands_nothing_over() {
    let mut play = judging();
    let fields = StateFields::of(&play.state);
    assert_eq!(serde_json::to_value(&fields).unwrap()["active_role"], "judge");
    assert_eq!(
        play.state.rounds.seats.agent(Seat::Judge).as_str(),
        "claude",
        "the reviewer's agent, if there is no third"
    );
    play.line("claude: pass clean");
    assert_eq!(play.lines.last().unwrap(), "refused: claude is the judge in round 2; a judge hands no work over");
}

#[test]
fn the_brief_of_a_judge_has_both_arguments_without_names() {
    let text = brief(&judging().state, &BriefMaterial::default()).unwrap();
    assert!(text.contains("You are claude, the judge of a dispute"), "{text}");
    let dispute = text.split("## The dispute").nth(1).unwrap();
    assert!(dispute.contains("F1 P1 no rollback") && dispute.contains("there is one in b.rs"), "{dispute}");
    assert!(!dispute.contains("codex"), "{dispute}");
}
