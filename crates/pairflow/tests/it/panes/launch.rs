//! `pairflow launch`: the process of a pane becomes the program that its file names, and nothing else of it stays.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pairflow_engine::driver::{LaunchFile, private_file};
use pairflow_engine::process::SelfRegistration;
use tempfile::TempDir;

struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = TempDir::with_prefix("pf-").unwrap();
        std::fs::create_dir_all(dir.path().join(".pairflow/runtime/b1")).unwrap();
        Self { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(".pairflow/runtime/b1/codex.launch")
    }

    /// Writes the file for `argv`, with two variables, to be run in the directory itself.
    fn file(&self, argv: &[&str]) {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let env = [("PAIRFLOW_AGENT", "codex"), ("KEY", "secret \"'$HOME\nvalue")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        LaunchFile { argv, env, cwd: self.dir.path().canonicalize().unwrap(), record: None }
            .write(&self.path())
            .unwrap();
    }

    fn launch(&self) -> Output {
        self.launch_of(&self.path(), &[])
    }

    fn launch_of(&self, path: &Path, env: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pairflow"));
        command.arg("launch").arg(path).env("OUTER", "1").envs(env.iter().copied()).current_dir("/");
        command.output().unwrap()
    }
}

/// Shows its record, and who is the parent of a process that has lost its own.
#[cfg(target_os = "linux")]
const KEPT: &str = r#"
echo $$; cat records/*.json; echo
(sleep 600 >/dev/null 2>&1 & echo $! >orphan)
read -r orphan <orphan
cut -d' ' -f4 "/proc/$orphan/stat"
kill "$orphan"
"#;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_program_gets_its_words_its_environment_and_its_place() {
    let bench = Bench::new();
    bench.file(&["/bin/sh", "-c", r#"printf '%s|' "$0" "$@"; pwd; env -0; exit 7"#, "a b", "#{c}", "", "$HOME;d"]);
    let ended = bench.launch();
    assert_eq!(ended.status.code(), Some(7), "{ended:?}");
    let said = text(&ended.stdout);
    let (words, env) = said.split_once('\n').unwrap();
    assert_eq!(words, format!("a b|#{{c}}||$HOME;d|{}", bench.dir.path().canonicalize().unwrap().display()));
    // These three are what every shell makes for itself.
    let mut env: Vec<_> = env.split('\0').filter(|pair| !pair.is_empty()).collect();
    env.retain(|pair| !["PWD=", "_=", "SHLVL="].iter().any(|own| pair.starts_with(own)));
    env.sort_unstable();
    assert_eq!(env, ["KEY=secret \"'$HOME\nvalue", "PAIRFLOW_AGENT=codex"]);
    assert!(!bench.path().exists(), "the file holds secrets");
}

#[test]
fn the_process_of_the_pane_becomes_the_program() {
    let bench = Bench::new();
    bench.file(&["/bin/sh", "-c", "echo $$"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pairflow"));
    let child = command.arg("launch").arg(bench.path()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout).trim(), pid.to_string());
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_is_on_record_before_it_is_the_program_and_never_runs_without() {
    let bench = Bench::new();
    let records = bench.dir.path().canonicalize().unwrap().join("records");
    let file = |line: &str| {
        let argv = ["/bin/sh", "-c", line].map(str::to_owned).to_vec();
        let cwd = bench.dir.path().canonicalize().unwrap();
        let record =
            Some(SelfRegistration { dir: records.clone(), mark: "m.1".to_owned(), what: "codex as author".to_owned() });
        LaunchFile { argv, env: Vec::new(), cwd, record }.write(&bench.path()).unwrap();
    };
    // Whoever loses its parent has this process as the next one, whatever it has become.
    file(KEPT);
    let ended = bench.launch();
    let said = text(&ended.stdout);
    let mut lines = said.lines();
    let pid: i32 = lines.next().unwrap().parse().unwrap();
    let record: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!((&record["pid"], &record["mark"], &record["kind"]), (&pid.into(), &"m.1".into(), &"agent".into()));
    assert_eq!(lines.next(), Some(pid.to_string().as_str()), "{ended:?}");
    std::fs::remove_dir_all(&records).unwrap();
    std::fs::write(&records, "no directory").unwrap();
    file("echo ran");
    let ended = bench.launch();
    assert_eq!((ended.status.code(), text(&ended.stdout).as_str()), (Some(3), ""), "{ended:?}");
    assert!(text(&ended.stderr).contains("cannot write the process record"), "{ended:?}");
}

#[test]
fn what_cannot_be_started_is_said_in_the_pane() {
    let bench = Bench::new();
    let said = |ended: &Output| {
        assert_eq!(ended.status.code(), Some(3), "{ended:?}");
        text(&ended.stderr)
    };
    assert!(said(&bench.launch()).contains("cannot read"));
    bench.file(&[]);
    assert!(said(&bench.launch()).contains("names no program"));
    bench.file(&["/nowhere/codex", "word"]);
    let ended = said(&bench.launch());
    assert!(ended.contains("cannot start /nowhere/codex"), "{ended}");
    assert!(!ended.contains("secret"), "{ended}");
    private_file(&bench.path(), br#"{"argv": ["/bin/true"]"#).unwrap();
    assert!(said(&bench.launch()).contains("cannot read"));
    assert!(!bench.path().exists());
}

#[test]
fn an_agent_cannot_have_a_program_started() {
    let bench = Bench::new();
    let marks = ["PAIRFLOW_BUBBLE", "PAIRFLOW_AGENT", "PAIRFLOW_TOKEN", "PAIRFLOW_SOCKET", "PF_PROCESS_MARK"];
    for name in marks {
        bench.file(&["/bin/sh", "-c", "echo started"]);
        let ended = bench.launch_of(&bench.path(), &[(name, "x")]);
        assert_eq!((ended.status.code(), text(&ended.stdout).as_str()), (Some(77), ""), "{name}: {ended:?}");
        assert!(bench.path().exists(), "{name}: it is still there for whom it is meant");
    }
}

#[test]
fn only_a_private_file_at_its_place_is_taken() {
    let bench = Bench::new();
    bench.file(&["/bin/sh", "-c", "echo started"]);
    let refused = |path: &Path, code: i32, why: &str| {
        let ended = bench.launch_of(path, &[]);
        assert_eq!((ended.status.code(), text(&ended.stdout).as_str()), (Some(code), ""), "{ended:?}");
        assert!(text(&ended.stderr).contains(why), "{ended:?}");
        assert!(path.symlink_metadata().is_ok(), "it is not touched: {}", path.display());
    };
    let at = |name: &str| bench.dir.path().join(name);
    std::fs::create_dir_all(at("runtime/b1")).unwrap();
    for elsewhere in ["codex.launch", "runtime/b1/codex.launch", ".pairflow/runtime/codex.launch"] {
        std::fs::copy(bench.path(), at(elsewhere)).unwrap();
        refused(&at(elsewhere), 1, "is not a launch file of a supervisor");
    }
    for name in ["codex.json", "Not An Agent.launch"] {
        std::fs::copy(bench.path(), bench.path().with_file_name(name)).unwrap();
        refused(&bench.path().with_file_name(name), 1, "is not a launch file of a supervisor");
    }
    let link = bench.path().with_file_name("claude.launch");
    symlink(bench.path(), &link).unwrap();
    refused(&link, 3, "cannot read");
    for mode in [0o644, 0o660, 0o700] {
        std::fs::set_permissions(bench.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        refused(&bench.path(), 3, "not a private file");
    }
    std::fs::set_permissions(bench.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(text(&bench.launch().stdout), "started\n");
}
