//! `pairflow export --html`: a page in every state, written nowhere it was not asked to, honest about damage.

use std::path::Path;

use crate::support::bubbles::{created, done, handed_over, home};

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_finished_bubble_becomes_one_page_with_everything_in_it() {
    let home = home();
    done(&home, "b1");
    home.pairflow(&["bubble", "export", "b1", "--html"]).ok().says("Wrote ").says("b1.html");
    let page = read(&home.repo.join("b1.html"));
    for part in [
        ">DONE<",
        "Write done.txt",
        "</a> says done</li>",
        "Accepted under the policy",
        "id=\"receipt-",
        "<ins>+done</ins>",
        "id=\"hunk-1-1\"",
        "first cut",
        "nothing left",
        "recomputed claims hold",
        "Committed as",
    ] {
        assert!(page.contains(part), "{part:?} is missing");
    }
    assert!(!page.contains("<script") && !page.contains("http:") && !page.contains("https:"), "nothing is loaded");
    let again = home.pairflow(&["export", "b1", "--html", "--out", "-"]).ok();
    assert_eq!(again.stdout, page, "the same log gives the same page");
}

#[test]
fn a_file_is_replaced_only_when_asked_for() {
    let home = home();
    created(&home, "b1");
    let path = home.repo.join("b1.html");
    std::fs::write(&path, "mine").unwrap();
    home.pairflow(&["export", "b1", "--html"]).ends(1).says("already exists").says("--force");
    assert_eq!(read(&path), "mine");
    home.pairflow(&["export", "b1", "--html", "--force"]).ok();
    assert!(read(&path).contains("Not accepted yet."));
    home.pairflow(&["export", "b1", "--html", "--out", "no/such/dir/x.html"]).ends(3).says("cannot write");
    let beside = std::fs::read_dir(&home.repo).unwrap().flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().contains(".new")
    });
    assert_eq!(beside.count(), 0, "nothing is left behind");
}

#[test]
fn a_page_is_made_before_and_during_the_work_and_changes_nothing() {
    let home = home();
    created(&home, "b1");
    home.pairflow(&["export", "b1", "--html", "--out", "-"]).ok().says("CREATED").says("has not been started");
    let (codex, _) = handed_over(&home, "b2");
    let log = home.repo.join(".pairflow/bubbles/b2/transcript.ndjson");
    let before = std::fs::read(&log).unwrap();
    home.pairflow(&["export", "b2", "--html", "--out", "-"]).ok().says("RUNNING").says("Missing for convergence");
    codex.pairflow(&["export", "b2", "--html", "--out", "-"]).ok();
    assert_eq!(std::fs::read(&log).unwrap(), before);
    home.pairflow(&["export", "nope", "--html"]).ends(1);
}

#[test]
fn damage_is_told_as_verify_tells_it() {
    let home = home();
    done(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    let dir = home.repo.join(".pairflow/bubbles/b1");
    std::fs::write(dir.join("artifacts/done-package.md"), "something else").unwrap();
    home.pairflow(&["export", "b1", "--html"]).ends(5).says("it has been changed since");
    let page = read(&home.repo.join("b1.html"));
    assert!(page.contains("Does not hold: package done-package.md"), "the page says so, too");
    let log = dir.join("transcript.ndjson");
    let text = read(&log).replacen("Write done.txt", "Write nothing.", 1);
    std::fs::write(&log, text).unwrap();
    let verified = home.pairflow(&["verify", "b1"]).ends(5).stderr;
    let exported = home.pairflow(&["export", "b1", "--html", "--force"]).ends(5).stderr;
    assert_eq!(exported, verified);
}
