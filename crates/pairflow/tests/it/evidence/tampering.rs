//! Whatever is changed after acceptance, `verify` fails and names it.

use std::path::{Path, PathBuf};

use pairflow_testkit::home::Home;
use serde_json::Value;

use crate::support::bubbles::{done, home};
use crate::trust::ownership::chained;

fn bubble(home: &Home) -> PathBuf {
    home.repo.join(".pairflow/bubbles/b1")
}

fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    let mut permissions = std::fs::metadata(path).unwrap().permissions();
    #[allow(clippy::permissions_set_readonly_false, reason = "git keeps its objects read-only")]
    permissions.set_readonly(false);
    std::fs::set_permissions(path, permissions).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_changed_byte_anywhere_in_the_transcript_is_found() {
    let home = home();
    done(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    home.pairflow(&["verify", "b1"]).ok();
    let path = bubble(&home).join("transcript.ndjson");
    let whole = std::fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 40 + 1) {
        flip(&path, at);
        home.pairflow(&["verify", "b1"]).ends(5).says("transcript.ndjson");
        std::fs::write(&path, &whole).unwrap();
    }
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn a_changed_artifact_is_named() {
    let home = home();
    done(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    let checks = bubble(&home).join("artifacts/checks");
    let file = std::fs::read_dir(&checks).unwrap().next().unwrap().unwrap().path();
    let before = std::fs::read(&file).unwrap();
    std::fs::write(&file, "all green, believe me\n").unwrap();
    home.pairflow(&["verify", "b1"]).ends(5).says(&file.file_name().unwrap().to_string_lossy());
    std::fs::write(&file, before).unwrap();
    let package = bubble(&home).join("artifacts/done-package.md");
    flip(&package, 10);
    home.pairflow(&["verify", "b1"]).ends(5).says("done-package.md");
}

#[test]
fn a_moved_ref_and_a_damaged_object_of_a_snapshot_are_named() {
    let home = home();
    done(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    let refs = home.git(&["for-each-ref", "--format=%(refname)", "refs/pairflow/b1/"]);
    let name = refs.lines().next().unwrap();
    let old = home.git(&["rev-parse", name]);
    home.git(&["update-ref", name, "main"]);
    home.pairflow(&["verify", "b1"]).ends(5).says(name);
    home.git(&["update-ref", name, &old]);
    home.pairflow(&["verify", "b1"]).ok();
    let blob = home.git(&["rev-parse", &format!("{name}:done.txt")]);
    let object = home.repo.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    let kept = std::fs::read(&object).unwrap();
    flip(&object, kept.len() - 1);
    home.pairflow(&["verify", "b1"]).ends(5).says("refs/pairflow/b1/");
}

#[test]
fn a_changed_verdict_is_found_and_one_of_unknown_rules_does_not_hold() {
    let home = home();
    done(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    let row = |starts: &str| {
        let report = home.pairflow(&["verify", "b1", "--json"]).json();
        let rows = report["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["what"].as_str().unwrap().starts_with(starts)).unwrap_or(&Value::Null);
        (row["answer"].clone(), row["problem"].clone())
    };
    assert_eq!(row("verdicts: follow"), ("holds".into(), "".into()));
    let path = bubble(&home).join("transcript.ndjson");
    let text = std::fs::read_to_string(&path).unwrap();
    let forged = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        std::fs::write(&path, chained(&text.replace(from, to))).unwrap();
        // It says how long the log was, and whoever changes the log removes it.
        let _ = std::fs::remove_file(bubble(&home).join("state.json"));
    };
    forged(r#""reason":"another_review_needed""#, r#""reason":"nothing_changed""#);
    let line = 1 + text.lines().position(|line| line.contains("another_review_needed")).unwrap();
    let problem = format!("the rules conclude something else than line {line} of the log says");
    assert_eq!(row("verdicts: follow"), ("wrong".into(), problem.into()));
    forged(r#""policy":"strict","version":2"#, r#""policy":"strict","version":9"#);
    assert_eq!(row("verdicts: follow"), (Value::Null, Value::Null));
    let unknown = "verdicts: not recomputed, this pairflow does not know the rules of strict version 9";
    assert_eq!(row(unknown), ("unchecked".into(), "".into()));
}
