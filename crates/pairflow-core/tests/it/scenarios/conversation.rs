//! Whose conversation an agent's program is in, and which one its next turn goes on in.

use pairflow_core::bubble::{AgentSession, evolve};
use pairflow_core::facts::Seat;
use pairflow_core::log::{Body, Lifecycle};
use pairflow_testkit::script::{ScriptRun, play};

/// Codex implements in `s1`, reviews twice in `s2` and `s3` while claude implements, and is to implement again.
const THERE_AND_BACK: &str = "given panes
    start
    codex: runs 's1'
    codex: reads
    codex edits a.rs
    codex: pass 'first cut'
    claude: runs 'c1'
    claude: reads
    claude: pass clean
    codex: runs 's2'
    codex: reads
    codex: pass P1 'no rollback'
    claude: reads
    claude edits b.rs
    claude: pass 'rolled back' fixes F1
    codex: runs 's3'
    codex: reads
    codex: pass clean
    claude: runs 'c2'
    claude: reads
    claude: pass P1 'too slow'";

/// Plays `script` as far as the line `last`, with that.
fn until(script: &str, last: &str) -> ScriptRun {
    let (head, _) = script.split_once(last).unwrap();
    play(&format!("{head}{last}"))
}

fn session<'a>(play: &'a ScriptRun, agent: &str) -> &'a AgentSession {
    &play.state.presence.sessions[&agent.parse().unwrap()]
}

/// Whose turn it is, whether its program may be told of it, and what a program that is started takes up.
fn next(play: &ScriptRun) -> (String, bool, Option<&str>) {
    let turn = play.state.phase.turn().unwrap();
    let goes_on = play.state.goes_on_here(turn);
    (format!("{} {}", turn.agent, turn.seat), goes_on, play.state.conversation_for(turn).map(String::as_str))
}

fn turn(who: &str, goes_on: bool, takes_up: Option<&'static str>) -> (String, bool, Option<&'static str>) {
    (who.to_owned(), goes_on, takes_up)
}

#[test]
fn an_implementer_that_has_reviewed_meanwhile_goes_on_in_its_own_conversation() {
    let mut play = play(THERE_AND_BACK);
    assert_eq!(next(&play), turn("codex implementer", false, Some("s1")), "{:#?}", play.lines);
    play.line("codex: runs 's1'");
    assert_eq!(next(&play), turn("codex implementer", true, Some("s1")));
    play.line("human: restart");
    assert_eq!(next(&play), turn("codex implementer", false, Some("s1")));
}

#[test]
fn a_review_begins_anew_also_when_the_implementers_program_is_there_and_goes_on_when_it_was_interrupted() {
    let mut play = until(THERE_AND_BACK, "claude: pass clean");
    assert_eq!(next(&play), turn("codex reviewer", false, None), "{:#?}", play.lines);
    play.line("codex: runs");
    assert_eq!(next(&play), turn("codex reviewer", true, None), "nothing was said in it yet");
    play.line("codex: runs 's2'");
    assert_eq!(next(&play), turn("codex reviewer", true, Some("s2")));
    play.line("human: restart");
    assert_eq!(next(&play), turn("codex reviewer", false, Some("s2")), "it is still the same review");
    assert_eq!(session(&play, "codex").implementer.as_deref(), Some("s1"));
}

#[test]
fn whoever_has_only_reviewed_produces_in_that_conversation_and_comes_back_to_it() {
    let mut play = until(THERE_AND_BACK, "codex: pass P1 'no rollback'");
    assert_eq!(next(&play), turn("claude implementer", true, Some("c1")), "{:#?}", play.lines);
    assert_eq!(session(&play, "claude").implementer, None);
    play.line("claude: reads");
    assert_eq!(
        (session(&play, "claude").seat, session(&play, "claude").implementer.as_deref()),
        (Some(Seat::Implementer), Some("c1"))
    );
    let play = self::play(THERE_AND_BACK);
    let now = session(&play, "claude");
    assert_eq!(
        (now.seat, now.id.as_deref(), now.implementer.as_deref()),
        (Some(Seat::Reviewer), Some("c2"), Some("c1"))
    );
}

#[test]
fn a_command_out_of_a_reviews_conversation_does_not_make_it_the_implementers() {
    let mut play = play(THERE_AND_BACK);
    play.line("codex: asks 'which db?'");
    play.line("human: reply 'sqlite'");
    assert_eq!(next(&play), turn("codex implementer", false, Some("s1")), "{:#?}", play.lines);
}

#[test]
fn a_conversation_that_cannot_be_taken_up_is_forgotten_and_no_other() {
    let mut lost = play(THERE_AND_BACK);
    lost.line("codex: runs 's1'");
    lost.line("codex: loses its conversation");
    assert_eq!(next(&lost), turn("codex implementer", true, None), "{:#?}", lost.lines);
    let mut review = until(THERE_AND_BACK, "codex: runs 's3'");
    review.line("codex: loses its conversation");
    assert_eq!(next(&review), turn("codex reviewer", false, None), "{:#?}", review.lines);
    assert_eq!(session(&review, "codex").implementer.as_deref(), Some("s1"));
}

#[test]
fn an_agent_that_keeps_its_context_for_reviews_has_one_conversation() {
    let script = THERE_AND_BACK.replace("given panes", "given panes\ngiven persistent");
    let without = |name: &str| script.replace(&format!("codex: runs '{name}'\n"), "");
    let play = until(&without("s2"), "claude: pass clean");
    assert_eq!(next(&play), turn("codex reviewer", true, Some("s1")), "{:#?}", play.lines);
    let play = self::play(&script);
    assert_eq!(next(&play), turn("codex implementer", true, Some("s3")), "the one that it had last");
}

#[test]
fn records_that_name_no_seat_are_understood_by_their_turn() {
    let mut play = play(THERE_AND_BACK);
    play.line("codex: runs 's1'");
    let mut state = pairflow_core::bubble::BubbleState::new(play.state.id.clone());
    for envelope in &play.log {
        let mut envelope = envelope.clone();
        if let Body::Lifecycle(Lifecycle::AgentSession { seat, .. }) = &mut envelope.event.body {
            *seat = None;
        }
        state = evolve(state, &envelope);
    }
    assert_eq!(state.presence.sessions, play.state.presence.sessions);
    assert!(
        state.presence.sessions.values().all(|session| session.implementer.is_some()),
        "{:#?}",
        state.presence.sessions
    );
}

#[test]
fn a_judge_begins_anew_and_nobody_goes_on_where_it_has_judged() {
    for mode in ["", "given persistent"] {
        let mut play = play(&format!(
            "given panes
             {mode}
             start
             codex: runs 's1'
             codex: reads
             codex edits a.rs
             codex: pass
             claude: runs 'c1'
             claude: reads
             claude: pass P1 'no rollback'
             codex: reads
             codex: pass disputes F1 'there is one in b.rs'
             claude: runs 'c1'
             claude: reads
             claude: pass reopens F1"
        ));
        assert_eq!(next(&play), turn("claude judge", false, None), "{mode}: {:#?}", play.lines);
        play.line("claude: runs 'c2'");
        assert_eq!(next(&play), turn("claude judge", true, Some("c2")), "{mode}");
        play.line("claude: reads");
        play.line("claude: dismisses F1 'there is one'");
        assert_eq!(next(&play), turn("claude reviewer", false, None), "{mode}: {:#?}", play.lines);
    }
}
