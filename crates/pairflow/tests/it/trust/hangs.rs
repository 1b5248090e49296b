//! Nothing hangs: neither on a FIFO in place of a file, nor on a supervisor that stands still.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use pairflow_testkit::home::{Home, Ran};
use pairflow_testkit::wait::within;
use serde_json::{Value, json};

use crate::support::bubbles::{created, home, started};
use crate::support::log::lines;

/// How long a command may take before it counts as hanging. Far above what it needs on a busy machine.
const LIMIT: Duration = Duration::from_secs(40);

/// Runs a command and insists that it ends.
#[track_caller]
fn ends(home: &Home, mut command: Command) -> Ran {
    let (out, err) = (home.root().join("tmp/out"), home.root().join("tmp/err"));
    let file = |path: &Path| Stdio::from(std::fs::File::create(path).unwrap());
    let mut child = command.stdin(Stdio::null()).stdout(file(&out)).stderr(file(&err)).spawn().unwrap();
    let Some(status) = within(LIMIT, || child.try_wait().unwrap()) else {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("it hangs: {command:?}");
    };
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    Ran { code: status.code().unwrap_or(-1), stdout: text(&out), stderr: text(&err) }
}

#[track_caller]
fn run(home: &Home, args: &[&str]) -> Ran {
    ends(home, home.command(args))
}

/// A FIFO in place of a file, as long as this value lives.
#[must_use = "it is removed when it is dropped"]
struct Fifo(PathBuf);

fn fifo(path: &Path) -> Fifo {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let beside = path.with_extension("fifo");
    assert!(Command::new("mkfifo").arg(&beside).status().unwrap().success(), "{}", beside.display());
    std::fs::rename(&beside, path).unwrap();
    Fifo(path.to_owned())
}

impl Drop for Fifo {
    fn drop(&mut self) {
        if self.0.symlink_metadata().is_ok_and(|found| found.file_type().is_fifo()) {
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

fn file_of(home: &Home, id: &str, name: &str) -> PathBuf {
    home.repo.join(".pairflow/bubbles").join(id).join(name)
}

#[test]
fn a_log_that_is_a_fifo_is_refused_by_every_command_and_hides_no_other_bubble() {
    let home = home();
    created(&home, "b1");
    created(&home, "b2");
    let _fifo = fifo(&file_of(&home, "b1", "transcript.ndjson"));
    run(&home, &["list"]).ok().says("b1").says("b2");
    for (args, code) in [(&[][..], 0), (&["next"], 0), (&["inbox"], 0), (&["doctor"], 3), (&["supervise", "--once"], 3)]
    {
        run(&home, args).ends(code).says("not a regular file");
    }
    for args in [
        &["status", "b1"][..],
        &["stop", "b1", "--yes"],
        &["pause", "b1"],
        &["start", "b1"],
        &["log", "b1"],
        &["verify", "b1"],
        &["diff", "b1"],
        &["delete", "b1", "--yes"],
    ] {
        run(&home, args).ends(3).says("transcript.ndjson").says("not a regular file");
    }
    run(&home, &["start", "b2"]).ok();
    home.wait_for_turn("b2", "codex");
}

#[test]
fn a_cache_that_is_a_fifo_is_replaced() {
    let home = home();
    created(&home, "b1");
    let cache = file_of(&home, "b1", "state.json");
    let first = fifo(&cache);
    for args in [&[][..], &["list"], &["next"], &["status", "b1"], &["verify", "b1"], &["start", "b1"]] {
        run(&home, args).ok();
    }
    home.wait_for_turn("b1", "codex");
    assert!(cache.symlink_metadata().unwrap().is_file());
    drop(first);
    let _second = fifo(&cache);
    run(&home, &["stop", "b1", "--yes"]).ok();
    assert_eq!(home.status("b1")["state"], "CANCELLED");
}

#[test]
fn a_supervisor_goes_on_beside_files_that_are_fifos() {
    let home = home();
    started(&home, "b1");
    started(&home, "b2");
    let (codex, claude) = (home.agent("b2", "codex"), home.agent("b2", "claude"));
    let running = Supervisor::of(&home);
    let own = ["transcript.ndjson", "state.json"].map(|name| file_of(&home, "b1", name));
    let notes = ["told.json", "seats.json", "stage.json", "processes/1-1.json"];
    let notes = notes.map(|name| home.repo.join(".pairflow/runtime/b1").join(name));
    let _fifos: Vec<_> = own.iter().chain(&notes).map(|path| fifo(path)).collect();
    codex.write("done.txt", "done\n");
    ends(&home, codex.command(&["pass", "--summary", "first cut"])).ok();
    home.wait_for_turn("b2", "claude");
    assert_eq!(supervisor(&home)["pid"], running.0);
    // The next one finds it so from the start.
    run(&home, &["supervisor", "stop"]).ok();
    run(&home, &["supervise"]).ok();
    ends(&home, claude.command(&["pass", "--summary", "fine", "--no-findings"])).ok();
    home.wait_for_turn("b2", "codex");
}

#[test]
fn a_configuration_that_is_a_fifo_is_named() {
    let home = home();
    created(&home, "b1");
    for path in [
        home.repo.join("pairflow.toml"),
        file_of(&home, "b1", "bubble.toml"),
        home.root().join("config/pairflow/config.toml"),
    ] {
        let kept = std::fs::read(&path).ok();
        let fifo = fifo(&path);
        let name = path.file_name().unwrap().to_str().unwrap();
        run(&home, &["start", "b1"]).ends(3).says(name).says("not a regular file");
        let explained = run(&home, &["config", "explain", "b1"]);
        match name {
            // What is recorded is in force, whatever the bubble's own file is.
            "bubble.toml" => explained.ok().says("bubble.toml cannot be read"),
            _ => explained.ends(3).says(name).says("not a regular file"),
        };
        drop(fifo);
        if let Some(kept) = kept {
            std::fs::write(&path, kept).unwrap();
        }
    }
    run(&home, &["start", "b1"]).ok();
}

#[test]
fn a_text_that_is_a_fifo_is_refused_with_the_way_to_pipe_it_in() {
    let home = home();
    started(&home, "b1");
    let pipe = home.root().join("pipe");
    let _fifo = fifo(&pipe);
    let (name, at) = (pipe.display().to_string(), format!("@{}", pipe.display()));
    for task in [&name, &at] {
        let refused = run(&home, &["create", "--id", "b9", "--task", task, "--test", "true"]).ends(2);
        refused.says("not a regular file").says("pipe it in");
    }
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    let refused = ends(&home, codex.command(&["pass", "--summary", "x", "--explain", &name]));
    refused.ends(2).says("not a regular file");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    let claude = home.agent("b1", "claude");
    let refused = ends(&home, claude.command(&["pass", "--summary", "x", "--findings", &name]));
    refused.ends(2).says("not a regular file");
    // What a shell hands over for <(command) is the same: a pipe with a name in /dev/fd.
    let mut shell = Command::new("sh");
    let plain = home.command(&[]);
    shell
        .args(["-c", "echo x | sh -c '\"$0\" create --id b9 --task @/dev/fd/0 --test true' \"$0\""])
        .arg(plain.get_program());
    shell.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(&home.repo);
    ends(&home, shell).ends(2).says("not a regular file");
}

#[test]
fn files_of_the_worktree_and_of_git_that_are_fifos_hold_nothing_up_for_long() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    let attributes = codex.worktree.join("deep/er/.gitattributes");
    codex.write("deep/er/file.txt", "x\n");
    let fifo_there = fifo(&attributes);
    ends(&home, codex.command(&["pass", "--summary", "first cut"])).ok();
    // The person is told which file it is, long before git's own limit.
    let told = |line: &Value| line.to_string().contains(".gitattributes is not a regular file");
    // A git that waits for a FIFO does not notice that it was removed, so the last attempt has to be over.
    let over = || (lines(&home, "b1").iter().any(told) && supervisor(&home)["busy"] == 0).then_some(());
    let seen = within(Duration::from_secs(60), over);
    assert!(seen.is_some(), "the log does not name the FIFO: {:#?}", lines(&home, "b1").last());
    drop(fifo_there);
    run(&home, &["resume", "b1"]).ok();
    home.wait_for_turn("b1", "claude");
    let create = |id: &str| run(&home, &["create", "--id", id, "--task", "x", "--test", "true"]);
    // pairflow reads the one itself; git reads the other, and not for this.
    let exclude = fifo(&home.repo.join(".git/info/exclude"));
    create("b2").ends(3).says("info/exclude").says("not a regular file");
    run(&home, &["list"]).ok();
    drop(exclude);
    let _attributes = fifo(&home.repo.join(".git/info/attributes"));
    create("b2").ok();
    run(&home, &["list"]).ok().says("b2");
}

#[test]
fn a_hook_whose_input_never_ends_is_over_after_a_while() {
    let mut home = home();
    home.set_limits("hook_input=500");
    let mut command = home.command(&["hook", "Stop"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let _open = child.stdin.take();
    let Some(status) = within(LIMIT, || child.try_wait().unwrap()) else {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("the hook hangs");
    };
    assert!(status.success());
}

fn supervisor(home: &Home) -> Value {
    run(home, &["supervisor", "status", "--json"]).ok().json()
}

/// The supervisor that runs now; it is ended with this value if nobody has ended it before.
struct Supervisor(u64);

impl Supervisor {
    fn of(home: &Home) -> Self {
        Self(supervisor(home)["pid"].as_u64().unwrap())
    }

    /// Has it stand still.
    fn stopped(home: &Home) -> Self {
        let one = Self::of(home);
        one.signal("STOP");
        one
    }

    fn signal(&self, name: &str) {
        let _ = Command::new("kill").args([format!("-{name}"), self.0.to_string()]).stderr(Stdio::null()).status();
    }

    /// Whether it is gone, or is only waited for.
    fn is_gone(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        !stat.contains("(pairflow") || stat.contains(") Z ")
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if !self.is_gone() {
            self.signal("KILL");
        }
    }
}

/// Has a supervisor that stands still replaced after two seconds. For what is called after it was stopped: one that is
/// only slow must not be replaced.
fn grow_impatient(home: &mut Home) {
    home.set_limits("hung_supervisor=2000");
}

#[test]
fn a_supervisor_that_hangs_is_named_and_replaced_by_the_next_command_that_needs_one() {
    let mut home = home();
    started(&home, "b1");
    let hung = Supervisor::stopped(&home);
    grow_impatient(&mut home);
    let shown = supervisor(&home);
    assert_eq!(
        (&shown["running"], &shown["answers"], &shown["pid"]),
        (&json!(true), &json!(false), &json!(hung.0)),
        "{shown}"
    );
    run(&home, &["supervisor", "status"]).ok().says(&format!("process {}, does not answer", hung.0));
    run(&home, &["doctor"]).ends(3).says(&format!("process {} does not answer", hung.0));
    run(&home, &["status", "b1"]).ok();
    run(&home, &["pause", "b1"]).ok();
    assert!(hung.is_gone());
    home.set_env(Vec::new());
    let shown = supervisor(&home);
    assert_eq!((&shown["running"], &shown["answers"]), (&json!(true), &json!(true)), "{shown}");
    assert_ne!(shown["pid"], json!(hung.0));
    run(&home, &["resume", "b1"]).ok();
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    ends(&home, codex.command(&["pass", "--summary", "first cut"])).ok();
    home.wait_for_turn("b1", "claude");
}

#[test]
fn a_supervisor_that_hangs_is_stopped_by_force() {
    let mut home = home();
    started(&home, "b1");
    let hung = Supervisor::stopped(&home);
    grow_impatient(&mut home);
    run(&home, &["supervisor", "stop"]).ok().says(&format!("killed, process {}", hung.0));
    assert!(hung.is_gone());
    run(&home, &["supervisor", "status"]).ok().says("No supervisor is running.");
}

#[test]
fn a_process_that_only_is_named_in_the_lock_is_not_ended() {
    let mut home = home();
    started(&home, "b1");
    let hung = Supervisor::stopped(&home);
    grow_impatient(&mut home);
    // Somebody writes another process into the lock: one of this user, alive, and no supervisor.
    let lock = home.root().join("run/pairflow/supervisor.lock");
    let mut other = Command::new("sleep").arg("600").spawn().unwrap();
    let text = std::fs::read_to_string(&lock).unwrap().replace(&hung.0.to_string(), &other.id().to_string());
    std::fs::write(&lock, text).unwrap();
    let refused = run(&home, &["supervisor", "stop"]);
    let alive = other.try_wait().unwrap().is_none();
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(alive, "a process that is no supervisor was ended");
    refused.ends(3).says("does not answer");
    assert!(!hung.is_gone(), "the lock does not name it any more, so it is not ended either");
}
