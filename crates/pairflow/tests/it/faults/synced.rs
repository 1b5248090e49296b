//! What the kernel is asked to do for an append: the line is on the disk before the caller hears of it.

use std::process::Command;

use pairflow_testkit::home::{Agent, Ran};

use crate::support::bubbles::{home, started};
use crate::support::faults::PASS;

/// Runs a command of `agent` under `strace`, and returns the calls that write or sync, each with the path of its file.
fn traced(agent: &Agent<'_>, args: &[&str]) -> (Ran, Vec<String>) {
    let plain = agent.command(args);
    let trace = agent.worktree.with_extension("trace");
    let mut command = Command::new("strace");
    // Its first thread alone: with more of them a line of the trace can be cut in two.
    command.args(["-qq", "-y", "-s", "256", "-e", "trace=write,writev,pwrite64,fsync,fdatasync", "-o"]).arg(&trace);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(&agent.worktree);
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = Ran::of(&command.output().expect("strace can be run; `cargo xtask tools` installs it"));
    let calls = std::fs::read_to_string(trace).unwrap().lines().map(str::to_owned).collect();
    (ran, calls)
}

#[test]
fn a_hand_over_is_synced_before_it_is_acknowledged() {
    let home = home();
    started(&home, "b1");
    let (ran, calls) = traced(&home.agent("b1", "codex"), &PASS);
    ran.ok().says("Recorded as ");
    let at = |what: &str, on: &str| {
        let found = calls.iter().position(|call| call.contains(what) && call.contains(on));
        found.unwrap_or_else(|| panic!("no {what} on {on}:\n{}", calls.join("\n")))
    };
    let written = at("write(", "b1/transcript.ndjson>");
    let synced = at("fdatasync(", "b1/transcript.ndjson>) = 0");
    let acknowledged = at("write(1<", "Recorded as ");
    assert!(written < synced && synced < acknowledged, "{}", calls.join("\n"));
}
