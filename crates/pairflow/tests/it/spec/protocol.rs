//! The protocol as it stands in a real log: every field of every line, and what never gets into it.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;

use pairflow_testkit::home::Home;
use serde_json::{Value, json};

use crate::support::bubbles::home;
use crate::support::log::{bytes, dir, lines, lines_of};
use crate::support::spec_story::{created, running, to_done, to_package};

/// The types of the specification, and those that only pairflow itself writes.
const PUBLIC: [&str; 9] = [
    "TASK",
    "PASS",
    "HUMAN_QUESTION",
    "HUMAN_REPLY",
    "CONVERGENCE",
    "APPROVAL_REQUEST",
    "APPROVAL_DECISION",
    "DONE_PACKAGE",
    "PROTOCOL_WARNING",
];
const PARTIES: [&str; 4] = ["codex", "claude", "orchestrator", "human"];

/// What says who sent what to whom: sender, recipient and round.
fn route(line: &Value) -> (&str, &str, u64) {
    let text = |field: &str| line[field].as_str().unwrap();
    (text("sender"), text("recipient"), line["round"].as_u64().unwrap())
}

#[test]
fn every_line_of_a_real_log_is_one_envelope_with_all_its_fields() {
    let home = home();
    created(&home, "b1", &[]);
    to_done(&home, "b1");
    let bytes = bytes(&home, "b1");
    assert_eq!(bytes.last(), Some(&b'\n'));
    let mut ids = BTreeSet::new();
    for (index, line) in lines(&home, "b1").iter().enumerate() {
        assert!(line.is_object());
        assert_eq!(line["seq"], index as u64 + 1, "order is by seq, without a gap");
        assert_eq!(line["bubble_id"], "b1");
        let id = line["id"].as_str().unwrap();
        assert!(ids.insert(id.to_owned()), "{id} occurs twice");
        let [msg, day, number] = id.split('_').collect::<Vec<_>>()[..] else { panic!("{id}") };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        assert!(msg == "msg" && day.len() == 8 && digits(day) && number.len() >= 3 && digits(number), "{id}");
        let ts = line["ts"].as_str().unwrap();
        assert!(ts.len() == 24 && ts.ends_with('Z') && &ts[10..11] == "T", "{ts} is no UTC time of RFC 3339");
        assert_eq!(ts[..10].replace('-', ""), day);
        assert!(PARTIES.contains(&line["sender"].as_str().unwrap()), "{line}");
        assert!(PARTIES.contains(&line["recipient"].as_str().unwrap()), "{line}");
        let kind = line["type"].as_str().unwrap();
        let own = ["LIFECYCLE", "EVIDENCE", "VERDICT", "CONTROL", "DELIVERY", "PROTOCOL_WARNING"].contains(&kind);
        assert!(own || PUBLIC.contains(&kind), "{kind}");
        assert!(!own || line["sender"] == "orchestrator", "{kind} is written by the orchestrator only: {line}");
        assert!(line["round"].is_u64() && line["payload"].is_object(), "{line}");
        assert!(line["refs"].as_array().unwrap().iter().all(Value::is_string), "{line}");
    }
}

#[test]
fn each_command_writes_the_envelope_of_its_type() {
    let home = home();
    created(&home, "b1", &[]);
    to_done(&home, "b1");
    let public: Vec<_> =
        lines(&home, "b1").into_iter().filter(|line| PUBLIC.contains(&line["type"].as_str().unwrap())).collect();
    let kinds: Vec<_> = public.iter().map(|line| line["type"].as_str().unwrap()).collect();
    let expected = [
        "TASK",
        "HUMAN_QUESTION",
        "HUMAN_REPLY",
        "PASS",
        "PASS",
        "PASS",
        "PASS",
        "CONVERGENCE",
        "APPROVAL_REQUEST",
        "APPROVAL_DECISION",
        "DONE_PACKAGE",
    ];
    assert_eq!(kinds, expected);
    let [task, question, reply, first, review, .., claim, request, decision, done] = &public[..] else { panic!() };
    assert_eq!(route(task), ("orchestrator", "codex", 1));
    assert_eq!(task["payload"]["acceptance_criteria"], json!(["done.txt says done"]));
    assert_eq!((route(question), &question["payload"]["question"]), (("codex", "human", 1), &json!("May I?")));
    assert_eq!((route(reply), &reply["payload"]["message"]), (("human", "codex", 1), &json!("You may.")));
    assert_eq!(reply["in_reply_to"], question["id"]);
    assert_eq!(route(first), ("codex", "claude", 1));
    assert_eq!(first["payload"], json!({"summary": "first cut", "pass_intent": "review"}));
    assert_eq!(first["refs"], json!(["notes/plan.md", "done.txt"]));
    assert_eq!(route(review), ("claude", "codex", 1));
    let findings = json!([
        {"id": "F1", "severity": "P1", "title": "it says dome"},
        {"id": "F2", "severity": "P3", "title": "terse"},
    ]);
    assert_eq!((&review["payload"]["findings"], &review["payload"]["pass_intent"]), (&findings, &json!("fix_request")));
    assert_eq!(public[6]["payload"]["findings"], json!([]));
    assert_eq!((claim["sender"].as_str(), &claim["payload"]["summary"]), (Some("codex"), &json!("nothing left")));
    assert_eq!(route(request), ("orchestrator", "human", 2));
    assert_eq!((&decision["sender"], &decision["payload"]["decision"]), (&json!("human"), &json!("approve")));
    assert_eq!(decision["payload"]["tree"], request["payload"]["tree"]);
    holds_the_final_bundle(&home, done);
}

/// Insists that a DONE_PACKAGE has everything that is to be known of the work, and that its file is the approved one.
fn holds_the_final_bundle(home: &Home, done: &Value) {
    assert_eq!(done["refs"], json!(["artifact://done-package.md"]));
    let said = &done["payload"];
    let tree = home.git(&["rev-parse", "bubble/b1^{tree}"]);
    assert_eq!((&said["commit"], &said["tree"]), (&json!(home.git(&["rev-parse", "bubble/b1"])), &json!(tree)));
    assert_eq!(said["summary"], home.git(&["log", "-1", "--format=%s", "bubble/b1"]));
    let package = std::fs::read_to_string(dir(home, "b1").join("artifacts/done-package.md")).unwrap();
    assert_eq!(said["package_sha256"], pairflow_core::hash::sha256(package.as_bytes()));
    for part in
        ["> Write done.txt", "A done.txt +1 -0", "F1](ledger://F1) P1 fixed", "nothing left", "`grep -c . done.txt |"]
    {
        assert!(package.contains(part), "{part} is missing in the package:\n{package}");
    }
}

#[test]
fn bytes_that_were_written_never_change() {
    let home = home();
    created(&home, "b1", &[]);
    let mut seen = vec![bytes(&home, "b1")];
    let (codex, claude) = crate::support::spec_story::joined(&home, "b1");
    seen.push(bytes(&home, "b1"));
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    seen.push(bytes(&home, "b1"));
    claude.pairflow(&["converged", "--summary", "too early"]).ends(1);
    seen.push(bytes(&home, "b1"));
    claude.pairflow(&["pass", "--summary", "clean", "--no-findings"]).ok();
    seen.push(bytes(&home, "b1"));
    home.wait_for_turn("b1", "codex");
    home.pairflow(&["pause", "b1"]).ok();
    home.pairflow(&["resume", "b1"]).ok();
    seen.push(bytes(&home, "b1"));
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    seen.push(bytes(&home, "b1"));
    for (step, pair) in seen.windows(2).enumerate() {
        assert!(pair[1].starts_with(&pair[0]) && pair[1].len() > pair[0].len(), "step {step}");
    }
}

#[test]
fn writers_at_the_same_time_get_numbers_without_a_gap_or_a_double() {
    let home = home();
    let (codex, claude) = running(&home, "b1");
    let before = lines(&home, "b1").len();
    let children: Vec<_> = (0..20)
        .map(|n| {
            let agent = if n % 2 == 0 { &codex } else { &claude };
            let mut command = agent.command(&["ask-human", "--question", &format!("question {n}")]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let ended: Vec<_> = children.into_iter().map(|mut child| child.wait().unwrap().code()).collect();
    assert_eq!(ended, vec![Some(0); 20]);
    let lines = lines(&home, "b1");
    assert_eq!(lines.len(), before + 20);
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<_>>());
    let ids: BTreeSet<_> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), lines.len());
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn of_two_passes_at_the_same_moment_one_wins_and_the_other_changes_nothing() {
    let home = home();
    let (codex, claude) = running(&home, "b1");
    codex.write("done.txt", "done\n");
    for race in 0..6 {
        let agent = if race % 2 == 0 { &codex } else { &claude };
        let findings: &[&str] = if race % 2 == 0 { &[] } else { &["--finding", "P1:more"] };
        let racers = ["one", "two"].map(|words| {
            let mut command = agent.command(&[&["pass", "--summary", words], findings].concat());
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        });
        let mut codes = racers.map(|mut racer| racer.wait().unwrap().code().unwrap());
        codes.sort_unstable();
        assert!(codes == [0, 4] || codes == [0, 1], "one is done, the other lost the race or came late: {codes:?}");
        home.wait_for_turn("b1", if race % 2 == 0 { "claude" } else { "codex" });
        let passes = lines_of(&home, "b1", "PASS");
        assert_eq!(passes.len(), race + 1, "each race leaves one record");
        assert_eq!(passes[race]["round"], race / 2 + 1);
    }
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn refs_are_files_of_the_worktree_or_artifacts_in_the_order_given() {
    let home = home();
    let (codex, claude) = running(&home, "b1");
    codex.write("done.txt", "done\n");
    codex.write("b.txt", "b\n");
    let outside = ["missing.txt", "../../../repo/README.md", "/etc/passwd", ".", "artifact://gone.txt"];
    for bad in outside.into_iter().chain(["artifact://../transcript.ndjson", "artifact://diff/round-1.patch"]) {
        codex.pairflow(&["pass", "--summary", "x", "--ref", "b.txt", "--ref", bad]).ends(1);
    }
    assert_eq!(lines_of(&home, "b1", "PASS").len(), 0);
    codex.pairflow(&["pass", "--summary", "only a thought"]).ok();
    home.wait_for_turn("b1", "claude");
    // The diff of round 1 under the name of the specification, and as the file that it is.
    let file = dir(&home, "b1").join("artifacts/round-001.diff").display().to_string();
    let line =
        ["pass", "--summary", "x", "--finding", "P2:x", "--ref", "b.txt", "--ref", "artifact://diff/round-1.patch"];
    claude.pairflow(&[&line[..], &["--ref", "done.txt", "--ref", &file]].concat()).ok();
    let passes = lines_of(&home, "b1", "PASS");
    assert_eq!(passes[0]["refs"], json!([]), "a pass needs none");
    let expected = json!(["b.txt", "artifact://diff/round-1.patch", "done.txt", "artifact://round-001.diff"]);
    assert_eq!(passes[1]["refs"], expected);
}

#[test]
fn the_recipient_reads_what_a_message_refers_to_and_answers_with_a_command() {
    let home = home();
    let (codex, _) = running(&home, "b1");
    codex.write("done.txt", "done\n");
    codex.write("plan.md", "in two steps\n");
    codex.pairflow(&["pass", "--summary", "first cut", "--ref", "plan.md"]).ok();
    home.wait_for_turn("b1", "claude");
    let claude = home.agent("b1", "claude");
    let passed = lines_of(&home, "b1", "PASS").pop().unwrap();
    let file = format!("artifacts/messages/{:03}-codex-pass.md", passed["seq"].as_u64().unwrap());
    let message = std::fs::read_to_string(dir(&home, "b1").join(file)).unwrap();
    assert!(message.contains("first cut") && message.contains("plan.md"), "{message}");
    assert_eq!(std::fs::read_to_string(claude.worktree.join("plan.md")).unwrap(), "in two steps\n");
    claude.pairflow(&["brief"]).ok().says("first cut");
    claude.pairflow(&["pass", "--summary", "read it", "--ref", "artifact://diff/round-1.patch", "--no-findings"]).ok();
    assert_eq!(route(&lines_of(&home, "b1", "PASS")[1]), ("claude", "codex", 1));
}

#[test]
fn wrong_flags_of_a_pass_are_usage_errors_and_leave_no_trace() {
    let home = home();
    let (codex, _) = running(&home, "b1");
    let before = bytes(&home, "b1");
    let wrong: [&[&str]; 8] = [
        &["--intent", "praise"],
        &["--finding", "P4:too mild"],
        &["--finding", "p1:small"],
        &["--finding", "P1:"],
        &["--finding", "P1: "],
        &["--finding", "no severity"],
        &["--no-findings", "--finding", "P1:both"],
        &["--type", "CONVERGENCE"],
    ];
    for args in wrong {
        let ran = codex.pairflow(&[&["pass", "--summary", "x"], args].concat()).ends(2);
        assert!(ran.stderr.contains(args[0].trim_start_matches('-')), "{args:?}: {ran:?}");
    }
    codex.pairflow(&["pass"]).ends(2).says("--summary");
    codex.pairflow(&["ask-human", "--question", " "]).ends(2);
    assert_eq!(bytes(&home, "b1"), before);
    for intent in ["task", "review", "fix_request"] {
        codex.pairflow(&["pass", "--summary", " ", "--intent", intent]).ends(2).says("--summary");
    }
    codex.pairflow(&["pass", "--summary", "x", "--intent", "task"]).ok();
    assert_eq!(lines_of(&home, "b1", "PASS")[0]["payload"]["pass_intent"], "task");
}

#[test]
fn a_reviewer_may_give_many_findings_and_orchestra_does_the_same() {
    let home = home();
    let (codex, claude) = running(&home, "b1");
    let orchestra = home.root().join("orchestra");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pairflow"), &orchestra).unwrap();
    let as_orchestra = |agent: &pairflow_testkit::home::Agent<'_>, args: &[&str]| {
        let mut command = std::process::Command::new(&orchestra);
        let like = agent.command(&[]);
        command.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.args(args).current_dir(&agent.worktree).stdin(Stdio::null());
        home.finish(command)
    };
    as_orchestra(&codex, &["pass", "--summary", " "]).ends(2);
    as_orchestra(&codex, &["converged", "--summary", "x"]).ends(1).says("only the reviewer may declare convergence");
    as_orchestra(&codex, &["approve", "b1"]).ends(2);
    as_orchestra(&codex, &["ask-human", "--question", "May I?"]).ok();
    home.pairflow(&["reply", "b1", "--message", "yes"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.write("done.txt", "done\n");
    let passed = as_orchestra(&codex, &["pass", "--summary", "x", "--json"]).ok().json();
    let again = codex.pairflow(&["orchestra", "pass", "--summary", "x", "--json"]).ok().json();
    assert_eq!((&again["id"], &again["repeated"]), (&passed["id"], &json!(true)), "the same record by either name");
    home.wait_for_turn("b1", "claude");
    let line = ["pass", "--summary", "no", "--finding", "P0:a", "--finding", "P1:b", "--finding", "P2:c: d"];
    as_orchestra(&claude, &line).ok();
    let findings = lines_of(&home, "b1", "PASS")[1]["payload"]["findings"].clone();
    let told: Vec<_> = findings.as_array().unwrap().iter().map(|one| (&one["severity"], &one["title"])).collect();
    assert_eq!(told, [(&json!("P0"), &json!("a")), (&json!("P1"), &json!("b")), (&json!("P2"), &json!("c: d"))]);
}

#[test]
fn a_picture_is_no_message() {
    let home = home();
    let (codex, _) = running(&home, "b1");
    let mut command = codex.command(&["pass", "--summary", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(lines_of(&home, "b1", "PASS").len(), 0);
}

#[test]
fn everything_that_agents_say_to_each_other_is_text() {
    let home = home();
    created(&home, "b1", &[]);
    to_package(&home, "b1");
    let allowed = ["summary", "pass_intent", "findings", "question", "kind", "message", "certificate", "answers"];
    let allowed = [&allowed[..], &["explanation", "steps"]].concat();
    for line in lines(&home, "b1").iter().filter(|line| ["codex", "claude"].contains(&line["sender"].as_str().unwrap()))
    {
        for field in line["payload"].as_object().unwrap().keys() {
            assert!(allowed.contains(&field.as_str()), "{field} of {line}");
        }
    }
    for file in std::fs::read_dir(dir(&home, "b1").join("artifacts/messages")).unwrap().flatten() {
        assert!(std::fs::read_to_string(file.path()).is_ok(), "{:?} is no text", file.path());
    }
}
