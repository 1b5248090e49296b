//! What the tests of the daily commands share: scripted bubbles, a terminal to type on, and a look at processes.
#![allow(dead_code, clippy::unwrap_used, reason = "each test program uses its own part, and a test may panic")]

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pairflow_testkit::home::{Home, Ran};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// How long anything may take that a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A task that two scripted agents finish without a question.
pub(crate) const SMOOTH: &str = "
agents:
  codex:
    - - write: {path: hello.txt, text: \"hello\\n\"}
      - pass: {summary: wrote hello.txt}
    - - pass: {summary: nothing left, no_findings: true}
  claude:
    - - pass: {summary: looks right, no_findings: true}
";

/// The same, but codex asks first.
pub(crate) const ASKING: &str = "
agents:
  codex:
    - - ask_human: \"Which greeting?\"
      - write: {path: hello.txt, text: \"hello\\n\"}
      - pass: {summary: wrote hello.txt}
    - - pass: {summary: nothing left, no_findings: true}
  claude:
    - - pass: {summary: looks right, no_findings: true}
";

/// Makes a home for the program under test.
pub(crate) fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_pairflow"))
}

/// Starts a bubble whose agents play `script`, with `pairflow new`.
#[track_caller]
pub(crate) fn new_bubble(home: &Home, task: &str, script: &str) -> Ran {
    let file = home.root().join(format!("{}.yaml", task.replace(' ', "-")));
    std::fs::write(&file, script).unwrap();
    let file = file.display().to_string();
    home.pairflow(&["new", task, "--test", "true", "--driver", "script", "--script", &file]).ok()
}

/// Returns a shell that sees nothing but this home, with a script to run.
pub(crate) fn shell(home: &Home, script: &str) -> Command {
    let clean = home.command(&[]);
    let mut shell = Command::new("sh");
    shell.env_clear().envs(clean.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.args(["-ec", script]).stdin(Stdio::null());
    shell
}

/// Makes a directory with nothing but links to `programs` in it, to be a PATH.
pub(crate) fn bin_with(home: &Home, programs: &[&str]) -> PathBuf {
    let bin = home.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in programs {
        let found = home.finish(shell(home, &format!("command -v {program}"))).ok().stdout;
        std::os::unix::fs::symlink(found.trim(), bin.join(program)).unwrap();
    }
    bin
}

/// Flips a bit in the middle of a bubble's log.
pub(crate) fn damage(home: &Home, bubble: &str) {
    let path = home.repo.join(format!(".pairflow/bubbles/{bubble}/transcript.ndjson"));
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
}

/// Runs a command with a terminal of its own; each of `keys` is typed as soon as the text before it has appeared. A question
/// that the test does not expect is answered with the end of the input, so that the test fails and does not hang.
pub(crate) fn on_terminal(mut command: Command, keys: &[(&str, &str)]) -> (i32, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = || Stdio::from(File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap());
    command.stdin(slave()).stdout(slave()).stderr(slave());
    let mut child = command.spawn().unwrap();
    // The command keeps its own ends of the terminal open; ours have to be closed for the end to be seen.
    drop(command);
    let mut master = File::from(master);
    let mut shown = Vec::new();
    let (mut seen, mut answered) = (0, 0);
    let mut keys = keys.iter();
    let mut next = keys.next();
    let mut buffer = [0; 4096];
    // Reading fails once every process has closed its end of the terminal.
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&shown).into_owned();
        while let Some((before, key)) = next {
            let Some(at) = text[seen..].find(before) else { break };
            seen += at + before.len();
            master.write_all(key.as_bytes()).unwrap();
            answered += 1;
            next = keys.next();
        }
        while text.matches("[y/N]").count() > answered {
            master.write_all(b"\x04").unwrap();
            answered += 1;
        }
    }
    let code = child.wait().unwrap().code().unwrap_or(-1);
    let text = String::from_utf8_lossy(&shown).replace("\r\n", "\n");
    assert!(next.is_none(), "{next:?} was never typed:\n{text}");
    (code, text)
}

/// Returns the processes whose environment names `dir`: everything that was started with it as its place.
pub(crate) fn processes_in(dir: &Path) -> Vec<String> {
    let wanted = dir.display().to_string();
    let pids = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let inside = |proc: &Path| {
        let environ = std::fs::read(proc.join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environ).contains(&wanted)
    };
    let line = |proc: &Path| {
        let line = std::fs::read(proc.join("cmdline")).unwrap_or_default();
        format!("{}: {}", proc.display(), String::from_utf8_lossy(&line).replace('\0', " "))
    };
    pids.filter(|proc| inside(proc)).map(|proc| line(&proc)).collect()
}

/// Waits until `done` says yes.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < until, "{what} never happened");
        std::thread::sleep(Duration::from_millis(5));
    }
}
