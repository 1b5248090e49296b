//! The tmux driver with toy agents: what their hooks bring about.

use pairflow_testkit::home::write_program;
use pairflow_testkit::toys::ToyBubble;
use pairflow_testkit::wait::eventually_or;
use serde_json::Value;

use crate::support::bubbles::toys;

/// Types a line into a pane, as a person does.
fn types(bubble: &ToyBubble<'_>, agent: &str, line: &str) {
    bubble.tmux(&["send-keys", "-t", &bubble.pane(agent), "-l", line]).unwrap();
    bubble.tmux(&["send-keys", "-t", &bubble.pane(agent), "Enter"]).unwrap();
}

/// Returns the lines of the log.
fn lines(bubble: &ToyBubble<'_>) -> Vec<Value> {
    let log = std::fs::read_to_string(bubble.repo.join(format!(".pairflow/bubbles/{}/transcript.ndjson", bubble.id)));
    let text = log.unwrap();
    // A line that is being appended right now is not there yet.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns how many notices were sent to `agent`, with the attempts.
fn sent(bubble: &ToyBubble<'_>, agent: &str) -> usize {
    let mine = |event: &&Value| {
        let text = event.to_string();
        text.contains("\"DELIVERY\"")
            && text.contains("\"acknowledged\":false")
            && text.contains(&format!("\"{agent}\""))
    };
    lines(bubble).iter().filter(mine).count()
}

#[test]
fn a_notice_waits_until_a_busy_program_has_stopped() {
    let play = r#"
act() {
  case $seat-$round in
    implementer-1) echo one >work.txt; pairflow pass --summary 'first cut' ;;
    reviewer-1) gate go; pairflow pass --summary 'read it' --finding 'P1:no rollback' ;;
    implementer-2) echo two >work.txt; pairflow pass --summary 'rolled back' --fixed F1 --test 'F1=grep -q two work.txt' ;;
    *) explain | pairflow pass --summary 'all is well' --no-findings --explain - ;;
  esac
}
person() { hook PreToolUse ',"tool_name":"Bash","tool_input":{"command":"ls"}'; gate free; }
"#;
    let machine = toys(play, "");
    let bubble = machine.start("busy");
    bubble.wait_for_note("claude", 1);
    types(&bubble, "codex", "what do you think of it?");
    assert_eq!(bubble.wait_for_note("codex", 1).number, None);
    let busy = |session: &Value| {
        session["agents"].as_array().unwrap().iter().any(|agent| agent["agent"] == "codex" && agent["status"] == "busy")
    };
    eventually_or("a busy program", || bubble.everything(), || bubble.session().filter(busy));
    let before = sent(&bubble, "codex");
    machine.open("go");
    bubble.wait("the next turn", |status| {
        status["round"] == 2 && status["active_agent"] == "codex" && status["turn_state"] == "open"
    });
    bubble.stays("nothing is typed into a busy program", || sent(&bubble, "codex") == before);
    machine.open("free");
    assert_eq!(bubble.wait_for_note("codex", 2).round, Some(2));
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}

#[test]
fn a_notice_that_nobody_takes_is_sent_three_times_and_then_asked_about_once() {
    // From its second turn on the implementer is deaf: it reports nothing and does nothing.
    let play = r#"
act() {
  case $seat-$round in
    implementer-1) echo one >work.txt; pairflow pass --summary 'first cut' ;;
    *) pairflow pass --summary 'read it' --finding 'P1:no rollback' ;;
  esac
}
eval "heard_$(declare -f take)"
take() { if [[ $1 == *'Round 2: you are the implementer'* ]]; then echo "$1" >>"$given"; else heard_take "$1"; fi; }
"#;
    let mut machine = toys("", "");
    machine.limit("notice_pasted=2000");
    let toy = std::fs::read_to_string(machine.beside("toy")).unwrap();
    let (head, tail) = toy.split_once("\nbegun\n").unwrap();
    write_program(&machine.beside("toy"), &format!("{head}\n{play}\nbegun\n{tail}"));
    let bubble = machine.start("deaf");
    let question = bubble.wait_for_question("pane");
    assert!(question.contains("did not reach codex"), "{question}");
    let given = String::from_utf8(bubble.given("codex")).unwrap();
    let told: Vec<_> = given.lines().filter(|line| line.contains("Round 2: you are the implementer")).collect();
    assert_eq!(told.len(), 3, "{given}");
    let brief = bubble.repo.join(".pairflow/bubbles/deaf/artifacts/brief-codex.md").display().to_string();
    assert!(told.iter().all(|line| line.contains(&brief)), "{brief} is missing in {told:#?}");
    assert!(std::fs::read_to_string(&brief).unwrap().contains("no rollback"), "{brief}");
    assert_eq!(bubble.status()["open_findings"][0]["id"], "F1", "the review that could not be told of still stands");
    assert_eq!(bubble.questions(), 1);
    bubble.stop();
}

#[test]
fn a_program_that_stops_in_its_turn_is_reminded_twice_and_then_a_person_is_asked() {
    let machine = toys("act() { :; }", "");
    let bubble = machine.start("idle");
    let question = bubble.wait_for_question("watchdog");
    assert!(question.contains("codex has stopped without handing over"), "{question}");
    let stops = bubble.stops("codex");
    assert_eq!(stops.len(), 2, "{stops:?}");
    for stop in &stops {
        assert_eq!(stop["decision"], "block", "{stop}");
        let reason = stop["reason"].as_str().unwrap();
        assert!(reason.contains("pairflow bubble idle") && reason.contains("pairflow brief"), "{reason}");
    }
    let nudges = lines(&bubble).into_iter().filter(|line| line["payload"]["action"] == "nudge");
    let told: Vec<_> = nudges.map(|line| (line["sender"].clone(), line["recipient"].clone())).collect();
    assert_eq!(told, [("orchestrator".into(), "codex".into()), ("orchestrator".into(), "codex".into())]);
    // A person talks to it: it may stop after that as often as it likes, and is back at work.
    types(&bubble, "codex", "how is it going?");
    assert_eq!(bubble.wait_for_note("codex", 1).number, None);
    eventually_or("the withdrawal", || bubble.everything(), || (bubble.questions() == 0).then_some(()));
    bubble.stays("no reminder follows a person's words", || bubble.stops("codex").len() == 2);
    assert!(bubble.stops("claude").is_empty(), "it has no turn");
    bubble.stop();
}

#[test]
fn nobody_is_reminded_in_a_paused_bubble() {
    let machine = toys("act() { gate go; }\nperson() { touch \"$here/person\"; }", "");
    let bubble = machine.start("paused");
    bubble.wait_for_note("codex", 0);
    bubble.run("pause", &[]).ok();
    machine.open("go");
    // What is typed now is read once the turn has stopped.
    types(&bubble, "codex", "are you still there?");
    let stopped = || machine.beside("person").exists().then_some(());
    eventually_or("the end of the turn", || bubble.everything(), stopped);
    assert_eq!((bubble.stops("codex").len(), bubble.questions()), (0, 0), "{}", bubble.everything());
    bubble.stop();
}

#[test]
fn a_permission_is_asked_for_and_the_question_withdrawn_with_the_next_sign_of_work() {
    let play = r#"
act() {
  if [ "$seat" != implementer ]; then explain | pairflow pass --summary 'read it' --no-findings --explain -; return; fi
  # Claude Code shows its dialog while its hook waits, and the hook outlives the answer.
  hook PermissionRequest ',"tool_name":"Bash","tool_input":{"command":"rm -rf build"}' >"$here/told" &
  gate answered
  hook PostToolUse ',"tool_name":"Bash","tool_input":{"command":"rm -rf build"}'
  gate go
  echo one >work.txt
  pairflow pass --summary 'worked on it'
}
"#;
    let machine = toys(play, "");
    let bubble = machine.start("permission");
    let question = bubble.wait_for_question("permission");
    assert!(question.contains("codex asks for a permission") && question.contains("Bash rm -rf build"), "{question}");
    assert_eq!(bubble.questions(), 1);
    machine.open("answered");
    eventually_or("the withdrawal", || bubble.everything(), || (bubble.questions() == 0).then_some(()));
    assert_eq!(std::fs::read_to_string(machine.beside("told")).unwrap(), "", "it was answered in the pane");
    machine.open("go");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}

#[test]
fn an_edit_of_the_agent_that_has_handed_over_is_not_blamed_on_the_reviewer() {
    let play = r#"
act() {
  case $seat-$round in
    implementer-1)
      briefed; echo one >work.txt; pairflow pass --summary 'first cut'
      gate late
      hook PreToolUse ',"tool_name":"Bash","tool_input":{"command":"echo late >late.txt"}'
      echo late >late.txt ;;
    reviewer-1) gate review; explain | pairflow pass --summary 'all is well' --no-findings --explain - ;;
    *) explain | pairflow pass --summary 'all is well' --no-findings --explain - ;;
  esac
}
"#;
    let machine = toys(play, "");
    let bubble = machine.start("late");
    bubble.wait("the review", |status| status["active_agent"] == "claude" && status["turn_state"] == "open");
    machine.open("late");
    let log = || bubble.run("log", &[]).ok().stdout;
    let still = || log().contains("codex is still working without the turn").then_some(());
    eventually_or("what codex does", || bubble.everything(), still);
    let file = std::path::PathBuf::from(bubble.status()["worktree"].as_str().unwrap()).join("late.txt");
    eventually_or("the late edit", || bubble.everything(), || file.exists().then_some(()));
    machine.open("review");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    let void = "the clean review of claude does not count: files changed during its turn, author unknown; \
                claude reviews again";
    let log = log();
    assert!(log.contains(void) && !log.contains("after claude's turn, 1 file"), "{log}");
    let brief = bubble.repo.join(".pairflow/bubbles/late/artifacts/brief-claude.md");
    let brief = std::fs::read_to_string(brief).unwrap();
    assert!(brief.contains("it is NOT KNOWN WHO changed this") && !brief.contains("turn of yours"), "{brief}");
    bubble.stop();
}
