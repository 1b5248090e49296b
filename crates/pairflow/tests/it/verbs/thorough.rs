//! A thorough review: acceptance tests before there is any work, and first looks that do not know of each other.

use std::path::PathBuf;

use pairflow_engine::workspace::scratch_path;
use pairflow_testkit::home::Home;
use serde_json::{Value, json};

use crate::support::bubbles::{CHECK, created, home};
use crate::support::log::lines_of;

/// Makes a bubble in which claude is to write acceptance tests; returns where.
#[track_caller]
fn thorough(home: &Home, id: &str) -> PathBuf {
    home.pairflow(&["create", "--id", id, "--task", "Write done.txt", "--test", CHECK, "--thorough"]).ok();
    home.pairflow(&["start", id]).ok();
    home.wait_for_turn(id, "claude");
    let scratch = scratch_path(&home.repo.canonicalize().unwrap(), &id.parse().unwrap());
    std::fs::create_dir_all(scratch.join("tests")).unwrap();
    std::fs::write(scratch.join("tests/done.sh"), "test -f done.txt\n").unwrap();
    scratch
}

#[test]
fn acceptance_tests_are_handed_over_before_the_first_cut() {
    let home = home();
    let scratch = thorough(&home, "b1");
    let claude = home.agent("b1", "claude");
    let run = ["--run", "test -f done.txt"];
    let pass = |more: &[&str]| claude.pairflow(&[&["pass", "--summary", "tests"][..], more].concat());
    pass(&[]).ends(1).says("this turn writes acceptance tests").says("next: pairflow brief b1");
    pass(&["--acceptance", "tests/done.sh"]).ends(2).says("--run");
    pass(&run).ends(2).says("--acceptance");
    pass(&["--no-acceptance", "--acceptance", "a", "--run", "b"]).ends(2).says("cannot be used with");
    claude.converged("done").ends(1).says("this turn writes acceptance tests");
    std::os::unix::fs::symlink("/etc/passwd", scratch.join("link")).unwrap();
    std::fs::write(scratch.join("README.md"), "x").unwrap();
    std::fs::write(scratch.join("large"), vec![b'x'; 1024 * 1024 + 1]).unwrap();
    for file in ["gone.sh", "tests", "link", "/etc/passwd", "../x", "a/.git/b", "README.md", "large"] {
        let refused = pass(&[&["--acceptance", file][..], &run].concat()).ends(1);
        assert!(refused.stderr.contains(file.trim_start_matches("./")), "{file}: {}", refused.stderr);
    }
    let many: Vec<_> = (0..65).map(|n| format!("t{n}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    pass(&[&["--acceptance"][..], &many, &run].concat()).ends(1).says("65");
    assert!(lines_of(&home, "b1", "PASS").is_empty());

    let said = [&["--acceptance", "tests/done.sh"][..], &run].concat();
    pass(&said).ok();
    pass(&said).ok().says("Already recorded");
    let line: Value = lines_of(&home, "b1", "PASS").pop().unwrap();
    let (file, payload) = (&line["payload"]["findings"][0]["overlay"][0], &line["payload"]);
    assert_eq!((&file["path"], &payload["acceptance"]), (&json!("tests/done.sh"), &json!(true)));
    let name = file["content"].as_str().unwrap().strip_prefix("artifact://acceptance/").unwrap();
    let stored = home.file("b1", "artifacts").join("acceptance").join(name);
    assert_eq!(std::fs::read_to_string(stored).unwrap(), "test -f done.txt\n");
    home.wait_for_turn("b1", "codex");
}

#[test]
fn the_first_looks_do_not_know_of_each_other() {
    let home = home();
    thorough(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    claude.pairflow(&["pass", "--summary", "no test fits", "--no-acceptance"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "words of claude", "--finding", "P1:not closed"]).ok();
    home.wait_for_turn("b1", "codex");

    let reads = [&["findings", "b1"][..], &["findings", "b1", "--json"], &["log", "b1"], &["log", "b1", "--json"]];
    let status = [&["status", "b1"][..], &["status", "b1", "--json"]];
    for read in reads.iter().chain(&status) {
        let told = codex.pairflow(read).ok();
        assert!(!told.stdout.contains("not closed") && !told.stdout.contains("words of claude"), "{read:?}: {told:?}");
    }
    let open = |told: Value| told["open_findings"].as_array().unwrap().len();
    let status = ["status", "b1", "--json"];
    assert_eq!((open(codex.pairflow(&status).ok().json()), open(claude.pairflow(&status).ok().json())), (0, 1));
    // A person and the finder itself are shown everything.
    for told in
        [home.pairflow(&["findings", "b1"]), claude.pairflow(&["findings", "b1"]), home.pairflow(&["log", "b1"])]
    {
        told.ok().says("not closed");
    }
    codex.converged("nothing left").ends(1).says("without knowing what the others found");
    codex.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ok();
    // What it was not shown is not settled by that; the work goes back, and everything can be read.
    home.wait_for("b1", |status| status["active_role"] == "implementer" && status["active_agent"] == "codex");
    let told = codex.pairflow(&["findings", "b1", "--json"]).ok().json();
    assert_eq!((&told["findings"][0]["title"], &told["findings"][0]["blocks"]), (&json!("not closed"), &json!(true)));
    codex.pairflow(&["log", "b1"]).ok().says("not closed");
}

#[test]
fn a_bubble_is_made_thorough_when_it_is_started() {
    let home = home();
    created(&home, "b1");
    home.pairflow(&["start", "b1", "--thorough"]).ok();
    home.wait_for_turn("b1", "claude");
    let started = lines_of(&home, "b1", "LIFECYCLE");
    assert!(started.iter().any(|line| line["payload"]["rules"]["review_depth"] == "thorough"), "{started:?}");
    assert_eq!(home.status("b1")["active_role"], "reviewer");
    home.pairflow(&["create", "--id", "b2", "--task", "x", "--kind", "document", "--thorough"]).ok();
}
