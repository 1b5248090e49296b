//! Agents as programs in panes: notices, signs of life, reminders, hindrances.

use pairflow_core::bubble::{Effect, next_deadline, owed};
use pairflow_core::ids::{AgentId, Party};
use pairflow_core::log::{Body, QuestionKind};
use pairflow_testkit::script::{ScriptRun, check, play};

fn asked(play: &ScriptRun) -> Vec<QuestionKind> {
    play.state.gate.questions.iter().map(|open| open.kind).collect()
}

fn agent(name: &str) -> AgentId {
    name.parse().unwrap()
}

#[test]
fn a_turn_that_opens_is_announced_until_the_agent_has_read_it() {
    check(
        "given panes
         start
         notice sent
         codex: reads
         codex: pass 'first cut'
         notice sent
         claude: pass clean",
        "#1 RUNNING  codex implementer round 1  notice 1 to codex sent 0
         #2 RUNNING  codex implementer round 1  notice 1 to codex sent 1
         #3 RUNNING  codex implementer round 1
         #4 RUNNING  claude reviewer round 1  notice 2 to claude sent 0
         #5 RUNNING  claude reviewer round 1  notice 2 to claude sent 1
         #6 RUNNING  codex reviewer round 1  notice 3 to codex sent 0  clean: claude",
    );
}

#[test]
fn a_program_that_names_its_conversation_after_a_restart_was_started_before() {
    let mut play = play("given panes\nstart\ncodex: runs\nhuman: restart\ncodex: runs 's1'");
    let session = play.state.presence.sessions[&agent("codex")].clone();
    assert_eq!((session.id.as_deref(), session.restarts), (Some("s1"), 0), "it is still to be started again");
    play.line("codex: runs 's1'");
    assert_eq!(play.state.presence.sessions[&agent("codex")].restarts, 1, "it was started in the same conversation");
}

#[test]
fn a_restart_delivers_what_no_agent_is_known_to_have() {
    let mut play = play("given panes\nstart\nnotice sent\ncrash");
    let deliver = Effect::Deliver { notice: 1, agent: agent("codex"), turn: 1 };
    assert_eq!(owed(&play.state), std::slice::from_ref(&deliver));
    play.line("human: pause");
    assert_eq!(owed(&play.state), [], "nobody is told anything during a pause");
    play.line("human: resume");
    assert_eq!(owed(&play.state), [Effect::Deliver { notice: 2, agent: agent("codex"), turn: 1 }]);
    play.line("codex: reads");
    assert_eq!(owed(&play.state), []);
}

#[test]
fn without_panes_nobody_is_told() {
    let play = play("start\ncodex: pass 'x'");
    assert!(play.state.presence.outbox.is_empty());
    assert_eq!(play.state.presence.notices, 0);
}

#[test]
fn a_command_of_the_agent_acknowledges_its_notice() {
    let play = play("given panes\nstart\nnotice sent\ncodex: asks 'which db?'");
    assert!(play.state.presence.outbox.is_empty());
}

#[test]
fn after_the_answer_the_turns_holder_is_told_again() {
    check(
        "given panes
         start
         codex: reads
         codex: asks 'which db?'
         human: reply 'sqlite'",
        "#1 RUNNING  codex implementer round 1  notice 1 to codex sent 0
         #2 RUNNING  codex implementer round 1
         #3 WAITING_HUMAN  codex implementer round 1  asks: codex: which db?
         #4 RUNNING  codex implementer round 1  notice 2 to codex sent 0",
    );
}

#[test]
fn a_notice_is_sent_three_times_and_then_a_person_is_asked_once() {
    let mut play = play("given panes\nstart\nnotice sent\nnotice sent\nnotice sent");
    assert_eq!(play.state.presence.outbox[0].attempts, 3);
    play.line("notice sent");
    assert!(play.lines.last().unwrap().starts_with("refused"), "{:?}", play.lines.last());
    play.line("notice undelivered 'nobody took it'");
    play.line("notice undelivered 'nobody took it'");
    assert_eq!(asked(&play), [QuestionKind::Undelivered]);
    play.line("human: resume");
    assert_eq!(play.state.presence.outbox[0].number, 2);
    assert_eq!(play.state.presence.outbox[0].attempts, 0);
}

#[test]
fn an_acknowledgement_withdraws_the_question_that_was_asked_in_its_absence() {
    let mut play = play("given panes\nstart\nnotice sent\nnotice undelivered 'nobody took it'\ncodex: reads");
    assert_eq!(asked(&play), []);
    assert!(play.state.presence.outbox.is_empty());
    assert!(play.state.gate.notes.is_empty(), "nobody said anything");
    play.line("codex: pass 'done'");
    assert_eq!(play.state.phase.turn().unwrap().agent, agent("claude"));
}

#[test]
fn a_notice_of_another_agent_or_another_number_acknowledges_nothing() {
    let mut play = play("given panes\nstart");
    play.line("claude: reads");
    assert!(play.lines.last().unwrap().starts_with("refused"), "{:?}", play.lines.last());
    assert_eq!(play.state.presence.outbox.len(), 1);
}

#[test]
fn work_that_hooks_and_files_show_is_no_silence() {
    let mut play = play("given panes\nstart\ncodex: reads\nwait 6m active");
    assert_eq!(asked(&play), []);
    play.line("wait 6m");
    assert_eq!(asked(&play), [QuestionKind::Watchdog]);
}

#[test]
fn a_sign_of_life_withdraws_the_question_about_silence() {
    let mut play = play("given panes\nstart\ncodex: reads\nwait 6m");
    assert_eq!(asked(&play), [QuestionKind::Watchdog]);
    play.line("claude: is active");
    assert_eq!(asked(&play), [QuestionKind::Watchdog], "the other agent's life says nothing");
    play.line("codex: is active");
    assert_eq!(asked(&play), []);
    play.line("codex: is active");
    assert_eq!(play.lines.last().unwrap(), "nothing happens");
}

#[test]
fn the_silent_agents_next_command_withdraws_and_counts_in_one_append() {
    let mut play = play("given panes\nstart\ncodex: reads\nwait 6m");
    let before = play.log.len();
    play.line("codex: pass 'sorry' (hold)");
    let [withdrawn, passed] = &play.log[before..] else { panic!("{:#?}", &play.log[before..]) };
    assert!(matches!(withdrawn.event.body, Body::HumanReply(_)));
    assert!(matches!(passed.event.body, Body::Pass(_)));
    assert_eq!((withdrawn.more, passed.more), (1, 0), "all or nothing");
}

#[test]
fn external_agents_come_back_the_same_way() {
    check(
        "start
         wait 6m
         codex: pass 'sorry'",
        "#1 RUNNING  codex implementer round 1
         #2 WAITING_HUMAN  codex implementer round 1  asks: orchestrator: codex has not sent a pairflow command for 5 minutes (round 1, as implementer). Go on with 'pairflow resume demo' when it is back at work.
         #3 RUNNING  claude reviewer round 1",
    );
}

#[test]
fn a_command_of_the_other_agent_withdraws_nothing() {
    let mut play = play("start\nwait 6m\nclaude: pass clean");
    assert_eq!(asked(&play), [QuestionKind::Watchdog]);
    assert!(play.lines.last().unwrap().starts_with("refused"));
    play.line("codex: converged");
    assert_eq!(asked(&play), [QuestionKind::Watchdog], "a refused command changes nothing");
}

#[test]
fn beside_a_real_question_a_command_is_refused_as_always() {
    let mut play = play("start\nwait 6m\ncodex: asks 'which db?'");
    assert_eq!(asked(&play), [QuestionKind::Question]);
    play.line("codex: pass 'x'");
    assert!(play.lines.last().unwrap().starts_with("refused"));
}

#[test]
fn a_turn_that_takes_too_long_is_asked_about_once() {
    let mut play = play("given panes\nstart\ncodex: reads");
    for _ in 0..14 {
        play.line("wait 4m active");
    }
    assert_eq!(asked(&play), []);
    play.line("wait 4m active");
    assert_eq!(asked(&play), [QuestionKind::LongTurn]);
    play.line("codex: is active");
    assert_eq!(asked(&play), [QuestionKind::LongTurn], "that it is busy is known");
    play.line("human: resume");
    for _ in 0..20 {
        play.line("wait 4m active");
    }
    assert_eq!(asked(&play), []);
    play.line("codex: pass 'at last'");
    assert_eq!(play.state.phase.turn().unwrap().agent, agent("claude"));
}

#[test]
fn the_length_of_a_turn_is_configured() {
    let mut play =
        play("given panes\ngiven turns 10\nstart\ncodex: reads\nwait 4m active\nwait 4m active\nwait 4m active");
    assert_eq!(asked(&play), [QuestionKind::LongTurn]);
    play.line("codex: pass 'done'");
    assert_eq!(asked(&play), [], "a hand-over answers it, too");
}

#[test]
fn the_clock_is_set_to_whatever_is_due_first() {
    let state = play("given panes\nstart").state;
    let (_, silence) = next_deadline(&state, None).unwrap();
    assert_eq!(silence, 5 * 60_000);
    let state = play("given panes\ngiven turns 3\nstart").state;
    assert_eq!(next_deadline(&state, None).unwrap().1, 3 * 60_000);
}

#[test]
fn an_agent_that_stops_in_its_turn_is_reminded_twice_and_then_a_person_is_asked() {
    let mut play = play("given panes\nstart\ncodex: reads\ncodex: stops");
    assert_eq!(play.state.phase.turn().unwrap().nudges, 1);
    assert_eq!(play.log.last().unwrap().event.recipient, Party::Agent(agent("codex")));
    play.line("codex: stops");
    assert_eq!(asked(&play), []);
    play.line("codex: stops");
    assert_eq!(asked(&play), [QuestionKind::Idle]);
    play.line("codex: stops");
    assert_eq!(asked(&play), [QuestionKind::Idle], "once");
    play.line("human: reply 'run the tests first'");
    assert_eq!(play.state.phase.turn().unwrap().nudges, 0, "and from the beginning after an answer");
}

#[test]
fn nobody_is_reminded_out_of_turn_during_a_pause_or_while_a_person_is_asked() {
    for script in [
        "given panes\nstart\nclaude: stops",
        "given panes\nstart\nhuman: pause\ncodex: stops",
        "given panes\nstart\ncodex: asks 'x'\ncodex: stops",
        "given panes\nstart\ncodex: reads\ncodex: asks 'x'\nhuman: reply 'y'\ncodex: stops",
    ] {
        let play = play(script);
        assert_eq!(play.state.phase.turn().unwrap().nudges, 0, "{script}");
        let last = play.lines.last().unwrap();
        assert!(last == "nothing happens" || last.starts_with("refused"), "{script}: {last}");
    }
}

#[test]
fn a_permission_and_a_dialog_are_asked_about_and_withdrawn_by_going_on() {
    let mut play = play("given panes\nstart\ncodex: reads\ncodex: wants 'Bash rm -rf target'");
    assert_eq!(asked(&play), [QuestionKind::Permission]);
    play.line("codex: wants 'Bash rm -rf target'");
    assert_eq!(asked(&play), [QuestionKind::Permission], "once");
    play.line("codex: is active");
    assert_eq!(asked(&play), []);
    play.line("codex: shows 'trust'");
    assert_eq!(asked(&play), [QuestionKind::Dialog]);
    play.line("codex: pass 'done'");
    assert_eq!(asked(&play), []);
}

#[test]
fn a_used_up_account_parks_the_bubble_until_its_time() {
    let mut play = play("given panes\nstart\ncodex: reads\ncodex: limited 'usage limit reached' for 2h");
    assert!(play.state.presence.parked.is_some());
    assert_eq!(next_deadline(&play.state, None).unwrap().1, 2 * 3_600_000 - 1000, "the script took a second to say so");
    play.line("wait 90m");
    assert_eq!(asked(&play), [], "no silence is counted");
    assert_eq!(owed(&play.state), []);
    play.line("wait 31m");
    assert!(play.state.presence.parked.is_none());
    assert_eq!(play.state.presence.outbox[0].agent, agent("codex"), "it is told to go on");
}

#[test]
fn a_parked_agent_that_works_again_is_waited_for_no_longer() {
    let play = play("given panes\nstart\ncodex: reads\ncodex: limited 'usage limit' for 2h\ncodex: is active");
    assert!(play.state.presence.parked.is_none());
}

#[test]
fn a_limit_without_an_end_is_a_question() {
    let play = play("given panes\nstart\ncodex: limited 'quota exceeded'");
    assert_eq!(asked(&play), [QuestionKind::Limit]);
}

#[test]
fn a_failure_that_an_agent_does_not_get_over_is_a_question() {
    let play = play("given panes\nstart\ncodex: reads\ncodex: fails 'connection refused'");
    assert_eq!(asked(&play), [QuestionKind::Idle]);
}

#[test]
fn a_person_starts_the_agents_again_and_the_holder_is_told() {
    let mut play = play("given panes\nstart\ncodex: runs 's1'\ncodex: reads\nhuman: restart");
    assert_eq!(play.state.presence.restarts, 1);
    assert_eq!(play.state.presence.sessions[&agent("codex")].restarts, 0, "what runs was started before");
    assert_eq!(play.state.presence.outbox[0].number, 2);
    play.line("codex: runs 's1'");
    assert_eq!(play.state.presence.sessions[&agent("codex")].restarts, 1);
}

#[test]
fn only_agents_in_panes_can_be_started_again() {
    check(
        "start
         human: restart",
        "#1 RUNNING  codex implementer round 1
         refused: cannot restart: the bubble is RUNNING; pairflow keeps no agents running here (driver = \"external\")",
    );
}

#[test]
fn the_same_session_is_written_down_once() {
    let mut play = play("given panes\nstart\ncodex: runs 's1'");
    let length = play.log.len();
    play.line("codex: runs 's1'");
    assert_eq!(play.log.len(), length);
    play.line("codex: runs 's2'");
    assert_eq!(play.state.presence.sessions[&agent("codex")].id.as_deref(), Some("s2"));
}

#[test]
fn back_from_work_by_hand_the_holder_is_told_again() {
    check(
        "given panes
         start
         codex: reads
         human: resume",
        "#1 RUNNING  codex implementer round 1  notice 1 to codex sent 0
         #2 RUNNING  codex implementer round 1
         #3 RUNNING  codex implementer round 1  notice 2 to codex sent 0",
    );
}
