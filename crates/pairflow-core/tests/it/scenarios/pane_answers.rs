//! What only an agent's pane can answer, what a permission can be answered with, and what the story says of it.

use pairflow_core::bubble::{Refusal, RefusedCaller};
use pairflow_core::log::QuestionKind;
use pairflow_core::view::timeline::TimelineState;
use pairflow_testkit::script::{ScriptRun, play};

fn asked(play: &ScriptRun) -> Vec<QuestionKind> {
    play.state.gate.questions.iter().map(|open| open.kind).collect()
}

/// What the story says of the last envelope.
fn told(play: &ScriptRun) -> String {
    let mut story = TimelineState::new(play.state.id.clone());
    let rows: Vec<_> = play.log.iter().flat_map(|envelope| story.step(envelope)).collect();
    let last = play.log.last().unwrap().seq;
    rows.into_iter().find(|row| row.seq == last).map(|row| format!("{} {}", row.who, row.what)).unwrap()
}

#[test]
fn what_waits_in_a_pane_is_answered_there_and_nowhere_else() {
    for (act, kind) in
        [("wants 'Bash rm -rf target'", QuestionKind::Permission), ("shows 'trust'", QuestionKind::Dialog)]
    {
        let mut play = play(&format!("given panes\nstart\ncodex: reads\ncodex: {act}"));
        for reply in ["human: reply 'yes'", "human: reply 'yes' accept", "human: reply 'yes' continue"] {
            play.line(reply);
            assert_eq!(play.lines.last().unwrap(), "refused: answer it in its pane: pairflow attach demo", "{reply}");
            assert_eq!(asked(&play), [kind], "nothing was answered: {reply}");
        }
        play.line("human: resume");
        assert_eq!(asked(&play), [], "whoever has answered it there goes on");
    }
    let refusal = Refusal::OnlyInPane { bubble: "demo".parse().unwrap() };
    let next = refusal.next(&"demo".parse().unwrap(), RefusedCaller::Person);
    assert_eq!(next.as_deref(), Some("pairflow attach demo"));
}

#[test]
fn a_permission_has_two_answers_and_no_other_decision() {
    let mut play = play("given panes\nstart\ncodex: reads\ncodex: holds 'Bash rm -rf target'");
    play.line("human: reply 'go on' continue");
    let said = play.lines.last().unwrap();
    let wanted = "a permission is given with --decision accept and refused with --message; there is no other decision";
    assert_eq!(*said, format!("refused: {wanted}"));
    assert_eq!(asked(&play), [QuestionKind::Permit]);
}

#[test]
fn the_story_says_what_was_allowed_and_what_was_not() {
    let begun = "given panes\nstart\ncodex: reads\ncodex: holds 'Bash rm -rf target'";
    let mut given = play(begun);
    let id = given.state.gate.questions[0].id.clone();
    given.line(&format!("human: reply accept to {id}"));
    assert_eq!(told(&given), "human allows codex once: Bash rm -rf target", "{:?}", given.lines.last());
    let mut refused = play(begun);
    refused.line("human: reply 'not that one'");
    assert_eq!(told(&refused), "human does not allow codex: Bash rm -rf target: not that one");
    let mut withdrawn = play(begun);
    withdrawn.line("codex: is active");
    assert_eq!(told(&withdrawn), "pairflow answers: codex is at work again", "nobody has allowed anything");
}

#[test]
fn whoever_ended_is_looked_at_in_its_pane() {
    let play = play("given panes\nstart\ncodex: reads\ncodex ends 'with exit code 3'");
    let question = &play.state.gate.questions[0].question;
    let ways = "Look at its output with 'pairflow attach demo', then go on with 'pairflow resume demo'.";
    assert!(question.ends_with(ways), "{question}");
}

#[test]
fn what_is_over_is_not_paused() {
    let play = play("start\nhuman: pause\nhuman: stop");
    assert!(play.state.phase.is_final() && !play.state.paused);
}
