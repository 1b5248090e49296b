//! The person and the questions.

use pairflow_core::bubble::Command;
use pairflow_core::ids::Party;
use pairflow_core::log::{Body, MessageKind};
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_testkit::script::{check, play};

#[test]
fn either_seat_may_ask_at_any_moment_of_the_loop() {
    check(
        "start
         codex: asks 'which database?'
         human: reply 'sqlite'
         claude: asks 'how strict?'
         human: reply 'very'
         codex: pass (hold)
         codex: asks 'was that right?' (hold)
         settle
         human: reply 'yes'",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: codex: which database?
         #3 RUNNING codex implementer round 1
         #4 WAITING_HUMAN codex implementer round 1 asks: claude: how strict?
         #5 RUNNING codex implementer round 1
         #6 RUNNING claude reviewer round 1 closing
         #7 WAITING_HUMAN claude reviewer round 1 closing asks: codex: was that right?
         #8 WAITING_HUMAN claude reviewer round 1 opening asks: codex: was that right?
         #9 RUNNING claude reviewer round 1",
    );
}

#[test]
fn the_turn_goes_back_to_the_seat_that_held_it() {
    check(
        "start
         codex edits a.rs
         codex: pass
         codex: asks 'is it fast enough?'
         human: reply 'yes'
         claude: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 WAITING_HUMAN claude reviewer round 1 asks: codex: is it fast enough?
         #4 RUNNING claude reviewer round 1
         #5 RUNNING codex reviewer round 1 clean: claude",
    );
}

#[test]
fn no_agent_moves_the_loop_on_while_a_person_is_asked() {
    check(
        "start
         codex: asks 'which database?'
         codex: pass
         claude: pass clean
         claude: converged",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: codex: which database?
         refused: a person is asked first: which database?
         refused: a person is asked first: which database?
         refused: a person is asked first: which database?",
    );
}

#[test]
fn running_returns_when_all_questions_are_answered() {
    check(
        "start
         codex: asks 'which database?'
         claude: asks 'how strict?'
         human: reply 'sqlite' to 1
         human: reply 'very'",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: codex: which database?
         #3 WAITING_HUMAN codex implementer round 1 asks: codex: which database?, claude: how strict?
         #4 WAITING_HUMAN codex implementer round 1 asks: claude: how strict?
         #5 RUNNING codex implementer round 1",
    );
}

#[test]
fn with_several_open_questions_the_answer_names_one() {
    check(
        "start
         codex: asks 'which database?'
         claude: asks 'how strict?'
         human: reply 'sqlite'
         human: reply 'sqlite' to msg_20260221_999
         human: reply 'very' to 2
         human: reply 'sqlite'",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: codex: which database?
         #3 WAITING_HUMAN codex implementer round 1 asks: codex: which database?, claude: how strict?
         refused: 2 questions are open; say which one is answered: msg_20260221_007, msg_20260221_008
         refused: msg_20260221_999 is not an open question; open: msg_20260221_007, msg_20260221_008
         #4 WAITING_HUMAN codex implementer round 1 asks: codex: which database?
         #5 RUNNING codex implementer round 1",
    );
}

#[test]
fn an_answer_points_to_its_question_and_goes_to_who_asked() {
    let play = play("start\nclaude: asks 'how strict?'\nhuman: reply 'very'");
    let question = play.log.iter().find(|one| one.event.body.kind() == MessageKind::HumanQuestion).unwrap();
    let reply = play.log.iter().find(|one| one.event.body.kind() == MessageKind::HumanReply).unwrap();
    assert_eq!(question.event.sender.to_string(), "claude");
    assert_eq!(question.event.recipient, Party::Human);
    assert_eq!(reply.event.sender, Party::Human);
    assert_eq!(reply.event.recipient.to_string(), "claude");
    assert_eq!(reply.event.in_reply_to.as_ref(), Some(&question.id));
    let Body::HumanReply(body) = &reply.event.body else { panic!() };
    assert_eq!(body.message, "very");
}

#[test]
fn the_answer_reaches_the_notes_of_the_turn() {
    let play = play("start\ncodex: asks 'which database?'\nhuman: reply 'sqlite'");
    assert_eq!(play.state.gate.notes, ["which database? -> sqlite"]);
}

#[test]
fn an_answer_where_nothing_was_asked_is_refused() {
    check(
        "start
         human: reply 'sqlite'
         codex: asks 'which database?'
         human: reply ' '
         human: reply 'sqlite' accept
         human: reply 'sqlite'
         human: reply 'postgres'",
        "#1 RUNNING codex implementer round 1
         refused: no question is open
         #2 WAITING_HUMAN codex implementer round 1 asks: codex: which database?
         refused: the message must not be empty
         refused: this question does not take that decision; the inbox lists its answers
         #3 RUNNING codex implementer round 1
         refused: no question is open",
    );
}

#[test]
fn a_question_outside_the_loop_is_refused_and_names_the_state() {
    check(
        "codex: asks 'am I early?'
         start
         codex: asks ' '
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         codex: asks 'am I late?'",
        "refused: cannot ask-human: the bubble is CREATED; it has not been started
         #1 RUNNING codex implementer round 1
         refused: the question must not be empty
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         refused: cannot ask-human: the bubble is READY_FOR_APPROVAL; the package waits for a person's decision",
    );
}

#[test]
fn resume_refuses_while_an_agents_question_is_open() {
    check(
        "start
         codex: asks 'which database?'
         human: resume
         human: reply 'sqlite'
         human: resume",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: codex: which database?
         refused: a person is asked first: which database?
         #3 RUNNING codex implementer round 1
         refused: cannot resume: the bubble is RUNNING; it is not paused; codex has the turn as implementer",
    );
}

#[test]
fn resume_answers_pairflows_own_notices() {
    check(
        "start
         codex ends 'with exit code 3'
         human: resume
         trouble 'no snapshot could be taken: no space left'
         trouble 'no snapshot could be taken: no space left'
         human: resume
         wait 6m
         codex: asks 'which database?'
         human: resume",
        "#1 RUNNING codex implementer round 1
         #2 WAITING_HUMAN codex implementer round 1 asks: orchestrator: codex ended with exit code 3 without handing over (round 1, as implementer). Look at what it did with 'pairflow log demo', then go on with 'pairflow resume demo'.
         #3 RUNNING codex implementer round 1
         #4 WAITING_HUMAN codex implementer round 1 asks: orchestrator: no snapshot could be taken: no space left
         nothing happens
         #5 RUNNING codex implementer round 1
         #6 WAITING_HUMAN codex implementer round 1 asks: orchestrator: codex has not sent a pairflow command for 5 minutes (round 1, as implementer). Go on with 'pairflow resume demo' when it is back at work.
         #7 WAITING_HUMAN codex implementer round 1 asks: codex: which database?
         refused: a person is asked first: which database?",
    );
}

#[test]
fn what_an_agent_printed_last_stands_in_the_question_about_its_end() {
    let mut play = play("start");
    let output = format!("{}\u{1b}[31merror:\u{1b}[0m no\u{202e} key  \n\n{}\n", "line\n".repeat(30), "x".repeat(900));
    play.send(&Command::AgentEnded { turn: 1, how: "with exit code 2".to_owned(), output });
    let question = &play.state.gate.questions[0].question;
    let (before, after) = question.split_once(" Its last lines:\n").unwrap();
    assert_eq!(before, "codex ended with exit code 2 without handing over (round 1, as implementer).");
    let lines: Vec<_> = after.lines().collect();
    assert_eq!((lines.len(), lines[5], lines[6]), (9, "  line", "  error: no key"), "{question}");
    assert!(lines[7].ends_with("x…") && lines[7].chars().count() == 162, "{question}");
    assert!(lines[8].starts_with("Look at what it did with"), "{question}");
}

#[test]
fn an_agent_that_ended_without_its_turn_is_no_question() {
    check(
        "start (hold)
         settle
         human: pause
         codex ends 'with exit code 3'
         human: resume
         codex: pass (hold)
         claude ends 'with exit code 3' (hold)",
        "#1 PREPARING_WORKSPACE
         #2 RUNNING codex implementer round 1
         #3 RUNNING codex implementer round 1 paused
         refused: this is no longer owed
         #4 RUNNING codex implementer round 1
         #5 RUNNING claude reviewer round 1 closing
         refused: this is no longer owed",
    );
}

#[test]
fn rework_sends_the_package_back_with_the_message_in_the_next_implementer_turn() {
    check(
        "given max_rounds 2
         start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: rework 'name the token'
         codex edits a.rs
         codex: pass 'named'
         claude: pass clean
         codex: pass clean",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 RUNNING codex implementer round 2
         #6 RUNNING claude reviewer round 2
         #7 RUNNING codex reviewer round 2 clean: claude
         #8 READY_FOR_APPROVAL round 2 tree2",
    );
    let mut play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: rework 'name the token'",
    );
    assert_eq!(play.state.gate.notes, ["rework: name the token"]);
    assert_eq!((play.state.rounds.spent.looks, play.state.rounds.streak.len()), (0, 0));
    assert_eq!(play.state.gate.certificate, None);
    play.line("codex: pass 'named'");
    assert!(play.state.gate.notes.is_empty());
}

#[test]
fn rework_after_approval_withdraws_the_approval() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean
         human: approve
         human: rework 'on second thought'
         human: commit",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         #5 APPROVED_FOR_COMMIT tree1
         #6 RUNNING codex implementer round 2
         refused: cannot commit: the bubble is RUNNING; round 2, codex has the turn as implementer",
    );
}

#[test]
fn reject_goes_back_too_and_the_word_is_kept() {
    let script = "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass clean";
    for (line, word) in [("human: rework 'x'", "revise"), ("human: rework 'x' reject", "reject")] {
        let play = play(&format!("{script}\n{line}"));
        let decision = play.log.iter().find(|one| one.event.body.kind() == MessageKind::ApprovalDecision).unwrap();
        assert!(decision.event.body.to_json().contains(&format!("\"decision\":\"{word}\"")));
        assert!(play.lines.last().unwrap().contains("RUNNING  codex implementer round 2"), "{:?}", play.lines);
    }
}

#[test]
fn rework_can_name_open_findings_and_needs_words_or_findings() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass clean
         codex: pass P3 'naming'
         human: rework
         human: rework F7
         human: rework F1",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 READY_FOR_APPROVAL round 1 tree1
         refused: the message must not be empty
         refused: F7 is not an open finding
         #5 RUNNING codex implementer round 2 open: F1 P3 naming [reopened]",
    );
    let play = play(
        "start
         codex: pass
         claude: pass clean
         codex: pass P3 'naming'
         human: rework F1",
    );
    assert_eq!(play.state.gate.notes, ["rework: F1 P3 naming"]);
}

#[test]
fn approval_and_rework_are_refused_outside_of_the_gate() {
    check(
        "human: approve
         start
         human: approve
         human: rework 'x'
         human: commit",
        "refused: cannot approve: the bubble is CREATED; it has not been started
         #1 RUNNING codex implementer round 1
         refused: cannot approve: the bubble is RUNNING; round 1, codex has the turn as implementer
         refused: cannot request-rework: the bubble is RUNNING; round 1, codex has the turn as implementer
         refused: cannot commit: the bubble is RUNNING; round 1, codex has the turn as implementer",
    );
}

#[test]
fn at_most_twenty_questions_of_agents_wait_for_a_person() {
    let mut play = play("start");
    (1..=20).for_each(|n| play.line(&format!("codex: asks 'question {n}?'")));
    assert_eq!(play.state.gate.questions.len(), 20);
    play.line("claude: asks 'one more?'");
    assert_eq!(play.state.gate.questions.len(), 20, "the twenty-first is refused");
    assert_eq!(
        play.lines.last().unwrap(),
        "refused: 20 questions already wait for the person; wait for an answer before you ask another one"
    );
    play.line("human: reply 'yes' to 1");
    play.line("claude: asks 'one more?'");
    assert_eq!(play.state.gate.questions.len(), 20, "an answer makes room");
}

#[test]
fn reviewers_read_what_the_person_has_said_to_the_implementer() {
    let play = play(
        "start
         codex: asks 'is a comment wanted?'
         human: reply 'no comment, ever'
         codex edits a.rs
         codex: pass",
    );
    let told = brief(&play.state, &BriefMaterial::default()).unwrap();
    assert!(told.contains("What the person said before") && told.contains("no comment, ever"), "{told}");
}
