//! What of a bubble can be shown, and what to say where there is nothing.

use pairflow_core::bubble::Phase;
use pairflow_testkit::script::play;

#[test]
fn a_bubble_without_panes_to_show_says_why_and_what_to_do_instead() {
    for (script, why, next) in [
        ("start", "demo has no panes: its driver is external", "pairflow view demo"),
        ("given panes\nstart\nhuman: stop", "demo is CANCELLED; its session was closed", "pairflow status demo"),
    ] {
        let unseen = play(script).state.has_panes().unwrap_err();
        assert_eq!((unseen.to_string(), unseen.next()), (format!("bubble {why}"), next.to_owned()), "{script}");
    }
    let mut state = play("given panes\nstart").state;
    assert_eq!(state.has_panes(), Ok(()));
    state.phase = Phase::Created;
    let unseen = state.has_panes().unwrap_err();
    assert_eq!(unseen.to_string(), "bubble demo is CREATED; its session begins with its start");
    assert_eq!(unseen.next(), "pairflow start demo");
}

#[test]
fn a_session_that_was_lost_comes_back_with_whoever_is_at_work() {
    let at_work = play("given panes\nstart").state.no_session();
    assert_eq!(at_work.next(), "pairflow resume demo");
    let ready = play("given panes\nstart\ncodex: pass\nclaude: pass clean\ncodex: pass clean").state;
    assert_eq!((ready.phase.turn(), ready.no_session().next().as_str()), (None, "pairflow supervise"));
}

#[test]
fn a_brief_is_read_by_whoever_has_the_turn_and_by_a_person() {
    let state = play("start").state;
    for reader in [Some("codex"), None] {
        assert_eq!(state.turn_to_read(reader).unwrap().agent.as_str(), "codex", "{reader:?}");
    }
    let other = state.turn_to_read(Some("claude")).unwrap_err();
    assert_eq!(other.to_string(), "it is not your turn in bubble demo: codex has it, as implementer");
    let nobody = play("start\nhuman: stop").state.turn_to_read(None).unwrap_err();
    assert_eq!(nobody.to_string(), "no agent has the turn in bubble demo, so there is no brief");
    assert_eq!((other.next(), nobody.next()), ("pairflow status demo".to_owned(), "pairflow status demo".to_owned()));
}
