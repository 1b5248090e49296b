//! Permissions that a person gives or refuses with an answer, while the hook of a program waits for it.

use pairflow_core::log::{Body, Decision, QuestionKind};
use pairflow_core::view::inbox::inbox;
use pairflow_testkit::script::{ScriptRun, check, play};

const ASKED: &str = "given panes\nstart\ncodex: reads\ncodex: holds 'Bash rm -rf target'";

fn asked(play: &ScriptRun) -> Vec<QuestionKind> {
    play.state.gate.questions.iter().map(|open| open.kind).collect()
}

#[test]
fn a_permission_is_given_or_refused_with_an_answer_and_nobody_is_told_twice() {
    check(
        "given panes
         start
         codex: reads
         codex: holds 'Bash rm -rf target'
         human: reply accept to 1
         codex: holds 'Bash rm -rf src'
         human: reply 'never the sources'",
        "#1 RUNNING  codex implementer round 1  notice 1 to codex sent 0
         #2 RUNNING  codex implementer round 1
         #3 WAITING_HUMAN  codex implementer round 1  asks: orchestrator: codex asks for a permission: Bash rm -rf target. Allow it this once with 'pairflow reply demo --question msg_20260221_008 --decision accept', refuse it with 'pairflow reply demo --question msg_20260221_008 --message …', or answer in its pane: pairflow attach demo
         #4 RUNNING  codex implementer round 1
         #5 WAITING_HUMAN  codex implementer round 1  asks: orchestrator: codex asks for a permission: Bash rm -rf src. Allow it this once with 'pairflow reply demo --question msg_20260221_010 --decision accept', refuse it with 'pairflow reply demo --question msg_20260221_010 --message …', or answer in its pane: pairflow attach demo
         #6 RUNNING  codex implementer round 1",
    );
}

#[test]
fn the_answer_is_on_record_and_in_no_brief() {
    let mut play = play(ASKED);
    play.line("human: reply 'never the sources'");
    let Body::HumanReply(reply) = &play.log.last().unwrap().event.body else { panic!("{:?}", play.log.last()) };
    assert_eq!((reply.message.as_str(), reply.decision), ("never the sources", None));
    play.line("codex: holds 'Bash ls'");
    play.line("human: reply accept to 1");
    let Body::HumanReply(reply) = &play.log.last().unwrap().event.body else { panic!("{:?}", play.log.last()) };
    assert_eq!(reply.decision, Some(Decision::Accept));
    assert!(play.state.gate.notes.is_empty(), "its own hook has told it: {:?}", play.state.gate.notes);
}

#[test]
fn the_inbox_names_every_way_to_answer() {
    let mut play = play(ASKED);
    let commands = |play: &ScriptRun| inbox(&play.state)[0].answer.clone();
    let id = play.state.gate.questions[0].id.clone();
    let accept = format!("pairflow reply demo --question {id} --decision accept");
    let refuse = format!("pairflow reply demo --question {id} --message '…'");
    assert_eq!(commands(&play), [accept.as_str(), &refuse, "pairflow attach demo"]);
    assert!(play.state.gate.questions[0].question.contains(&accept), "{:?}", play.state.gate.questions);
    play.line("claude: asks 'which db?'");
    assert_eq!(commands(&play)[0], accept);
}

#[test]
fn neither_resume_nor_another_decision_gives_a_permission() {
    for line in ["human: resume", "human: reply continue", "human: reply 'yes' continue"] {
        let mut play = play(ASKED);
        play.line(line);
        assert!(play.lines.last().unwrap().starts_with("refused"), "{line}: {:?}", play.lines.last());
        assert_eq!(asked(&play), [QuestionKind::Permit], "{line}");
    }
}

#[test]
fn a_hook_that_waits_no_more_leaves_the_question_to_the_pane() {
    let mut play = play(ASKED);
    let before = play.log.len();
    play.line("codex: wants 'Bash rm -rf target'");
    assert_eq!(asked(&play), [QuestionKind::Permission]);
    assert_eq!(play.log.len(), before + 2, "one append: it never looked as if nobody were asked");
    assert_eq!(play.log[before].more, 1);
    assert!(play.state.gate.questions[0].question.ends_with("Answer it there: pairflow attach demo"));
    assert!(play.state.presence.outbox.is_empty(), "nobody has answered anything");
    play.line("human: reply accept to 1");
    assert!(play.lines.last().unwrap().starts_with("refused"), "nobody would hear it: {:?}", play.lines.last());
}

#[test]
fn another_request_in_a_pane_does_not_touch_the_one_that_waits() {
    for line in ["codex: wants 'Bash ls'", "claude: wants 'Bash rm -rf target'"] {
        let mut play = play(ASKED);
        play.line(line);
        assert_eq!(asked(&play), [QuestionKind::Permit, QuestionKind::Permission], "{line}");
    }
    let mut play = play(ASKED);
    play.line("codex: holds 'Bash ls'");
    assert_eq!(play.lines.last().unwrap(), "nothing happens", "one is asked about at a time");
}

#[test]
fn an_agent_that_goes_on_needs_no_answer() {
    for line in ["codex: is active", "codex: pass 'done'", "codex: asks 'which db?'"] {
        let mut play = play(ASKED);
        play.line(line);
        assert!(!asked(&play).contains(&QuestionKind::Permit), "{line}");
    }
}

#[test]
fn an_answer_to_something_else_is_told_once_the_permission_is_answered() {
    let script = format!("{ASKED}\nclaude: asks 'which db?'\nhuman: reply 'sqlite' to 2\nhuman: reply accept to 1");
    let told = play(&script).state;
    assert_eq!(told.presence.outbox.len(), 1, "{:?}", told.presence.outbox);
    let again = play(&format!("{script}\ncodex: reads\ncodex: holds 'Bash ls'\nhuman: reply accept to 1")).state;
    assert!(again.presence.outbox.is_empty(), "and only once: {:?}", again.presence.outbox);
}

#[test]
fn a_permission_is_given_to_a_named_request_only() {
    let mut play = play(ASKED);
    let id = play.state.gate.questions[0].id.clone();
    for line in ["human: reply accept", "human: reply 'yes' accept"] {
        play.line(line);
        let exact = format!("'pairflow reply demo --question {id} --decision accept'");
        let last = play.lines.last().unwrap();
        assert!(last.starts_with("refused") && last.contains(&exact), "{line}: {last}");
        assert_eq!(asked(&play), [QuestionKind::Permit], "{line}");
    }
    play.line(&format!("human: reply accept to {id}"));
    assert_eq!(asked(&play), []);
    play.line("codex: holds 'Bash rm -rf src'");
    play.line(&format!("human: reply accept to {id}"));
    assert!(play.lines.last().unwrap().contains("is not an open question"), "{:?}", play.lines.last());
    assert_eq!(asked(&play), [QuestionKind::Permit], "the next request is another one");
}

#[test]
fn a_request_that_begins_as_another_one_is_not_taken_for_it() {
    let mut play = play("given panes\nstart\ncodex: reads\ncodex: holds 'Bash ls. rm'");
    play.line("codex: wants 'Bash ls'");
    assert_eq!(asked(&play), [QuestionKind::Permit, QuestionKind::Permission]);
}

#[test]
fn each_agent_asks_for_its_own_permission() {
    let mut play = play(ASKED);
    play.line("claude: holds 'Bash ls'");
    assert_eq!(asked(&play), [QuestionKind::Permit, QuestionKind::Permit]);
    play.line("codex: is active");
    assert_eq!(asked(&play), [QuestionKind::Permit], "what the other one wants is still open");
    assert!(play.state.gate.questions[0].question.starts_with("claude asks for a permission: Bash ls. Allow it"));
}
