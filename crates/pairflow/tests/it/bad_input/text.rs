//! Huge, binary and escape-ridden text in every field: printed safely, kept whole as an artifact, or refused.

use std::io::Write;
use std::process::{Command, Stdio};

use pairflow_core::safe::steers;
use pairflow_testkit::home::{Home, Ran};
use serde_json::Value;

use crate::support::bubbles::{handed_over, home, ready, started};
use crate::support::log::{bytes, file, lines, lines_of};

/// The most bytes that a line of a log may have.
const MAX_LINE: usize = 1 << 20;

/// Runs a command with something to read.
#[track_caller]
fn fed(mut command: Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Whoever does not want to read all of it closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    Ran::of(&child.wait_with_output().unwrap())
}

/// A text of `megabytes`, with everything in it that a terminal must not see.
fn huge(megabytes: usize) -> String {
    let piece = "plain \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}red\u{0}\u{8}\r\n日本 \u{feff}end\n";
    let mut text = piece.repeat(megabytes * 1024 * 1024 / piece.len());
    text.push_str("the last line");
    text
}

/// Insists that what a text became is a line of the log that fits, and the whole text in an artifact.
#[track_caller]
fn spilled(home: &Home, id: &str, kind: &str, text: &str) {
    let line = lines_of(home, id, kind).pop().unwrap();
    let told = line["payload"].to_string();
    let name = told.split("artifact://").nth(1).unwrap_or_else(|| panic!("no artifact in {told:.300}"));
    let name: String = name.chars().take_while(|c| !c.is_whitespace() && !"]\"\\".contains(*c)).collect();
    let kept = std::fs::read_to_string(file(home, id, "artifacts").join(&name)).unwrap();
    assert!(kept == text, "{name} has {} bytes of {}", kept.len(), text.len());
    sound(home, id);
}

/// Insists that every line fits and that nothing harmful is printed by whatever reads the bubble.
#[track_caller]
fn sound(home: &Home, id: &str) {
    let longest = bytes(home, id).split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap();
    assert!(longest < MAX_LINE, "{longest}");
    let reads: [&[&str]; 8] = [
        &["status", id],
        &["status", id, "--json"],
        &["inbox", id],
        &["log", id],
        &["log", id, "--json"],
        &["list"],
        &["next"],
        &[],
    ];
    for args in reads {
        let ran = home.pairflow(args).ok();
        let harmful = |c: char| c != '\n' && c != '\t' && steers(c);
        assert!(!ran.stdout.contains(harmful) && !ran.stderr.contains(harmful), "{args:?}: {:.300}", ran.stdout);
    }
    home.pairflow(&["verify", id]).ok();
}

#[test]
fn a_huge_task_becomes_an_artifact_and_the_bubble_runs() {
    let home = home();
    let task = huge(8).split_off(huge(8).len() - 7 * 1024 * 1024);
    let create = home.command(&["create", "--id", "b1", "--task", "-", "--test", "true"]);
    fed(create, task.as_bytes()).ok();
    spilled(&home, "b1", "LIFECYCLE", &task);
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    sound(&home, "b1");
    let brief = std::fs::read_to_string(file(&home, "b1", "artifacts/brief-codex.md")).unwrap();
    assert!(brief.contains("artifact://") && brief.len() < 100_000, "{}", brief.len());
    let create = home.command(&["create", "--id", "b2", "--task", "-", "--test", "true"]);
    fed(create, huge(9).as_bytes()).ends(2).says("the limit is 8 MiB");
}

#[test]
fn acceptance_criteria_that_no_line_can_hold_are_refused() {
    let home = home();
    let many = format!("Do it\n\n## Acceptance criteria\n{}", "- one more thing to do\n".repeat(60_000));
    let long = format!("Do it\n\n## Acceptance criteria\n- {}\n", "x".repeat(3_000_000));
    for task in [many, long] {
        let create = home.command(&["create", "--id", "b1", "--task", "-", "--test", "true"]);
        fed(create, task.as_bytes()).ends(1).says("the acceptance criteria of the task and its document are");
    }
    home.pairflow(&["status", "b1"]).ends(1);
}

#[test]
fn huge_words_of_agents_become_artifacts() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    let question = huge(1);
    fed(codex.command(&["ask-human", "--question", "-"]), question.as_bytes()).ok();
    spilled(&home, "b1", "HUMAN_QUESTION", &question);
    let answer = huge(2);
    fed(home.command(&["reply", "b1", "--message", "-"]), answer.as_bytes()).ok();
    spilled(&home, "b1", "HUMAN_REPLY", &answer);
    home.wait_for_turn("b1", "codex");
    codex.write("done.txt", "done\n");
    let summary = huge(3);
    fed(codex.command(&["pass", "--summary", "-"]), summary.as_bytes()).ok();
    spilled(&home, "b1", "PASS", &summary);
    let again = fed(codex.command(&["pass", "--summary", "-"]), summary.as_bytes()).ok();
    assert!(again.stdout.contains("Already"), "{again:?}");
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "x", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.pairflow(&["converged", "--summary", "x"]).ends(1).says("--explain");
    let (claim, explanation) = (huge(1), codex.explanation());
    fed(codex.command(&["converged", "--summary", "-", "--explain", &explanation]), claim.as_bytes()).ok();
    spilled(&home, "b1", "CONVERGENCE", &claim);
    let rework = huge(8).split_off(huge(8).len() - 4 * 1024 * 1024);
    fed(home.command(&["request-rework", "b1", "--message", "-"]), rework.as_bytes()).ok();
    spilled(&home, "b1", "APPROVAL_DECISION", &rework);
}

#[test]
fn texts_that_have_no_artifact_are_refused_above_their_limit() {
    let home = home();
    ready(&home, "b1");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    let before = lines(&home, "b1").len();
    let commit = home.command(&["commit", "b1", "--message", "-", "--yes"]);
    fed(commit, huge(5).as_bytes()).ends(1).says("the commit message is").says("the limit is 65536");
    let long = "x".repeat(100_000);
    home.pairflow(&["commit", "b1", "--override-scope", "--reason", &long, "--yes"])
        .ends(1)
        .says("the reason is 100000 bytes");
    home.pairflow(&["stop", "b1", "--yes", "--reason", &long]).ends(1).says("the reason is 100000 bytes");
    assert_eq!(lines(&home, "b1").len(), before);
    let message = huge(1).replace('\0', "");
    let message = message.lines().take(600).collect::<Vec<_>>().join("\n");
    fed(home.command(&["commit", "b1", "--message", "-", "--yes"]), b"a\0b").ends(1).says("NUL byte");
    fed(home.command(&["commit", "b1", "--message", "-", "--yes"]), message.as_bytes()).ok();
    sound(&home, "b1");
}

#[test]
fn findings_have_titles_and_not_more_of_them_than_anybody_reads() {
    let home = home();
    let (_, claude) = handed_over(&home, "b1");
    let pass = |findings: &[String]| {
        let mut args = vec!["pass".to_owned(), "--summary".to_owned(), "x".to_owned()];
        args.extend(findings.iter().flat_map(|finding| ["--finding".to_owned(), finding.clone()]));
        claude.pairflow(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let titled = |chars: usize| format!("P1:{}", "é".repeat(chars));
    pass(&[titled(100), titled(501)]).ends(1).says("has 501 characters; the limit is 500");
    pass(&vec![titled(60_000); 10]).ends(1).says("the limit is 500");
    pass(&vec!["P1:x".to_owned(); 101]).ends(1).says("101 findings are too many");
    assert_eq!(lines_of(&home, "b1", "PASS").len(), 1);
    let evil: Vec<String> = (0..100).map(|n| format!("P1:{n} {}", "\u{1b}\u{1}".repeat(240))).collect();
    pass(&evil).ok();
    home.wait_for_turn("b1", "codex");
    sound(&home, "b1");
}

#[test]
fn too_many_refs_and_too_long_keys_are_refused() {
    let home = home();
    let (_, claude) = handed_over(&home, "b1");
    let refs: Vec<&str> = std::iter::repeat_n(["--ref", "done.txt"], 101).flatten().collect();
    let pass = ["pass", "--summary", "x", "--no-findings"];
    claude.pairflow(&[&pass[..], &refs].concat()).ends(1).says("101 refs are too many");
    claude.pairflow(&[&pass[..], &["--key", &"k".repeat(201)]].concat()).ends(1).says("the key is 201 bytes");
    claude.pairflow(&[&pass[..], &refs[..200], &["--key", &"k".repeat(200)]].concat()).ok();
}

#[test]
fn what_is_no_text_is_a_usage_error() {
    let home = home();
    let (_, claude) = handed_over(&home, "b1");
    let binary: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let said = "is not UTF-8 text: invalid byte at offset 128";
    fed(claude.command(&["pass", "--no-findings", "--summary", "-"]), &binary).ends(2).says(said);
    fed(claude.command(&["ask-human", "--question", "-"]), &binary).ends(2).says(said);
    fed(home.command(&["create", "--id", "b2", "--test", "true", "--task", "-"]), &binary).ends(2).says(said);
    fed(home.command(&["commit", "b1", "--message", "-", "--yes"]), &binary).ends(2).says(said);
    let mut raw = home.command(&["status"]);
    raw.arg(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff\xfe"));
    home.finish(raw).ends(2);
    std::fs::write(home.root().join("task.bin"), &binary).unwrap();
    let task = format!("@{}", home.root().join("task.bin").display());
    home.pairflow(&["create", "--id", "b2", "--test", "true", "--task", &task])
        .ends(2)
        .says("task.bin")
        .says("not UTF-8");
}

/// File names and the output of checks are foreign text, too.
#[test]
fn file_names_and_output_of_checks_are_printed_safely() {
    let home = home();
    let noise = r#"printf '\033]0;owned\007\033[2J\302\23331m red\n'; head -c 3000000 /dev/zero; test -f done.txt || git log -1 --format=%s | grep -qv snapshot"#;
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", noise, "--start"]).ok();
    let codex = home.agent("b1", "codex");
    codex.write("evil\u{1b}]0;owned\u{7}\u{202e}.txt", "x");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for("b1", |status| status["checks"][0]["stand"] == "failed");
    sound(&home, "b1");
    let stat = home.pairflow(&["diff", "b1", "--stat"]).ok();
    assert!(!stat.stdout.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{stat:?}");
    let checks: Value = home.status("b1")["checks"].clone();
    assert_eq!(checks[0]["stand"], "failed", "{checks}");
}
