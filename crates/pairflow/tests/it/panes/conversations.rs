//! The tmux driver with toy agents: in whose conversation each turn is, whatever earlier programs still say.

use std::process::Command;

use pairflow_testkit::toys::ToyBubble;
use pairflow_testkit::wait::eventually_or;
use serde_json::Value;

use crate::support::bubbles::toys;

/// Returns the records of which conversation `agent` has, as they stand in the log.
fn sessions(bubble: &ToyBubble<'_>, agent: &str) -> Vec<Value> {
    let log = bubble.repo.join(format!(".pairflow/bubbles/{}/transcript.ndjson", bubble.id));
    let log = std::fs::read_to_string(log).unwrap();
    // A line that is being appended right now is not there yet.
    let whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let payloads = whole.map(|line| serde_json::from_str::<Value>(line).unwrap()["payload"].clone());
    payloads.filter(|payload| payload["event"] == "agent_session" && payload["agent"] == agent).collect()
}

/// Claude reports its end when it is told to end, as Claude Code does. Its program for the first review ends before it
/// says anything.
const PLAY_LATE: &str = r#"
if [ "$agent" = claude ]; then
  echo start >>"$here/starts"
  trap 'hook SessionEnd ",\"transcript_path\":\"/of/an/earlier/program\""; echo "$session" >>"$here/ended"; exit 0' TERM
  if [ "$(wc -l <"$here/starts")" = 2 ]; then exit 1; fi
fi
act() {
  if [ "$seat" = implementer ]; then briefed; echo one >work.txt; pairflow pass --summary 'worked on it';
  else gate go; explain | pairflow pass --summary 'read it' --no-findings --explain -; fi
}
"#;

#[test]
fn what_a_program_says_while_it_ends_is_not_taken_for_the_next_ones() {
    let machine = toys(PLAY_LATE, "");
    let bubble = machine.start("late");
    let review = bubble.wait_for_note("claude", 1);
    let first = bubble.notes("claude")[0].session.clone();
    let ended = std::fs::read_to_string(machine.beside("ended")).unwrap();
    assert_eq!(ended.lines().next(), Some(first.as_str()), "it has reported its end");
    assert_eq!((review.seat.as_str(), review.how.as_str()), ("reviewer", "fresh"), "{}", bubble.everything());
    assert_ne!(review.session, first, "a review begins anew");
    assert_eq!(bubble.questions(), 0, "one that has said nothing is started once more: {}", bubble.everything());
    let known = |one: &Value| one["session"] == *review.session;
    let named = || sessions(&bubble, "claude").iter().any(known).then_some(());
    eventually_or("the conversation of the review", || bubble.everything(), named);
    let mixed: Vec<_> =
        sessions(&bubble, "claude").into_iter().filter(|one| one["session"] == *first && one["turn"] != 0).collect();
    assert_eq!(mixed, Vec::<Value>::new(), "the earlier conversation is of no turn");
    machine.open("go");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}

/// The implementer becomes the reviewer, and then the implementer again, which waits.
const PLAY_THERE_AND_BACK: &str = r#"
act() {
  case $agent-$seat-$round in
    codex-implementer-1) briefed; echo one >work.txt; pairflow pass --summary 'first cut' ;;
    codex-reviewer-1) pairflow pass --summary 'read it' --finding 'P1:no rollback' ;;
    claude-implementer-2) echo two >work.txt; pairflow pass --summary 'rolled back' --fixed F1 --test 'F1=grep -q two work.txt' ;;
    claude-reviewer-2) pairflow pass --summary 'read it' --finding 'P1:too slow' ;;
    codex-implementer-3) gate go; echo three >work.txt; pairflow pass --summary 'faster' --fixed F2 --test 'F2=grep -q three work.txt' ;;
    *) explain | pairflow pass --summary 'all is well' --no-findings --explain - ;;
  esac
}
"#;

#[test]
fn an_implementer_goes_on_in_its_own_conversation_after_its_reviews() {
    let machine = toys(PLAY_THERE_AND_BACK, "");
    let bubble = machine.start("back");
    let back = bubble.wait_for_note("codex", 3);
    let notes = bubble.notes("codex");
    let [first, review, again, _] = &notes[..] else { panic!("{}", bubble.everything()) };
    for review in [review, again] {
        assert_eq!((review.seat.as_str(), review.how.as_str()), ("reviewer", "fresh"), "{}", bubble.everything());
        assert_ne!(review.session, first.session);
    }
    assert_eq!((back.seat.as_str(), back.how.as_str()), ("implementer", "resume"), "{}", bubble.everything());
    assert_eq!(back.session, first.session);
    assert_ne!(back.pid, again.pid, "the review's program has ended");
    let claude = bubble.notes("claude");
    let mended = claude.iter().find(|note| note.seat == "implementer").unwrap();
    assert_eq!(mended.how, "paste", "whoever has only reviewed produces in that conversation: {claude:?}");
    machine.open("go");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}

#[test]
fn a_stage_that_fails_while_the_work_is_up_for_approval_is_told_of_when_it_goes_on() {
    let machine = toys("", "");
    let bubble = machine.start("broken");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    let session = bubble.session().unwrap();
    let socket = std::path::PathBuf::from(session["socket"].as_str().unwrap());
    let server = bubble.tmux(&["display-message", "-p", "#{pid}"]).unwrap();
    // In the place of its socket there is something that no tmux server can be reached by or made at.
    std::fs::remove_file(&socket).unwrap();
    std::fs::create_dir(&socket).unwrap();
    assert!(Command::new("kill").args(["-9", &server]).status().unwrap().success());
    let said =
        || std::fs::read_to_string(machine.home.root().join("state/pairflow/supervisor.log")).unwrap_or_default();
    let thrice = || (said().matches("pairflow tries again").count() >= 3).then_some(());
    eventually_or("three failures", || format!("{}\n{}", bubble.everything(), said()), thrice);
    assert_eq!(bubble.questions(), 1, "the approval alone: {}", bubble.everything());
    bubble.run("request-rework", &["--message", "once more"]).ok();
    let question = bubble.wait_for_question("trouble");
    let told = question.contains("tmux") && question.contains("Fix it, then go on with 'pairflow resume broken'");
    assert!(told, "{question}");
    std::fs::remove_dir(&socket).unwrap();
    bubble.run("resume", &[]).ok();
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}
