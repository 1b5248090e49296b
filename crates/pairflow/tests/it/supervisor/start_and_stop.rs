//! The supervisor's beginnings, ends and bad moments: nothing that was recorded is lost on the way.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use pairflow_testkit::wait::eventually;
use serde_json::Value;

use crate::support::bubbles::{created, home, started};

#[test]
fn whoever_stops_a_supervisor_is_told_so() {
    let home = home();
    for _ in 0..10 {
        home.pairflow(&["supervise"]).ok();
        home.pairflow(&["supervisor", "stop"]).ok().says("Stopped the supervisor, process");
    }
}

#[test]
fn a_verb_that_meets_an_ending_supervisor_is_carried_out_by_the_next_one() {
    let home = home();
    created(&home, "b1");
    created(&home, "b2");
    let agents = home.root().join("agents.yaml");
    std::fs::write(&agents, "agents:\n  codex:\n    - - misbehave: ignore_term\n      - misbehave: hang\n").unwrap();
    home.pairflow(&["start", "b1", "--driver", "script", "--script", agents.to_str().unwrap()]).ok();
    let log = home.repo.join(".pairflow/runtime/b1/codex.log");
    eventually("the agent at work", || std::fs::read_to_string(&log).ok().filter(|text| text.contains("ignoring")));
    let mut stop = home.command(&["supervisor", "stop"]).stdout(Stdio::null()).spawn().unwrap();
    let socket = home.root().join("run/pairflow/supervisor.sock");
    eventually("the end of the socket", || (!socket.exists()).then_some(()));
    home.pairflow(&["start", "b2"]).ok();
    home.wait_for_turn("b2", "codex");
    stop.wait().unwrap();
}

#[test]
fn a_passing_fault_of_the_store_is_outlived() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    home.agent("b1", "claude");
    home.pairflow(&["supervisor", "stop"]).ok();
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    let lock = home.repo.join(".pairflow/locks/b1.lock");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    home.pairflow(&["supervise"]).ok();
    let log = home.root().join("state/pairflow/supervisor.log");
    eventually("the failure", || {
        std::fs::read_to_string(&log).ok().filter(|text| text.contains("pairflow tries again"))
    });
    std::fs::remove_dir(&lock).unwrap();
    home.wait_for_turn("b1", "claude");
    assert_eq!(std::fs::read_to_string(&log).unwrap().matches("pairflow tries again").count(), 1, "it is said once");
}

#[test]
fn an_agents_verb_wakes_the_supervisor_and_waits_for_no_answer() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    home.pairflow(&["supervisor", "stop"]).ok();
    let socket = home.root().join("run/pairflow/supervisor.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    // It has ended, and nobody has answered it.
    let (stream, _) = listener.accept().unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    let asked: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&asked["ask"], &asked["id"]), (&"wake".into(), &"b1".into()));
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "one call is enough");
    std::fs::remove_file(&socket).unwrap();
}

#[test]
fn a_turn_that_nobody_opens_names_the_command_that_does() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    home.pairflow(&["supervisor", "stop"]).ok();
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    assert_eq!(home.status("b1")["next"][0], "pairflow supervise --once");
    home.pairflow(&["supervise", "--once"]).ok();
    home.wait_for_turn("b1", "claude");
}
