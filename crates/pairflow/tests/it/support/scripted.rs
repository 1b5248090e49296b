//! Bubbles whose agents play a script.

use pairflow_testkit::home::{Home, Ran};

/// A task that two scripted agents finish without a question.
pub(crate) const SMOOTH: &str = "
agents:
  codex:
    - - write: {path: hello.txt, text: \"hello\\n\"}
      - pass: {summary: wrote hello.txt, explain: \"## What changed\\nx\\n## Why\\nx\\n## Risks\\nx\\n## Manual test plan\\nx\\n\"}
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
      - pass: {summary: wrote hello.txt, explain: \"## What changed\\nx\\n## Why\\nx\\n## Risks\\nx\\n## Manual test plan\\nx\\n\"}
    - - pass: {summary: nothing left, no_findings: true}
  claude:
    - - pass: {summary: looks right, no_findings: true}
";

/// Starts a bubble whose agents play `script`, with `pairflow new`.
#[track_caller]
pub(crate) fn new_bubble(home: &Home, task: &str, script: &str) -> Ran {
    let file = home.root().join(format!("{}.yaml", task.replace(' ', "-")));
    std::fs::write(&file, script).unwrap();
    let file = file.display().to_string();
    home.pairflow(&["new", task, "--test", "true", "--driver", "script", "--script", &file]).ok()
}
