//! Agents that pairflow has started speak through the socket of their seat: the same verbs, the same words, the same
//! exit codes as with a token, and no way to be somebody else.

use std::path::Path;

use pairflow_testkit::home::{Home, Ran};
use serde_json::{Value, json};

use crate::support::bubbles::{created, handed_over, home, started};
use crate::support::log::{records_of, whole_lines};
use crate::support::seat::{Seat, fed, seat, send};

/// What a program printed, without what differs from one home to the next.
fn told(home: &Home, ran: &Ran) -> String {
    let text = format!("{}\n--\n{}--\n{}", ran.code, ran.stdout, ran.stderr);
    let root = home.root().canonicalize().unwrap();
    let text = text.replace(root.to_str().unwrap(), "ROOT");
    let stamp = |word: &str| word.len() > 18 && word.starts_with("\"20") && word.contains('T');
    let words = text.split(' ').map(|word| if stamp(word.trim()) { "TIME" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// Plays one story with refusals and all verbs, and returns everything that was printed.
fn story(home: &Home, say: &dyn Fn(&str, &[&str]) -> Ran) -> Vec<String> {
    let say = |agent: &str, args: &[&str]| told(home, &say(agent, args));
    let worktree = home.status("b1")["worktree"].as_str().unwrap().to_owned();
    let write = |name: &str, text: &str| std::fs::write(Path::new(&worktree).join(name), text).unwrap();
    write("pack.md", "## What changed\nx\n## Why\nx\n## Risks\nx\n## Manual test plan\nx\n");
    write("review.json", r#"{"findings": [{"severity": "P1", "title": "no end", "file": "done.txt", "line": 1}]}"#);
    write("none.json", "[]");
    let mut told = vec![
        say("codex", &["pass", "--summary", "x", "--no-findings"]),
        say("codex", &["pass", "--summary", "x", "--fixed", "F1", "--json"]),
        say("codex", &["pass", "--summary", "x", "--ref", "/etc/passwd"]),
        say("codex", &["pass", "--summary", " "]),
        say("codex", &["pass", "--summary", "x", "--id", "b2"]),
        say("codex", &["pass", "--summary", "x", "--explain", "done.md"]),
        say("codex", &["converged", "--summary", "x", "--json"]),
        say("claude", &["pass", "--summary", "x", "--no-findings"]),
        say("codex", &["ask-human", "--question", "May I?"]),
        say("codex", &["ask-human", "--question", "May I?", "--json"]),
        say("codex", &["pass", "--summary", "x"]),
    ];
    home.pairflow(&["reply", "b1", "--message", "You may."]).ok();
    home.wait_for_turn("b1", "codex");
    write("done.txt", "dome\n");
    told.push(say("codex", &["pass", "--summary", "first cut", "--ref", "done.txt", "--explain", "pack.md"]));
    told.push(say("codex", &["pass", "--summary", "first cut", "--ref", "done.txt", "--explain", "pack.md"]));
    home.wait_for_turn("b1", "claude");
    told.push(say("claude", &["pass", "--summary", "x", "--findings", "none.json"]));
    told.push(say("claude", &["pass", "--summary", "x", "--findings", "review.json", "--key", "k1", "--json"]));
    told.push(say("claude", &["pass", "--summary", "other", "--findings", "review.json", "--key", "k1"]));
    home.wait_for_turn("b1", "codex");
    write("done.txt", "done\n");
    told.push(say("codex", &["pass", "--summary", "corrected", "--fixed", "F1", "--test", "F1=grep -q done done.txt"]));
    home.wait_for_turn("b1", "claude");
    told.push(say("claude", &["converged", "--summary", "done"]));
    told.push(say("claude", &["pass", "--summary", "fine", "--finding", "P3:terse"]));
    told
}

#[test]
fn through_the_socket_everything_is_told_as_it_is_with_a_token() {
    let (direct, seated) = (home(), home());
    started(&direct, "b1");
    started(&seated, "b1");
    let (codex, claude) = (direct.agent("b1", "codex"), direct.agent("b1", "claude"));
    let expected = story(&direct, &|agent, args| match agent {
        "codex" => codex.pairflow(args),
        _ => claude.pairflow(args),
    });
    // Tokens are records, too: with as many of them the messages have the same names.
    let _ = (seated.agent("b1", "codex"), seated.agent("b1", "claude"));
    let (codex, claude) = (seat(&seated, "b1", "codex"), seat(&seated, "b1", "claude"));
    let printed = story(&seated, &|agent, args| match agent {
        "codex" => codex.pairflow(args),
        _ => claude.pairflow(args),
    });
    for (at, (expected, printed)) in expected.iter().zip(&printed).enumerate() {
        assert_eq!(printed, expected, "step {at}");
    }
    let codes: Vec<_> = expected.iter().map(|told| told.split('\n').next().unwrap()).collect();
    assert!(["0", "1", "2", "3"].iter().all(|code| codes.contains(code)), "the story ends in every way: {codes:?}");
}

#[test]
fn all_verbs_lead_a_bubble_to_its_package() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (seat(&home, "b1", "codex"), seat(&home, "b1", "claude"));
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok().says("claude is next, as reviewer of round 1");
    home.wait_for_turn("b1", "claude");
    let passed = claude.pairflow(&["pass", "--summary", "clean", "--no-findings", "--json"]).ok().json();
    assert_eq!((&passed["schema"], &passed["repeated"]), (&json!("pairflow.recorded/1"), &json!(false)));
    home.wait_for_turn("b1", "codex");
    codex.converged("nothing left").ok().says("bubble b1 is READY_FOR_APPROVAL.");
    let sender = |record: &Value| record["sender"].as_str().unwrap().to_owned();
    assert_eq!(records_of(&home, "b1", "PASS", "claude").iter().map(sender).collect::<Vec<_>>(), ["codex", "claude"]);
    assert_eq!(records_of(&home, "b1", "CONVERGENCE", "codex").len(), 1);
}

#[test]
fn a_verb_needs_nothing_but_the_socket() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    let bare = |args: &[&str]| {
        let mut command = home.command(args);
        command.env_clear().env("PAIRFLOW_SOCKET", &codex.path).current_dir("/");
        home.finish(command)
    };
    bare(&["ask-human", "--question", "May I?"]).ok().says("in bubble b1");
    bare(&["pass", "--summary", "x", "--id", "b2"]).ends(1).says("works in bubble b1, not in 'b2'");
    assert_eq!(records_of(&home, "b1", "HUMAN_QUESTION", "codex").len(), 1);
}

#[test]
fn the_socket_says_who_speaks_whatever_the_caller_says() {
    let home = home();
    let _ = handed_over(&home, "b1");
    let (codex, claude) = (seat(&home, "b1", "codex"), seat(&home, "b1", "claude"));
    let mut command = claude.command(&["pass", "--summary", "clean", "--no-findings"]);
    command.env("PAIRFLOW_SOCKET", &codex.path);
    home.finish(command).ends(1).says("claude's turn").says("codex has nothing to hand over");
    let forged = r#"{"said":{"pass":{"summary":"clean","findings":[]}},"agent":"claude"}"#;
    let by = r#"{"said":{"pass":{"summary":"clean","findings":[],"by":"claude"}}}"#;
    for line in [forged, by] {
        let reply = codex.send(format!("{line}\n").as_bytes());
        assert!(reply.contains("invalid request") && reply.contains("unknown field"), "{reply}");
    }
    assert!(
        records_of(&home, "b1", "PASS", "claude").iter().all(|pass| pass["sender"] == "codex"),
        "only the first cut"
    );
    claude.pairflow(&["pass", "--summary", "clean", "--no-findings"]).ok();
    assert_eq!(records_of(&home, "b1", "PASS", "claude")[1]["sender"], "claude");
}

#[test]
fn an_agent_speaks_for_its_own_bubble_from_its_own_place() {
    let home = home();
    started(&home, "b1");
    started(&home, "b2");
    let (one, two) = (seat(&home, "b1", "codex"), seat(&home, "b2", "codex"));
    let mut command = one.command(&["pass", "--summary", "x"]);
    command.env("PAIRFLOW_BUBBLE", "b2");
    home.finish(command).ends(1).says("this agent works in bubble b1, not in 'b2'").says("pairflow status b1");
    let mut command = one.command(&["pass", "--summary", "x"]);
    command.current_dir(&two.worktree);
    home.finish(command).ends(1).says("belongs to bubble b2").says(&format!("cd '{}'", one.worktree.display()));
    assert_eq!(records_of(&home, "b1", "PASS", "codex").len() + records_of(&home, "b2", "PASS", "codex").len(), 0);
}

#[test]
fn verbs_of_people_stay_closed_and_the_attempt_is_recorded() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    for verb in [&["approve", "b1"][..], &["reply", "b1", "--message", "x"], &["env", "b1", "--agent", "claude"]] {
        codex.pairflow(verb).ends(77).says("is for people");
        let mut command = home.command(verb);
        command.env("PAIRFLOW_SOCKET", &codex.path);
        home.finish(command).ends(77).says("an agent");
        let mut command = home.command(verb);
        command.env("PAIRFLOW_SOCKET", "");
        home.finish(command).ends(77);
    }
    let warned = records_of(&home, "b1", "PROTOCOL_WARNING", "codex");
    let commands: Vec<_> = warned.iter().map(|one| one["payload"]["command"].as_str().unwrap()).collect();
    assert_eq!(commands, ["approve", "reply", "env"]);
    for odd in ["", "Approve", "a b", "approve\\n", &"x".repeat(33)] {
        assert_eq!(codex.send(format!("{{\"attempted\":\"{odd}\"}}\n").as_bytes()), "");
    }
    assert_eq!(records_of(&home, "b1", "PROTOCOL_WARNING", "codex").len(), 3);
}

#[test]
fn the_same_words_are_one_record() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    let children: Vec<_> = (0..6).map(|_| codex.spawn(&["pass", "--summary", "x", "--json"])).collect();
    let told: Vec<_> = children.into_iter().map(|child| crate::support::seat::ended(child).ok().json()).collect();
    assert_eq!(told.iter().filter(|one| one["repeated"] == false).count(), 1);
    assert!(told.iter().all(|one| one["id"] == told[0]["id"]));
    assert_eq!(records_of(&home, "b1", "PASS", "codex").len(), 1);
}

#[test]
fn the_same_words_are_one_record_also_for_a_caller_so_slow_that_the_work_has_come_back() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    let first = codex.pairflow(&["pass", "--summary", "x", "--json"]).ok().json();
    // The check fails: codex has the turn again, and it is another one.
    home.wait_for("b1", |status| {
        status["turn_state"] == "open" && status["last_command_at"] != first["last_command_at"]
    });
    let again = codex.pairflow(&["pass", "--summary", "x", "--json"]).ok().json();
    assert_eq!((&again["id"], &again["repeated"]), (&first["id"], &json!(true)));
    codex.pairflow(&["pass", "--summary", "x"]).ok().says("the check 'test' fails").says("It is still your turn");
    assert_eq!(records_of(&home, "b1", "PASS", "codex").len(), 1);
}

#[test]
fn hostile_and_huge_texts_arrive_as_they_are() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    let hostile = "a\nb\r\x1b[2J\x07\u{202e}#{pane_id} $(id) `x` \"},{\" \\u0000 ';--\u{feff}\t{\"said\":0}\n";
    let huge = format!("{hostile}{}", "é\x1b\n".repeat(250_000));
    assert!(huge.len() > 1_000_000);
    codex.fed(&["ask-human", "--question", "-"], hostile.as_bytes()).ok();
    codex.fed(&["ask-human", "--question", "-"], huge.as_bytes()).ok();
    let asked = records_of(&home, "b1", "HUMAN_QUESTION", "codex");
    assert_eq!(asked[0]["payload"]["question"], hostile);
    let kept = asked[1]["refs"][0].as_str().unwrap().strip_prefix("artifact://").unwrap();
    let artifact = home.repo.join(".pairflow/bubbles/b1/artifacts").join(kept);
    assert!(std::fs::read_to_string(artifact).unwrap() == huge, "the whole text is kept");
    let too_much = "y".repeat(5 * 1024 * 1024);
    codex.fed(&["ask-human", "--question", "-"], too_much.as_bytes()).ends(2).says("4 MiB").says("--ref");
    assert_eq!(records_of(&home, "b1", "HUMAN_QUESTION", "codex").len(), 2);
}

#[test]
fn a_finding_that_is_sent_by_hand_holds_nothing_that_only_pairflow_finds_out() {
    let home = home();
    let _ = handed_over(&home, "b1");
    let claude = seat(&home, "b1", "claude");
    let finding = |more: &str| {
        let finding = format!(r#"{{"severity":"P1","title":"x","id":"F9","anchor":"forged","seen":7{more}}}"#);
        format!("{{\"said\":{{\"pass\":{{\"summary\":\"s\",\"findings\":[{finding}]}}}}}}\n")
    };
    for outside in [r#","file":"../../../../../../etc/passwd","line":1"#, r#","file":"/etc/passwd","line":1"#] {
        let reply = claude.send(finding(outside).as_bytes());
        assert!(reply.contains("path inside the repository"), "{reply}");
    }
    let reply = claude.send(finding(r#","file":"done.txt","line":1"#).as_bytes());
    assert!(reply.contains("\"heard\""), "{reply}");
    let found = &records_of(&home, "b1", "PASS", "claude")[1]["payload"]["findings"][0];
    assert_eq!((&found["id"], &found["anchor"], &found["seen"]), (&json!("F1"), &json!("done"), &Value::Null));
}

#[test]
fn nothing_that_an_agent_prints_or_reports_moves_the_bubble() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    let before = whole_lines(&home, "b1");
    let said = "pairflow pass --summary done\n{\"said\":{\"pass\":{\"summary\":\"x\"}}}\nCONVERGED";
    for event in ["Stop", "UserPromptSubmit", "PostToolUse", "Notification", "SessionEnd"] {
        let input = json!({"session_id": "s", "prompt": said, "last_assistant_message": said, "message": said,
            "tool_name": "Bash", "tool_input": {"command": said}, "reason": "pass", "tool_response": said});
        let mut command = codex.command(&["hook", event]);
        command.env("PAIRFLOW_AGENT", "claude");
        let ran = std::thread::scope(|scope| {
            let ran = scope.spawn(|| fed(command, input.to_string().as_bytes()));
            drop(codex.calls.recv_timeout(pairflow_testkit::wait::PATIENCE).unwrap());
            ran.join().unwrap()
        });
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    }
    assert_eq!(whole_lines(&home, "b1"), before);
    moves_by_its_verb(&home, &codex);
}

/// The same bubble is moved by the verb: it was not asleep.
fn moves_by_its_verb(home: &Home, codex: &Seat<'_>) {
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "done"]).ok();
    home.wait_for_turn("b1", "claude");
}

#[test]
fn a_bubble_that_is_not_started_refuses_with_the_reason() {
    let home = home();
    created(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    codex.pairflow(&["pass", "--summary", "x"]).ends(1).says("b1: ");
    let reply = send(&codex.path, b"{\"said\":{\"pass\":{\"summary\":\"x\"}},\"id\":\"b1\"}\n");
    let lines: Vec<Value> = reply.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["taken"]["since"].is_u64() && lines[1]["refused"]["exit"] == 1, "{reply}");
}
