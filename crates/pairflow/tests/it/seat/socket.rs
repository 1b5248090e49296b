//! The socket of a seat in bad company: callers that send anything, hang or vanish, and supervisors that come and go.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use pairflow_engine::local_socket::fitting;
use pairflow_engine::verbs::AgentRequest;
use pairflow_testkit::disk::Rng;
use pairflow_testkit::home::Home;
use serde_json::Value;

use crate::support::bubbles::{home, started};
use crate::support::log::{records_of, whole_lines};
use crate::support::seat::{Seat, ended, opened, seat, send};

const PASS: &str =
    r#"{"said":{"pass":{"summary":"x","refs":[],"findings":null,"answers":{"fixed":[]},"steps":[]}},"id":"b1"}"#;

#[test]
fn the_socket_is_its_owners_and_goes_with_its_keeper() {
    let home = home();
    started(&home, "b1");
    let mut old = seat(&home, "b1", "codex");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert!(std::fs::metadata(&old.path).unwrap().file_type().is_socket());
    assert_eq!((mode(&old.path), mode(old.path.parent().unwrap())), (0o600, 0o700));
    let mut new = seat(&home, "b1", "codex");
    assert_eq!(new.path, old.path);
    old.close();
    new.pairflow(&["ask-human", "--question", "Still there?"]).ok();
    new.close();
    assert!(!new.path.exists());
}

#[test]
fn where_the_path_is_too_long_a_short_one_stands_in_and_goes_as_well() {
    let home = home();
    started(&home, "b1");
    let mut codex = seat(&home, "b1", "codex");
    codex.close();
    let long = home.root().join("d".repeat(120)).join("seat-codex.sock");
    codex.path = fitting(&long);
    assert_ne!(codex.path, long);
    codex.reopen();
    codex.pairflow(&["ask-human", "--question", "Is that you?"]).ok();
    let dir = codex.path.parent().unwrap().to_owned();
    assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    codex.close();
    assert!(!dir.exists(), "{} is left behind", dir.display());
}

#[test]
fn whatever_is_no_verb_leaves_no_trace() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    let before = whole_lines(&home, "b1");
    let long = [b"{\"said\":{\"ask_human\":{\"question\":\"".to_vec(), vec![b'x'; 5 * 1024 * 1024]].concat();
    let deep = format!("{{\"said\":{}\n", "[".repeat(1_000_000));
    let garbage: &[&[u8]] = &[
        b"",
        b"\n",
        b"\0\0\0\0\n",
        b"\xff\xfe\n",
        b"null\n",
        b"{}\n",
        b"[]\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"{\"said\":null}\n",
        b"{\"said\":{}}\n",
        b"{\"said\":{\"approve\":{}}}\n",
        b"{\"said\":{\"commit\":{\"message\":\"x\"}}}\n",
        b"{\"said\":{\"pass\":{}},\"hook\":{\"event\":\"Stop\"}}\n",
        b"{\"said\":{\"pass\":{\"summary\":7}}}\n",
        b"{\"said\":{\"pass\":{\"summary\":\"x\",\"head\":\"main\"}}}\n",
        b"{\"said\":{\"pass\":{\"summary\":\"x\"}},\"id\":\"b2\"}\n",
        b"{\"said\":{\"ask_human\":{\"question\":\"x\",\"refs\":[\"/etc/passwd\"]}}}\n",
        b"{\"hook\":{\"event\":\"Approve\"}}\n",
        b"{\"read\":\"status\"}\n",
        b"{\"command\":{\"Approve\":{}}}\n",
        PASS.as_bytes(),
        &PASS.as_bytes()[..PASS.len() - 1],
        &long,
        deep.as_bytes(),
    ];
    for bytes in garbage {
        let reply = codex.send(bytes);
        assert!(!reply.contains("heard"), "{reply}");
    }
    assert_eq!(whole_lines(&home, "b1"), before, "a line without its end is no verb, either");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
}

/// The lines that the random ones are made of: each can be a verb, an event or nothing.
fn seeds() -> Vec<Vec<u8>> {
    let lines = [
        PASS,
        r#"{"said":{"ask_human":{"question":"May I?"}},"id":"b1","cwd":"/"}"#,
        r#"{"said":{"converged":{"summary":"done","explanation":{"what":"x"}}},"since":3}"#,
        r#"{"said":{"pass":{"summary":"s","findings":[{"severity":"P1","title":"t","file":"a","line":1}]}}}"#,
        r#"{"hook":{"event":"Stop","session":"s","stop_hook_active":true}}"#,
        r#"{"attempted":"approve"}"#,
    ];
    lines.iter().map(|line| format!("{line}\n").into_bytes()).collect()
}

/// Changes a line in a few places, or mixes two.
fn spoiled(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut line = seeds[rng.below(seeds.len())].clone();
    for _ in 0..=rng.below(4) {
        let at = rng.below(line.len());
        match rng.below(6) {
            0 => line[at] = b"{}[]\",:\\\n\0 x7"[rng.below(13)],
            1 => drop(line.remove(at)),
            2 => line.truncate(at.max(1)),
            3 => line.insert(at, u8::try_from(rng.below(256)).unwrap()),
            4 => line.splice(at..at, seeds[rng.below(seeds.len())].iter().copied()).for_each(drop),
            _ => line[at] ^= 1 << rng.below(8),
        }
        if line.is_empty() {
            line.push(b'\n');
        }
    }
    line
}

/// Whether a line can be told for a verb: an object that says one of the three, or names one that was tried.
fn may_count(bytes: &[u8]) -> bool {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return false };
    let Ok(line) = serde_json::from_slice::<Value>(&bytes[..end]) else { return false };
    let says = serde_json::from_value::<AgentRequest>(line["said"].clone()).is_ok();
    says || line["attempted"].is_string()
}

#[test]
fn whatever_bytes_arrive_only_verbs_are_recorded() {
    let home = home();
    started(&home, "b1");
    let mut codex = seat(&home, "b1", "codex");
    // Nobody is there to wait for: every event is dealt with at once.
    codex.calls = std::sync::mpsc::channel().1;
    let (seeds, mut rng) = (seeds(), Rng::new(0x5ea7));
    let mut counted = 0;
    for case in 0..600 {
        let line = spoiled(&mut rng, &seeds);
        let before = whole_lines(&home, "b1");
        send(&codex.path, &line);
        let after = whole_lines(&home, "b1");
        assert!(
            after.starts_with(&before),
            "case {case}: {:?} changed what was written",
            String::from_utf8_lossy(&line)
        );
        let own = records_between(&before, &after).iter().filter(|one| of_codex(one)).count();
        counted += own;
        assert!(own == 0 || may_count(&line), "case {case}: {:?} was recorded", String::from_utf8_lossy(&line));
    }
    assert!(counted > 0, "some of them are verbs: otherwise nothing is tried here");
}

/// The records that were added; the supervisor adds its own meanwhile.
fn records_between(before: &[u8], after: &[u8]) -> Vec<Value> {
    let lines = after[before.len()..].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn of_codex(record: &Value) -> bool {
    record["sender"] == "codex" || (record["type"] == "PROTOCOL_WARNING" && record["recipient"] == "codex")
}

#[test]
fn callers_that_hang_keep_nobody_waiting_for_long() {
    let home = home();
    started(&home, "b1");
    let codex = seat(&home, "b1", "codex");
    let hang = |count: usize| -> Vec<UnixStream> {
        let hang = |_| {
            let mut stream = UnixStream::connect(&codex.path).unwrap();
            // Those that come too late are hung up on.
            let _ = stream.write_all(b"{\"said\":");
            stream
        };
        (0..count).map(hang).collect()
    };
    let few = hang(20);
    codex.pairflow(&["ask-human", "--question", "one?"]).ok();
    let many = hang(60);
    codex.pairflow(&["ask-human", "--question", "two?"]).ok();
    assert_eq!(records_of(&home, "b1", "HUMAN_QUESTION", "codex").len(), 2);
    drop((few, many));
}

#[test]
fn a_verb_waits_for_a_supervisor_that_starts_again() {
    let home = home();
    started(&home, "b1");
    let mut codex = seat(&home, "b1", "codex");
    codex.close();
    let said = codex.spawn(&["pass", "--summary", "x", "--json"]);
    codex.reopen();
    assert_eq!(ended(said).ok().json()["repeated"], false);
    assert_eq!(records_of(&home, "b1", "PASS", "codex").len(), 1);
}

#[test]
fn without_a_supervisor_every_verb_says_who_can_start_one() {
    let mut home = home();
    home.set_limits("seat_call=1500");
    started(&home, "b1");
    let mut codex = seat(&home, "b1", "codex");
    codex.close();
    let verbs: [&[&str]; 4] = [
        &["pass", "--summary", "x"],
        &["ask-human", "--question", "x"],
        &["converged", "--summary", "x"],
        &["pass", "--summary", "x", "--json"],
    ];
    let began = Instant::now();
    let children: Vec<_> = verbs.iter().map(|verb| codex.spawn(verb)).collect();
    for child in children {
        let ran = ended(child).ends(3).says("no supervisor is running");
        ran.says("pairflow supervise").says("pairflow resume b1");
    }
    assert!(began.elapsed() >= Duration::from_millis(1500), "a supervisor that starts again has time to");
}

/// Takes one verb as a supervisor does that is killed in the middle: it says that it has taken it, and ends.
fn taken_and_lost(path: &Path, since: u64, meanwhile: impl FnOnce(AgentRequest)) {
    let listener = UnixListener::bind(path).unwrap();
    let (stream, _) = listener.accept().unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    let request: Value = serde_json::from_str(&line).unwrap();
    (&stream).write_all(format!("{{\"taken\":{{\"since\":{since}}}}}\n").as_bytes()).unwrap();
    std::fs::remove_file(path).unwrap();
    meanwhile(serde_json::from_value(request["said"].clone()).unwrap());
}

#[test]
fn a_verb_whose_supervisor_died_before_recording_it_is_recorded_by_the_next() {
    let home = home();
    started(&home, "b1");
    let mut codex = seat(&home, "b1", "codex");
    codex.close();
    let since = opened(&home, "b1").load().unwrap().head.seq;
    let said = codex.spawn(&["pass", "--summary", "x", "--json"]);
    taken_and_lost(&codex.path, since, drop);
    codex.reopen();
    assert_eq!(ended(said).ok().json()["repeated"], false);
    assert_eq!(records_of(&home, "b1", "PASS", "codex").len(), 1);
}

#[test]
fn a_verb_whose_supervisor_died_after_recording_it_is_recorded_once_even_in_the_next_turn() {
    let home = home();
    started(&home, "b1");
    let claude = home.agent("b1", "claude");
    let mut codex = seat(&home, "b1", "codex");
    codex.close();
    codex.write("done.txt", "done\n");
    let before = opened(&home, "b1");
    let since = before.load().unwrap().head.seq;
    let said = codex.spawn(&["pass", "--summary", "again", "--json"]);
    let mut id = None;
    taken_and_lost(&codex.path, since, |said| {
        id = before.handle_agent_request(&"codex".parse().unwrap(), said, true).unwrap().id;
        home.wait_for_turn("b1", "claude");
        claude.pairflow(&["pass", "--summary", "no", "--finding", "P1:wrong"]).ok();
        home.wait_for_turn("b1", "codex");
    });
    codex.reopen();
    let told = ended(said).ok().json();
    assert_eq!((told["repeated"].as_bool(), told["id"].as_str()), (Some(true), id.as_ref().map(|id| id.0.as_str())));
    assert_eq!(passes_of_codex(&home), 1);
    same_words_in_a_new_turn_are_new(&home, &codex);
}

fn passes_of_codex(home: &Home) -> usize {
    records_of(home, "b1", "PASS", "codex").iter().filter(|pass| pass["sender"] == "codex").count()
}

/// Said anew, the same words are a message of the new turn: only the one that was lost is not repeated.
fn same_words_in_a_new_turn_are_new(home: &Home, codex: &Seat<'_>) {
    codex.write("done.txt", "done at last\n");
    assert_eq!(codex.pairflow(&["pass", "--summary", "again", "--json"]).ok().json()["repeated"], false);
    assert_eq!(passes_of_codex(home), 2);
}
