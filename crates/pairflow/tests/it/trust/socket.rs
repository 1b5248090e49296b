//! The supervisor's socket and human verbs know who calls: nobody but a person commands, and nobody from another
//! namespace is one.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pairflow_testkit::home::{Home, Ran};
use pairflow_testkit::wait::within;
use serde_json::{Value, json};

use crate::support::bubbles::{home, program};
use crate::support::log::lines;

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn socket(home: &Home) -> PathBuf {
    home.root().canonicalize().unwrap().join("run/pairflow/supervisor.sock")
}

/// Says `line` at the socket and returns the answer; nothing if it hangs up.
fn say(socket: &Path, line: &[u8]) -> Value {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // Whoever is refused while it still speaks finds the line closed.
    let _ = stream.write_all(line).and_then(|()| stream.write_all(b"\n"));
    let mut answer = String::new();
    let _ = BufReader::new(stream).read_line(&mut answer);
    serde_json::from_str(&answer).unwrap_or_default()
}

/// Not a test of its own: a process that an agent or a check starts, and that says the lines of a file.
#[test]
fn inside() {
    let Ok(asks) = std::env::var("PROBE_ASKS") else { return };
    let socket = std::env::var("PROBE_SOCKET").unwrap();
    let answers: Vec<Value> =
        std::fs::read_to_string(&asks).unwrap().lines().map(|line| say(Path::new(&socket), line.as_bytes())).collect();
    std::fs::write(format!("{asks}.new"), json!(answers).to_string()).unwrap();
    std::fs::rename(format!("{asks}.new"), format!("{asks}.answers")).unwrap();
}

/// A process that says `asks` when it is started by somebody.
struct Probe {
    asks: PathBuf,
    line: String,
}

impl Probe {
    fn new(home: &Home, asks: &[Value]) -> Self {
        let file = home.root().join("asks");
        let text: String = asks.iter().map(|ask| format!("{ask}\n")).collect();
        std::fs::write(&file, text).unwrap();
        let own = std::env::current_exe().unwrap();
        let line = format!(
            "PROBE_ASKS='{}' PROBE_SOCKET='{}' '{}' --exact trust::socket::inside",
            file.display(),
            socket(home).display(),
            own.display()
        );
        Self { asks: file, line }
    }

    /// Waits for the answers.
    #[track_caller]
    fn answers(&self) -> Vec<Value> {
        let file = PathBuf::from(format!("{}.answers", self.asks.display()));
        assert!(within(PATIENCE, || file.exists().then_some(())).is_some(), "nobody has asked");
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
    }
}

fn wake(home: &Home, id: &str, env: &Value) -> Value {
    json!({"ask": "wake", "repo": home.repo, "id": id, "env": env})
}

/// Everything that can be asked, about bubble b1 and another one.
fn asks(home: &Home) -> [Value; 6] {
    let foreign = json!([["PATH", "/evil"]]);
    let stop = json!({"ask": "stop"});
    [
        wake(home, "b1", &json!([])),
        wake(home, "b2", &json!([])),
        wake(home, "b1", &foreign),
        wake(home, "b2", &foreign),
        stop,
        json!({"ask": "status"}),
    ]
}

fn created(home: &Home, id: &str, test: &str) {
    home.pairflow(&["create", "--id", id, "--task", "write done.txt", "--test", test]).ok();
}

fn started(home: &Home, id: &str) {
    created(home, id, "true");
    home.pairflow(&["start", id]).ok();
    home.wait_for_turn(id, "codex");
}

fn pid(home: &Home) -> Value {
    home.pairflow(&["supervisor", "status", "--json"]).ok().json()["pid"].clone()
}

/// Who was warned in a bubble, and for which command.
fn warned(home: &Home, id: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let warnings = lines(home, id).into_iter().filter(|line| line["type"] == "PROTOCOL_WARNING");
    warnings.map(|line| (text(&line["recipient"]), text(&line["payload"]["command"]))).collect()
}

#[track_caller]
fn refused(answer: &Value, part: &str) {
    assert!(answer["error"].as_str().is_some_and(|error| error.contains(part)), "{part:?} is missing in {answer}");
}

#[test]
fn an_agent_commands_no_supervisor_and_wakes_its_own_bubble_only() {
    let home = home();
    started(&home, "b2");
    created(&home, "b1", "true");
    let probe = Probe::new(&home, &asks(&home));
    let script = home.root().join("agents.yaml");
    let steps = json!({"agents": {"codex": [[{"run": probe.line}, {"misbehave": "hang"}]]}});
    std::fs::write(&script, steps.to_string()).unwrap();
    let before = pid(&home);
    home.pairflow(&["start", "b1", "--driver", "script", "--script", &script.display().to_string()]).ok();
    let answers = probe.answers();
    assert_eq!(answers[0]["pid"], before, "its own bubble");
    for (answer, verb) in answers[1..5].iter().zip(["wake", "wake", "wake", "stop"]) {
        refused(answer, &format!("'{verb}' is for people"));
        refused(answer, "of bubble b1");
    }
    assert_eq!(answers[5]["pid"], before);
    assert_eq!(pid(&home), before);
    let own = |verb: &str| ("orchestrator".to_owned(), verb.to_owned());
    assert_eq!(warned(&home, "b1"), [own("wake"), own("stop")]);
    assert_eq!(warned(&home, "b2"), []);
}

#[test]
fn a_check_asks_nothing_of_the_supervisor_but_how_it_is() {
    let home = home();
    started(&home, "b2");
    let probe = Probe::new(&home, &asks(&home));
    // Without the mark in its environment it is still found below its parents.
    created(&home, "b1", &format!("env -i sh -c \"{}\"", probe.line));
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    let before = pid(&home);
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    let answers = probe.answers();
    for (answer, verb) in answers[..5].iter().zip(["wake", "wake", "wake", "wake", "stop"]) {
        refused(answer, &format!("'{verb}' is for people"));
    }
    assert_eq!(answers[5]["pid"], before);
    home.wait_for_turn("b1", "claude");
    assert_eq!(pid(&home), before);
    let own = |verb: &str| ("orchestrator".to_owned(), verb.to_owned());
    let once = [own("wake"), own("stop")];
    assert_eq!(warned(&home, "b1"), [once.clone(), once].concat(), "on the base, and on the work");
}

#[test]
fn an_agent_that_joined_by_itself_is_known_by_its_environment_and_its_parents() {
    let home = home();
    started(&home, "b1");
    started(&home, "b2");
    let probe = Probe::new(&home, &asks(&home));
    let codex = home.agent("b1", "codex");
    let before = pid(&home);
    let mut shell = codex.command(&[]);
    let env: Vec<_> = shell.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    shell = Command::new("sh");
    // The shell stays, so that the process without any environment has a parent that has one.
    shell.args(["-c", &format!("env -i sh -c \"{}\"; exit $?", probe.line)]).env_clear().envs(env);
    shell.current_dir(&codex.worktree);
    home.finish(shell).ok();
    let answers = probe.answers();
    assert_eq!(answers[0]["pid"], before, "its own bubble");
    for answer in &answers[1..5] {
        refused(answer, "the caller was started by codex of bubble b1");
    }
    assert_eq!(pid(&home), before);
    let own = |verb: &str| ("codex".to_owned(), verb.to_owned());
    assert_eq!(warned(&home, "b1"), [own("wake"), own("stop")]);
}

#[test]
fn a_hand_over_is_seen_at_once_though_agents_command_nothing() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    assert_eq!(warned(&home, "b1"), []);
}

#[test]
fn whatever_arrives_at_the_socket_is_limited() {
    let home = home();
    started(&home, "b1");
    let (socket, before) = (socket(&home), pid(&home));
    let many: Vec<_> = (0..5000).map(|n| json!([format!("V{n}"), "x"])).collect();
    refused(
        &say(&socket, wake(&home, "b1", &json!(many)).to_string().as_bytes()),
        "the environment of the caller is too large",
    );
    let long = json!([["V", "x".repeat(3 * 1024 * 1024)]]);
    refused(
        &say(&socket, wake(&home, "b1", &long).to_string().as_bytes()),
        "the environment of the caller is too large",
    );
    refused(&say(&socket, b"{\"ask\":\"dance\"}"), "invalid request");
    let endless = say(&socket, &vec![b'x'; 5 * 1024 * 1024]);
    assert!(endless["pid"].is_null(), "{endless}");
    // As many as this are not served at once; those that say nothing are hung up on, and others get their place.
    let mut silent: Vec<_> = (0..300).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let served = within(PATIENCE, || (say(&socket, b"{\"ask\":\"status\"}")["pid"] == before).then_some(()));
    assert!(served.is_some(), "the supervisor serves nobody any more");
    for stream in &mut silent {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert!(matches!(stream.read(&mut [0]), Ok(0)), "a silent caller is kept");
    }
    assert_eq!(pid(&home), before);
}

/// Runs the program as a sandboxed agent would that clears its environment: in namespaces of its own.
#[track_caller]
fn elsewhere(home: &Home, namespaces: &[&str], args: &[&str]) -> Ran {
    let plain = home.command(args);
    let mut command = Command::new("unshare");
    command.args(namespaces).arg("env").arg("-i").env_clear().current_dir(&home.repo);
    for (name, value) in plain.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?))) {
        if ["HOME", "PATH"].contains(&name) || name.starts_with("XDG_") {
            command.arg(format!("{name}={value}"));
        }
        if name == "PATH" {
            command.env(name, value);
        }
    }
    command.arg(program()).args(args);
    home.finish(command)
}

const PID: [&str; 5] = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
const USER: [&str; 2] = ["--user", "--map-root-user"];

/// Insists that this machine can make namespaces: without them these tests would prove nothing.
fn namespaces_can_be_made() {
    for kind in [&PID[..], &USER[..]] {
        let made = Command::new("unshare").args(kind).arg("true").status();
        assert!(
            made.as_ref().is_ok_and(std::process::ExitStatus::success),
            "unshare {} failed ({made:?}): install util-linux and allow user namespaces \
             (kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)",
            kind.join(" ")
        );
    }
}

#[test]
fn a_human_verb_from_another_namespace_is_refused_and_leaves_a_warning() {
    namespaces_can_be_made();
    let home = home();
    started(&home, "b1");
    let before = pid(&home);
    for (verb, args) in
        [("pause", &["pause", "b1"][..]), ("stop", &["stop", "b1", "--yes"]), ("approve", &["approve", "b1"])]
    {
        let refused = elsewhere(&home, &PID, args).ends(77);
        refused.says(&format!("'{verb}' is for people")).says("another PID namespace");
        elsewhere(&home, &USER, args).ends(77).says("another user namespace");
        assert!(warned(&home, "b1").contains(&("orchestrator".to_owned(), verb.to_owned())), "{verb}");
    }
    elsewhere(&home, &PID, &["supervisor", "stop"]).ends(77);
    elsewhere(&home, &PID, &["create", "--id", "b9", "--task", "x", "--test", "true"]).ends(77);
    let status = home.status("b1");
    assert_eq!((&status["state"], &status["paused"]), (&json!("RUNNING"), &json!(false)));
    assert_eq!(pid(&home), before);
    // Reading is for everybody.
    elsewhere(&home, &PID, &["status", "b1"]).ok();
    home.pairflow(&["pause", "b1"]).ok();
}

#[test]
fn a_proc_that_is_hidden_or_forged_makes_no_person() {
    namespaces_can_be_made();
    let home = home();
    started(&home, "b1");
    // What a sandbox could mount there: nothing, or links that read like the person's.
    let link = |kind: &str| std::fs::read_link(format!("/proc/self/ns/{kind}")).unwrap().display().to_string();
    let links = format!("ln -s '{}' /proc/self/ns/pid; ln -s '{}' /proc/self/ns/user", link("pid"), link("user"));
    for forged in ["", &format!("mkdir -p /proc/self/ns; {links}; ")] {
        let script = format!("mount -t tmpfs none /proc; {forged}exec \"$@\"");
        let sandbox = ["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"];
        for args in [&["pause", "b1"][..], &["supervise", "--once"]] {
            elsewhere(&home, &sandbox, args)
                .ends(77)
                .says("/proc is hidden or is not the kernel's")
                .says("mount /proc");
        }
    }
    assert_eq!(home.status("b1")["paused"], false);
}

#[test]
fn without_a_supervisor_its_last_namespaces_count_and_no_other_one_starts_it() {
    namespaces_can_be_made();
    let home = home();
    started(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    for namespaces in [&PID[..], &USER[..]] {
        elsewhere(&home, namespaces, &["pause", "b1"]).ends(77);
        elsewhere(&home, namespaces, &["supervise"]).ends(77);
        elsewhere(&home, namespaces, &["supervise", "--once"]).ends(77);
        assert_eq!(pid(&home), Value::Null);
    }
    assert_eq!(home.status("b1")["paused"], false);
    home.pairflow(&["pause", "b1"]).ok();
    assert_ne!(pid(&home), Value::Null);
}

#[test]
fn a_caller_from_another_namespace_does_not_command_the_supervisor() {
    namespaces_can_be_made();
    let home = home();
    started(&home, "b1");
    let probe = Probe::new(&home, &[json!({"ask": "stop"}), wake(&home, "b1", &json!([["PATH", "/evil"]]))]);
    let before = pid(&home);
    for namespaces in [&PID[..], &USER[..]] {
        let mut command = Command::new("unshare");
        command.args(namespaces).args(["sh", "-c", &probe.line]);
        home.finish(command).ok();
        for answer in probe.answers() {
            refused(&answer, "another PID or user namespace");
        }
        std::fs::remove_file(home.root().join("asks.answers")).unwrap();
    }
    assert_eq!(pid(&home), before);
    assert_eq!(warned(&home, "b1"), [("orchestrator".to_owned(), "wake".to_owned())]);
}
