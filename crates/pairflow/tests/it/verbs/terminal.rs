//! What happens only in front of a terminal, or only when time has gone by: the same program in a world of the test's.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;

use pairflow::{Env, Terminal, World};
use pairflow_core::time::{Moment, Timestamp};
use pairflow_engine::clock::{Clock, SystemClock};
use pairflow_testkit::home::Home;

use crate::support::bubbles::{created, home, started};

/// A stream that the test can read afterwards.
#[derive(Clone, Default)]
struct Tape(Rc<RefCell<Vec<u8>>>);

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The machine's clock, ten minutes fast.
struct TenMinutesLater;

impl Clock for TenMinutesLater {
    fn now(&self) -> Moment {
        let now = SystemClock.now();
        Moment { ts: Timestamp::from_millis(now.ts.millis() + 600_000), up: now.up + 600_000 }
    }
}

/// Runs the program in front of a terminal on which `typed` is typed.
fn at_terminal(home: &Home, args: &[&str], typed: &'static str, clock: Arc<dyn Clock>) -> (ExitCode, String) {
    at_terminal_of(200, home, args, typed, clock)
}

/// The same, on a terminal of so many columns.
fn at_terminal_of(
    columns: u16,
    home: &Home,
    args: &[&str],
    typed: &'static str,
    clock: Arc<dyn Clock>,
) -> (ExitCode, String) {
    let (stdout, stderr) = (Tape::default(), Tape::default());
    let dirs =
        [("HOME", "home"), ("XDG_RUNTIME_DIR", "run"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config")];
    let env: BTreeMap<_, _> =
        dirs.iter().map(|(name, dir)| ((*name).to_owned(), home.root().join(dir).into_os_string())).collect();
    let exit = pairflow::main_with(World {
        args: [&["pairflow"], args].concat().iter().map(Into::into).collect(),
        env: Env::Fixed(env),
        cwd: Some(home.repo.clone()),
        stdin: Box::new(typed.as_bytes()),
        stdout: Box::new(stdout.clone()),
        stderr: Box::new(stderr.clone()),
        terminal: Terminal { stdin: true, stdout: true, stderr: true, columns: Some(columns) },
        clock,
        // Nothing is started for it: a supervisor would not see the environment of this world.
        program: None,
        ..World::empty()
    });
    let text = |tape: &Tape| String::from_utf8_lossy(&tape.0.borrow()).into_owned();
    (exit, text(&stdout) + &text(&stderr))
}

#[test]
fn detected_commands_are_asked_for_once_per_repository_and_again_when_they_change() {
    let home = home();
    home.commit("Makefile", "test:\n\ttrue\n", "a makefile");
    let create = |id: &str, typed| {
        let (exit, text) = at_terminal(&home, &["create", "--id", id, "--task", "x"], typed, Arc::new(SystemClock));
        (exit, text.contains("Use these commands to check"))
    };
    let (done, refused) = (ExitCode::from(0), ExitCode::from(1));
    assert_eq!(create("b0", "n\n"), (refused, true));
    assert_eq!(create("b1", "y\n"), (done, true));
    assert_eq!(create("b2", ""), (done, false));
    home.commit("Makefile", "test:\n\ttrue\nlint:\n\ttrue\n", "another target");
    assert_eq!(create("b3", ""), (refused, true));
    assert_eq!(create("b4", "yes\n"), (done, true));
    home.pairflow(&["status", "b0"]).ends(1);
}

#[test]
fn stop_is_asked_for_on_the_terminal() {
    let home = home();
    created(&home, "b1");
    let stop = |typed| at_terminal(&home, &["stop", "b1"], typed, Arc::new(SystemClock));
    let (exit, text) = stop("\n");
    assert_eq!(exit, ExitCode::from(1));
    assert!(
        text.contains("Cancel bubble b1 (CREATED) for good? [y/N]") && text.contains("nothing was changed"),
        "{text}"
    );
    assert_eq!(stop("y\n").0, ExitCode::from(0));
    assert_eq!(home.status("b1")["state"], "CANCELLED");
}

#[test]
fn the_status_counts_down_from_the_last_sign_of_life_that_the_supervisor_has_shown() {
    let home = home();
    started(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    let left = || {
        let (exit, text) = at_terminal(&home, &["status", "b1", "--json"], "", Arc::new(TenMinutesLater));
        assert_eq!(exit, ExitCode::from(0), "{text}");
        let json: serde_json::Value = serde_json::Deserializer::from_str(&text).into_iter().next().unwrap().unwrap();
        json["watchdog_left_secs"].as_u64().unwrap()
    };
    assert_eq!(left(), 0, "the log alone has been silent for ten minutes");
    // Its hooks were heard a minute before the status is asked for.
    let active = SystemClock.now().up + 540_000;
    let seat = serde_json::json!({
        "agent": "codex", "status": "busy", "since": "2026-01-01T00:00:00Z", "session": null, "pane": null, "pid": null,
        "notice": null, "active": active,
    });
    let runtime = home.repo.join(".pairflow/runtime/b1");
    std::fs::create_dir_all(&runtime).unwrap();
    std::fs::write(runtime.join("seats.json"), serde_json::json!([seat]).to_string()).unwrap();
    let shown = left();
    assert!((200..=240).contains(&shown), "{shown} of 300 seconds are left");
    std::fs::write(runtime.join("seats.json"), "[{").unwrap();
    assert_eq!(left(), 0, "a file that makes no sense says nothing");
}

#[test]
fn the_watchdog_says_what_it_asks_about_a_turn_that_takes_too_long() {
    let home = home();
    home.commit("pairflow.toml", "watchdog_timeout_minutes = 30\nmax_turn_minutes = 5\n", "configuration");
    started(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    let (exit, text) = at_terminal(&home, &["watchdog", "b1"], "", Arc::new(TenMinutesLater));
    assert_eq!(exit, ExitCode::from(0));
    assert!(
        text.contains("A question was added to the inbox of bubble b1: codex has had the turn for 5 minutes"),
        "{text}"
    );
    assert!(!text.contains("silent"), "{text}");
}

#[test]
fn the_watchdog_asks_once_about_an_agent_that_was_silent_for_too_long() {
    let home = home();
    started(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    let (exit, text) = at_terminal(&home, &["watchdog", "b1"], "", Arc::new(TenMinutesLater));
    assert_eq!(exit, ExitCode::from(0));
    assert!(text.contains("codex has been silent for too long"), "{text}");
    let (_, text) = at_terminal(&home, &["watchdog", "b1"], "", Arc::new(TenMinutesLater));
    assert!(text.contains("No timeout is running; bubble b1 is WAITING_HUMAN"), "{text}");
    assert_eq!(home.status("b1")["questions"].as_array().unwrap().len(), 1);
    home.pairflow(&["resume", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
}

/// A bubble whose long work waits for approval.
fn long_work(home: &Home) {
    started(home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("done.txt", &"done\n".repeat(500));
    let summary =
        "wrote the file with all the lines that were asked for, and then looked at each of them again to be sure";
    codex.pairflow(&["pass", "--summary", summary]).ok();
    home.wait_for_turn("b1", "claude");
    // Long work needs four looks.
    for (agent, next) in [(&claude, "codex"), (&codex, "claude"), (&claude, "codex")] {
        agent.pairflow(&["pass", "--summary", summary, "--no-findings", "--reviewed", "1,2"]).ok();
        home.wait_for_turn("b1", next);
    }
    let explanation = home.root().join("explanation.md");
    std::fs::write(&explanation, "## What changed\nx\n## Why\nx\n## Risks\nx\n## Manual test plan\nx\n").unwrap();
    let explain = explanation.display().to_string();
    codex.pairflow(&["converged", "--summary", "nothing left", "--explain", &explain, "--reviewed", "1,2"]).ok();
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
    home.pairflow(&["supervisor", "stop"]).ok();
}

#[test]
fn ok_shows_plain_text_in_the_width_of_the_terminal_and_the_beginning_of_the_difference() {
    let home = home();
    long_work(&home);
    let (exit, text) = at_terminal_of(60, &home, &["ok", "b1", "--color", "never"], "n\n", Arc::new(SystemClock));
    assert_eq!(exit, ExitCode::from(1));
    let (package, diff) = text.split_once("diff --git").unwrap();
    assert!(package.starts_with("Package of bubble b1\n"), "{package}");
    for line in package.lines().filter(|line| !line.starts_with("> ")) {
        assert!(!["#", "](", "```", "**"].iter().any(|mark| line.contains(mark)), "{line}");
    }
    let wide = |line: &&str| {
        line.chars().count() > 60 && line.trim_start_matches("> ").contains(' ') && !line.starts_with("    ")
    };
    assert_eq!(package.lines().filter(wide).collect::<Vec<_>>(), [""; 0], "{package}");
    assert!(diff.contains("\n+done\n") && diff.contains("more lines of the diff: pairflow diff b1"), "{diff}");
    assert!(diff.matches("\n+done").count() < 200, "{diff}");
    // Where nobody is asked, nobody reads the difference.
    let approved = home.pairflow(&["ok", "b1", "--yes"]).ok();
    assert!(
        approved.stdout.contains("Package of bubble b1\n") && !approved.stdout.contains("diff --git"),
        "{approved:?}"
    );
}

#[test]
fn next_wraps_words_at_the_width_of_the_terminal() {
    let home = home();
    long_work(&home);
    let (_, text) = at_terminal_of(50, &home, &["next", "--color", "never"], "q\n", Arc::new(SystemClock));
    let said =
        text.lines().skip_while(|line| !line.contains("round 1, codex")).take_while(|line| line.starts_with("      "));
    let said: Vec<_> = said.collect();
    assert!(said.len() >= 3 && said.iter().all(|line| line.chars().count() <= 50), "{text}");
    let (_, text) = at_terminal_of(200, &home, &["next", "--color", "never"], "q\n", Arc::new(SystemClock));
    assert!(text.contains("looked at each of them again to be sure\n"), "{text}");
}
