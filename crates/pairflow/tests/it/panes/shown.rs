//! The tmux driver with toy agents: what a person is shown, and who is told how to look at the panes.

use pairflow_testkit::wait::eventually_or;

use crate::support::bubbles::toys;
use crate::support::terminal::{bin_with, on_terminal};

/// The turn waits for good.
const PLAY: &str = "act() { gate never; }";

#[test]
fn a_supervisor_that_took_agents_over_does_not_say_since_when_they_work() {
    let machine = toys(PLAY, "");
    let bubble = machine.start("adopted");
    bubble.wait_for_note("codex", 0);
    let busy = || bubble.session()?["agents"].as_array()?.iter().find(|one| one["agent"] == "codex").cloned();
    let since = |there: bool| {
        let fits = || busy().filter(|seat| seat["status"] == "busy" && seat["since"].is_string() == there);
        eventually_or("the word of the supervisor", || bubble.everything(), fits);
    };
    since(true);
    machine.home.pairflow(&["supervisor", "stop"]).ok();
    machine.home.pairflow(&["supervise"]).ok();
    since(false);
    let view = bubble.run("view", &["--once", "--width", "100", "--height", "30"]).ok().stdout;
    assert!(view.contains("codex   implementer  busy\n"), "{view}");
    assert!(!view.contains(" d\n"), "{view}");
    bubble.stop();
}

#[test]
fn no_key_ends_the_view_of_the_session() {
    let machine = toys(PLAY, "");
    let bubble = machine.start("stays");
    bubble.wait_for_note("codex", 0);
    let pane = bubble.pane("pairflow.view");
    let screen = || bubble.tmux(&["capture-pane", "-p", "-t", &pane]).unwrap_or_default();
    let shows = |text: &str| {
        eventually_or(
            &format!("{text:?} in the view"),
            || bubble.everything(),
            || screen().contains(text).then_some(()),
        );
    };
    shows("Turn      codex as implementer");
    assert!(!screen().contains("q quits") && screen().contains("tmux: prefix o next pane"), "{}", screen());
    let process = bubble.tmux(&["display-message", "-p", "-t", &pane, "#{pane_pid}"]).unwrap();
    for key in ["q", "Q", "C-c", "C-d"] {
        bubble.tmux(&["send-keys", "-t", &pane, key]).unwrap();
    }
    // It goes on to show what happens.
    bubble.run("pause", &[]).ok();
    shows("RUNNING, paused");
    let still = bubble.tmux(&["display-message", "-p", "-t", &pane, "#{pane_pid} #{pane_dead}"]).unwrap();
    assert_eq!(still, format!("{process} 0"));
    bubble.run("resume", &[]).ok();
    bubble.stop();
}

#[test]
fn who_cannot_be_shown_the_panes_is_told_what_helps() {
    let machine = toys(PLAY, "");
    let home = &machine.home;
    home.pairflow(&["create", "--id", "later", "--task", "do it", "--test", "true", "--yes"]).ok();
    home.pairflow(&["attach", "later"]).ends(1).says("is CREATED").says("next: pairflow start later");
    home.pairflow(&["start", "later", "--attach"]).ends(1).says("no terminal").says("pairflow attach later --print");
    assert_eq!(home.status("later")["state"], "CREATED", "nothing was started");

    let bubble = machine.start("shown");
    bubble.wait_for_note("codex", 0);
    bubble.run("attach", &[]).ends(1).says("no terminal").says("next: pairflow attach shown --print");
    let bin = bin_with(home, &["git"]);
    let without = |mut command: std::process::Command| {
        command.env("PATH", &bin);
        command
    };
    let (code, said) = on_terminal(without(home.command(&["attach", "shown"])), &[]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("not on PATH") && said.contains("next: install tmux"), "{said}");
    let printed = home.finish(without(home.command(&["attach", "shown", "--print"]))).ok().stdout;
    assert_eq!(printed, bubble.run("attach", &["--print"]).ok().stdout, "to print the command needs no tmux");
    bubble.stop();
    for more in [&[][..], &["--print"]] {
        bubble.run("attach", more).ends(1).says("is CANCELLED").says("next: pairflow status shown");
    }
}
