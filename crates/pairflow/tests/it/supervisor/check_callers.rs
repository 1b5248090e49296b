//! What an agent wrote and pairflow runs, as checks or setup commands, reaches no human verb.

use pairflow_testkit::home::Home;

use crate::support::bubbles::home;

/// Calls human verbs, with and without the mark of the process group, and ends with 0 if each of them is refused.
const PROBE: &str = "\
set -u
try() {
  \"$@\" > /dev/null 2>&1
  code=$?
  echo \"$* ended with $code\"
  [ $code = 77 ] || exit 1
}
for verb in 'env b1 --agent claude' 'approve b1' 'pause b1' 'supervise --once' 'supervisor stop' 'stop b1 --yes'; do
  try PROGRAM $verb
  try env -u PF_PROCESS_MARK PROGRAM $verb
done
cd /
try env -u PF_PROCESS_MARK PROGRAM pause b1 --repo REPO
try PROGRAM create --id b9 --task x --test true --repo /
";

fn probe(home: &Home) {
    let text = PROBE.replace("PROGRAM", env!("CARGO_BIN_EXE_pairflow"));
    home.commit("probe.sh", &text.replace("REPO", &home.repo.display().to_string()), "a probe");
}

fn created(home: &Home, more: &[&str]) {
    probe(home);
    let args = ["create", "--id", "b1", "--task", "x", "--test", "sh probe.sh"];
    home.pairflow(&[&args[..], more].concat()).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
}

fn passed(home: &Home, agent: &str) {
    let status = home.wait_for_turn("b1", agent);
    let tail = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/artifacts/round-001.tests.txt"));
    assert_eq!(status["checks"][0]["stand"], "passed", "{tail:?}");
    assert_eq!(status["paused"], false);
}

#[test]
fn a_check_gets_no_human_verb() {
    let home = home();
    created(&home, &[]);
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    passed(&home, "claude");
}

#[test]
fn a_setup_command_gets_no_human_verb() {
    let home = home();
    // A setup command that does not end with 0 fails the start.
    created(&home, &["--setup", "sh probe.sh"]);
}

#[test]
fn a_check_of_a_merge_gets_no_human_verb() {
    let home = home();
    created(&home, &[]);
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    passed(&home, "claude");
    claude.pairflow(&["pass", "--summary", "clean", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.converged("done").ok();
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    home.wait_for_state("b1", "DONE");
    home.commit("other.txt", "moved on\n", "the base moves on");
    home.git(&["switch", "--quiet", "--detach"]);
    // The check runs on the merged tree and stops the merge unless it passes.
    home.pairflow(&["merge", "b1", "--yes"]).ok();
    assert_eq!(home.git(&["show", "main:done.txt"]), "done");
}
