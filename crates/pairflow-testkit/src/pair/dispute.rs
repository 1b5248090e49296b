//! A thorough bubble with both real CLIs: acceptance tests from the task, a first look by each agent, a reproducer, a fix
//! that its test shows, a dispute, insistence, a judge, and two clean reviews.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::machine::{ModelScript, Pair, Turn};
use super::story::finish;
use crate::model::{Kind, Reply};

/// What the reviewer finds in its first look. F1 are the acceptance tests.
const FOUND: &str = r#"{"summary": "three problems", "findings": [
 {"severity": "P1", "title": "the second line is missing", "file": "work.txt", "line": 1, "reproducer": "grep -q two work.txt"},
 {"severity": "P1", "title": "the first line is not the number one", "file": "work.txt", "line": 1},
 {"severity": "P1", "title": "the file has the wrong name", "detail": "It should be called works.txt."}]}"#;

/// What each agent reads in a brief of its own.
const TAUGHT: [(Kind, &str); 9] = [
    (Kind::Claude, "Before codex begins, write acceptance tests from the task alone."),
    (Kind::Claude, "pairflow lays the files over a checkout"),
    (Kind::Claude, "Each agent takes this first look for itself"),
    (Kind::Codex, "Each agent takes this first look for itself"),
    (Kind::Codex, "`grep -q two work.txt` fails until it is fixed"),
    (Kind::Claude, "[disputed: the task names work.txt]"),
    (Kind::Claude, "without one a judge decides, not you"),
    (Kind::Claude, "Decide F4 and nothing else"),
    (Kind::Codex, "[dismissed: the task says work.txt]"),
];

impl Pair {
    /// Makes a machine whose agents do not agree.
    ///
    /// # Panics
    /// If the findings cannot be written to `dir`.
    pub fn of_disputes(program: impl Into<PathBuf>, dir: &Path) -> Self {
        let findings = dir.join("disputed-findings.json");
        std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&findings, FOUND))
            .expect("the directory is writable");
        let findings = findings.display().to_string();
        Self::new(program, dir, ModelScript::new(move |turn, kind| steps(turn, kind, &findings)))
    }
}

/// What an agent does in a turn. Claude Code asks before it runs more than one simple command at a time.
fn steps(turn: &Turn, kind: Kind, findings: &str) -> Vec<Reply> {
    let shell = |lines: &[&str]| {
        let lines = lines.iter().map(|line| Reply::shell(*line));
        std::iter::once(Reply::shell("pairflow brief")).chain(lines).collect()
    };
    match (kind, turn.round, turn.seat.as_str()) {
        (Kind::Claude, 1, "reviewer") => match scratch(turn) {
            Some(scratch) => shell(&[
                &format!("echo 'grep -q one work.txt' > {scratch}/accept.sh"),
                "pairflow pass --summary 'one test' --acceptance accept.sh --run 'sh accept.sh'",
            ]),
            None => shell(&[&format!("pairflow pass --summary 'three problems' --findings {findings}")]),
        },
        (Kind::Codex, 1, "implementer") => {
            shell(&["echo one > work.txt\nprintf '## %s\\nx\\n' 'What changed' Why Risks 'Manual test plan' \
             | pairflow pass --summary 'first cut' --explain -"])
        }
        (Kind::Codex, 1, "reviewer") => shell(&["pairflow pass --summary 'nothing' --no-findings"]),
        (Kind::Codex, 2, "implementer") => {
            shell(&["printf '1 one\\n2 two\\n' > work.txt\npairflow pass --summary 'two lines' --fixed F2 \
             --fixed F3 --test F3='grep -q \"^1\" work.txt' --dispute F4 --reason 'the task names work.txt'"])
        }
        (Kind::Claude, 2, "reviewer") if brief(turn).contains("[dismissed") => {
            shell(&["pairflow pass --summary 'fine' --no-findings"])
        }
        (Kind::Claude, 2, "reviewer") => {
            shell(&["pairflow pass --summary 'I insist' --finding 'P1:the name is wrong' --repeats F4 --confirm F3"])
        }
        (Kind::Claude, 2, "judge") => shell(&["pairflow judge F4 --dismiss --reason 'the task says work.txt'"]),
        (Kind::Codex, 2, "reviewer") => shell(&["pairflow pass --summary 'agreed' --no-findings"]),
        _ => Vec::new(),
    }
}

fn brief(turn: &Turn) -> String {
    std::fs::read_to_string(&turn.brief).unwrap_or_default()
}

/// Where the acceptance tests of a turn are written; nothing if it writes none.
fn scratch(turn: &Turn) -> Option<String> {
    brief(turn).lines().find_map(|line| line.strip_prefix("- write the tests in ")).map(str::to_owned)
}

/// Lives the story in the bubble `id`.
///
/// # Panics
/// If anything of it does not happen, with the log and every screen.
#[track_caller]
pub fn settle_dispute(pair: &Pair, id: &str) {
    let task = "Write work.txt\n\n## Acceptance criteria\n- it says one, then two";
    pair.pairflow(&["create", "--id", id, "--task", task, "--test", "true", "--thorough", "--yes"]).ok();
    pair.pairflow(&["start", id]).ok();
    pair.wait_for_state(id, "READY_FOR_APPROVAL");
    let shown = || pair.pairflow(&["log", id]).stdout;
    for (kind, text) in TAUGHT {
        assert!(pair.has_read(kind, text), "{kind:?} never read {text:?}\n{}", shown());
    }
    let log = pair.transcript(id);
    let judged: Vec<_> = log.of("PASS").filter(|one| one["payload"]["judgement"]["finding"] == "F4").collect();
    assert!(matches!(judged[..], [one] if one["sender"] == "claude"), "{}", shown());
    let rows = pair.pairflow(&["findings", id, "--json"]).ok().json();
    let rows: Vec<_> = rows["findings"].as_array().into_iter().flatten().map(stand).collect();
    assert_eq!(
        rows,
        [
            ["F1", "fixed", "passes", "null"],
            ["F2", "fixed", "passes", "null"],
            ["F3", "fixed", "null", "true"],
            ["F4", "dismissed", "null", "null"],
        ],
        "{}",
        shown()
    );
    assert!(log.of("HUMAN_QUESTION").next().is_none(), "nobody was asked: {}", shown());
    finish(pair, id, "1 one\n2 two");
}

/// Its name and state, what its reproducer says, and whether a test shows its fix.
fn stand(row: &Value) -> [String; 4] {
    let (reproducer, fix) = (&row["reproducer"]["stand"], &row["fix_evidence"]["shown"]);
    [&row["id"], &row["state"], reproducer, fix].map(|value| match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    })
}
