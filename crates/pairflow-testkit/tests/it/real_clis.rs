//! The real Claude Code and the real Codex against the mock model: without a terminal, and in panes of tmux without a
//! single dialog. Nothing leaves 127.0.0.1, and nothing of the machine's own configuration is read.

use std::process::Command;

use pairflow_testkit::clis::{CLAUDE_VERSION, CODEX_VERSION, agent_clis};
use pairflow_testkit::model::{Answered, Kind, Reply, Scripts};
use serde_json::Value;

use crate::support::CliMachine;

/// What a paste must not change: lines, quotes, wide letters, marks of shells and of tmux.
const HARD: &str =
    "[[later]] first line\n  second \"line\" with 'quotes'\n\n#{pane_id} $HOME `id` größer 漢字\nlast line";

fn scripts() -> Scripts {
    Scripts::new()
        .named(
            "shell",
            [Reply::text("I run it. ").then(Reply::shell("echo made > by-model.txt && echo it-ran")), done()],
        )
        .named("first", [Reply::text("ready")])
        .named("later", [Reply::shell("echo again-$((40 + 2))"), done()])
}

fn done() -> Reply {
    Reply::text("all done")
}

/// Insists that the command of the script ran and that the model got its output.
#[track_caller]
fn ran_the_command(machine: &CliMachine, kind: Kind) {
    assert_eq!(std::fs::read_to_string(machine.repo.join("by-model.txt")).unwrap(), "made\n");
    let all = machine.mock.requests();
    let turns: Vec<_> = all.iter().filter_map(|request| request.turn()).collect();
    assert!(turns.iter().all(|seen| seen.kind == kind && !seen.session.is_empty()));
    let last = turns.last().unwrap();
    assert!(last.tool_results()[0].text.contains("it-ran"), "{:?}", last.tool_results());
    assert_eq!(turns.len(), 2);
    machine.stayed_at_home();
}

fn lines(stdout: &[u8]) -> Vec<Value> {
    stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Both agents are downloaded once a machine; `cargo xtask test` runs this test before all others.
#[test]
fn the_pinned_agent_clis_are_installed() {
    let (clis, home) = (agent_clis().unwrap(), tempfile::tempdir().unwrap());
    for (program, version) in [(&clis.claude, CLAUDE_VERSION), (&clis.codex, CODEX_VERSION)] {
        let said = Command::new(program).arg("--version").env_clear().env("HOME", home.path()).output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.contains(version), "{} says {said:?}", program.display());
    }
}

#[test]
fn claude_without_a_terminal_runs_the_scripted_command() {
    let machine = CliMachine::new(scripts());
    let words = ["-p", "[[shell]] please", "--output-format", "stream-json", "--verbose"];
    let output = machine.call(&machine.clis.claude, &words);
    assert!(output.status.success(), "{output:?}");
    let events = lines(&output.stdout);
    let result = events.last().unwrap();
    assert_eq!((&result["is_error"], &result["result"]), (&Value::Bool(false), &Value::from("all done")), "{result}");
    ran_the_command(&machine, Kind::Claude);
    assert!(machine.mock.requests().iter().any(|request| request.has_user_text("[[shell]] please")));
}

#[test]
fn codex_without_a_terminal_runs_the_scripted_command() {
    let machine = CliMachine::new(scripts());
    let words = ["exec", "--json", "-s", "workspace-write", "--dangerously-bypass-hook-trust", "[[shell]] please"];
    let output = machine.call(&machine.clis.codex, &words);
    assert!(output.status.success(), "{output:?}");
    let events = lines(&output.stdout);
    assert_eq!(events.last().unwrap()["type"], "turn.completed", "{events:#?}");
    ran_the_command(&machine, Kind::Codex);
    assert!(machine.mock.requests().iter().any(|request| request.has_user_text("[[shell]] please")));
}

/// Starts a CLI with its first prompt, pastes a second one, and insists that it arrived verbatim and was worked on.
fn a_paste_arrives_verbatim(machine: &CliMachine, program: &std::path::Path, words: &[&str]) {
    let pane = machine.open(program, words);
    assert_eq!(pane.hook("UserPromptSubmit", 1)["prompt"], "[[first]] hello");
    pane.hook("Stop", 1);
    pane.say(HARD);
    pane.model_sees(|request| request.has_user_text(HARD));
    assert_eq!(pane.hook("UserPromptSubmit", 2)["prompt"], HARD);
    pane.model_sees(|request| {
        let results = request.turn().map(|seen| seen.tool_results()).unwrap_or_default();
        results.iter().any(|result| result.text.contains("again-42"))
    });
    assert_eq!(pane.hook("Stop", 2)["last_assistant_message"], "all done");
    machine.stayed_at_home();
}

#[test]
fn claude_in_a_pane_takes_a_paste_verbatim_and_shows_no_dialog() {
    let machine = CliMachine::new(scripts());
    a_paste_arrives_verbatim(&machine, &machine.clis.claude, &["[[first]] hello"]);
}

#[test]
fn codex_in_a_pane_takes_a_paste_verbatim_and_shows_no_dialog() {
    let machine = CliMachine::new(scripts());
    let words = ["--no-daemon", "-s", "workspace-write", "--dangerously-bypass-hook-trust", "[[first]] hello"];
    a_paste_arrives_verbatim(&machine, &machine.clis.codex, &words);
}

/// Runs both CLIs without a terminal on the same prompt and returns what each printed as its result.
fn both_say(machine: &CliMachine, prompt: &str) -> [String; 2] {
    let claude = machine.call(&machine.clis.claude, &["-p", prompt]);
    let codex = machine.call(&machine.clis.codex, &["exec", "--dangerously-bypass-hook-trust", prompt]);
    [claude, codex].map(|output| {
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    })
}

#[test]
fn both_survive_an_error_and_a_cut_stream_of_the_model() {
    let after_all = || Reply::text("after all");
    let limited = Reply::status(429).header("retry-after", "0");
    let machine = CliMachine::new(
        Scripts::new()
            .named("error", [Reply::status(500), after_all()])
            .named("cut", [Reply::text("half ").cut(), after_all()])
            .named("limited", [limited, after_all()]),
    );
    assert_eq!(both_say(&machine, "[[error]]"), ["after all\n", "after all\n"]);
    assert_eq!(both_say(&machine, "[[cut]]"), ["after all\n", "after all\n"]);
    let claude = machine.call(&machine.clis.claude, &["-p", "[[limited]]"]);
    assert_eq!(String::from_utf8_lossy(&claude.stdout), "after all\n", "{claude:?}");
}

#[test]
fn both_are_busy_for_as_long_as_the_gate_is_closed() {
    let busy = Reply::text("long ").then(Reply::gate("busy")).then(Reply::text("work"));
    let machine = CliMachine::new(Scripts::new().named("busy", [busy]));
    let gate = machine.mock.gate("busy");
    std::thread::scope(|scope| {
        let said = scope.spawn(|| both_say(&machine, "[[busy]]"));
        for asked in 1..=2 {
            gate.wait_until_reached();
            assert_eq!(machine.mock.requests().iter().filter(|request| request.turn().is_some()).count(), asked);
            gate.open();
            machine
                .mock
                .wait_for(|all| all.iter().filter(|one| one.answered() == Some(Answered::Whole)).count() == asked);
            gate.close();
        }
        assert_eq!(said.join().unwrap(), ["long work\n", "long work\n"]);
    });
}
