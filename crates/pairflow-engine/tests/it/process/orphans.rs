//! Programs that put themselves on record: whatever they start is found below them, also without group and mark.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pairflow_engine::process::{SelfRegistration, fresh_mark, is_alive, reap, records};
use pairflow_testkit::wait::eventually;

/// Starts what nothing tells of any more: no parent of its own, no group, no environment.
const STRAY: &str =
    r#"env -i /usr/bin/setsid -f /bin/sh -c 'trap "" TERM; echo $$ >"$1"; exec sleep 60' sh "$PWD/stray""#;

/// The state and the parent of a process, if it runs.
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    fields.next()?.parse().ok().filter(|_| state != "Z")
}

fn pid_in(file: &Path) -> i32 {
    eventually("a process id is written", || fs::read_to_string(file).ok()?.trim().parse().ok())
}

/// Not a test of its own: the process that puts itself on record and becomes a program.
#[test]
fn inside() {
    let Some(dir) = std::env::var_os("ENROL_IN") else { return };
    let (line, mark) = (std::env::var("BECOME").unwrap(), std::env::var("MARK").unwrap());
    let record = SelfRegistration { dir: PathBuf::from(dir), mark: mark.clone(), what: "the program".into() };
    record.enrol().unwrap();
    let error = Command::new("/bin/sh").args(["-c", &line]).env("PF_PROCESS_MARK", mark).exec();
    panic!("{error}");
}

/// Starts a program; whoever has the same mark is ended with it.
fn program(dir: &Path, mark: &str, line: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "process::orphans::inside"])
        .env("ENROL_IN", dir.join("records"))
        .env("BECOME", line)
        .env("MARK", mark);
    quiet(command.current_dir(dir).process_group(0)).spawn().unwrap()
}

/// Whoever is left over when a test fails holds nothing open that somebody reads.
fn quiet(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null()).stderr(Stdio::null())
}

#[test]
fn a_program_is_on_record_before_it_runs_and_all_that_it_started_ends_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let mark = fresh_mark();
    let line = format!("cp records/*.json seen; {STRAY}; exec sleep 60");
    let mut child = program(dir.path(), &mark, &line);
    let stray = pid_in(&dir.path().join("stray"));
    let pid = i32::try_from(child.id()).unwrap();
    let seen = records(&dir.path().join("records")).unwrap();
    assert_eq!(seen.iter().map(|one| (one.pid, one.mark.as_str())).collect::<Vec<_>>(), [(pid, mark.as_str())]);
    let copied: serde_json::Value = serde_json::from_slice(&fs::read(dir.path().join("seen")).unwrap()).unwrap();
    assert_eq!(copied["pid"], pid, "the record was there when the program began");
    eventually("the stray one has lost its parent", || parent(stray).filter(|parent| *parent == pid));
    let left = reap(&dir.path().join("records")).unwrap();
    assert_eq!(left, seen);
    assert_eq!(parent(stray), None, "it does not listen to a request, and is gone");
    assert!(!is_alive(&seen[0]));
    assert_eq!(records(&dir.path().join("records")).unwrap(), []);
    child.wait().unwrap();
}

#[test]
fn a_stranger_is_not_ended_with_a_program() {
    let dir = tempfile::tempdir().unwrap();
    let mut stranger = quiet(Command::new("sleep").arg("60")).spawn().unwrap();
    let mut child = program(dir.path(), &fresh_mark(), "echo $$ >stray; exec sleep 60");
    assert_eq!(pid_in(&dir.path().join("stray")), i32::try_from(child.id()).unwrap());
    assert_eq!(reap(&dir.path().join("records")).unwrap().len(), 1);
    let own = i32::try_from(std::process::id()).unwrap();
    let left = parent(i32::try_from(stranger.id()).unwrap());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert_eq!(left, Some(own));
    assert!(!child.wait().unwrap().success());
}
