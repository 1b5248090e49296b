//! The faults of the log and the state: killed at exact points, raced, cut, torn, and a disk that is full.

use std::sync::Arc;

use pairflow_testkit::home::{Home, Ran};
use rustix::io::Errno;
use serde_json::json;

use crate::support::bubbles::{created, handed_over, home, quiet, started};
use crate::support::faults::child::{become_the_program, is_killed, on_bad_disk};
use crate::support::faults::disk::{BadDisk, Deed, Moment};
use crate::support::faults::{PASS, Surroundings, passes_once, run_in_world};
use crate::support::log::{bytes, file, lines, lines_of, overwrite};

/// The other half of the tests that need a process to be killed: the program, run by this very binary.
#[test]
fn the_test_binary_is_the_program_when_it_is_told_so() {
    become_the_program();
}

/// A bubble in which codex has the turn and nobody but the test is at work.
#[track_caller]
fn codex_is_about_to_pass(home: &Home) -> pairflow_testkit::home::Agent<'_> {
    started(home, "b1");
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    quiet(home);
    codex
}

#[test]
fn a_kill_before_the_append_leaves_no_lock_and_no_record() {
    let home = home();
    let codex = codex_is_about_to_pass(&home);
    let before = bytes(&home, "b1");
    is_killed(&codex, Moment::BeforeAppend, &PASS);
    assert_eq!(bytes(&home, "b1"), before);
    passes_once(&home, &codex, "b1");
}

#[test]
fn a_kill_within_a_line_leaves_no_lock_and_the_half_line_is_set_aside_and_reported() {
    let home = home();
    let codex = codex_is_about_to_pass(&home);
    let before = bytes(&home, "b1");
    is_killed(&codex, Moment::HalfALine, &PASS);
    let torn = bytes(&home, "b1").split_off(before.len());
    assert!(!torn.is_empty());
    assert_eq!(home.status("b1")["active_agent"], "codex", "half a line never counted");
    home.pairflow(&["verify", "b1"]).ends(5).says(&format!("at byte {}", before.len()));
    passes_once(&home, &codex, "b1");
    let kept: Vec<_> = std::fs::read_dir(file(&home, "b1", "quarantine")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(std::fs::read(&kept[0]).unwrap(), torn);
    home.pairflow(&["log", "b1"])
        .ok()
        .says(&format!("the log ended in {} bytes of an unacknowledged append", torn.len()));
}

#[test]
fn a_kill_after_the_append_is_no_duplicate_pass_on_retry() {
    for moment in [Moment::AfterAppend, Moment::AfterSync] {
        let home = home();
        let codex = codex_is_about_to_pass(&home);
        is_killed(&codex, moment, &PASS);
        assert_eq!(lines_of(&home, "b1", "PASS").len(), 1, "{moment:?}");
        assert_eq!(home.status("b1")["active_agent"], "claude", "state and log never disagree");
        let again = codex.pairflow(&["pass", "--summary", "first cut", "--json"]).ok().json();
        assert_eq!(again["repeated"], json!(true));
        passes_once(&home, &codex, "b1");
    }
}

#[test]
fn a_kill_around_the_rename_of_the_state_leaves_nothing_that_later_commands_stumble_over() {
    for moment in [Moment::BeforeRename, Moment::AfterRename] {
        let home = home();
        let codex = codex_is_about_to_pass(&home);
        is_killed(&codex, moment, &PASS);
        passes_once(&home, &codex, "b1");
        home.pairflow(&["pause", "b1"]).ok();
        home.pairflow(&["resume", "b1"]).ok();
        home.wait_for_turn("b1", "claude");
        home.pairflow(&["stop", "b1", "--yes"]).ok();
        home.pairflow(&["delete", "b1", "--yes"]).ok();
    }
}

#[test]
fn a_lock_file_that_a_dead_process_left_holds_nobody_up() {
    let home = home();
    let codex = codex_is_about_to_pass(&home);
    let locks = home.repo.join(".pairflow/locks");
    for name in ["b1.lock", "b1"] {
        std::fs::write(locks.join(name), "12345\n").unwrap();
    }
    std::fs::write(file(&home, "b1", "state.json.lock"), "12345\n").unwrap();
    std::fs::write(file(&home, "b1", "state.json.tmp"), "half").unwrap();
    passes_once(&home, &codex, "b1");
}

#[test]
fn of_eight_concurrent_passes_exactly_one_is_recorded() {
    let home = home();
    for trial in 0..3 {
        let id = format!("b{trial}");
        started(&home, &id);
        let codex = home.agent(&id, "codex");
        codex.write("done.txt", "done\n");
        let passes: Vec<_> = (0..8).map(|n| codex.command(&["pass", "--summary", &format!("attempt {n}")])).collect();
        let running: Vec<_> = passes.into_iter().map(|mut pass| pass.output_later()).collect();
        let codes: Vec<i32> = running.into_iter().map(|run| Ran::of(&run.wait_with_output().unwrap()).code).collect();
        assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
        assert!(codes.iter().all(|code| [0, 1, 4].contains(code)), "{codes:?}");
        assert_eq!(lines_of(&home, &id, "PASS").len(), 1);
        home.wait_for_turn(&id, "claude");
    }
}

/// All have read and decided before any of them writes.
#[test]
fn with_the_race_window_widened_one_pass_wins_and_the_others_lose_with_4_and_record_nothing() {
    let home = home();
    let codex = codex_is_about_to_pass(&home);
    let dir = home.root().join("tmp/race");
    std::fs::create_dir(&dir).unwrap();
    let deed = Deed::Wait(dir.clone());
    let pass = |n: u32| on_bad_disk(&codex, Moment::BeforeLock, &deed, &["pass", "--summary", &format!("attempt {n}")]);
    let running: Vec<_> = (0..4).map(|n| pass(n).output_later()).collect();
    home.wait_for("b1", |_| std::fs::read_dir(&dir).is_ok_and(|there| there.count() == 4));
    let before = lines(&home, "b1").len();
    std::fs::write(dir.join("go"), "").unwrap();
    running.into_iter().for_each(|run| drop(run.wait_with_output().unwrap()));
    let exits = std::fs::read_dir(dir.join("exits")).unwrap().map(|one| std::fs::read_to_string(one.unwrap().path()));
    let mut exits: Vec<String> = exits.map(Result::unwrap).collect();
    exits.sort();
    assert_eq!(exits, ["0", "4", "4", "4"]);
    assert_eq!(lines(&home, "b1").len(), before + 1, "a lost race leaves no trace");
    assert_eq!(home.status("b1")["active_agent"], "claude");
}

#[test]
fn a_truncated_last_line_that_was_acknowledged_is_reported_and_its_id_is_not_used_again() {
    let home = home();
    let codex = codex_is_about_to_pass(&home);
    let passed = codex.pairflow(&["pass", "--summary", "first cut", "--json"]).ok().json();
    let whole = bytes(&home, "b1");
    let offset = whole.len() - whole.rsplit(|byte| *byte == b'\n').nth(1).unwrap().len() - 1;
    overwrite(&home, "b1", &whole[..whole.len() - 40]);
    created(&home, "other");
    home.pairflow(&["status", "b1"]).ends(5).says(&format!("at byte {offset}"));
    codex.pairflow(&["pass", "--summary", "once more"]).ends(5).says("pairflow doctor --repair");
    assert_eq!(bytes(&home, "b1"), &whole[..whole.len() - 40], "nothing is written to a damaged log");
    home.pairflow(&["list"]).ok().says("other").says("b1");
    home.pairflow(&[]).ok().says("other").says("b1");
    home.pairflow(&["doctor", "--repair", "--yes"]).says("the damaged log is in").says("paused");
    let taken_up = lines(&home, "b1").into_iter().find(|line| line["payload"]["event"] == "adopted").unwrap();
    assert_eq!(passed["id"], taken_up["id"], "numbered anew only after a person gave the lost record up");
    codex.pairflow(&["pass", "--summary", "once more"]).ends(1).says("paused");
    home.pairflow(&["resume", "b1"]).ok();
    codex.pairflow(&["pass", "--summary", "once more"]).ok();
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn a_truncated_last_line_that_nobody_was_told_of_is_set_aside_and_reported() {
    let home = home();
    let codex = codex_is_about_to_pass(&home);
    let mut torn = bytes(&home, "b1");
    torn.extend_from_slice(br#"{"id":"msg_20260101_009","ts":"2026-01-01T00:"#);
    overwrite(&home, "b1", &torn);
    home.pairflow(&["doctor"]).says("unfinished append");
    passes_once(&home, &codex, "b1");
    let warning = &lines_of(&home, "b1", "PROTOCOL_WARNING")[0];
    assert_eq!(warning["payload"]["command"], "append");
    assert!(warning["payload"]["reason"].as_str().unwrap().contains("quarantine/"), "{warning}");
}

#[test]
fn if_only_the_final_newline_is_lost_nothing_is_glued_and_every_command_goes_on() {
    let home = home();
    let codex = codex_is_about_to_pass(&home);
    let (whole, seq) = (bytes(&home, "b1"), lines(&home, "b1").len());
    overwrite(&home, "b1", whole.strip_suffix(b"\n").unwrap());
    let state = home.status("b1");
    assert_eq!((&state["state"], &state["active_agent"]), (&json!("RUNNING"), &json!("codex")));
    passes_once(&home, &codex, "b1");
    assert_eq!(bytes(&home, "b1")[..whole.len()], whole[..]);
    assert_eq!(lines(&home, "b1").len(), seq + 1);
    home.pairflow(&["status", "b1"]).ok();
}

#[test]
fn a_kill_inside_the_repair_of_a_tail_loses_nothing() {
    for moment in [Moment::BeforeCut, Moment::AfterCut, Moment::AfterSync, Moment::BeforeAppend] {
        let home = home();
        let codex = codex_is_about_to_pass(&home);
        let whole = bytes(&home, "b1");
        overwrite(&home, "b1", &[&whole, &b"{\"id\":\"msg_"[..]].concat());
        is_killed(&codex, moment, &PASS);
        assert_eq!(bytes(&home, "b1")[..whole.len()], whole[..], "{moment:?}");
        passes_once(&home, &codex, "b1");
        let kept = std::fs::read_dir(file(&home, "b1", "quarantine")).unwrap().count();
        assert_eq!(kept, 1, "{moment:?}: kept once, however often the repair was begun");
    }
}

#[test]
fn an_empty_state_file_or_a_stray_directory_hides_no_bubble() {
    let home = home();
    for id in ["b1", "b2", "b3", "b4"] {
        created(&home, id);
    }
    std::fs::write(file(&home, "b1", "state.json"), "").unwrap();
    std::fs::copy(file(&home, "b3", "state.json"), file(&home, "b2", "state.json")).unwrap();
    std::fs::remove_file(file(&home, "b3", "state.json")).unwrap();
    std::fs::create_dir(file(&home, "b3", "state.json")).unwrap();
    let bubbles = home.repo.join(".pairflow/bubbles");
    std::fs::create_dir_all(bubbles.join("stray/deep")).unwrap();
    std::fs::create_dir(bubbles.join("Not An Id")).unwrap();
    std::fs::write(bubbles.join("a-file"), "x").unwrap();
    let listed = home.pairflow(&["list", "--json"]).ok().json();
    let ids: Vec<_> = listed["bubbles"].as_array().unwrap().iter().map(|row| row["bubble_id"].clone()).collect();
    assert_eq!(ids, ["b1", "b2", "b3", "b4"]);
    for id in ["b1", "b2", "b3", "b4"] {
        let status = home.status(id);
        assert_eq!((&status["bubble_id"], &status["state"]), (&json!(id), &json!("CREATED")));
    }
    home.pairflow(&[]).ok().says("b4");
    home.pairflow(&["status", "stray"]).ends(1).says("there is no bubble 'stray'");
    home.pairflow(&["start", "b1"]).ok();
}

#[test]
fn a_full_disk_is_told_records_nothing_and_the_next_attempt_works() {
    for moment in [Moment::BeforeAppend, Moment::HalfALine, Moment::AfterAppend] {
        let home = home();
        let codex = codex_is_about_to_pass(&home);
        let before = bytes(&home, "b1");
        let disk = Arc::new(BadDisk::new(moment, Deed::Fail(Errno::NOSPC)));
        let around = Surroundings { agent: Some(&codex), disk, ..Surroundings::default() };
        let (code, _, said) = run_in_world(&home, around, &PASS);
        assert_eq!(code, 3, "{said}");
        assert!(said.contains("the disk is full; free some space and try again"), "{said}");
        assert_eq!(bytes(&home, "b1"), before, "{moment:?}");
        passes_once(&home, &codex, "b1");
    }
}

/// The kernel itself ends the write half way: the file may not become longer than the limit.
#[test]
fn a_file_that_may_not_grow_any_more_is_told_and_the_half_line_is_taken_back() {
    let home = home();
    let codex = codex_is_about_to_pass(&home);
    let before = bytes(&home, "b1");
    // Blocks of 512 bytes; the summary reaches over the next one.
    let (blocks, summary) = (before.len().div_ceil(512), "x".repeat(1000));
    let mut command = codex.command(&[]);
    let program = command.get_program().to_owned();
    command = shell(&command, &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""));
    command.arg(program).args(["pass", "--summary", &summary]);
    home.finish(command).ends(3).says("cannot append to").says("nothing was recorded");
    assert_eq!(bytes(&home, "b1"), before);
    passes_once(&home, &codex, "b1");
}

/// The same environment and directory, but a shell that does `line` with its arguments.
fn shell(like: &std::process::Command, line: &str) -> std::process::Command {
    let mut command = std::process::Command::new("sh");
    command.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(like.get_current_dir().unwrap()).stdin(std::process::Stdio::null());
    command.args(["-c", line, "sh"]);
    command
}

#[test]
fn a_supervisor_that_is_killed_leaves_no_lock_and_the_next_one_goes_on() {
    let home = home();
    let (_, claude) = handed_over(&home, "b1");
    let pid = home.pairflow(&["supervisor", "status", "--json"]).ok().json()["pid"].as_i64().unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    claude.pairflow(&["pass", "--summary", "a hole", "--finding", "P1:a hole"]).ok();
    home.pairflow(&["supervise"]).ok();
    home.wait_for_turn("b1", "codex");
}

/// Starts a command whose output is read later.
trait OutputLater {
    fn output_later(&mut self) -> std::process::Child;
}

impl OutputLater for std::process::Command {
    fn output_later(&mut self) -> std::process::Child {
        self.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        self.spawn().unwrap()
    }
}
