//! The real Claude Code and the real Codex against the mock model: without a terminal, and in panes of tmux without a
//! single dialog. Nothing leaves 127.0.0.1, and nothing of the machine's own configuration is read.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod real_support;

use pairflow_testkit::model::{Kind, Reply, Scripts};
use real_support::Stage;
use serde_json::Value;

/// What a paste must not change: lines, quotes, wide letters, marks of shells and of tmux.
const HARD: &str = "[[later]] first line\n  second \"line\" with 'quotes'\n\n#{pane_id} $HOME `id` größer 漢字\nlast line";

fn scripts() -> Scripts {
    Scripts::new()
        .named("shell", [Reply::text("I run it. ").then(Reply::shell("echo made > by-model.txt && echo it-ran")), done()])
        .named("first", [Reply::text("ready")])
        .named("later", [Reply::shell("echo again-$((40 + 2))"), done()])
}

fn done() -> Reply {
    Reply::text("all done")
}

/// Insists that the command of the script ran and that the model got its output.
#[track_caller]
fn ran_the_command(stage: &Stage, kind: Kind) {
    assert_eq!(std::fs::read_to_string(stage.repo.join("by-model.txt")).unwrap(), "made\n");
    let all = stage.mock.requests();
    let turns: Vec<_> = all.iter().filter_map(|request| request.turn()).collect();
    assert!(turns.iter().all(|seen| seen.kind == kind && !seen.session.is_empty()));
    let last = turns.last().unwrap();
    assert!(last.tool_results()[0].text.contains("it-ran"), "{:?}", last.tool_results());
    assert_eq!(turns.len(), 2);
    stage.stayed_at_home();
}

fn lines(stdout: &[u8]) -> Vec<Value> {
    stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[test]
fn claude_without_a_terminal_runs_the_scripted_command() {
    let stage = Stage::new(scripts());
    let words = ["-p", "[[shell]] please", "--output-format", "stream-json", "--verbose"];
    let output = stage.call(&stage.clis.claude, &words);
    assert!(output.status.success(), "{output:?}");
    let events = lines(&output.stdout);
    let result = events.last().unwrap();
    assert_eq!((&result["is_error"], &result["result"]), (&Value::Bool(false), &Value::from("all done")), "{result}");
    ran_the_command(&stage, Kind::Claude);
    assert!(stage.mock.requests().iter().any(|request| request.has_user_text("[[shell]] please")));
}

#[test]
fn codex_without_a_terminal_runs_the_scripted_command() {
    let stage = Stage::new(scripts());
    let words =
        ["exec", "--json", "-s", "workspace-write", "--dangerously-bypass-hook-trust", "[[shell]] please"];
    let output = stage.call(&stage.clis.codex, &words);
    assert!(output.status.success(), "{output:?}");
    let events = lines(&output.stdout);
    assert_eq!(events.last().unwrap()["type"], "turn.completed", "{events:#?}");
    ran_the_command(&stage, Kind::Codex);
    assert!(stage.mock.requests().iter().any(|request| request.has_user_text("[[shell]] please")));
}

/// Starts a CLI with its first prompt, pastes a second one, and insists that it arrived verbatim and was worked on.
fn a_paste_arrives_verbatim(stage: &Stage, program: &std::path::Path, words: &[&str]) {
    let pane = stage.open(program, words);
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
    stage.stayed_at_home();
}

#[test]
fn claude_in_a_pane_takes_a_paste_verbatim_and_shows_no_dialog() {
    let stage = Stage::new(scripts());
    a_paste_arrives_verbatim(&stage, &stage.clis.claude, &["[[first]] hello"]);
}

#[test]
fn codex_in_a_pane_takes_a_paste_verbatim_and_shows_no_dialog() {
    let stage = Stage::new(scripts());
    let words = ["--no-daemon", "-s", "workspace-write", "--dangerously-bypass-hook-trust", "[[first]] hello"];
    a_paste_arrives_verbatim(&stage, &stage.clis.codex, &words);
}
