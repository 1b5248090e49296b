//! One process for an agent's turn, however often it is interrupted, and one supervisor for a bubble.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pairflow_testkit::home::Home;
use pairflow_testkit::wait::eventually;
use serde_json::Value;

use crate::support::bubbles::{created, home};

/// Shrugs off the first request to end, and once it is started again sits there until it is ended.
const STUBBORN: &str = "agents:\n  codex:\n    - - misbehave: ignore_term\n      - misbehave: hang\n";

fn play(home: &Home, script: &str) {
    created(home, "b1");
    let path = home.root().join("agents.yaml");
    std::fs::write(&path, script).expect("the home is writable");
    home.pairflow(&["start", "b1", "--driver", "script", "--script", &path.display().to_string(), "--ci"]).ok();
}

/// The processes that are on record for `b1`.
fn recorded(home: &Home) -> Vec<i64> {
    let Ok(files) = std::fs::read_dir(home.repo.join(".pairflow/runtime/b1/processes")) else { return Vec::new() };
    let records =
        files.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "json"));
    let read = |path: PathBuf| serde_json::from_slice::<Value>(&std::fs::read(path).ok()?).ok()?["pid"].as_i64();
    records.filter_map(read).collect()
}

/// Waits until there is a process on record that `fits`, and never more than one.
#[track_caller]
fn only(home: &Home, fits: impl Fn(i64) -> bool) -> i64 {
    eventually("one process on record", || match recorded(home)[..] {
        [pid] => fits(pid).then_some(pid),
        [] => None,
        ref many => panic!("more than one process for one bubble: {many:?}"),
    })
}

fn is_alive(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Waits until the agent prints that it ignores the signal.
fn deaf(home: &Home) -> i64 {
    let log = home.repo.join(".pairflow/runtime/b1/codex.log");
    eventually("the agent at work", || std::fs::read_to_string(&log).ok().filter(|text| text.contains("ignoring")));
    only(home, |_| true)
}

#[test]
fn pause_and_resume_leave_one_agent_no_question_and_nobody_behind() {
    let home = home();
    play(&home, STUBBORN);
    let first = deaf(&home);
    home.pairflow(&["pause", "b1"]).ok();
    home.pairflow(&["resume", "b1"]).ok();
    let second = only(&home, |pid| pid != first);
    assert!(!is_alive(first), "the next one is started when the first one is gone");
    let status = home.status("b1");
    assert_eq!((&status["state"], status["questions"].as_array().map(Vec::len)), (&"RUNNING".into(), Some(0)));
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    assert_eq!(recorded(&home), [0_i64; 0]);
    assert!(!is_alive(second));
}

/// A supervisor of the same user, called from a shell with another runtime directory.
struct Second<'a> {
    home: &'a Home,
    run: PathBuf,
    log: PathBuf,
    child: Child,
}

impl<'a> Second<'a> {
    fn start(home: &'a Home) -> Self {
        let (run, log) = (home.root().join("run2"), home.root().join("second.log"));
        std::fs::create_dir(&run).expect("the home is writable");
        let file = std::fs::File::create(&log).expect("the home is writable");
        let mut command = elsewhere(home, &run, &["supervise", "--foreground"]);
        let child = command.stdout(Stdio::null()).stderr(file).spawn().expect("the program can be started");
        Self { home, run, log, child }
    }

    fn says(&self, part: &str) {
        eventually(part, || std::fs::read_to_string(&self.log).ok().filter(|text| text.contains(part)));
    }
}

impl Drop for Second<'_> {
    fn drop(&mut self) {
        let _ = elsewhere(self.home, &self.run, &["supervisor", "stop"]).stdout(Stdio::null()).status();
        let _ = self.child.wait();
    }
}

fn elsewhere(home: &Home, run: &Path, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command.env("XDG_RUNTIME_DIR", run);
    command
}

#[test]
fn a_second_supervisor_leaves_the_bubbles_of_the_first_alone_and_takes_them_over() {
    let home = home();
    play(&home, "agents:\n  codex:\n    - - misbehave: hang\n      - misbehave: hang\n");
    let agent = only(&home, |_| true);
    let second = Second::start(&home);
    second.says("b1: another process looks after it");
    home.finish(elsewhere(&home, &second.run, &["supervisor", "status"])).ok().says("Bubbles: 0 supervised");
    assert!(is_alive(agent) && recorded(&home) == [agent]);
    home.pairflow(&["supervisor", "stop"]).ok().says("Stopped the supervisor");
    second.says("b1: taken over");
    let next = only(&home, |pid| pid != agent);
    assert!(!is_alive(agent) && is_alive(next));
    drop(second);
    assert!(!is_alive(next));
    assert_eq!(recorded(&home), [0_i64; 0]);
    assert_eq!(home.status("b1")["state"], "RUNNING");
}

#[test]
fn what_is_owed_is_not_paid_twice_by_a_supervisor_that_nobody_here_can_see() {
    let home = home();
    play(&home, "agents:\n  codex:\n    - - misbehave: hang\n");
    only(&home, |_| true);
    let run = home.root().join("run2");
    std::fs::create_dir(&run).unwrap();
    let once = elsewhere(&home, &run, &["supervise", "--once"]);
    home.finish(once).ok().says("b1: another process is working on it.");
}
