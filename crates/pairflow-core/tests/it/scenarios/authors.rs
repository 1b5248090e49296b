//! Whose a change is: the party's that could have made it, or nobody's; no text claims more.

use pairflow_core::log::{Body, Evidence};
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_core::view::timeline::TimelineState;
use pairflow_testkit::script::{ScriptRun, play};

/// Whose changes the snapshots have, as far as it is known.
fn authors(play: &ScriptRun) -> Vec<Option<String>> {
    let snapshots = play.log.iter().filter_map(|envelope| match &envelope.event.body {
        Body::Evidence(Evidence::Snapshot { snapshot }) => Some(snapshot.author.as_ref().map(ToString::to_string)),
        _ => None,
    });
    snapshots.collect()
}

/// The lines of the log, as a person reads them.
fn story(play: &ScriptRun) -> String {
    let mut state = TimelineState::new(play.state.id.clone());
    let rows = play.log.iter().flat_map(|envelope| state.step(envelope));
    rows.map(|row| format!("{} {}\n", row.who, row.what)).collect()
}

#[test]
fn an_edit_right_after_a_hand_over_is_nobodys_and_is_checked_and_reviewed() {
    let mut play = play("start\ncodex edits a.rs\ncodex: pass (hold)\nstep\nstep\ncodex edits late.rs\nsettle");
    assert_eq!(authors(&play), [Some("codex".to_owned()), None]);
    assert_eq!(play.state.phase.turn().unwrap().agent.as_str(), "claude");
    let text = brief(&play.state, &BriefMaterial::default()).unwrap();
    assert!(text.contains("1 file; it is NOT KNOWN WHO changed this. Review it as part of the work."), "{text}");
    assert!(story(&play).contains("1 file +1 -0, author unknown\n"), "{}", story(&play));
    play.line("claude: pass clean");
    assert_eq!(play.state.rounds.streak.len(), 1, "its own turn changed nothing");
    assert!(!play.state.rounds.streak[0].own_work);
}

#[test]
fn a_change_during_a_review_is_blamed_on_nobody_if_the_other_agent_is_still_at_work() {
    let begun = "given panes\nstart\ncodex: reads\ncodex edits a.rs\ncodex: pass\nclaude: reads";
    let mut late = play(&format!("{begun}\ncodex: is active\ncodex edits late.rs\nclaude: pass clean"));
    assert_eq!(authors(&late), [Some("codex".to_owned()), None]);
    let told = story(&late);
    assert!(told.contains("pairflow codex is still working without the turn\n"), "{told}");
    let void = "the clean review of claude does not count: files changed during its turn, author unknown; \
                claude reviews again\n";
    assert!(told.contains(void), "{told}");
    let text = brief(&late.state, &BriefMaterial::default()).unwrap();
    assert!(text.starts_with("# ") && !text.contains("turn of yours") && text.contains("NOT KNOWN WHO"), "{text}");
    late.line("claude: reads");
    late.line("claude: pass clean");
    assert!(!late.state.rounds.streak[0].own_work, "{:?}", late.state.rounds.streak);
    let again = play(&format!("{begun}\ncodex: is active\ncodex: is active"));
    assert_eq!(story(&again).matches("still working").count(), 1);
    let calm = play(&format!("{begun}\ncodex: is active\nclaude: pass clean"));
    assert_eq!(calm.state.rounds.streak.len(), 1, "nothing changed");
}

#[test]
fn a_change_during_a_review_is_said_to_be_of_that_turn_and_no_more() {
    let mut play = play("start\ncodex edits a.rs\ncodex: pass\nclaude edits b.rs\nclaude: pass clean");
    let told = story(&play);
    assert!(told.contains("after claude's turn, 1 file"), "{told}");
    assert!(told.contains("does not count: files changed during its turn; claude reviews again\n"), "{told}");
    let text = brief(&play.state, &BriefMaterial::default()).unwrap();
    assert!(
        text.contains("Part of it changed in a turn of yours: review it as if somebody else had written it."),
        "{text}"
    );
    assert!(text.contains("1 file, changed in claude's turn."), "{text}");
    play.line("claude: pass clean");
    assert!(play.state.rounds.streak[0].own_work);
}
