//! What is tracked: whose turn, since when, in which seat, and who sat where in every round.

use pairflow_core::bubble::StateName;
use pairflow_core::view::{StateFields, TurnState};
use pairflow_testkit::script::play;

#[test]
fn the_role_history_has_one_entry_a_seating_with_the_names_of_the_protocol() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean",
    );
    let json = serde_json::to_string(&StateFields::of(&play.state).round_role_history).unwrap();
    assert_eq!(
        json,
        r#"[{"round":1,"implementer":"codex","reviewer":"claude"},{"round":2,"implementer":"codex","reviewer":"claude"},{"round":2,"implementer":"claude","reviewer":"codex"}]"#
    );
}

#[test]
fn a_reviewer_that_has_to_review_again_keeps_its_seat_in_the_history() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude edits b.rs
         claude: pass clean",
    );
    let reviewers: Vec<_> = play.state.rounds.history.iter().map(|roles| roles.reviewer.to_string()).collect();
    assert_eq!(reviewers, ["claude"], "nobody was seated anew");
}

#[test]
fn the_state_fields_name_agent_role_and_turn() {
    let mut play = play("start");
    let fields = StateFields::of(&play.state);
    assert_eq!(fields.state, StateName::Running);
    assert_eq!(fields.active_agent.unwrap().as_str(), "codex");
    assert_eq!(serde_json::to_string(&fields.active_role).unwrap(), "\"implementer\"");
    assert_eq!(fields.turn_state, Some(TurnState::Open));
    play.line("codex: pass (hold)");
    let fields = StateFields::of(&play.state);
    assert_eq!(fields.active_agent.unwrap().as_str(), "claude");
    assert_eq!(serde_json::to_string(&fields.active_role).unwrap(), "\"reviewer\"");
    assert_eq!(fields.turn_state, Some(TurnState::Opening));
}

#[test]
fn a_turn_is_active_since_it_was_opened() {
    let mut play = play("start");
    let opened = play.log.last().unwrap().at.ts;
    assert_eq!(StateFields::of(&play.state).active_since, Some(opened));
    play.line("wait 1m");
    assert_eq!(StateFields::of(&play.state).active_since, Some(opened));
    play.line("codex: pass");
    assert!(StateFields::of(&play.state).active_since > Some(opened));
}

#[test]
fn no_agent_is_active_where_nobody_has_the_turn() {
    let ready = "start\ncodex: pass\nclaude: pass clean\ncodex: pass clean";
    for script in ["wait 1s", "start (hold)", ready, "start\nhuman: stop"] {
        let fields = StateFields::of(&play(script).state);
        assert_eq!((fields.active_agent, fields.active_role, fields.turn_state), (None, None, None), "{script}");
    }
}

#[test]
fn the_last_command_is_the_last_accepted_one() {
    let mut play = play("start");
    let started = play.state.last_command_at;
    play.line("claude: pass clean");
    assert_eq!(play.state.last_command_at, started);
    play.line("codex: asks 'which database?'");
    assert_eq!(play.state.last_command_at, play.log.last().unwrap().at.ts);
}

#[test]
fn a_crash_at_any_line_loses_nothing() {
    let script = "start
        codex edits a.rs
        codex: pass
        claude: asks 'how strict?'
        human: reply 'very'
        claude: pass P1 'no rollback'
        codex edits a.rs
        codex: pass
        claude: pass clean
        codex: converged 'done'
        human: approve
        human: commit";
    let whole = play(script);
    for at in 0..script.lines().count() {
        let mut lines: Vec<_> = script.lines().collect();
        lines.insert(at, "crash");
        let crashed = play(&lines.join("\n"));
        assert_eq!(crashed.state, whole.state, "crash before line {at}");
        assert_eq!(crashed.log, whole.log);
    }
}

#[test]
fn a_crash_before_any_effect_is_made_good_by_the_next_supervisor() {
    let script = "start
        codex edits a.rs
        codex: pass
        claude: pass clean
        codex: pass clean
        human: approve
        human: commit";
    let whole = play(script);
    let mut held = pairflow_testkit::script::ScriptRun::new();
    for line in script.lines() {
        let act = !line.contains("edits");
        held.line(&if act { format!("{line} (hold)") } else { line.to_owned() });
        held.line("crash");
        held.line("settle");
    }
    let bodies =
        |play: &pairflow_testkit::script::ScriptRun| play.log.iter().map(|one| one.event.clone()).collect::<Vec<_>>();
    assert_eq!(bodies(&held), bodies(&whole));
}
