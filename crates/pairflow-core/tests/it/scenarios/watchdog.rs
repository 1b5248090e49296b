//! Silence: counted by the uptime, never by the wall clock, and reported once.

use pairflow_core::bubble::next_deadline;
use pairflow_testkit::script::{check, play};

#[test]
fn an_agent_that_is_silent_for_too_long_becomes_a_question_once() {
    check(
        "start
         wait 4m
         wait 2m
         wait 6m
         wait 1h",
        "#1 RUNNING codex implementer round 1
         nothing happens
         #2 WAITING_HUMAN codex implementer round 1 asks: orchestrator: codex has not sent a pairflow command for 5 minutes (round 1, as implementer). Go on with 'pairflow resume demo' when it is back at work.
         nothing happens
         nothing happens",
    );
}

#[test]
fn one_minute_is_singular() {
    let silent = play("given watchdog 1\nstart\nwait 2m");
    assert!(silent.lines.join("\n").contains(" for 1 minute (round 1, "), "{:?}", silent.lines);
    let long = play("given panes\ngiven turns 1\nstart\ncodex: reads\nwait 90s active");
    assert!(long.lines.join("\n").contains(" for 1 minute (round 1, "), "{:?}", long.lines);
}

#[test]
fn the_time_out_is_the_configured_one() {
    check(
        "given watchdog 10
         start
         wait 6m
         wait 5m",
        "#1 RUNNING codex implementer round 1
         nothing happens
         #2 WAITING_HUMAN codex implementer round 1 asks: orchestrator: codex has not sent a pairflow command for 10 minutes (round 1, as implementer). Go on with 'pairflow resume demo' when it is back at work.",
    );
    let (_, millis) = next_deadline(&play("given watchdog 10\nstart").state, None).unwrap();
    assert_eq!(millis, 600_000);
    let (_, millis) = next_deadline(&play("start").state, None).unwrap();
    assert_eq!(millis, 300_000);
}

#[test]
fn the_watchdog_names_the_agent_whose_turn_it_is() {
    check(
        "start
         codex: pass
         wait 6m",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 WAITING_HUMAN claude reviewer round 1 asks: orchestrator: claude has not sent a pairflow command for 5 minutes (round 1, as reviewer). Go on with 'pairflow resume demo' when it is back at work.",
    );
}

#[test]
fn a_question_of_the_agent_is_a_sign_of_life() {
    check(
        "start
         wait 4m
         codex: asks 'which database?'
         human: reply 'sqlite'
         wait 4m
         wait 2m",
        "#1 RUNNING codex implementer round 1
         nothing happens
         #2 WAITING_HUMAN codex implementer round 1 asks: codex: which database?
         #3 RUNNING codex implementer round 1
         nothing happens
         #4 WAITING_HUMAN codex implementer round 1 asks: orchestrator: codex has not sent a pairflow command for 5 minutes (round 1, as implementer). Go on with 'pairflow resume demo' when it is back at work.",
    );
}

#[test]
fn no_silence_is_counted_while_a_person_is_asked() {
    check(
        "start
         codex: asks 'which database?'
         wait 10h
         human: reply 'sqlite'
         wait 4m",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: codex: which database?
         nothing happens
         #3 RUNNING codex implementer round 1
         nothing happens",
    );
}

#[test]
fn a_wall_clock_that_jumps_by_ten_years_changes_nothing() {
    check(
        "start
         clock jumps 10y
         wait 4m
         clock jumps -10y
         clock jumps -10y
         wait 30s
         wait 1m",
        "#1 RUNNING codex implementer round 1
         nothing happens
         nothing happens
         #2 WAITING_HUMAN codex implementer round 1 asks: orchestrator: codex has not sent a pairflow command for 5 minutes (round 1, as implementer). Go on with 'pairflow resume demo' when it is back at work.",
    );
}

#[test]
fn after_a_restart_of_the_machine_the_wall_clock_answers() {
    check(
        "start
         reboot
         wait 4m
         wait 2m",
        "#1 RUNNING codex implementer round 1
         nothing happens
         #2 WAITING_HUMAN codex implementer round 1 asks: orchestrator: codex has not sent a pairflow command for 5 minutes (round 1, as implementer). Go on with 'pairflow resume demo' when it is back at work.",
    );
}

#[test]
fn the_watchdog_question_is_answered_by_resume_and_counts_anew() {
    check(
        "start
         wait 6m
         human: resume
         wait 4m
         wait 2m",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: orchestrator: codex has not sent a pairflow command for 5 minutes (round 1, as implementer). Go on with 'pairflow resume demo' when it is back at work.
         #3 RUNNING codex implementer round 1
         nothing happens
         #4 WAITING_HUMAN codex implementer round 1 asks: orchestrator: codex has not sent a pairflow command for 5 minutes (round 1, as implementer). Go on with 'pairflow resume demo' when it is back at work.",
    );
}
