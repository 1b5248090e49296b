//! Jobs as they behave in the wild: hanging, flooding, forking and hiding. Each test uses real processes.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use pairflow_engine::process::{
    Cancel, Job, JobCommand, JobKind, JobResult, ProcessAncestry, ProcessRecord, Registration, reap, records, run,
    start,
};
use pairflow_testkit::wait::wait_until;

const LONG: Duration = Duration::from_secs(60);

fn job(dir: &Path, line: &str) -> Job {
    Job {
        command: JobCommand::Shell(line.into()),
        cwd: dir.to_owned(),
        env: Vec::new(),
        timeout: Some(LONG),
        max_output_bytes: 1024 * 1024,
        log: None,
        registry: None,
    }
}

fn run_in(dir: &Path, line: &str) -> JobResult {
    run(&job(dir, line), &Cancel::new().unwrap())
}

fn text(ran: &JobResult) -> String {
    String::from_utf8_lossy(&ran.output).into_owned()
}

fn alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Reads the process id that a job wrote into `file`.
fn pid_in(file: &Path) -> i32 {
    let mut pid = 0;
    wait_until("a process id is written", || {
        pid = fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default();
        pid > 0
    });
    pid
}

#[test]
fn both_outputs_come_in_order_with_the_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run_in(dir.path(), "echo one; echo two >&2; echo three; exit 7");
    assert_eq!((text(&ran).as_str(), ran.exit, ran.signal), ("one\ntwo\nthree\n", Some(7), None));
    assert!(!ran.timed_out && !ran.cancelled && ran.could_not_start.is_none());
}

#[test]
fn a_program_with_arguments_needs_no_quoting() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["printf", "%s|", "a b", "$HOME", "'"].map(String::from).to_vec();
    let job = Job { command: JobCommand::Argv(words), ..job(dir.path(), "") };
    assert_eq!(text(&run(&job, &Cancel::new().unwrap())), "a b|$HOME|'|");
}

#[test]
fn input_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(text(&run_in(dir.path(), "wc -c")).trim(), "0");
}

#[test]
fn a_signal_is_not_an_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run_in(dir.path(), "kill -SEGV $$");
    assert_eq!((ran.exit, ran.signal), (None, Some(11)));
}

#[test]
fn a_job_out_of_time_is_ended_with_everybody_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let line = "sleep 300 & echo $! > child; sleep 300";
    let ran = run(&Job { timeout: Some(Duration::from_secs(3)), ..job(dir.path(), line) }, &Cancel::new().unwrap());
    assert!(ran.timed_out && ran.exit.is_none());
    assert_eq!(ran.signal, Some(15));
    assert!(!alive(pid_in(&dir.path().join("child"))));
    assert!(ran.duration < Duration::from_secs(100));
}

#[test]
fn a_job_that_ignores_the_request_to_end_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let line = "trap '' TERM; echo armed; while :; do sleep 1; done";
    let ran = run(&Job { timeout: Some(Duration::from_secs(3)), ..job(dir.path(), line) }, &Cancel::new().unwrap());
    assert_eq!((ran.timed_out, ran.signal), (true, Some(9)));
    assert_eq!(text(&ran), "armed\n");
}

#[test]
fn background_children_that_hold_the_output_open_neither_hang_the_runner_nor_survive() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run_in(dir.path(), "sleep 300 & echo $! > child; echo done");
    assert_eq!((text(&ran).as_str(), ran.exit), ("done\n", Some(0)));
    assert!(ran.duration < Duration::from_secs(100));
    assert!(!alive(pid_in(&dir.path().join("child"))));
}

#[test]
fn a_child_that_leaves_group_and_session_is_found_by_its_mark() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = "setsid sh -c 'echo $$ > daemon; exec sleep 300' >/dev/null 2>&1 & while [ ! -s daemon ]; do :; done";
    let ran = run_in(dir.path(), daemon);
    assert_eq!(ran.exit, Some(0), "{}", text(&ran));
    assert!(!alive(pid_in(&dir.path().join("daemon"))));
}

#[test]
fn a_flood_of_one_gigabyte_is_counted_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let line = "echo first; dd if=/dev/zero bs=1M count=1024 2>/dev/null; echo last";
    let ran = run(&Job { max_output_bytes: 10_000, ..job(dir.path(), line) }, &Cancel::new().unwrap());
    assert_eq!(ran.exit, Some(0));
    assert!(ran.output.len() < 10_100);
    assert!(ran.output.starts_with(b"first\n") && ran.output.ends_with(b"last\n"));
    let left_out = 6 + 1024 * 1024 * 1024 + 5 - 10_000;
    assert!(text(&ran).contains(&format!("{left_out} bytes left out")));
}

#[test]
fn a_flood_that_never_ends_is_cut_off_by_the_time_limit() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Job { timeout: Some(Duration::from_millis(300)), max_output_bytes: 1000, ..job(dir.path(), "yes") };
    let ran = run(&limits, &Cancel::new().unwrap());
    assert!(ran.timed_out && ran.output.len() < 1100);
    assert!(ran.duration < Duration::from_secs(100));
}

#[test]
fn cancelling_ends_every_job_of_the_flag_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let cancel = Cancel::new().unwrap();
    let jobs: Vec<_> = (0..3)
        .map(|n| start(&job(dir.path(), &format!("echo $$ > started{n}; sleep 300")), &cancel).unwrap())
        .collect();
    let pids: Vec<i32> = (0..3).map(|n| pid_in(&dir.path().join(format!("started{n}")))).collect();
    assert!(pids.iter().all(|pid| alive(*pid)));
    let before = Instant::now();
    cancel.cancel();
    for job in jobs {
        let ran = job.wait();
        assert!(ran.cancelled && !ran.timed_out);
    }
    assert!(before.elapsed() < Duration::from_secs(100));
    assert!(!pids.iter().any(|pid| alive(*pid)));
}

#[test]
fn the_environment_is_cleared_but_for_the_allowed_few() {
    let dir = tempfile::tempdir().unwrap();
    // CARGO_PKG_NAME is set by cargo for every test and stands for a variable that is nobody's business.
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
    let given = Job { env: vec![("GIVEN".into(), "yes".into())], ..job(dir.path(), "env") };
    let seen = text(&run(&given, &Cancel::new().unwrap()));
    let names: Vec<&str> = seen.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.contains(&"PATH") && names.contains(&"GIVEN"));
    assert!(!names.contains(&"CARGO_PKG_NAME"));
    assert!(!names.iter().any(|name| name.starts_with("PAIRFLOW_") || name.starts_with("GIT_")));
}

#[test]
fn what_cannot_be_found_executed_or_entered_could_not_start() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("plain"), "no program").unwrap();
    let why = |job: &Job| run(job, &Cancel::new().unwrap()).could_not_start.unwrap_or_default();
    let shell = |line: &str| why(&job(dir.path(), line));
    assert!(shell("no-such-thing").contains("exit code 127"));
    assert!(shell("cd . && ./no-such-thing").contains("no-such-thing"));
    assert!(shell("./plain").contains("exit code 126"));
    let argv = JobCommand::Argv(vec!["no-such-thing".into()]);
    assert!(why(&Job { command: argv, ..job(dir.path(), "") }).contains("no-such-thing"));
    assert!(why(&job(&dir.path().join("gone"), "true")).contains("gone"));
    assert_eq!(shell("exit 1"), "");
}

#[test]
fn a_job_that_cannot_be_recorded_does_not_run() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let registry = Registration { dir: dir.path().join("file/processes"), kind: JobKind::Check, what: "x".into() };
    let ran = run(&Job { registry: Some(registry), ..job(dir.path(), "touch ran") }, &Cancel::new().unwrap());
    assert!(ran.could_not_start.unwrap().contains("process record"));
    assert!(!dir.path().join("ran").exists());
}

fn recorded(dir: &Path, kind: JobKind, line: &str) -> Job {
    let registry = Registration { dir: dir.join("processes"), kind, what: "the job".into() };
    Job { registry: Some(registry), ..job(dir, line) }
}

#[test]
fn a_group_is_on_record_exactly_while_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let cancel = Cancel::new().unwrap();
    let running = start(&recorded(dir.path(), JobKind::Agent, "sleep 300"), &cancel).unwrap();
    let seen = records(&dir.path().join("processes")).unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].kind, seen[0].what.as_str(), seen[0].pid), (JobKind::Agent, "the job", running.pid()));
    running.cancel().cancel();
    running.wait();
    assert_eq!(records(&dir.path().join("processes")).unwrap(), []);
}

#[test]
fn left_over_groups_are_recognised_and_ended() {
    let dir = tempfile::tempdir().unwrap();
    let registry = dir.path().join("processes");
    let cancel = Cancel::new().unwrap();
    let line = "setsid sleep 300 & echo $! > stray; sleep 300";
    let running = start(&recorded(dir.path(), JobKind::Check, line), &cancel).unwrap();
    let stray = pid_in(&dir.path().join("stray"));
    let left = reap(&registry).unwrap();
    assert_eq!(left.iter().map(|one| one.pid).collect::<Vec<_>>(), [running.pid()]);
    assert!(!alive(left[0].pid) && !alive(stray));
    assert_eq!(records(&registry).unwrap(), []);
    assert_eq!(running.wait().signal, Some(15));
}

#[test]
fn a_process_id_that_belongs_to_someone_else_by_now_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let registry = dir.path().join("processes");
    let cancel = Cancel::new().unwrap();
    let running = start(&recorded(dir.path(), JobKind::Check, "sleep 300"), &cancel).unwrap();
    let real = records(&registry).unwrap().remove(0);
    let strangers = [
        ProcessRecord { start: real.start + 1, mark: "other".into(), ..real.clone() },
        ProcessRecord { boot: "another boot".into(), ..real.clone() },
    ];
    let elsewhere = dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for (n, stranger) in strangers.iter().enumerate() {
        fs::write(elsewhere.join(format!("{n}.json")), serde_json::to_vec(stranger).unwrap()).unwrap();
    }
    fs::write(elsewhere.join("damaged.json"), "{").unwrap();
    assert_eq!(reap(&elsewhere).unwrap(), []);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert!(alive(real.pid));
    running.cancel().cancel();
    running.wait();
}

#[test]
fn nothing_to_reap_where_nothing_was_recorded() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(reap(&dir.path().join("none")).unwrap(), []);
}

/// Not a test of its own: the process that the next test starts inside an agent's tree.
#[test]
fn inside() {
    let Some(dir) = std::env::var_os("LOOK_FOR_AGENTS_IN") else { return };
    let known: Vec<_> = records(Path::new(&dir)).unwrap().into_iter().map(|record| ((), record)).collect();
    let own = ProcessAncestry::own();
    let found = own.descends_from(&known).or_else(|| own.marked_by(&known)).is_some();
    fs::write(std::env::var_os("WRITE_TO").unwrap(), if found { "found" } else { "nobody" }).unwrap();
}

#[test]
fn a_process_knows_whether_it_descends_from_an_agent_or_a_check() {
    let me = std::env::current_exe().unwrap();
    let look = |kind: JobKind, line: &str| {
        let dir = tempfile::tempdir().unwrap();
        let line = line.replace("LOOK", &format!("'{}' --exact process::inside", me.display()));
        let mut job = recorded(dir.path(), kind, &line);
        job.env = vec![
            ("LOOK_FOR_AGENTS_IN".into(), dir.path().join("processes").to_string_lossy().into_owned()),
            ("WRITE_TO".into(), dir.path().join("answer").to_string_lossy().into_owned()),
        ];
        let ran = run(&job, &Cancel::new().unwrap());
        fs::read_to_string(dir.path().join("answer")).unwrap_or_else(|_| text(&ran))
    };
    assert_eq!(look(JobKind::Agent, "LOOK"), "found");
    assert_eq!(look(JobKind::Agent, "(sh -c \"LOOK\")"), "found");
    assert_eq!(look(JobKind::Agent, "env -u PF_PROCESS_MARK LOOK; true"), "found");
    assert_eq!(look(JobKind::Agent, "setsid -f LOOK; while [ ! -s answer ]; do :; done"), "found");
    assert_eq!(look(JobKind::Check, "LOOK"), "found");
    assert_eq!(look(JobKind::Check, "env -u PF_PROCESS_MARK LOOK; true"), "found");
    assert!(ProcessAncestry::own().descends_from::<()>(&[]).is_none());
}

#[test]
fn the_log_gets_what_the_job_prints() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("logs/codex.log");
    let logged = Job { log: Some(log.clone()), max_output_bytes: 4, ..job(dir.path(), "echo hello; echo world") };
    let ran = run(&logged, &Cancel::new().unwrap());
    assert_eq!(fs::read_to_string(log).unwrap(), "hello\nworld\n");
    assert!(ran.output.ends_with(b"d\n"));
}

#[cfg(target_os = "linux")]
mod orphans {
    //! Programs that put themselves on record: whatever they start is found below them, also without group and mark.

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

    /// Starts a program; processes with the same mark end with it.
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
}
