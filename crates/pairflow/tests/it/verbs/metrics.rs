//! `metrics` and `escaped`: what a repository's loops came to, and what was found later.

use std::path::Path;

use pairflow_testkit::home::Home;
use serde_json::{Value, json};

use crate::support::bubbles::{created, done, handed_over, home, program, quiet, started};

fn metrics(home: &Home) -> Value {
    let said = home.pairflow(&["metrics", "--json"]).ok().json();
    assert_eq!(said["schema"], "pairflow.metrics/1");
    said
}

fn log(home: &Home, id: &str) -> std::path::PathBuf {
    home.repo.join(".pairflow/bubbles").join(id).join("transcript.ndjson")
}

#[test]
fn a_defect_found_later_is_in_log_status_and_metrics_and_the_log_still_verifies() {
    let home = home();
    done(&home, "b1");
    home.pairflow(&["verify", "b1"]).ok();
    let recorded =
        home.pairflow(&["escaped", "b1", "tokens leak"]).ok().says("Recorded an escaped P1 defect of bubble b1");
    assert_eq!(recorded.stderr, "");
    let lines = std::fs::read(log(&home, "b1")).unwrap();
    home.pairflow(&["escaped", "b1", "tokens leak"]).ok().says("already recorded");
    assert_eq!(std::fs::read(log(&home, "b1")).unwrap(), lines, "a retry is one record");
    home.pairflow(&["escaped", "b1", "tokens leak", "--severity", "P0"]).ends(1).says("already recorded as P1");
    let status = home.pairflow(&["bubble", "escaped", "b1", "no lock", "--severity", "p0", "--json"]).ok().json();
    assert_eq!((&status["schema"], &status["state"]), (&json!("pairflow.status/1"), &json!("DONE")));
    assert_eq!(status["escaped"][1]["text"], "no lock");
    home.pairflow(&["status", "b1"]).ok().says("Escaped      P1 tokens leak\n             P0 no lock");
    home.pairflow(&["log", "b1"]).ok().says("reports a defect found later, P0: no lock");
    home.pairflow(&["verify", "b1"]).ok().says("Everything holds");
    let escaped = metrics(&home)["own"]["escaped"].clone();
    assert_eq!((&escaped["total"], &escaped["bubbles"]), (&json!(2), &json!(1)), "{escaped}");
    assert_eq!(escaped["by_severity"], json!({"P0": 1, "P1": 1}));
    home.pairflow(&["metrics"]).ok().says("2 defects escaped from 1 of 1 bubble done.").says("tokens leak");
}

#[test]
fn a_defect_escapes_from_finished_work_alone_and_only_a_person_says_so() {
    let home = home();
    let (codex, _) = handed_over(&home, "b1");
    let refused = home.pairflow(&["escaped", "b1", "tokens leak"]).ends(1).says("the bubble is RUNNING");
    refused.says("next: pairflow status b1");
    codex.pairflow(&["escaped", "b1", "tokens leak"]).ends(77);
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    home.pairflow(&["escaped", "b1", "tokens leak"]).ends(1).says("the bubble is CANCELLED").says("pairflow log b1");
    home.pairflow(&["escaped", "b1", "x", "--severity", "P4"]).ends(2).says("one of P0, P1, P2, P3");
    home.pairflow(&["escaped", "b1", " "]).ends(2);
    home.pairflow(&["escaped", "b1"]).ends(2);
    home.pairflow(&["escaped", "nope", "x"]).ends(1).says("nope");
    home.pairflow(&["escaped", "--help"]).ok().says("pairflow escaped login-race");
}

/// Copies a directory with the files in it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn own_foreign_archived_and_unreadable_bubbles_are_told_apart() {
    let home = home();
    home.pairflow(&["metrics"]).ok().says("0 bubbles").says("There is no bubble to measure.");
    done(&home, "kept");
    done(&home, "gone");
    started(&home, "broken");
    quiet(&home);
    home.pairflow(&["delete", "gone", "--yes"]).ok();
    let other = Home::new(program());
    created(&other, "theirs");
    copy(&other.repo.join(".pairflow/bubbles/theirs"), &home.repo.join(".pairflow/bubbles/theirs"));
    let path = log(&home, "broken");
    let text = std::fs::read_to_string(&path).unwrap().replacen("Write done.txt", "Write nothing.", 1);
    std::fs::write(&path, text).unwrap();
    let report = metrics(&home);
    let bubbles = |whose: &str| report[whose]["bubbles"].clone();
    assert_eq!((&bubbles("own")["total"], &bubbles("own")["archived"]), (&json!(2), &json!(1)), "{report}");
    assert_eq!((&bubbles("own")["done"], &bubbles("foreign")["total"]), (&json!(2), &json!(1)), "{report}");
    assert_eq!(report["own"]["converged"]["looks"]["counts"], json!({"2": 2}), "{report}");
    assert_eq!(report["unreadable"][0]["bubble_id"], "broken");
    home.pairflow(&["metrics"])
        .ok()
        .says("2 bubbles: 2 done; 1 of them archived")
        .says("Only 2 bubbles have converged")
        .says("Foreign: 1 bubble: 1 active")
        .says("broken cannot be read and is in no figure");
    // An archive that this person did not make is foreign.
    let archive = std::fs::read_dir(home.repo.join(".pairflow/archive")).unwrap().flatten().next().unwrap().path();
    let theirs = archive.with_file_name("theirs-20200101T000000Z");
    copy(&home.repo.join(".pairflow/bubbles/theirs"), &theirs);
    std::fs::create_dir(archive.with_file_name("empty-20200101T000000Z")).unwrap();
    let report = metrics(&home);
    assert_eq!(report["own"]["bubbles"]["archived"], 1, "{report}");
    assert_eq!(report["foreign"]["bubbles"]["archived"], 0, "the same log is counted once: {report}");
    let unreadable = report["unreadable"].as_array().unwrap();
    assert!(unreadable.iter().any(|one| one["bubble_id"] == "empty-20200101T000000Z" && one["archived"] == true));
    std::fs::remove_dir_all(home.repo.join(".pairflow/bubbles/theirs")).unwrap();
    assert_eq!(metrics(&home)["foreign"]["bubbles"]["archived"], 1);
}

#[test]
fn the_page_is_written_where_a_person_wants_it() {
    let home = home();
    let (codex, _) = handed_over(&home, "b1");
    codex.pairflow(&["metrics"]).ok().says("1 bubble: 1 active");
    codex.pairflow(&["metrics", "--json"]).ok();
    let printed = codex.pairflow(&["metrics", "--html", "--out", "-"]).ok().stdout;
    assert!(printed.starts_with("<!doctype html>"), "{printed}");
    codex.pairflow(&["metrics", "--html"]).ends(77);
    home.pairflow(&["metrics", "--html"]).ok().says("Wrote ").says("pairflow-metrics.html");
    let page = home.repo.join("pairflow-metrics.html");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), printed);
    std::fs::write(&page, "mine").unwrap();
    let exists = home.pairflow(&["metrics", "--html"]).ends(1).says("already exists");
    exists.says("pairflow metrics --html --out ").says("--force");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "mine");
    home.pairflow(&["metrics", "--html", "--force"]).ok();
    assert_eq!(std::fs::read_to_string(&page).unwrap(), printed);
    home.pairflow(&["metrics", "--json", "--html"]).ends(2);
    home.pairflow(&["metrics", "--out", "x.html"]).ends(2).says("--html");
}
