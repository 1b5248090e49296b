//! The tmux driver with toy agents: what the person's verbs do to the panes.

use pairflow_testkit::toys::ToyBubble;
use pairflow_testkit::wait::eventually_or;

use crate::support::bubbles::toys;

/// Each turn waits for the file of its seat and round: `implementer-1`, and `reviewer-1` for both reviews.
const PLAY_GATED: &str = r#"
act() {
  gate "$seat-$round"
  if [ "$seat" = implementer ]; then echo "$round" >work.txt; pairflow pass --summary 'worked on it';
  else explain | pairflow pass --summary 'read it' --no-findings --explain -; fi
}
"#;

#[test]
fn a_paused_bubble_tells_nobody_anything_until_it_is_resumed() {
    let machine = toys(PLAY_GATED, "");
    let bubble = machine.start("paused");
    let first = bubble.wait_for_note("codex", 0);
    bubble.run("pause", &[]).ok();
    assert_eq!(bubble.status()["paused"], true);
    let briefed = bubble.wait_for_note("claude", 0);
    machine.open("implementer-1");
    // Whatever comes of its hand-over, it says so; the reviewer is not told before the person goes on.
    let said = || std::fs::read_to_string(machine.beside("said")).ok().filter(|said| !said.is_empty());
    let said = eventually_or("the hand-over", || bubble.everything(), said);
    assert_eq!(bubble.notes("claude"), [briefed], "{said}");
    assert_eq!(bubble.status()["round"], 1, "{said}");
    machine.open("reviewer-1");
    bubble.run("resume", &[]).ok();
    bubble.wait_for_state("READY_FOR_APPROVAL");
    assert_eq!(bubble.notes("codex")[0].pid, first.pid);
    bubble.stop();
}

#[test]
fn a_pause_interrupts_what_pairflow_has_told_and_leaves_alone_what_a_person_has() {
    // At work both show what the real programs show, and write down which key they get.
    let play = r#"
works() {
  if [ "$agent" = codex ]; then printf 'esc to interrupt\n› ' >/dev/tty;
  else printf 'esc to interrupt\n──────────\n❯ ' >/dev/tty; fi
  hook PreToolUse ',"tool_name":"Bash","tool_input":{"command":"ls"}'
  if IFS= read -rsn1 ${1:+-t "$1"} key </dev/tty; then printf %s "$key" | od -An -tx1 >>"$here/keys.$agent"; fi
}
act() {
  if [ "$seat" = implementer ] && [ ! -e "$here/go" ]; then works; return; fi
  if [ "$seat" = implementer ]; then echo one >work.txt; pairflow pass --summary 'worked on it';
  else explain | pairflow pass --summary 'read it' --no-findings --explain -; fi
}
person() { works 6; touch "$here/by-hand"; }
"#;
    let machine = toys(play, "");
    let bubble = machine.start("interrupted");
    bubble.wait_for_note("codex", 0);
    bubble.wait_for_note("claude", 0);
    bubble.tmux(&["send-keys", "-t", &bubble.pane("claude"), "-l", "what do you think of it?"]).unwrap();
    bubble.tmux(&["send-keys", "-t", &bubble.pane("claude"), "Enter"]).unwrap();
    assert_eq!(bubble.wait_for_note("claude", 1).number, None);
    let busy = |session: &serde_json::Value| {
        session["agents"].as_array().is_some_and(|all| all.iter().all(|agent| agent["status"] == "busy"))
    };
    eventually_or("two programs at work", || bubble.everything(), || bubble.session().filter(busy));
    bubble.run("pause", &[]).ok();
    let keys = |agent: &str| std::fs::read_to_string(machine.beside(&format!("keys.{agent}"))).ok();
    let key = || keys("codex").filter(|keys| keys.ends_with('\n'));
    assert_eq!(eventually_or("the key", || bubble.everything(), key).trim(), "1b");
    let by_hand = || machine.beside("by-hand").exists().then_some(());
    eventually_or("the end of the work by hand", || bubble.everything(), by_hand);
    assert_eq!(keys("claude"), None, "nobody interrupts a person's work");
    machine.open("go");
    bubble.run("resume", &[]).ok();
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}

#[test]
fn a_program_that_takes_no_prompt_as_an_argument_has_it_typed() {
    let machine = toys("", "");
    let config = machine.home.root().join("config/pairflow/config.toml");
    let toy = machine.beside("toy").display().to_string();
    let plain = format!("[agent.plain]\ncommand = [\"{toy}\"]\nprompt = \"paste\"\n");
    std::fs::write(&config, std::fs::read_to_string(&config).unwrap() + &plain).unwrap();
    let pair = ["--pair", "plain,claude", "--test", "true", "--yes", "--start"];
    machine.home.pairflow(&[&["create", "--id", "typed", "--task", "Write work.txt"][..], &pair].concat()).ok();
    let bubble = ToyBubble { machine: &machine, repo: machine.home.repo.clone(), id: "typed".to_owned() };
    let first = bubble.wait_for_note("plain", 0);
    assert_eq!((first.number, first.seat.as_str()), (Some(1), "implementer"));
    bubble.wait_for_state("READY_FOR_APPROVAL");
    assert_eq!(bubble.given("plain").iter().filter(|byte| **byte == b'\n').count(), 2, "{}", bubble.everything());
    bubble.stop();
}

#[test]
fn restart_starts_both_programs_again_in_their_conversations() {
    let machine = toys(PLAY_GATED, "reviewer_context_mode = \"persistent\"");
    let bubble = machine.start("again");
    let first = bubble.wait_for_note("codex", 0);
    let standby = bubble.wait_for_note("claude", 0);
    let known = |agent: &str| {
        bubble.session().unwrap()["agents"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["agent"] == agent && one["session"].is_string())
    };
    eventually_or("both conversations", || bubble.everything(), || (known("codex") && known("claude")).then_some(()));
    assert_eq!(bubble.run("restart", &["--json"]).ok().json()["state"], "RUNNING");
    let second = bubble.wait_for_note("codex", 1);
    assert_eq!((second.how.as_str(), &second.session, second.round), ("resume", &first.session, Some(1)));
    assert_ne!(second.pid, first.pid);
    assert!(!std::path::Path::new(&format!("/proc/{}", first.pid)).exists(), "the old program is gone");
    machine.open("implementer-1");
    let review = bubble.wait_for_note("claude", 1);
    assert_eq!((review.how.as_str(), &review.session), ("resume", &standby.session));
    assert_ne!(review.pid, standby.pid);
    machine.open("reviewer-1");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}

#[test]
fn a_second_start_is_refused_and_attach_names_the_one_session() {
    let machine = toys(PLAY_GATED, "");
    let bubble = machine.start("once");
    bubble.wait_for_note("codex", 0);
    let again = bubble.run("start", &[]);
    assert!(matches!(again.code, 1 | 4), "{again:?}");
    let session = bubble.session().unwrap();
    let printed = bubble.run("attach", &["--print"]).ok().stdout;
    for part in ["tmux", session["socket"].as_str().unwrap(), session["session"].as_str().unwrap(), "attach"] {
        assert!(printed.contains(part), "{part:?} in {printed}");
    }
    assert_eq!(bubble.tmux(&["list-sessions", "-F", "#{session_name}"]).unwrap(), session["session"].as_str().unwrap());
    assert_eq!(bubble.notes("codex").len(), 1, "{}", bubble.everything());
    bubble.stop();
    bubble.run("attach", &["--print"]).ends(1);
}

#[test]
fn panes_outlive_a_supervisor_and_the_next_one_goes_on_with_them() {
    let machine = toys(PLAY_GATED, "reviewer_context_mode = \"persistent\"");
    let bubble = machine.start("outlives");
    let first = bubble.wait_for_note("codex", 0);
    let standby = bubble.wait_for_note("claude", 0);
    let panes = || bubble.tmux(&["list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{@pairflow}"]).unwrap();
    let before = panes();
    machine.home.pairflow(&["supervisor", "stop"]).ok();
    assert_eq!(panes(), before, "the panes stay");
    // The program hands over while nobody is there; its command finds its way all the same.
    machine.open("implementer-1");
    bubble.run("resume", &[]).ok();
    let review = bubble.wait_for_note("claude", 1);
    assert_eq!((review.how.as_str(), review.pid), ("paste", standby.pid));
    machine.open("reviewer-1");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    assert_eq!(panes(), before, "all of it happened in the same programs");
    assert!(bubble.notes("codex").iter().all(|note| note.pid == first.pid), "{:?}", bubble.notes("codex"));
    bubble.stop();
}

#[test]
fn the_output_of_panes_is_copied_only_where_it_is_wanted() {
    for wanted in [true, false] {
        let play = "act() { gate \"talk-$seat\"; echo captured-words >/dev/tty; gate never; }";
        let machine = toys(play, &format!("capture_output = {wanted}"));
        let bubble = machine.start("copied");
        bubble.wait_for_note("codex", 0);
        machine.open("talk-implementer");
        let file = bubble.repo.join(".pairflow/runtime/copied/codex.pane.log");
        let shown = || bubble.tmux(&["capture-pane", "-p", "-t", &bubble.pane("codex")]);
        let said = || shown().filter(|screen| screen.contains("captured-words")).map(drop);
        eventually_or("the words on the screen", || bubble.everything(), said);
        if wanted {
            let copied =
                || std::fs::read_to_string(&file).ok().filter(|text| text.contains("captured-words")).map(drop);
            eventually_or("the copy", || bubble.everything(), copied);
        }
        assert_eq!(file.exists(), wanted);
        bubble.stop();
    }
}

#[test]
fn a_bubble_that_is_committed_while_no_supervisor_runs_leaves_no_program() {
    let machine = toys("", "");
    let bubble = machine.start("alone");
    bubble.wait_for_state("READY_FOR_APPROVAL");
    machine.home.pairflow(&["supervisor", "stop"]).ok();
    assert!(!bubble.processes().is_empty(), "the panes outlive the supervisor");
    bubble.run("approve", &["--yes"]).ok();
    bubble.run("commit", &["--message", "work", "--yes"]).ok();
    assert_eq!(bubble.status()["state"], "DONE");
    eventually_or("the end of the programs", || bubble.everything(), || bubble.processes().is_empty().then_some(()));
}

#[test]
fn a_tmux_that_was_missing_is_found_when_a_person_goes_on() {
    let machine = toys(PLAY_GATED, "");
    let bin = machine.beside("bin-without-tmux");
    std::fs::create_dir(&bin).unwrap();
    for program in std::fs::read_dir("/usr/bin").unwrap().flatten().filter(|program| program.file_name() != "tmux") {
        std::os::unix::fs::symlink(program.path(), bin.join(program.file_name())).unwrap();
    }
    let without = |words: &[&str]| {
        let mut command = machine.home.command(words);
        command.env("PATH", &bin);
        machine.home.finish(command)
    };
    machine.home.pairflow(&["create", "--id", "late", "--task", "Write work.txt", "--test", "true", "--yes"]).ok();
    let refused = without(&["start", "late"]).ends(3);
    assert!(
        refused.stderr.contains("tmux is not on PATH") && refused.stderr.contains("Nothing was started"),
        "{refused:?}"
    );
    machine.home.pairflow(&["start", "late"]).ok();
    let bubble = ToyBubble { machine: &machine, repo: machine.home.repo.clone(), id: "late".to_owned() };
    bubble.wait_for_note("codex", 0);
    without(&["restart", "late"]).ok();
    let question = bubble.wait_for_question("trouble");
    assert!(question.contains("tmux") && question.contains("pairflow resume late"), "{question}");
    bubble.run("resume", &[]).ok();
    for gate in ["implementer-1", "reviewer-1"] {
        machine.open(gate);
    }
    bubble.wait_for_state("READY_FOR_APPROVAL");
    bubble.stop();
}
