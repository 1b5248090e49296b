//! The tmux driver with toy agents: a stage that waits for a program or for a person costs next to nothing.

use std::time::{Duration, Instant};

use pairflow_testkit::toys::{LOOK, ToyBubble};
use pairflow_testkit::wait::eventually_or;

use crate::support::bubbles::toys;

/// The implementer's second turn comes while its program is busy with a person's words.
const PLAY: &str = r#"
act() {
  case $seat-$round in
    implementer-1) echo one >work.txt; pairflow pass --summary 'first cut' ;;
    reviewer-1) gate go; pairflow pass --summary 'read it' --finding 'P1:no rollback' ;;
    *) gate never ;;
  esac
}
person() { hook PreToolUse ',"tool_name":"Bash","tool_input":{"command":"ls"}'; gate free; }
"#;

/// Insists that the supervisor is idle for a while.
#[track_caller]
fn is_idle(bubble: &ToyBubble<'_>, what: &str) {
    let said = bubble.machine.home.pairflow(&["supervise"]).ok().stdout;
    let pid = said.trim().rsplit(' ').next().unwrap().to_owned();
    // Ticks of the processor, a hundredth of a second each: of the process, and of the kernel for it.
    let ticks = || {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<_> = text.rsplit(") ").next().unwrap().split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    // Two looks go by before it counts: a loop that does not wait begins with the first that is overdue.
    let pause = |time: Duration| {
        let began = Instant::now();
        eventually_or("the end of a while", String::new, || (began.elapsed() >= time).then_some(()));
    };
    pause(LOOK * 2);
    let before = ticks();
    pause(LOOK * 4);
    let used = ticks() - before;
    assert!(used <= 10, "{what}: {used} ticks in two seconds\n{}", bubble.everything());
}

#[test]
fn a_notice_that_waits_for_a_busy_program_costs_next_to_nothing_also_in_a_pause() {
    let machine = toys(PLAY, "");
    let bubble = machine.start("busy");
    bubble.wait_for_note("claude", 1);
    let pane = bubble.pane("codex");
    bubble.tmux(&["send-keys", "-t", &pane, "-l", "what do you think of it?"]).unwrap();
    bubble.tmux(&["send-keys", "-t", &pane, "Enter"]).unwrap();
    assert_eq!(bubble.wait_for_note("codex", 1).number, None);
    machine.open("go");
    bubble.wait("the next turn", |status| status["round"] == 2 && status["turn_state"] == "open");
    is_idle(&bubble, "a busy program");
    bubble.run("pause", &[]).ok();
    is_idle(&bubble, "a pause");
    bubble.stop();
}

#[test]
fn a_notice_on_its_way_costs_next_to_nothing_also_in_a_pause() {
    // It takes the notice and says nothing.
    let play = r#"taken() { [ "$number" = 0 ] || gate never; }"#;
    let machine = toys(play, "");
    let bubble = machine.start("deaf");
    bubble.wait_for_note("codex", 0);
    is_idle(&bubble, "a notice on its way");
    bubble.run("pause", &[]).ok();
    is_idle(&bubble, "a pause");
    bubble.stop();
}
