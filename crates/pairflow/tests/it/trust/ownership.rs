//! Whose a bubble is: own, foreign, copied, moved, rolled back; and that only one's own is ever acted on.

use std::path::{Path, PathBuf};

use pairflow_core::ids::{BubbleId, Party};
use pairflow_core::log::frame::LineHash;
use pairflow_core::log::line::encode;
use pairflow_core::log::{ApprovalDecision, Body, Envelope, Event, GateDecision};
use pairflow_core::time::{Moment, Timestamp};
use pairflow_testkit::home::{Home, Ran};
use serde_json::Value;

use super::support::{copy, log_of};
use crate::support::bubbles::{created, home, program, quiet, ready, started};

/// Insists that a verb was refused because the bubble is foreign, with the one command that goes on.
#[track_caller]
fn refused(ran: Ran, id: &str) {
    ran.ends(1).says(&format!("bubble {id} is foreign")).says(&format!("pairflow adopt {id}"));
}

/// Insists that nothing can be done with a foreign bubble, and that its log stays as it is.
#[track_caller]
fn causes_nothing(home: &Home, repo: &Path, id: &str) {
    let before = std::fs::read(log_of(repo, id)).unwrap();
    let verbs: [&[&str]; 9] = [
        &["start", id],
        &["resume", id],
        &["pause", id],
        &["stop", id, "--yes"],
        &["delete", id, "--yes"],
        &["approve", id],
        &["commit", id],
        &["open", id],
        &["env", id, "--agent", "codex"],
    ];
    for verb in verbs {
        refused(home.pairflow_in(repo, verb), id);
    }
    home.pairflow_in(repo, &["list"]).ok().says("foreign").says(&format!("pairflow adopt {id}"));
    home.pairflow_in(repo, &["status", id]).ok().says("Foreign").says(&format!("pairflow adopt {id}"));
    home.pairflow_in(repo, &["supervise", "--once"]).ok();
    assert_eq!(std::fs::read(log_of(repo, id)).unwrap(), before, "a foreign log was written to");
}

/// Why `status` calls a bubble foreign.
#[track_caller]
fn why(home: &Home, repo: &Path, id: &str) -> Option<String> {
    let status = home.pairflow_in(repo, &["status", id, "--json"]).ok().json();
    status["foreign"].as_str().map(str::to_owned)
}

/// The lines of a log, as JSON.
fn lines(log: &Path) -> Vec<Value> {
    std::fs::read_to_string(log).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Where the state directory keeps something of a bubble.
fn record(home: &Home, name: &str) -> PathBuf {
    let bubbles = home.root().join("state/pairflow/bubbles");
    let dir = std::fs::read_dir(bubbles).unwrap().next().unwrap().unwrap().path();
    dir.join(name)
}

/// Puts the log of a bubble that somebody else has made, and that is about to touch a file, into the repository.
/// Returns that file.
fn present(home: &Home) -> PathBuf {
    let other = Home::new(program());
    let canary = home.root().join("canary");
    other.configure(&format!("[commands]\ntest = \"true\"\nsetup = \"touch {}\"\n", canary.display()));
    other.pairflow(&["create", "--id", "evil", "--task", "x"]).ok();
    other.pairflow(&["start", "evil"]).ok();
    quiet(&other);
    let text = std::fs::read_to_string(log_of(&other.repo, "evil")).unwrap();
    let ready = text.lines().position(|line| line.contains("\"workspace_ready\"")).unwrap();
    let cut: String = text.lines().take(ready).map(|line| format!("{line}\n")).collect();
    let log = log_of(&home.repo, "evil");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(log, cut).unwrap();
    home.git(&["add", "-f", ".pairflow"]);
    home.git(&["commit", "--quiet", "-m", "a present"]);
    // It ran where it was made.
    std::fs::remove_file(&canary).unwrap();
    canary
}

#[test]
fn a_log_that_came_with_the_repository_runs_nothing() {
    let home = home();
    let canary = present(&home);
    home.pairflow(&["new", "something else", "--test", "true"]).ok();
    home.wait_for_turn("something-else", "codex");
    home.pairflow(&["resume", "evil"]).ends(1);
    quiet(&home);
    home.pairflow(&["supervise", "--once"]);
    assert!(!canary.exists(), "a foreign command ran");
    home.pairflow(&["supervise", "--once"]).ok().says("bubble evil is foreign");
    causes_nothing(&home, &home.repo, "evil");
    assert!(!canary.exists(), "a foreign command ran");
    assert!(why(&home, &home.repo, "evil").unwrap().contains("not created by you"));
    assert_eq!(why(&home, &home.repo, "something-else"), None);
}

#[test]
fn an_adopted_bubble_runs_nothing_before_it_is_started() {
    let home = home();
    let canary = present(&home);
    let shown = home.pairflow(&["adopt", "evil"]).ends(1);
    shown.says("Setup runs: touch").says("add --yes");
    home.pairflow(&["adopt", "evil", "--yes"]).ok().says("Adopted bubble evil");
    assert_eq!((why(&home, &home.repo, "evil"), &home.status("evil")["state"]), (None, &Value::from("CREATED")));
    home.pairflow(&["supervise", "--once"]).ok();
    assert!(!canary.exists(), "an adoption ran a command");
    home.pairflow(&["log", "evil"]).ok().says("adopts the bubble");
    home.pairflow(&["adopt", "evil", "--yes"]).ok().says("already yours");
}

#[test]
fn a_control_directory_in_the_history_is_reported_by_every_command() {
    let home = home();
    home.pairflow(&["list"]).ok();
    present(&home);
    for command in [&["list"][..], &["status", "evil"], &["inbox"], &[]] {
        home.pairflow(command).ok().says("git tracks .pairflow").says("git rm -r --cached .pairflow");
    }
    home.pairflow(&["doctor"]).ends(3).says("git tracks .pairflow");
    home.git(&["rm", "-r", "-q", "--cached", ".pairflow"]);
    let quiet = home.pairflow(&["list"]).ok();
    assert!(!quiet.stderr.contains("tracked by git"), "{}", quiet.stderr);
}

#[test]
fn a_copied_repository_leaves_the_original_alone() {
    let home = home();
    started(&home, "b1");
    let worktree = PathBuf::from(home.status("b1")["worktree"].as_str().unwrap());
    std::fs::write(worktree.join("work.txt"), "work\n").unwrap();
    let other = home.root().join("work/copy");
    copy(&home.repo, &other);
    home.pairflow_in(&other, &["delete", "b1", "--yes"]);
    assert!(worktree.join("work.txt").exists(), "the worktree of the original was removed");
    causes_nothing(&home, &other, "b1");
    assert!(why(&home, &other, "b1").unwrap().contains("copy of the bubble in"));
    assert_eq!(std::fs::read_to_string(worktree.join("work.txt")).unwrap(), "work\n");
    assert_eq!(why(&home, &home.repo, "b1"), None);
    home.pairflow_in(&other, &["adopt", "b1", "--yes"]).ok();
    home.pairflow_in(&other, &["resume", "b1"]).ok();
    let status = home.pairflow_in(&other, &["status", "b1", "--json"]).ok().json();
    assert_eq!((&status["worktree_problem"], &status["worktree_gone"]), (&Value::Null, &Value::Bool(false)));
    home.pairflow_in(&other, &["delete", "b1", "--yes"]).ok();
    assert_eq!(std::fs::read_to_string(worktree.join("work.txt")).unwrap(), "work\n", "the original's worktree");
    home.agent("b1", "codex").pairflow(&["ask-human", "--question", "still there?"]).ok();
}

#[test]
fn a_path_in_a_log_is_never_removed() {
    let home = home();
    let precious = home.root().join("work/precious");
    std::fs::create_dir_all(&precious).unwrap();
    std::fs::write(precious.join("file"), "mine\n").unwrap();
    let other = Home::new(program());
    started(&other, "evil");
    quiet(&other);
    let log = log_of(&home.repo, "evil");
    copy(&log_of(&other.repo, "evil"), &log);
    let text = std::fs::read_to_string(&log).unwrap();
    let own = other.status("evil")["worktree"].as_str().unwrap().to_owned();
    std::fs::write(&log, chained(&text.replace(&own, &precious.display().to_string()))).unwrap();
    let deleted = home.pairflow(&["delete", "evil", "--yes"]);
    assert!(precious.join("file").exists(), "a directory that a log names was removed");
    refused(deleted, "evil");
    home.pairflow(&["adopt", "evil", "--yes"]).ok();
    home.pairflow(&["delete", "evil", "--yes"]).ok();
    assert_eq!(std::fs::read_to_string(precious.join("file")).unwrap(), "mine\n");
}

/// Makes the chain and the checksums of changed lines fit again, as whoever can write the file can do.
pub(crate) fn chained(text: &str) -> String {
    let mut prev = LineHash::NONE;
    let mut out = String::new();
    for line in text.lines() {
        let (body, _) = line.rsplit_once(",\"prev\":\"").unwrap();
        let body = format!("{body},\"prev\":\"{prev}\"");
        let line = format!("{body},\"crc\":\"{:08x}\"}}", crc(body.as_bytes()));
        prev = LineHash::of(line.as_bytes());
        out += &line;
        out.push('\n');
    }
    out
}

/// CRC-32C, bit by bit.
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0_u32, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[test]
fn an_approval_that_was_put_into_the_log_commits_nothing() {
    let home = home();
    ready(&home, "b1");
    quiet(&home);
    let log = log_of(&home.repo, "b1");
    let text = std::fs::read_to_string(&log).unwrap();
    let last = lines(&log).pop().unwrap();
    let request = lines(&log).into_iter().rev().find(|line| line["type"] == "APPROVAL_REQUEST").unwrap();
    let decision = ApprovalDecision {
        decision: GateDecision::Approve,
        tree: serde_json::from_value(request["payload"]["tree"].clone()).unwrap(),
        message: String::new(),
        findings: Vec::new(),
    };
    let mut event = Event::own(1, Body::ApprovalDecision(decision));
    (event.sender, event.recipient) = (Party::Human, Party::Orchestrator);
    let at =
        Moment { ts: last["ts"].as_str().unwrap().parse::<Timestamp>().unwrap(), up: last["up"].as_u64().unwrap() };
    let seq = last["seq"].as_u64().unwrap() + 1;
    let bubble_id: BubbleId = "b1".parse().unwrap();
    let forged = Envelope { seq, id: Envelope::name(seq, at), at, bubble_id, more: 0, event };
    let prev = LineHash::of(text.lines().last().unwrap().as_bytes());
    let line = encode(&forged, &prev);
    // A line that only lacks its newline counts when a log is read, and so does one with a field that is there twice.
    let doubled = String::from_utf8(line.clone()).unwrap();
    let doubled = doubled.replacen("\"payload\":{", "\"payload\":{\"event\":1,\"event\":2,", 1);
    let (body, _) = doubled.rsplit_once(",\"crc\"").unwrap();
    let doubled = format!("{body},\"crc\":\"{:08x}\"}}\n", crc(body.as_bytes()));
    for forgery in [&line[..line.len() - 1], doubled.as_bytes(), &line] {
        std::fs::write(&log, [text.as_bytes(), forgery].concat()).unwrap();
        let ran = home.pairflow(&["commit", "b1", "--yes"]);
        assert_ne!(ran.code, 0, "a forged approval was committed:\n{}", ran.stdout);
    }
    refused(home.pairflow(&["commit", "b1", "--yes"]), "b1");
    home.pairflow(&["supervise", "--once"]).ok();
    assert!(why(&home, &home.repo, "b1").unwrap().contains("not written by your pairflow: they are not sealed"));
    assert_eq!(home.git(&["rev-list", "--count", "--branches"]), "1", "something was committed");
    home.pairflow(&["adopt", "b1", "--yes"]).ok().says("paused");
    assert_eq!(home.status("b1")["state"], "RUNNING", "an approval from before the adoption counts");
}

#[test]
fn verify_tells_its_own_seal_from_another_from_none_and_from_a_broken_one() {
    let home = home();
    created(&home, "b1");
    let seal = |home: &Home| {
        // It says how long the log was, and whoever changes the log removes it.
        let _ = std::fs::remove_file(home.repo.join(".pairflow/bubbles/b1/state.json"));
        home.pairflow(&["verify", "b1", "--json"]).json()["seal"].as_str().map(str::to_owned)
    };
    assert_eq!(seal(&home).as_deref(), Some("own"));
    home.pairflow(&["verify", "b1"]).ok().says("sealed by you");
    let log = log_of(&home.repo, "b1");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, chained(&text.replace("done.txt says done", "done.txt says DONE"))).unwrap();
    assert_eq!(seal(&home).as_deref(), Some("broken"));
    home.pairflow(&["verify", "b1"]).ends(5).says("wrong");
    let from = text.find(",\"seal\":\"").unwrap();
    let to = from + text[from..].find(",\"prev\"").unwrap();
    std::fs::write(&log, chained(&format!("{}{}", &text[..from], &text[to..]))).unwrap();
    assert_eq!(seal(&home).as_deref(), Some("unsealed"));
    let other = Home::new(program());
    created(&other, "b1");
    copy(&log_of(&other.repo, "b1"), &log);
    assert_eq!(seal(&home).as_deref(), Some("other_key"));
    home.pairflow(&["verify", "b1"]).ends(5).says("sealed with another key").says("its log was replaced");
}

#[test]
fn a_moved_repository_takes_its_worktrees_along() {
    let mut home = home();
    started(&home, "b1");
    let worktree = PathBuf::from(home.status("b1")["worktree"].as_str().unwrap());
    std::fs::write(worktree.join("half.txt"), "half done\n").unwrap();
    quiet(&home);
    let old = home.repo.clone();
    home.repo = home.root().join("elsewhere/repository");
    std::fs::create_dir_all(home.repo.parent().unwrap()).unwrap();
    std::fs::rename(&old, &home.repo).unwrap();
    assert!(why(&home, &home.repo, "b1").unwrap().contains("was probably moved"));
    refused(home.pairflow(&["resume", "b1"]), "b1");
    assert!(worktree.join("half.txt").exists());
    home.pairflow(&["adopt", "b1"]).ends(1).says(&old.display().to_string());
    home.pairflow(&["adopt", "b1", "--yes"]).ok();
    assert_eq!(why(&home, &home.repo, "b1"), None);
    let toml = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/bubble.toml")).unwrap();
    assert!(toml.contains("elsewhere/repository") && !toml.contains(&old.display().to_string()), "{toml}");
    let moved = PathBuf::from(home.status("b1")["worktree"].as_str().unwrap());
    assert_eq!(moved, home.root().canonicalize().unwrap().join("elsewhere/.pairflow-worktrees/repository/b1"));
    assert_eq!(std::fs::read_to_string(moved.join("half.txt")).unwrap(), "half done\n");
    assert!(!worktree.exists());
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    home.pairflow(&["diff", "b1"]).ok().says("half done");
}

#[test]
fn a_log_that_was_rolled_back_is_foreign_until_it_is_adopted() {
    let home = home();
    started(&home, "b1");
    let dir = log_of(&home.repo, "b1").parent().unwrap().to_owned();
    let kept = home.root().join("kept");
    copy(&dir, &kept);
    home.agent("b1", "codex").pairflow(&["ask-human", "--question", "which colour?"]).ok();
    quiet(&home);
    std::fs::remove_dir_all(&dir).unwrap();
    copy(&kept, &dir);
    causes_nothing(&home, &home.repo, "b1");
    assert!(why(&home, &home.repo, "b1").unwrap().contains("rolled back"));
    home.pairflow(&["adopt", "b1", "--yes"]).ok().says("paused");
    home.pairflow(&["resume", "b1"]).ok();
    home.agent("b1", "codex").pairflow(&["ask-human", "--question", "which colour?"]).ok();
}

#[test]
fn a_record_that_lags_behind_is_still_the_owners_and_a_damaged_one_is_foreign() {
    let home = home();
    started(&home, "b1");
    let (entry, head) = (record(&home, "b1.json"), record(&home, "b1.head"));
    let before = std::fs::read(&head).unwrap();
    let codex = home.agent("b1", "codex");
    codex.pairflow(&["ask-human", "--question", "one?"]).ok();
    quiet(&home);
    for lag in [Some(&before[..]), Some(b"12 34 torn"), Some(b""), None] {
        match lag {
            Some(bytes) => std::fs::write(&head, bytes).unwrap(),
            None => std::fs::remove_file(&head).unwrap(),
        }
        assert_eq!(why(&home, &home.repo, "b1"), None, "{lag:?}");
    }
    home.pairflow(&["reply", "b1", "--message", "yes"]).ok();
    quiet(&home);
    assert!(head.exists(), "what is known of the log is written again");
    for damaged in ["", "{\"repo\":\"/x\"", "[]", "null"] {
        std::fs::write(&entry, damaged).unwrap();
        assert_eq!(why(&home, &home.repo, "b1"), None, "the note repeats the record");
    }
    for damaged in ["", "{\"repo\":\"/x\"", "[]", "null"] {
        std::fs::write(&entry, damaged).unwrap();
        std::fs::write(&head, damaged).unwrap();
        refused(home.pairflow(&["stop", "b1", "--yes"]), "b1");
    }
    home.pairflow(&["adopt", "b1", "--yes"]).ok();
    assert_eq!(why(&home, &home.repo, "b1"), None);
}

#[test]
fn a_lost_key_makes_bubbles_foreign_and_one_command_adopts_them_all() {
    let home = home();
    started(&home, "b1");
    created(&home, "b2");
    quiet(&home);
    let key = home.root().join("state/pairflow/key");
    std::fs::remove_file(&key).unwrap();
    for id in ["b1", "b2"] {
        assert!(why(&home, &home.repo, id).unwrap().contains("key that sealed its log"));
    }
    refused(home.pairflow(&["resume", "b1"]), "b1");
    home.pairflow(&["adopt"]).ends(1).says("pairflow adopt --all");
    home.pairflow(&["adopt", "--all", "--yes"]).ok().says("b1").says("b2");
    assert!([why(&home, &home.repo, "b1"), why(&home, &home.repo, "b2")].iter().all(Option::is_none));
    home.pairflow(&["start", "b2"]).ok();
    std::fs::write(&key, "not a key\n").unwrap();
    home.pairflow(&["pause", "b1"]).ends(3).says("is not a pairflow key");
}

#[test]
fn two_people_on_one_repository_do_not_act_for_each_other() {
    let home = home();
    started(&home, "b1");
    let other = |args: &[&str]| {
        let mut command = home.command(args);
        for (name, dir) in [("XDG_STATE_HOME", "other/state"), ("XDG_RUNTIME_DIR", "other/run")] {
            std::fs::create_dir_all(home.root().join(dir)).unwrap();
            command.env(name, home.root().join(dir));
        }
        home.finish(command)
    };
    other(&["list"]).ok().says("foreign");
    refused(other(&["stop", "b1", "--yes"]), "b1");
    other(&["supervise", "--once"]).ok().says("bubble b1 is foreign");
    assert_eq!(home.status("b1")["state"], "RUNNING");
}

#[test]
fn a_state_directory_that_cannot_be_used_stops_a_new_bubble_and_leaves_nothing() {
    let home = home();
    let with = |state: &Path| {
        let mut command = home.command(&["create", "--id", "b1", "--task", "x", "--test", "true"]);
        command.env("XDG_STATE_HOME", state);
        home.finish(command)
    };
    let file = home.root().join("a-file");
    std::fs::write(&file, "").unwrap();
    with(&file).ends(3).says("a-file/pairflow");
    assert!(!log_of(&home.repo, "b1").exists());
    let link = home.root().join("linked/pairflow");
    std::fs::create_dir_all(&link).unwrap();
    std::os::unix::fs::symlink("/dev/null", link.join("key")).unwrap();
    with(&home.root().join("linked")).ends(3).says("not a regular file of yours");
    assert!(!log_of(&home.repo, "b1").exists());
}

#[test]
fn a_control_directory_that_is_a_link_is_refused() {
    let home = home();
    created(&home, "b1");
    let (own, away) = (home.repo.join(".pairflow"), home.root().join("away"));
    std::fs::rename(&own, &away).unwrap();
    std::os::unix::fs::symlink(&away, &own).unwrap();
    home.pairflow(&["start", "b1"]).ends(1).says("is a link");
    home.pairflow(&["create", "--id", "b2", "--task", "x", "--test", "true"]).ends(1).says("is a link");
    assert!(!away.join("bubbles/b2").exists());
}
