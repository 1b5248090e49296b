//! Scripted agents, against a `pairflow` that only notes how it was called.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use pairflow_agents::Drivers;
use pairflow_agents::demo::{DEMO, DEMO_FILES, DEMO_TEST, THOROUGH};
use pairflow_agents::script::{Script, ScriptedTurn, play};
use pairflow_core::facts::Seat;
use pairflow_engine::driver::{AgentDriver, DriverError, TurnStart};
use pairflow_engine::workspace::scratch_path;
use pairflow_testkit::wait::wait_until;

/// Writes every argument on a line of its own and ends with the code in `$0.code`, if there is one.
const FAKE: &str = r#"#!/bin/sh
for word in "$@"; do printf '%s\n' "$word"; done >> "$0.calls"
echo "called $1"
if [ -f "$0.code" ]; then exit "$(cat "$0.code")"; fi
"#;

struct Stage {
    dir: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let stage = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(stage.worktree()).unwrap();
        stage.install(FAKE);
        stage
    }

    /// Makes `text` the program. Another process writes it: a child that this one forks at the wrong moment would hold
    /// the file open for writing, and the kernel refuses to execute such a file.
    fn install(&self, text: &str) {
        let write = r#"printf '%s' "$1" > "$2" && chmod 755 "$2""#;
        let status = Command::new("sh").args(["-c", write, "sh", text]).arg(self.program()).status().unwrap();
        assert!(status.success());
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn worktree(&self) -> PathBuf {
        self.at("worktree")
    }

    fn program(&self) -> PathBuf {
        self.at("pairflow")
    }

    /// Lets the fake pairflow refuse everything with this exit code.
    fn refuse_with(&self, code: &str) {
        fs::write(self.at("pairflow.code"), code).unwrap();
    }

    /// Returns the arguments of all calls so far.
    fn calls(&self) -> Vec<String> {
        fs::read_to_string(self.at("pairflow.calls")).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Returns a file of the worktree.
    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.worktree().join(name)).unwrap_or_else(|error| format!("{name}: {error}"))
    }

    fn play_turn(&self, script: &Script, agent: &str, n: u32) -> (i32, String) {
        let (program, cwd, state_dir) = (self.program(), self.worktree(), self.at("state"));
        let env = [
            ("PAIRFLOW_REPO".to_owned(), self.dir.path().to_str().unwrap().to_owned()),
            ("PAIRFLOW_BUBBLE".to_owned(), "b1".to_owned()),
        ];
        let turn = ScriptedTurn { script, agent, n, program: &program, cwd: &cwd, state_dir: &state_dir, env: &env };
        let mut out = Vec::new();
        let code = play(&turn, &mut out);
        (code, String::from_utf8(out).unwrap())
    }

    /// Plays the first turn of codex, whose steps are `steps`.
    fn play(&self, steps: &str) -> (i32, String) {
        self.play_turn(&script_of(steps), "codex", 1)
    }

    /// Plays as `play` does, in a process of its own, for steps that do not return.
    fn spawn(&self, steps: &str) -> Command {
        let file = self.at("script.yaml");
        fs::write(&file, yaml_of(steps)).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "script::played_in_a_process_of_its_own", "--nocapture"]);
        command.env("STAGE", self.dir.path()).env("SCRIPT", file);
        command
    }

    fn git(&self, words: &[&str]) -> Output {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(words).current_dir(self.worktree());
        git.output().unwrap()
    }

    fn git_says(&self, words: &[&str]) -> String {
        String::from_utf8(self.git(words).stdout).unwrap().trim().to_owned()
    }
}

fn yaml_of(steps: &str) -> String {
    format!("agents:\n  codex:\n    -\n{}", steps.lines().map(|line| format!("      {line}\n")).collect::<String>())
}

fn script_of(steps: &str) -> Script {
    Script::parse("test.yaml", &yaml_of(steps)).unwrap_or_else(|error| panic!("{error}"))
}

/// Not a test of its own: what `Stage::spawn` runs.
#[test]
fn played_in_a_process_of_its_own() {
    let (Some(dir), Some(file)) = (std::env::var_os("STAGE"), std::env::var_os("SCRIPT")) else { return };
    let dir = Path::new(&dir);
    let script = Script::parse("script.yaml", &fs::read_to_string(file).unwrap()).unwrap();
    let (program, cwd, state_dir) = (dir.join("pairflow"), dir.join("worktree"), dir.join("state"));
    let turn = ScriptedTurn {
        script: &script,
        agent: "codex",
        n: 1,
        program: &program,
        cwd: &cwd,
        state_dir: &state_dir,
        env: &[],
    };
    std::process::exit(play(&turn, &mut std::io::stdout()));
}

#[test]
fn files_are_written_extended_and_deleted() {
    let stage = Stage::new();
    fs::create_dir_all(stage.worktree().join("old/deep")).unwrap();
    let (code, out) = stage.play(
        "- write: {path: src/run.sh, text: \"echo 1\\n\", mode: \"755\"}
- append: {path: src/run.sh, text: \"echo 2\\n\"}
- append: {path: new/notes.txt, text: hi}
- write: {path: gone.txt, text: x}
- delete: gone.txt
- delete: old
- run: \"sh src/run.sh > said.txt\"",
    );
    assert_eq!((code, out.as_str()), (0, ""));
    assert_eq!(stage.file("said.txt"), "1\n2\n");
    assert_eq!(stage.file("new/notes.txt"), "hi");
    assert!(!stage.worktree().join("gone.txt").exists() && !stage.worktree().join("old").exists());
    let mode = fs::metadata(stage.worktree().join("src/run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn a_pass_reaches_pairflow_with_all_its_flags() {
    let stage = Stage::new();
    let (code, out) = stage.play(
        "- pass:
    summary: \"-two\"
    findings: [\"P1:no rollback\", \"P3:naming\"]
    refs: [\"artifact://a\"]
    intent: fix_request
    key: k1",
    );
    assert_eq!((code, out.as_str()), (0, "called pass\n"));
    let expected = ["pass", "--summary=-two", "--finding=P1:no rollback", "--finding=P3:naming", "--ref=artifact://a"];
    assert_eq!(stage.calls()[..5], expected);
    assert_eq!(stage.calls()[5..], ["--intent=fix_request", "--key=k1"]);
}

#[test]
fn the_implementer_of_a_document_hands_over_its_dry_run() {
    let stage = Stage::new();
    assert_eq!(stage.play("- pass: {summary: x, steps: [dry-run=a loop], blockers: [no limit]}").0, 0);
    assert_eq!(stage.calls(), ["pass", "--summary=x", "--step=dry-run=a loop", "--blocker=no limit"]);
}

#[test]
fn a_clean_review_and_a_repeated_pass() {
    let stage = Stage::new();
    assert_eq!(stage.play("- pass: {summary: clean, no_findings: true, repeat: 2}").0, 0);
    assert_eq!(stage.calls(), ["pass", "--summary=clean", "--no-findings", "pass", "--summary=clean", "--no-findings"]);
}

#[test]
fn a_claim_of_convergence_reaches_pairflow() {
    let stage = Stage::new();
    assert_eq!(stage.play("- converged: {summary: nothing left}").0, 0);
    assert_eq!(stage.calls(), ["converged", "--summary=nothing left"]);
}

#[test]
fn a_question_ends_the_process_and_the_next_start_goes_on_behind_it() {
    let stage = Stage::new();
    let steps = "- print: before\n- ask_human: \"Which one?\"\n- print: after\n- pass: {summary: done}";
    assert_eq!(stage.play(steps), (0, "before\ncalled ask-human\n".into()));
    assert_eq!(stage.calls(), ["ask-human", "--question=Which one?"]);
    assert_eq!(stage.play(steps), (0, "after\ncalled pass\n".into()));
    let (code, out) = stage.play(steps);
    assert_eq!(code, 0);
    assert!(out.contains("were done before"), "{out}");
    assert_eq!(stage.calls().len(), 4);
}

#[test]
fn a_refused_command_ends_the_turn_with_its_exit_code() {
    let stage = Stage::new();
    stage.refuse_with("4");
    let (code, out) = stage.play("- pass: {summary: x}\n- print: never");
    assert_eq!(code, 4);
    assert!(out.contains("codex, turn 1: `pairflow pass` ended with exit code 4"), "{out}");
    assert!(!out.contains("never"));
}

#[test]
fn a_refusal_that_was_expected_is_fine_and_one_that_does_not_come_is_not() {
    let steps = "- expect_refused: {converged: {summary: x}}\n- print: went on";
    let stage = Stage::new();
    stage.refuse_with("1");
    assert_eq!(stage.play(steps), (0, "called converged\nwent on\n".into()));
    let stage = Stage::new();
    let (code, out) = stage.play(steps);
    assert!(code == 3 && out.contains("was to be refused with exit code 1, but ended with 0"), "{out}");
    let stage = Stage::new();
    stage.refuse_with("77");
    assert_eq!(stage.play("- expect_refused: {other: [approve, --id, b1], code: 77}").0, 0);
    assert_eq!(stage.calls(), ["approve", "--id", "b1"]);
    assert_eq!(stage.play_turn(&script_of("- expect_refused: {pass: {summary: x}}"), "codex", 1).0, 0);
}

#[test]
fn a_failing_command_ends_the_turn() {
    let stage = Stage::new();
    let (code, out) = stage.play("- run: \"exit 5\"\n- print: never");
    assert!(code == 3 && out.contains("`exit 5` ended with 5") && !out.contains("never"), "{out}");
}

#[test]
fn waiting_takes_time() {
    let began = Instant::now();
    assert_eq!(Stage::new().play("- wait_ms: 30").0, 0);
    assert!(began.elapsed() >= Duration::from_millis(30));
}

#[test]
fn more_turns_than_scripted_fail_with_a_clear_message() {
    let stage = Stage::new();
    let script = script_of("- print: hi");
    let (code, out) = stage.play_turn(&script, "codex", 2);
    assert_eq!(code, 3);
    assert!(out.contains("test.yaml has 1 turn for codex, but this is its turn 2"), "{out}");
    let (_, out) = stage.play_turn(&script, "claude", 1);
    assert!(out.contains("test.yaml has no turns for claude"), "{out}");
    assert!(script.turn("codex", 0).is_err());
}

#[test]
fn an_agent_can_end_crash_and_go_on_after_it() {
    let stage = Stage::new();
    assert_eq!(stage.play("- misbehave: {exit: 9}").0, 9);
    let stage = Stage::new();
    let steps = "- misbehave: crash\n- print: back again";
    let output = stage.spawn(steps).output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(6));
    let output = stage.spawn(steps).output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("back again"));
}

#[test]
fn an_agent_can_flood() {
    let (code, out) = Stage::new().play("- misbehave: {flood: 100000}");
    assert_eq!((code, out.len()), (0, 100_000));
}

#[test]
fn an_agent_can_leave_its_branch_and_commit_by_itself() {
    let stage = Stage::new();
    stage.git(&["init", "-q", "-b", "main"]);
    stage.git(&["commit", "-q", "--allow-empty", "-m", "base"]);
    assert_eq!(stage.play("- write: {path: a, text: x}\n- misbehave: commit_self").0, 0);
    assert_eq!(stage.git_says(&["log", "-1", "--format=%s"]), "Committed by the agent itself");
    assert_eq!(stage.git_says(&["status", "--porcelain"]), "");
    assert_eq!(stage.play_turn(&script_of("- print: x\n- print: x\n- misbehave: switch_branch"), "codex", 1).0, 0);
    assert_eq!(stage.git_says(&["branch", "--show-current"]), "elsewhere");
    let detach = "- print: x\n- print: x\n- print: x\n- misbehave: detach";
    assert_eq!(stage.play_turn(&script_of(detach), "codex", 1).0, 0);
    assert_eq!(stage.git_says(&["branch", "--show-current"]), "");
}

#[test]
fn an_agent_can_edit_as_reviewer_and_reach_for_what_is_not_its_own() {
    let stage = Stage::new();
    let bubble = stage.at(".pairflow/bubbles/b1");
    fs::create_dir_all(&bubble).unwrap();
    fs::write(bubble.join("transcript.ndjson"), "").unwrap();
    stage.refuse_with("77");
    let (code, out) =
        stage.play("- misbehave: {edit_as_reviewer: src/a.rs}\n- misbehave: human_verb\n- misbehave: forge_line");
    assert_eq!(code, 0, "{out}");
    assert_eq!(stage.file("src/a.rs"), "edited by the reviewer\n");
    assert_eq!(stage.calls(), ["approve"]);
    assert!(out.contains("`pairflow approve` ended with 77"), "{out}");
    let forged = fs::read_to_string(bubble.join("transcript.ndjson")).unwrap();
    assert!(forged.contains("APPROVAL_DECISION") && forged.ends_with('\n'));
}

fn error_of(text: &str) -> String {
    Script::parse("agents.yaml", text).unwrap_err().to_string()
}

#[test]
fn mistakes_in_a_script_are_shown_with_file_line_and_snippet() {
    let unknown = error_of("agents:\n  codex:\n    - - pass: {summary: x, finding: y}\n");
    assert!(unknown.starts_with("agents.yaml:3:"), "{unknown}");
    assert!(
        unknown.contains("finding") && unknown.contains("\n3 |     - - pass: {summary: x, finding: y}\n"),
        "{unknown}"
    );
    let caret = unknown.lines().last().unwrap();
    assert!(caret.ends_with('^') && caret.starts_with("  | "), "{unknown}");
    for (text, place) in [
        ("agents:\n  codex:\n    - - dance: now\n", "agents.yaml:3:"),
        ("agents:\n  codex:\n    - - write: {path: /etc/passwd, text: x}\n", "agents.yaml:3:"),
        ("agents:\n  codex:\n    - - write: {path: ../x, text: x}\n", "agents.yaml:3:"),
        ("agents:\n  codex:\n    - - write: {path: x, text: x, mode: \"9\"}\n", "agents.yaml:3:"),
        ("agents:\n  codex:\n    - - expect_refused: {code: 1}\n", "agents.yaml:3:"),
        ("agents:\n  codex:\n    - - misbehave: dance\n", "agents.yaml:3:"),
        ("agents:\n  Codex!:\n    - - print: x\n", "agents.yaml:2:"),
        ("agents:\n  codex:\n   - [\n", "agents.yaml:"),
        ("agents: {}\nmore: 1\n", "agents.yaml:2:"),
        ("", "agents.yaml"),
    ] {
        let error = error_of(text);
        assert!(error.starts_with(place) && !error.contains("at line"), "{text:?}: {error}");
    }
}

fn turn_start(stage: &Stage) -> TurnStart {
    TurnStart {
        bubble_id: "b1".parse().unwrap(),
        repo: stage.at("repo"),
        agent: "codex".parse().unwrap(),
        seat: Seat::Implementer,
        turn: 5,
        nth: 3,
        worktree: stage.worktree(),
        runtime_dir: stage.at("runtime"),
        env: vec![("PAIRFLOW_TOKEN".into(), "t".into())],
        log: stage.at("runtime/codex.log"),
        script: Some(stage.at("script.yaml")),
    }
}

#[test]
fn the_script_driver_starts_one_process_per_turn_with_its_log() {
    let stage = Stage::new();
    let driver = Drivers { program: stage.program() };
    let ran = driver.start(&turn_start(&stage)).unwrap().wait();
    assert_eq!(ran.exit, Some(0));
    let script = stage.at("script.yaml").to_string_lossy().into_owned();
    assert_eq!(stage.calls(), ["script-agent", "--script", &script, "--agent", "codex", "--nth", "3"]);
    assert_eq!(fs::read_to_string(stage.at("runtime/codex.log")).unwrap(), "called script-agent\n");
}

#[test]
fn a_started_agent_has_its_variables_and_dies_with_everybody_it_started() {
    let stage = Stage::new();
    let line = "#!/bin/sh\nenv > seen\npwd >> seen\nsleep 300 & echo $! > child\nsleep 300\n";
    stage.install(line);
    let agent = Drivers { program: stage.program() }.start(&turn_start(&stage)).unwrap();
    wait_until("the agent at work", || stage.file("child").ends_with('\n'));
    let record = &pairflow_engine::process::records(&turn_start(&stage).registry()).unwrap()[0];
    assert_eq!((record.pid, record.what.as_str()), (agent.pid(), "codex as implementer, turn 5"));
    agent.cancel().cancel();
    assert!(agent.wait().cancelled);
    let child = stage.file("child");
    let state = fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
    let seen = stage.file("seen");
    assert!(seen.contains("PAIRFLOW_TOKEN=t\n") && seen.contains("PAIRFLOW_SCRIPT_STATE="), "{seen}");
    assert!(!seen.contains("CARGO_PKG_NAME"));
}

#[test]
fn misbehaving_processes_are_ended_from_outside() {
    let cases = [
        ("- print: ready\n- misbehave: hang", "ready", 15),
        ("- misbehave: orphan\n- print: ready\n- misbehave: hang", "ready", 15),
        ("- misbehave: ignore_term", "ignoring SIGTERM", 9),
    ];
    for (steps, sign, signal) in cases {
        let stage = Stage::new();
        let me = std::env::current_exe().unwrap();
        let file = stage.at("steps.yaml");
        fs::write(&file, yaml_of(steps)).unwrap();
        let line = format!(
            "#!/bin/sh\nexport STAGE='{}' SCRIPT='{}'\nexec '{}' --exact script::played_in_a_process_of_its_own --nocapture\n",
            stage.dir.path().display(),
            file.display(),
            me.display()
        );
        stage.install(&line);
        let agent = Drivers { program: stage.program() }.start(&turn_start(&stage)).unwrap();
        let said = || fs::read_to_string(stage.at("runtime/codex.log")).unwrap_or_default();
        wait_until(&format!("the agent at work: {steps}"), || said().contains(sign));
        agent.cancel().cancel();
        let ran = agent.wait();
        assert!(ran.cancelled && ran.signal == Some(signal), "{steps}: {ran:?}");
    }
}

#[test]
fn a_driver_without_a_script_or_program_says_so() {
    let stage = Stage::new();
    let driver = Drivers { program: stage.program() };
    let error = driver.start(&TurnStart { script: None, ..turn_start(&stage) }).unwrap_err();
    assert!(matches!(error, DriverError::NoScript { .. }) && error.to_string().contains("--script"));
    let error = driver.start(&TurnStart { worktree: stage.at("gone"), ..turn_start(&stage) }).unwrap_err();
    assert!(error.to_string().contains("cannot start codex"), "{error}");
}

#[test]
fn the_demo_tells_a_true_story() {
    let stage = Stage::new();
    let script = Script::parse(DEMO.name, DEMO.text).unwrap_or_else(|error| panic!("{error}"));
    for (path, text) in DEMO_FILES {
        fs::write(stage.worktree().join(path), text).unwrap();
    }
    let tests = || {
        let ended = Command::new("sh").args(["-c", DEMO_TEST]).current_dir(stage.worktree()).output().unwrap();
        (ended.status.success(), String::from_utf8(ended.stdout).unwrap())
    };
    let turn = |agent: &str, n: u32| {
        let (code, out) = stage.play_turn(&script, agent, n);
        assert_eq!(code, 0, "{agent} {n}: {out}");
    };
    assert!(tests().0, "the tests pass before the work begins");
    turn("codex", 1);
    assert!(tests().0, "the first cut passes its own tests");
    let first_cut = stage.file("fetch.sh");
    turn("claude", 1);
    assert!(stage.calls().iter().any(|word| word.starts_with("--finding=P1:")));
    turn("codex", 2);
    let (fixed, said) = tests();
    assert!(fixed && said.lines().count() == 3, "{said}");
    turn("claude", 2);
    turn("codex", 3);
    assert_eq!(stage.calls().iter().filter(|word| *word == "--no-findings").count(), 1);
    assert_eq!(stage.calls()[stage.calls().len() - 2], "converged");
    fs::write(stage.worktree().join("fetch.sh"), first_cut).unwrap();
    assert!(tests().1.contains("FAIL  gives up"), "the new test fails without the fix");
}

#[test]
fn a_judge_and_the_author_of_tests_say_what_the_script_says() {
    let stage = Stage::new();
    let (code, out) = stage.play(
        r#"
        - judge: {finding: F3, ruling: uphold, reason: "-x is lost"}
        - write_scratch: {path: tests/a.sh, text: "true\n"}
        - pass: {summary: s, acceptance: [tests/a.sh], run: sh tests/a.sh}
        - pass: {summary: s, fixed: [F1, F2], tests: [[F1, cargo test]], untestable: [[F2, a comment]]}
        - pass: {summary: s, no_acceptance: true}
        "#,
    );
    assert_eq!(code, 0, "{out}");
    let calls = stage.calls().join(" ");
    assert!(calls.contains("judge F3 --uphold --reason=-x is lost"), "{calls}");
    assert!(calls.contains("--acceptance=tests/a.sh --run=sh tests/a.sh"), "{calls}");
    assert!(calls.contains("--fixed=F2 --test=F1=cargo test --untestable=F2=a comment"), "{calls}");
    assert!(calls.contains("--no-acceptance"), "{calls}");
    let scratch = scratch_path(stage.dir.path(), &"b1".parse().unwrap());
    assert_eq!(fs::read_to_string(scratch.join("tests/a.sh")).unwrap(), "true\n");
}

#[test]
fn the_thorough_demo_tells_a_true_story() {
    let stage = Stage::new();
    let script = Script::parse(THOROUGH.name, THOROUGH.text).unwrap_or_else(|error| panic!("{error}"));
    for (path, text) in DEMO_FILES {
        fs::write(stage.worktree().join(path), text).unwrap();
    }
    let passes = |line: &str| {
        let ended = Command::new("sh").args(["-c", line]).current_dir(stage.worktree()).output().unwrap();
        ended.status.success()
    };
    let turn = |agent: &str, n: u32| {
        let (code, out) = stage.play_turn(&script, agent, n);
        assert_eq!(code, 0, "{agent} {n}: {out}");
    };
    turn("claude", 1);
    let scratch = scratch_path(stage.dir.path(), &"b1".parse().unwrap()).join("acceptance.sh");
    let acceptance = format!("sh '{}'", scratch.display());
    assert!(passes(DEMO_TEST) && !passes(&acceptance), "the task is not done yet");
    turn("codex", 1);
    assert!(passes(DEMO_TEST) && !passes(&acceptance), "the acceptance tests send the first cut back");
    turn("codex", 2);
    assert!(passes(&acceptance));
    turn("claude", 2);
    turn("codex", 3);
    let reproducer = "! FETCH_WITH=false FETCH_TRIES=2 FETCH_PAUSE=0 sh fetch.sh http://example.test";
    assert!(!passes(reproducer) && THOROUGH.text.contains(reproducer), "the reproducer shows the defect");
    let red = fs::read_to_string(stage.worktree().join("fetch.sh")).unwrap();
    turn("codex", 4);
    let calls = stage.calls();
    let test = calls.iter().find_map(|word| word.strip_prefix("--test=F4=")).unwrap();
    assert!(passes(DEMO_TEST) && passes(&acceptance) && passes(reproducer) && passes(test), "everything is fixed");
    let green = stage.file("fetch.sh");
    fs::write(stage.worktree().join("fetch.sh"), red).unwrap();
    assert!(!passes(test), "the test of the fix fails without it");
    fs::write(stage.worktree().join("fetch.sh"), green).unwrap();
    (3..=5).for_each(|n| turn("claude", n));
    turn("codex", 5);
    assert!(stage.calls().iter().any(|word| word == "--dismiss"));
}
