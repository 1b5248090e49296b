//! The supervisor as a person meets it, and agents that it plays from a script.

use std::process::Stdio;

use pairflow_testkit::home::Home;
use pairflow_testkit::wait::wait_until;
use serde_json::{Value, json};

use crate::support::bubbles::{created, home, started};

/// What the two agents do: a first cut, a finding, a mend, and two clean reviews.
const AGENTS: &str = "\
agents:
  codex:
    - - write: { path: done.txt, text: dome }
      - pass: { summary: first cut }
    - - write: { path: done.txt, text: done }
      - pass: { summary: mended }
    - - converged: { summary: nothing left, explain: \"## What changed\\nx\\n## Why\\nx\\n## Risks\\nnone\\n## Manual test plan\\nlook\\n\" }
  claude:
    - - pass: { summary: a typo, findings: ['P1:it says dome'] }
    - - pass: { summary: clean, no_findings: true }
";

fn script(home: &Home, text: &str) -> String {
    let path = home.root().join("agents.yaml");
    std::fs::write(&path, text).expect("the home is writable");
    path.display().to_string()
}

fn pid(home: &Home) -> Value {
    home.pairflow(&["supervisor", "status", "--json"]).ok().json()["pid"].clone()
}

#[test]
fn the_supervisor_is_started_by_start_and_stopped_by_a_person() {
    let home = home();
    home.pairflow(&["supervisor", "status"]).ok().says("No supervisor is running.").says("pairflow supervise");
    home.pairflow(&["supervisor", "stop"]).ok().says("No supervisor is running.");
    started(&home, "b1");
    let shown = home.pairflow(&["supervisor", "status", "--json"]).ok().json();
    assert_eq!((&shown["schema"], &shown["running"]), (&json!("pairflow.supervisor/1"), &json!(true)));
    assert_eq!(shown["bubbles"], 1);
    home.pairflow(&["supervisor", "stop"]).ok().says("Stopped the supervisor");
    home.pairflow(&["supervisor", "status", "--json"]).ok().says("\"running\": false");
    home.pairflow(&["status", "b1"]).ok().says("no supervisor is running");
    home.pairflow(&["supervise"]).ok().says("is running in the background, process");
    assert_ne!(pid(&home), Value::Null);
}

#[test]
fn there_is_one_supervisor_per_user() {
    let home = home();
    home.pairflow(&["supervise"]).ok();
    let first = pid(&home);
    home.pairflow(&["supervise"]).ok();
    assert_eq!(pid(&home), first);
    home.pairflow(&["supervise", "--foreground"]).ends(1).says("already running");
}

#[test]
fn without_a_supervisor_an_agent_is_told_and_once_does_what_is_owed() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    home.pairflow(&["supervisor", "stop"]).ok();
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    claude.pairflow(&["pass", "--summary", "x", "--no-findings"]).ends(1).says("no supervisor is running");
    let told = home.pairflow(&["supervise", "--once"]).ok().stdout;
    assert!(told.contains("b1: pairflow opens the turn of claude"), "{told}");
    home.pairflow(&["supervise", "--once"]).ok().says("b1 is RUNNING; nothing was due.");
    claude.pairflow(&["pass", "--summary", "x", "--no-findings"]).ok();
}

#[test]
fn a_supervisor_that_was_killed_is_replaced_and_goes_on() {
    let home = home();
    created(&home, "b1");
    let mut command = home.command(&["supervise", "--foreground"]);
    let mut supervisor = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the supervisor", || pid(&home) == supervisor.id());
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    let (codex, _) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.pairflow(&["supervise"]).ok();
    home.wait_for_turn("b1", "claude");
}

#[test]
fn scripted_agents_play_a_bubble_to_the_package() {
    let home = home();
    created(&home, "b1");
    let agents = script(&home, AGENTS);
    home.pairflow(&["start", "b1", "--driver", "script", "--script", &agents]).ok();
    let status = home.wait_for_state("b1", "READY_FOR_APPROVAL");
    assert_eq!(status["round"], 2);
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    assert_eq!(home.git(&["show", "bubble/b1:done.txt"]), "done");
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn an_agent_that_ends_without_a_hand_over_becomes_a_question_and_resume_starts_it_again() {
    let home = home();
    created(&home, "b1");
    let agents = "agents:\n  codex:\n    - - misbehave: { exit: 9 }\n      - write: { path: done.txt, text: done }\n      \
                  - pass: { summary: now }\n  claude:\n    - - ask_human: what now?\n";
    home.pairflow(&["start", "b1", "--driver", "script", "--script", &script(&home, agents)]).ok();
    home.wait_for_state("b1", "WAITING_HUMAN");
    home.pairflow(&["inbox", "b1"]).ok().says("with exit code 9").says("pairflow resume b1");
    home.pairflow(&["resume", "b1"]).ok();
    let status = home.wait_for("b1", |status| status["state"] == "WAITING_HUMAN" && status["active_agent"] == "claude");
    assert_eq!(status["questions"][0]["question"], "what now?");
}

#[test]
fn stopping_the_supervisor_ends_the_agents_that_it_plays() {
    let home = home();
    created(&home, "b1");
    let agents = "agents:\n  codex:\n    - - misbehave: hang\n";
    home.pairflow(&["start", "b1", "--driver", "script", "--script", &script(&home, agents)]).ok();
    let processes = home.repo.join(".pairflow/runtime/b1/processes");
    let running = || std::fs::read_dir(&processes).is_ok_and(|mut found| found.next().is_some());
    home.wait_for("b1", |_| running());
    home.pairflow(&["supervisor", "stop"]).ok();
    assert!(!running());
    assert_eq!(home.status("b1")["state"], "RUNNING", "the bubble itself goes on with the next supervisor");
}

#[test]
fn a_script_with_a_mistake_is_named_with_its_line() {
    let home = home();
    let path = script(&home, "agents:\n  codex:\n    - - dance: 1\n");
    let mut command = home.command(&["script-agent", "--script", &path, "--agent", "codex", "--nth", "1"]);
    command.env("PAIRFLOW_SCRIPT_STATE", home.root().join("tmp"));
    home.finish(command).ends(2).says("agents.yaml:3:");
}
