//! Which news of a bubble a person is told, once each, and in which words.

use pairflow_core::bubble::{BubbleState, OpenQuestion, Phase, Stage, Turn};
use pairflow_core::facts::Seat;
use pairflow_core::ids::{MsgId, Party, TreeId};
use pairflow_core::log::{ApprovalRequest, QuestionKind};
use pairflow_core::safe::{steers, width};
use pairflow_core::time::{Moment, Timestamp};
use pairflow_core::view::inbox::{Announced, NotificationKind, due_notification, rings};

fn state(phase: Phase) -> BubbleState {
    BubbleState { phase, ..BubbleState::new("login-race".parse().unwrap()) }
}

fn turn() -> Turn {
    Turn {
        number: 1,
        seat: Seat::Implementer,
        agent: "codex".parse().unwrap(),
        since: Moment::default(),
        heard: Moment::default(),
        stage: Stage::Open,
        slices: 0,
        uninterrupted: Moment::default(),
        nudges: 0,
        overdue: false,
        follows_handover: false,
        others_at_work: false,
        acceptance: false,
    }
}

fn running() -> BubbleState {
    state(Phase::Running(turn()))
}

/// A bubble that waits for the answers to `asked`: who asks, and what.
fn waiting(asked: &[(Party, &str)]) -> BubbleState {
    let question = |(index, (by, question)): (usize, &(Party, &str))| OpenQuestion {
        id: MsgId(format!("msg_{index}")),
        by: by.clone(),
        kind: if *by == Party::Orchestrator { QuestionKind::Watchdog } else { QuestionKind::Question },
        question: (*question).to_owned(),
        about: None,
        wants: None,
        checks: Vec::new(),
        findings: Vec::new(),
        at: Timestamp::from_millis(index as i64),
    };
    let questions = asked.iter().enumerate().map(question).collect();
    let mut state = state(Phase::WaitingHuman(turn()));
    state.gate.questions = questions;
    state
}

fn codex() -> Party {
    Party::Agent("codex".parse().unwrap())
}

fn ready(at: i64) -> BubbleState {
    let request = ApprovalRequest {
        tree: TreeId("a".repeat(40)),
        commit_message: String::new(),
        package: String::new(),
        package_sha256: String::new(),
    };
    let mut state = state(Phase::ReadyForApproval(request));
    state.gate.package_at = Timestamp::from_millis(at);
    state
}

#[test]
fn a_question_is_told_with_who_asks_and_what() {
    let notification = due_notification(&Announced::default(), &waiting(&[(codex(), "Which port?")])).unwrap();
    assert_eq!((notification.kind, notification.state.as_str()), (NotificationKind::WaitingHuman, "WAITING_HUMAN"));
    assert_eq!(notification.text, "login-race: codex asks: Which port?");
    assert_eq!(notification.question.as_deref(), Some("Which port?"));
    let silent =
        due_notification(&Announced::default(), &waiting(&[(Party::Orchestrator, "codex was silent.")])).unwrap();
    assert_eq!(silent.text, "login-race waits for you: codex was silent.");
}

#[test]
fn what_was_told_is_not_told_again_and_what_is_new_is() {
    let first = waiting(&[(codex(), "one?")]);
    let told = Announced::all_of(&first);
    assert_eq!(due_notification(&told, &first), None);
    let second = waiting(&[(codex(), "one?"), (codex(), "two?")]);
    assert_eq!(due_notification(&told, &second).unwrap().text, "login-race: codex asks: two?");
    assert_eq!(due_notification(&Announced::all_of(&second), &first), None, "an answered question is no news");
    assert_eq!(due_notification(&told, &running()), None);
}

#[test]
fn several_new_questions_are_one_notice() {
    let state = waiting(&[(codex(), "one?"), (codex(), "two?"), (codex(), "three?")]);
    assert_eq!(
        due_notification(&Announced::default(), &state).unwrap().text,
        "login-race: codex asks: one? (and 2 more)"
    );
}

#[test]
fn convergence_is_told_each_time_that_something_is_up_for_approval() {
    let notification = due_notification(&Announced::all_of(&running()), &ready(1)).unwrap();
    assert_eq!((notification.kind, notification.state.as_str()), (NotificationKind::Converged, "READY_FOR_APPROVAL"));
    assert!(notification.text.starts_with("login-race has converged: "), "{}", notification.text);
    assert_eq!(due_notification(&Announced::all_of(&ready(1)), &ready(1)), None);
    assert!(
        due_notification(&Announced::all_of(&ready(1)), &ready(2)).is_some(),
        "the same tree is up for approval once more"
    );
}

#[test]
fn a_failure_is_told_once_and_asks_nothing() {
    let failed = state(Phase::Failed { reason: "the disk\nis full".to_owned() });
    let notification = due_notification(&Announced::all_of(&running()), &failed).unwrap();
    assert_eq!((notification.kind, notification.question.as_deref()), (NotificationKind::Failed, None));
    assert_eq!(notification.text, "login-race has failed: the disk is full");
    assert_eq!(due_notification(&Announced::all_of(&failed), &failed), None);
}

#[test]
fn what_a_person_ends_or_begins_is_no_news() {
    for phase in [Phase::Created, Phase::Preparing, Phase::Cancelled] {
        assert_eq!(due_notification(&Announced::default(), &state(phase)), None);
    }
}

#[test]
fn a_hostile_question_becomes_one_short_clean_line() {
    let long = "\u{1b}]0;owned\u{7}\u{1b}[2Ja\nb\u{202e}c ".repeat(10_000);
    let notification = due_notification(&Announced::default(), &waiting(&[(codex(), &long)])).unwrap();
    for text in [notification.text.as_str(), notification.question.as_deref().unwrap()] {
        assert!(!text.contains('\n') && !text.chars().any(steers), "{text:?}");
        assert!(width(text) <= 400, "{text:?}");
    }
}

#[test]
fn the_bell_rings_for_news_where_it_is_wanted() {
    let (before, after) = (running(), waiting(&[(codex(), "Which port?")]));
    assert!(rings(&before, &after));
    assert!(!rings(&after, &after));
    assert!(!rings(&after, &before));
    for (enabled, bell) in [(false, true), (true, false)] {
        let mut quiet = after.clone();
        (quiet.rules.notifications.enabled, quiet.rules.notifications.bell) = (enabled, bell);
        assert!(!rings(&before, &quiet));
    }
}
