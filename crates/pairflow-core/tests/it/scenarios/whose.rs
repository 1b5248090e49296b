//! Which agent a question is about: who withdraws it, who is asked about twice, and for whom a bubble waits.

use pairflow_core::bubble::{advance, owed};
use pairflow_core::ids::{AgentId, Party};
use pairflow_core::log::{Body, Envelope, Event, QuestionKind, Warning};
use pairflow_core::time::Timestamp;
use pairflow_core::view::status::{Status, render};
use pairflow_testkit::script::{ScriptRun, play};

const BEGUN: &str = "given panes\nstart\ncodex: reads";

fn asked(play: &ScriptRun) -> Vec<(String, QuestionKind)> {
    let whom = |about: &Option<AgentId>| about.as_ref().map_or(String::new(), ToString::to_string);
    play.state.gate.questions.iter().map(|open| (whom(&open.about), open.kind)).collect()
}

fn about(agent: &str, kind: QuestionKind) -> (String, QuestionKind) {
    (agent.to_owned(), kind)
}

fn after(lines: &[&str]) -> ScriptRun {
    play(&format!("{BEGUN}\n{}", lines.join("\n")))
}

/// Records, as the shell does, that a command of `agent` was refused.
fn warned(play: &mut ScriptRun, agent: &str) {
    let (command, reason) = ("pass".to_owned(), "a person is asked first".to_owned());
    let warning = Warning { command, reason, unmet: Vec::new() };
    let mut event = Event::own(play.state.rounds.round, Body::ProtocolWarning(warning));
    event.recipient = Party::Agent(agent.parse().unwrap());
    let last = play.log.last().unwrap().clone();
    advance(&mut play.state, &Envelope { event, ..last });
}

fn status(play: &ScriptRun) -> String {
    let lines = render(&Status::of(&play.state, play.log.last().unwrap().at));
    lines.iter().map(|line| format!("{}: {}\n", line.label, line.value)).collect()
}

#[test]
fn every_question_about_presence_says_whom_it_is_about() {
    for (line, kind) in [
        ("wait 6m", QuestionKind::Watchdog),
        ("codex: wants 'Bash ls'", QuestionKind::Permission),
        ("codex: holds 'Bash ls'", QuestionKind::Permit),
        ("codex: shows 'trust'", QuestionKind::Dialog),
        ("codex: fails 'connection refused'", QuestionKind::Idle),
        ("codex: limited 'quota exceeded'", QuestionKind::Limit),
        ("codex: stops\ncodex: stops\ncodex: stops", QuestionKind::Idle),
    ] {
        assert_eq!(asked(&after(&[line])), [about("codex", kind)], "{line}");
    }
    let undelivered = play("given panes\nstart\nnotice sent\nnotice undelivered 'nobody took it'");
    assert_eq!(asked(&undelivered), [about("codex", QuestionKind::Undelivered)]);
}

#[test]
fn a_sign_of_life_says_nothing_of_the_other_agent() {
    let mut play = after(&["claude: shows 'trust'"]);
    play.line("codex: is active");
    assert_eq!(asked(&play), [about("claude", QuestionKind::Dialog)], "the holder is not the one at the dialog");
    play.line("claude: is active");
    assert_eq!(asked(&play), [], "it is over, although it has not the turn");
}

#[test]
fn two_agents_at_dialogs_are_two_questions() {
    let mut play = after(&["codex: shows 'trust'", "claude: shows 'trust'", "claude: shows 'trust'"]);
    let both = [about("codex", QuestionKind::Dialog), about("claude", QuestionKind::Dialog)];
    assert_eq!(asked(&play), both);
    play.line("codex: is active");
    assert_eq!(asked(&play), both[1..]);
}

#[test]
fn the_holder_waits_for_the_other_agents_question_and_is_told_when_it_is_over() {
    let mut play = after(&["claude: shows 'trust'", "codex: pass 'done'"]);
    assert!(play.lines.last().unwrap().starts_with("refused: a person is asked first: claude shows a dialog"));
    assert_eq!(asked(&play), [about("claude", QuestionKind::Dialog)]);
    warned(&mut play, "codex");
    play.line("claude: is active");
    assert_eq!(play.state.presence.outbox.len(), 1, "it was sent away, and nobody else tells it to come back");
    play.line("codex: pass 'done'");
    assert_eq!(play.state.phase.turn().unwrap().agent.as_str(), "claude");
}

#[test]
fn whoever_was_not_sent_away_is_not_told_again() {
    let mut play = after(&["claude: shows 'trust'"]);
    warned(&mut play, "claude");
    play.line("claude: is active");
    assert_eq!((asked(&play), play.state.presence.outbox.len()), (Vec::new(), 0));
    let mut play = after(&["codex: shows 'trust'"]);
    warned(&mut play, "codex");
    play.line("codex: is active");
    assert_eq!(
        (asked(&play), play.state.presence.outbox.len()),
        (Vec::new(), 0),
        "it did not have to wait for anybody"
    );
}

#[test]
fn a_question_that_does_not_say_so_is_about_the_turns_holder() {
    let mut play = after(&["codex: shows 'trust'"]);
    let question = &play.log.last().unwrap().event.body;
    assert!(question.to_json().contains(r#""about":"codex""#), "{}", question.to_json());
    let old = Body::HumanQuestion(serde_json::from_str(r#"{"question":"a dialog","kind":"dialog"}"#).unwrap());
    assert_eq!(old.to_json(), r#"{"question":"a dialog","kind":"dialog"}"#);
    play.state.gate.questions[0].about = None;
    play.line("codex: shows 'trust'");
    assert_eq!(play.lines.last().unwrap(), "nothing happens", "it is asked already");
    play.line("claude: is active");
    assert_eq!(play.state.gate.questions.len(), 1);
    play.line("codex: is active");
    assert_eq!(play.state.gate.questions.len(), 0);
}

#[test]
fn the_limit_of_an_agent_without_the_turn_stops_nobody() {
    for line in ["claude: limited 'usage limit' for 2h", "claude: limited 'quota exceeded'"] {
        let mut play = after(&[line]);
        assert!(play.state.presence.parked.is_none(), "{line}");
        assert_eq!(asked(&play), [], "{line}");
        play.line("codex: pass 'done'");
        play.line("claude: limited 'usage limit' for 2h");
        assert_eq!(play.state.presence.parked.as_ref().unwrap().agent.as_str(), "claude", "it meets the limit again");
    }
}

#[test]
fn a_failure_of_an_agent_without_the_turn_stops_nobody() {
    let mut play = after(&["claude: fails 'overloaded'"]);
    assert_eq!(asked(&play), []);
    play.line("codex: pass 'done'");
    play.line("claude: fails 'overloaded'");
    assert_eq!(asked(&play), [about("claude", QuestionKind::Idle)]);
}

#[test]
fn nobody_is_waited_for_in_a_bubble_that_has_ended() {
    let play = after(&["codex: limited 'usage limit' for 2h", "human: stop"]);
    assert_eq!((play.state.phase.is_final(), &play.state.presence.parked), (true, &None));
}

#[test]
fn a_command_of_a_parked_agent_ends_the_waiting() {
    let passed = after(&["codex: limited 'usage limit' for 2h", "codex: pass 'done'"]);
    assert!(passed.state.presence.parked.is_none(), "the other agent is not kept waiting");
    assert_eq!(owed(&passed.state).len(), 1, "it is told: {:?}", owed(&passed.state));
    let asks = after(&["codex: limited 'usage limit' for 2h", "codex: asks 'which db?'"]);
    assert!(asks.state.presence.parked.is_none());
}

#[test]
fn nobody_waits_for_more_than_eight_days() {
    let near = after(&["codex: limited 'weekly limit' for 191h"]);
    assert!(near.state.presence.parked.is_some());
    let far = after(&["codex: limited 'weekly limit' for 193h"]);
    assert!(far.state.presence.parked.is_none());
    assert_eq!(asked(&far), [about("codex", QuestionKind::Limit)]);
    let question = &far.state.gate.questions[0].question;
    assert!(question.contains("account until 20") && question.contains(" UTC: weekly limit."), "{question}");
}

#[test]
fn an_account_that_should_be_usable_again_is_a_question_and_no_wait() {
    let over = after(&["codex: limited 'usage limit' for 0h"]);
    assert!(over.state.presence.parked.is_none());
    assert_eq!(asked(&over), [about("codex", QuestionKind::Limit)]);
    assert!(
        over.state.gate.questions[0].question.contains("account: usage limit."),
        "{:?}",
        over.state.gate.questions[0]
    );
}

#[test]
fn the_status_says_for_whom_and_until_when_it_waits() {
    let mut play = after(&["codex: limited 'weekly limit' for 100h"]);
    let until = play.state.presence.parked.as_ref().unwrap().until;
    let text = status(&play).replace("\n: ", " ");
    assert!(text.contains("State: RUNNING, parked\n"), "{text}");
    let said = format!("Parked: codex has reached its usage limit until {} UTC;", until.date_hms());
    assert!(text.contains(&said), "{text}");
    let json =
        |play: &ScriptRun| serde_json::to_value(Status::of(&play.state, play.log[0].at)).unwrap()["parked"].clone();
    assert_eq!(json(&play), serde_json::json!({"agent": "codex", "until": until.to_string()}));
    play.line("human: resume");
    assert_eq!(json(&play), serde_json::Value::Null);
    assert!(!status(&play).contains("arked"), "{}", status(&play));
}

#[test]
fn a_time_with_its_date_is_read_at_a_glance() {
    assert_eq!(Timestamp::from_millis(1_771_675_200_000).date_hms(), "2026-02-21 12:00:00");
}

#[test]
fn a_restart_answers_what_resume_answers() {
    for line in ["wait 6m", "codex: shows 'trust'", "claude: shows 'trust'", "codex: fails 'x'"] {
        let mut play = after(&[line]);
        let before = play.log.len();
        play.line("human: restart");
        assert_eq!((asked(&play), play.state.presence.restarts), (Vec::new(), 1), "{line}: {:?}", play.lines.last());
        assert_eq!(play.state.phase.name().to_string(), "RUNNING", "{line}");
        assert_eq!(play.state.presence.outbox.len(), 1, "{line}: the holder is told");
        assert_eq!(play.log[before].more, 1, "{line}: all or nothing");
    }
}

#[test]
fn a_restart_that_nobody_could_carry_out_is_refused_with_the_way_on() {
    for (lines, way) in [
        (&["codex: asks 'which db?'"][..], "answer first with 'pairflow reply demo --question msg_"),
        (&["codex: holds 'Bash ls'"], "answer first with 'pairflow reply demo --question msg_"),
        (&["wait 6m", "claude: asks 'which db?'"], "answer first with 'pairflow reply demo --question msg_"),
        (&["human: pause"], "it is paused; resume it first"),
        (&["wait 6m", "human: pause"], "it is paused; resume it first"),
    ] {
        let mut play = after(lines);
        let before = (play.log.len(), asked(&play));
        play.line("human: restart");
        let last = play.lines.last().unwrap();
        assert!(last.starts_with("refused: cannot restart") && last.contains(way), "{lines:?}: {last}");
        assert_eq!((play.log.len(), asked(&play)), before, "{lines:?}");
        assert_eq!(play.state.presence.restarts, 0, "{lines:?}");
    }
}
