//! The front of the program: which command is meant, help, usage errors, exit codes and the two streams.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::rc::Rc;

use pairflow::{Env, Terminal, World};

/// A stream that the test can read afterwards.
#[derive(Clone, Default)]
struct Tape(Rc<RefCell<Vec<u8>>>);

impl Tape {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.borrow()).into_owned()
    }
}

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream whose reader has gone, or whose disk is full.
struct Broken(io::ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Ended {
    exit: ExitCode,
    stdout: String,
    stderr: String,
}

impl Ended {
    fn is(&self, code: u8) -> bool {
        self.exit == ExitCode::from(code)
    }
}

fn world(args: &[&str], stdout: Box<dyn Write>, stderr: Box<dyn Write>) -> World {
    World {
        args: args.iter().map(Into::into).collect(),
        cwd: Some(PathBuf::from("/")),
        stdout,
        stderr,
        ..World::empty()
    }
}

fn run_in(args: &[&str], change: impl FnOnce(&mut World)) -> Ended {
    let (stdout, stderr) = (Tape::default(), Tape::default());
    let mut world = world(args, Box::new(stdout.clone()), Box::new(stderr.clone()));
    change(&mut world);
    let exit = pairflow::main_with(world);
    Ended { exit, stdout: stdout.text(), stderr: stderr.text() }
}

fn run(args: &[&str]) -> Ended {
    run_in(args, |_| {})
}

#[test]
fn the_version_is_printed_to_stdout() {
    for flag in ["--version", "-V"] {
        let ended = run(&["pairflow", flag]);
        assert!(ended.is(0) && ended.stderr.is_empty());
        assert_eq!(ended.stdout, format!("pairflow {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn help_shows_everyday_commands_then_names_groups() {
    for args in
        [&["pairflow", "--help"][..], &["pairflow", "-h"], &["pairflow", "help"], &["pairflow", "bubble", "--help"]]
    {
        let ended = run(args);
        assert!(ended.is(0) && ended.stderr.is_empty(), "{args:?}");
        for part in ["Usage: pairflow [COMMAND]", "  new  ", "completions, man", "e.g. pairflow ", "Exit codes: 0 done"]
        {
            assert!(ended.stdout.contains(part), "{part} is missing in:\n{}", ended.stdout);
        }
        let plumbing = pairflow::TABLE.iter().filter(|entry| entry.is_hidden());
        plumbing.for_each(|entry| assert!(!ended.stdout.contains(entry.name), "{} in\n{}", entry.name, ended.stdout));
        let everyday = pairflow::TABLE.iter().filter(|entry| entry.group == pairflow::CommandGroup::Everyday).count();
        assert!((8..=12).contains(&everyday), "{everyday} everyday commands");
        assert!(ended.stdout.lines().all(|line| line.len() <= 100), "{}", ended.stdout);
    }
}

#[test]
fn every_command_is_listed_with_all() {
    let all = run(&["pairflow", "--help", "--all"]);
    assert!(all.is(0), "{}", all.stderr);
    for entry in pairflow::TABLE.iter().filter(|entry| entry.name != "home") {
        let row = format!("  {:<15} {}\n", entry.name, entry.about());
        assert!(all.stdout.contains(&row), "{row} is missing in:\n{}", all.stdout);
    }
    for args in [&["pairflow", "help", "--all"][..], &["pairflow", "--all", "--help"]] {
        assert_eq!(run(args).stdout, all.stdout, "{args:?}");
    }
}

#[test]
fn the_help_of_a_command_is_the_same_by_every_way() {
    let long = run(&["pairflow", "man", "--help"]);
    assert!(long.is(0) && long.stdout.contains("Usage: pairflow man"), "{}{}", long.stdout, long.stderr);
    assert!(long.stdout.contains("Example"));
    assert_eq!(run(&["pairflow", "help", "man"]).stdout, long.stdout);
}

#[test]
fn an_unknown_command_is_a_usage_error_with_a_suggestion() {
    let ended = run(&["pairflow", "completion"]);
    assert!(ended.is(2) && ended.stdout.is_empty());
    assert_eq!(ended.stderr, "error: there is no command 'completion'.\nnext: pairflow completions\n");
    let ended = run(&["pairflow", "frobnicate"]);
    assert!(ended.is(2) && ended.stderr.contains("next: pairflow help"));
    assert!(run(&["pairflow", "help", "frobnicate"]).is(2));
}

#[test]
fn a_space_of_its_own_has_only_its_own_commands() {
    for args in [
        &["pairflow", "orchestra", "man"][..],
        &["pairflow", "agent", "man"],
        &["orchestra", "man"],
        &["/x/orchestra", "man"],
    ] {
        let ended = run(args);
        assert!(
            ended.is(2) && ended.stderr.contains("there is no command 'orchestra man'"),
            "{args:?}: {}",
            ended.stderr
        );
    }
    assert!(run(&["pairflow", "bubble"]).is(2));
    assert!(run(&["orchestra"]).is(2));
}

#[test]
fn a_bad_option_is_a_usage_error_that_names_the_help() {
    let ended = run(&["pairflow", "man", "--frob"]);
    assert!(ended.is(2) && ended.stdout.is_empty());
    assert!(ended.stderr.starts_with("error: unexpected argument '--frob' found"), "{}", ended.stderr);
    assert!(ended.stderr.ends_with("next: pairflow man --help\n"), "{}", ended.stderr);
}

#[test]
fn errors_are_json_when_json_was_asked_for() {
    let ended = run(&["pairflow", "frobnicate", "--json"]);
    assert!(ended.is(2) && ended.stderr.is_empty());
    let error: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(error["schema"], "pairflow.error/1");
    assert_eq!(error["error"]["code"], 2);
    assert_eq!(error["error"]["message"], "there is no command 'frobnicate'.");
    assert_eq!(error["error"]["hint"], "pairflow help");
}

#[test]
fn what_was_typed_is_printed_safely() {
    let ended = run(&["pairflow", "\u{1b}[2J\u{9b}1mx\u{202e}"]);
    assert_eq!(ended.stderr, "error: there is no command 'x'.\nnext: pairflow help\n");
    let ended = run(&["pairflow", "man", "--\u{1b}]0;t\u{7}z"]);
    assert!(!ended.stderr.contains(['\u{1b}', '\u{7}']), "{:?}", ended.stderr);
}

#[test]
fn arguments_that_are_no_text_are_a_usage_error() {
    use std::os::unix::ffi::OsStringExt;
    let ended = run_in(&["pairflow"], |world| world.args.push(std::ffi::OsString::from_vec(vec![b'x', 0xff])));
    assert!(ended.is(2), "{}", ended.stderr);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let stdout = Box::new(Broken(io::ErrorKind::BrokenPipe));
    let exit = pairflow::main_with(world(&["pairflow", "help"], stdout, Box::new(io::sink())));
    assert_eq!(exit, ExitCode::SUCCESS);
}

#[test]
fn a_full_disk_behind_stdout_is_an_error() {
    let stderr = Tape::default();
    let stdout = Box::new(Broken(io::ErrorKind::StorageFull));
    let exit = pairflow::main_with(world(&["pairflow", "help"], stdout, Box::new(stderr.clone())));
    assert_eq!(exit, ExitCode::from(3));
    assert!(stderr.text().starts_with("error: cannot write to stdout"), "{}", stderr.text());
}

#[test]
fn colours_are_used_on_a_terminal_only() {
    let tty = |world: &mut World| world.terminal = Terminal { stderr: true, ..Terminal::default() };
    assert!(run_in(&["pairflow", "x"], tty).stderr.contains("\u{1b}[31merror:"));
    assert!(!run(&["pairflow", "x"]).stderr.contains('\u{1b}'));
    let quiet = run_in(&["pairflow", "x"], |world| {
        tty(world);
        world.env = Env::Fixed(BTreeMap::from([("NO_COLOR".to_owned(), "1".into())]));
    });
    assert!(!quiet.stderr.contains('\u{1b}'));
}

#[test]
fn options_for_output_may_stand_before_the_command() {
    let ended = run(&["pairflow", "--color", "never", "--progress", "completions", "bash"]);
    assert!(ended.is(0), "{}", ended.stderr);
    assert!(run(&["pairflow", "--color", "sometimes", "completions", "bash"]).is(2));
}

#[test]
fn completions_know_every_visible_command_and_its_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = run(&["pairflow", "completions", shell]);
        assert!(ended.is(0), "{shell}: {}", ended.stderr);
        for entry in pairflow::TABLE.iter().filter(|entry| !entry.is_hidden()) {
            assert!(ended.stdout.contains(entry.name), "{shell} does not know {}", entry.name);
        }
    }
}

#[test]
fn the_manual_is_one_page_on_stdout_or_all_pages_in_a_directory() {
    let ended = run(&["pairflow", "man"]);
    assert!(ended.is(0) && ended.stdout.contains(".TH pairflow 1"), "{}", ended.stdout);
    let dir = tempfile::tempdir().unwrap();
    let ended = run_in(&["pairflow", "man", "pages"], |world| world.cwd = Some(dir.path().to_owned()));
    assert!(ended.is(0), "{}", ended.stderr);
    for name in ["pairflow.1", "pairflow-completions.1", "pairflow-man.1"] {
        assert!(dir.path().join("pages").join(name).is_file(), "{name}");
    }
}

#[test]
fn a_deleted_current_directory_is_named() {
    let ended = run_in(&["pairflow", "man", "pages"], |world| world.cwd = None);
    assert!(ended.is(3) && ended.stderr.contains("the current directory no longer exists"), "{}", ended.stderr);
}

#[test]
fn the_real_binary_does_the_same() {
    let output = Command::new(env!("CARGO_BIN_EXE_pairflow")).arg("--version").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("pairflow {}\n", env!("CARGO_PKG_VERSION")));
    let output = Command::new(env!("CARGO_BIN_EXE_pairflow")).arg("frobnicate").stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
