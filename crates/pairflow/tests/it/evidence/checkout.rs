//! Checks run on a checkout of exactly the recorded tree that belongs to pairflow.

use std::path::{Path, PathBuf};

use pairflow_testkit::home::Home;
use pairflow_testkit::kill::swap;
use pairflow_testkit::wait::wait_until;
use serde_json::{Value, json};

use crate::evidence::findings::{findings, review};
use crate::support::bubbles::{handed_over, home, ready};
use crate::support::log::lines_of;

/// Every receipt in the log, oldest first.
fn receipts(home: &Home, id: &str) -> Vec<Value> {
    let lines = lines_of(home, id, "EVIDENCE");
    lines.into_iter().filter_map(|line| line["payload"].get("receipt").cloned()).collect()
}

fn places(home: &Home, id: &str) -> Vec<Value> {
    receipts(home, id).iter().map(|receipt| receipt["place"].clone()).collect()
}

/// Starts a bubble and lets codex hand over a file.
#[track_caller]
fn first_cut(home: &Home, create: &[&str]) {
    home.pairflow(&[&["create", "--id", "b1", "--task", "x"], create].concat()).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
}

fn checkout(worktree: &Path) -> PathBuf {
    worktree.with_file_name(".checks-b1")
}

#[test]
fn files_that_are_swapped_in_while_a_check_runs_get_no_receipt_for_a_broken_tree() {
    let home = home();
    let (wrong, tries) = swap(&home, 50);
    assert!(tries >= 50, "only {tries} checks were shown good files");
    assert_eq!(wrong, 0, "receipts say that a broken tree passed");
}

#[test]
fn checks_see_the_tree_alone_and_their_caches_stay() {
    let home = home();
    home.commit(".gitignore", "cache\n", "ignore");
    let seen = home.root().join("seen");
    let test = format!(
        "test -z \"$(git status --porcelain)\" && test ! -e litter && \
         {{ ls -A; git log -1 --format=%s; test -e cache && echo warm; touch cache litter; }} >> '{}'",
        seen.display()
    );
    first_cut(&home, &["--test", &test]);
    let claude = home.agent("b1", "claude");
    home.wait_for_turn("b1", "claude");
    std::fs::write(claude.worktree.join("cache"), "what an agent put there").unwrap();
    claude.pairflow(&["pass", "--summary", "no", "--finding", "P1:more"]).ok();
    home.wait_for_turn("b1", "codex");
    let codex = home.agent("b1", "codex");
    codex.write("more.txt", "more\n");
    codex.pairflow(&["pass", "--summary", "second cut"]).ok();
    home.wait_for_turn("b1", "claude");
    let said = std::fs::read_to_string(&seen).unwrap();
    let snapshot = "pairflow: snapshot of b1";
    let expected = [".git", ".gitignore", "README.md", "ignore"].map(str::to_owned).into_iter();
    let first = [".git", ".gitignore", "README.md", "cache", "done.txt", snapshot, "warm"].map(str::to_owned);
    let second = [".git", ".gitignore", "README.md", "cache", "done.txt", "more.txt", snapshot, "warm"];
    let expected: Vec<String> = expected.chain(first).chain(second.map(str::to_owned)).collect();
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    assert_eq!(places(&home, "b1"), ["base", "checkout", "checkout"]);
    assert!(checkout(&codex.worktree).is_dir());
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    home.pairflow(&["delete", "b1", "--yes"]).ok();
    assert!(!checkout(&codex.worktree).exists(), "it goes with the bubble");
    assert!(!home.git(&["worktree", "list"]).contains(".checks"), "git has forgotten it, too");
}

#[test]
fn a_check_reads_the_recorded_tree_and_not_what_the_worktree_holds_by_then() {
    let home = home();
    let (begun, go) = (home.root().join("begun"), home.root().join("go"));
    let held = format!("touch '{}'; until test -e '{}'; do sleep 0.02; done", begun.display(), go.display());
    let test = format!("test ! -e done.txt || {{ {held}; cat done.txt; git rev-parse 'HEAD^{{tree}}'; pwd; }}");
    first_cut(&home, &["--test", &test]);
    wait_until("the check is running", || begun.exists());
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "written while the check ran\n");
    std::fs::write(&go, "").unwrap();
    wait_until("the check has ended", || receipts(&home, "b1").len() > 1);
    let receipt = &receipts(&home, "b1")[1];
    let recorded = receipt["tree"].as_str().unwrap();
    let place = checkout(&codex.worktree);
    let said = format!("done\n{recorded}\n{}", place.display());
    assert_eq!((receipt["tail"].as_str().unwrap().trim_end(), &receipt["place"]), (&said[..], &json!("checkout")));
    assert_eq!(home.git(&["show", &format!("{recorded}:done.txt")]), "done");
}

#[test]
fn the_checkout_of_a_finished_bubble_is_removed() {
    let home = home();
    let (codex, _) = ready(&home, "b1");
    assert!(checkout(&codex.worktree).is_dir());
    home.pairflow(&["ok", "b1", "--yes"]).ok();
    home.wait_for_state("b1", "DONE");
    wait_until("the checkout is gone", || !checkout(&codex.worktree).exists());
}

#[test]
fn agents_and_checks_have_different_ports() {
    let home = home();
    let seen = home.root().join("port");
    first_cut(&home, &["--test", &format!("echo $PORT > '{}'", seen.display())]);
    home.wait_for_turn("b1", "claude");
    let port = std::fs::read_to_string(&seen).unwrap();
    let codex = home.agent("b1", "codex");
    assert!(port.trim().parse::<u16>().is_ok(), "{port}");
    assert_ne!(Some(port.trim()), codex.var("PORT"));
}

#[test]
fn the_setup_command_runs_again_for_another_manifest_and_once_before_a_failure_counts() {
    let home = home();
    home.commit("package.json", "{}\n", "a manifest");
    home.commit(".gitignore", "installed\n", "ignore");
    let log = home.root().join("setups");
    let setup = format!("cp package.json installed; echo x >> '{}'", log.display());
    let setups = || std::fs::read_to_string(&log).unwrap().lines().count();
    first_cut(&home, &["--setup", &setup, "--test", "cmp package.json installed && test ! -e broken"]);
    home.wait_for_turn("b1", "claude");
    assert_eq!(setups(), 2, "in the worktree and in the checkout");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    claude.pairflow(&["pass", "--summary", "no", "--finding", "P1:more"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.write("package.json", "{\"name\": \"x\"}\n");
    codex.pairflow(&["pass", "--summary", "a dependency"]).ok();
    home.wait_for_turn("b1", "claude");
    assert_eq!(setups(), 3, "for the manifest that changed");
    claude.pairflow(&["pass", "--summary", "no", "--finding", "P1:more"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.write("broken", "");
    codex.pairflow(&["pass", "--summary", "broken"]).ok();
    home.wait_for("b1", |status| status["active_agent"] == "codex" && status["checks"][0]["stand"] == "failed");
    assert_eq!(setups(), 4, "before the failure counted");
}

#[test]
fn what_passes_only_with_a_cache_is_asked_about_before_it_is_accepted() {
    let home = home();
    home.commit(".gitignore", "cache\n", "ignore");
    let test = "case \"$PWD\" in *.scratch-*) echo nothing is installed; exit 1;; esac";
    first_cut(&home, &["--test", test]);
    home.wait_for_turn("b1", "claude");
    home.agent("b1", "claude").pairflow(&["pass", "--summary", "fine", "--no-findings"]).ok();
    let status = home.wait_for_state("b1", "WAITING_HUMAN");
    assert_eq!(status["questions"][0]["kind"], "differs");
    let inbox = home.pairflow(&["inbox", "b1"]).ok();
    inbox.says("fails in a fresh checkout").says("nothing is installed").says("pairflow config set b1 commands.setup=");
}

#[test]
fn what_a_certificate_names_ran_in_a_fresh_checkout() {
    let home = home();
    ready(&home, "b1");
    let receipts = receipts(&home, "b1");
    let last = receipts.last().unwrap();
    assert_eq!((&last["place"], &last["outcome"]["result"]), (&json!("fresh"), &json!("passed")));
    assert_eq!(home.status("b1")["checks"][0]["place"], "fresh");
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn a_check_that_fails_on_the_base_is_told_to_the_person_and_not_to_an_agent() {
    let home = home();
    let test = "echo no module named pytest; exit 3";
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", test]).ok();
    let start = home.pairflow(&["start", "b1", "--ci"]).ends(1);
    start.says("does not pass on main as it is").says("no module named pytest").says("pairflow inbox b1");
    let status = home.status("b1");
    assert_eq!((&status["state"], &status["questions"][0]["kind"]), (&json!("WAITING_HUMAN"), &json!("baseline")));
    home.pairflow(&["config", "set", "b1", "commands.test=test -e README.md"]).ok();
    home.wait_for_turn("b1", "codex");
    let stands: Vec<_> = receipts(&home, "b1").iter().map(|one| one["outcome"]["result"].clone()).collect();
    assert_eq!(stands, ["failed", "passed"]);
}

#[test]
fn what_passed_on_a_base_is_not_run_there_again() {
    let home = home();
    let log = home.root().join("runs");
    let test = format!("echo x >> '{}'", log.display());
    for id in ["b1", "b2"] {
        home.pairflow(&["create", "--id", id, "--task", "x", "--test", &test]).ok();
        home.pairflow(&["start", id, "--ci"]).ok();
    }
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "x\n");
    home.commit("other.txt", "x\n", "another base");
    home.pairflow(&["new", "more", "--id", "b3", "--test", &test, "--ci"]).ok();
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "x\nx\n");
}

#[test]
fn a_check_that_runs_longer_than_it_may_is_stopped() {
    let home = home();
    home.commit("pairflow.toml", "check_timeout_secs = 1\n", "configure");
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", "sleep 600"]).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_state("b1", "WAITING_HUMAN");
    assert_eq!(receipts(&home, "b1")[0]["outcome"]["timed_out"], true);
}

#[test]
fn every_configured_command_is_run_as_a_check() {
    let home = home();
    let commands = ["--test", "echo tested", "--typecheck", "echo typed", "--lint", "echo linted"];
    home.pairflow(&[&["create", "--id", "b1", "--task", "x"][..], &commands].concat()).ok();
    home.pairflow(&["start", "b1", "--ci"]).ok();
    let text = |receipt: &Value, field: &str| receipt[field].as_str().unwrap().trim().to_owned();
    let ran: Vec<_> = receipts(&home, "b1").iter().map(|one| (text(one, "check"), text(one, "tail"))).collect();
    let expected = [("test", "tested"), ("typecheck", "typed"), ("lint", "linted")];
    assert_eq!(ran, expected.map(|(check, said)| (check.to_owned(), said.to_owned())));
}

#[test]
fn checks_run_where_the_agents_work_if_the_person_says_so_and_everything_says_so() {
    let home = home();
    home.configure("checks_in = \"worktree\"\n");
    let (codex, _) = ready(&home, "b1");
    assert!(!checkout(&codex.worktree).exists());
    assert_eq!(places(&home, "b1").last(), Some(&Value::Null), "the worktree");
    home.pairflow(&["status", "b1"]).ok().says("in the agents' worktree");
    let package = std::fs::read_to_string(home.file("b1", "artifacts/done-package.md")).unwrap();
    assert!(package.contains("checks ran in the agents' own worktree"), "{package}");
}

#[test]
fn a_repository_must_not_say_where_checks_run() {
    let home = home();
    home.commit("pairflow.toml", "checks_in = \"worktree\"\n", "configure");
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", "true"]).ends(2).says("checks_in is yours to set");
}

#[test]
fn line_endings_of_the_base_do_not_make_another_tree() {
    let home = home();
    home.git(&["config", "core.autocrlf", "false"]);
    home.commit("old.txt", "one\r\ntwo\r\n", "old line endings");
    home.commit(".gitattributes", "* text=auto\n", "attributes");
    let (_, claude) = handed_over(&home, "b1");
    claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    assert_eq!(home.status("b1")["checks"][0]["stand"], "passed");
}

#[test]
fn what_a_setup_command_changes_in_the_tree_is_put_back_before_a_check_runs() {
    let home = home();
    let setup = "echo installed > installed; date >> README.md";
    first_cut(&home, &["--setup", setup, "--test", "git show HEAD:README.md | cmp - README.md && test -f installed"]);
    home.wait_for_turn("b1", "claude");
    let stands: Vec<_> = receipts(&home, "b1").iter().map(|one| one["outcome"]["result"].clone()).collect();
    assert_eq!(stands, ["passed"; 3], "on the base, on what the setup command left in the worktree, and on the work");
}

#[test]
fn red_green_works_where_the_agents_work_too() {
    let home = home();
    home.configure("checks_in = \"worktree\"\n");
    home.commit("pairflow.toml", "[evidence]\nred_green = true\n", "configure");
    home.commit("tests/test_all.py", "true # nothing yet\n", "a first test");
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", "sh tests/test_all.py"]).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    let codex = home.agent("b1", "codex");
    codex.write("tests/test_all.py", "grep -q right code.txt\n");
    codex.write("code.txt", "right\n");
    codex.pairflow(&["pass", "--summary", "a test that shows it"]).ok();
    let status = home.wait_for_turn("b1", "claude");
    let stands: Vec<_> = status["checks"].as_array().unwrap().iter().map(|check| check["stand"].clone()).collect();
    assert_eq!(stands, ["passed", "passed"]);
}

#[test]
fn a_check_that_is_tried_again_on_the_base_finds_what_the_setup_command_added() {
    let home = home();
    let installed = home.root().join("installed");
    let test = format!("test -f generated && test -f {}", installed.display());
    let create = ["create", "--id", "b1", "--task", "x", "--setup", "echo x > generated", "--test", &test];
    home.pairflow(&create).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_state("b1", "WAITING_HUMAN");
    std::fs::write(&installed, "").unwrap();
    home.pairflow(&["reply", "b1", "--decision", "continue"]).ok();
    home.wait_for_turn("b1", "codex");
}

#[test]
fn reproducers_find_the_packages_of_the_work_also_after_red_green() {
    let home = home();
    home.commit(".gitignore", "installed\n", "ignore");
    home.commit("package.json", "old\n", "packages");
    home.commit("pairflow.toml", "[evidence]\nred_green = true\n", "configure");
    home.commit("tests/test_all.py", "true # nothing yet\n", "a first test");
    let setup = ["--setup", "cp package.json installed", "--test", "sh tests/test_all.py"];
    home.pairflow(&[&["create", "--id", "b1", "--task", "x"][..], &setup].concat()).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("tests/test_all.py", "grep -q right code.txt\n");
    codex.write("code.txt", "right\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    let found =
        r#"{"findings": [{"severity": "P1", "title": "an old package", "reproducer": "grep -q new installed"}]}"#;
    review(&home, &claude, found);
    home.wait_for_turn("b1", "codex");
    codex.write("package.json", "new\n");
    codex.pairflow(&["pass", "--summary", "a newer package", "--fixed", "F1"]).ok();
    home.wait_for_turn("b1", "claude");
    assert_eq!(findings(&home, "b1")[0]["reproducer"]["stand"], "passes");
}

#[test]
fn attributes_that_were_put_beside_the_tree_change_no_checkout() {
    let home = home();
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", "! test -f v.txt || grep -q 'Id: ' v.txt"]).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    let codex = home.agent("b1", "codex");
    std::fs::create_dir_all(home.repo.join(".git/info")).unwrap();
    std::fs::write(home.repo.join(".git/info/attributes"), "v.txt ident\n").unwrap();
    codex.write("v.txt", "$Id$\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    let status = home.wait_for("b1", |status| status["checks"][0]["stand"] == "failed");
    assert_eq!(status["active_agent"], "codex", "what a clone would fail is sent back");
}

#[test]
fn line_ends_that_git_reads_otherwise_are_not_blamed_on_a_check() {
    let home = home();
    home.commit("c.txt", "x\r\n", "a file with other line ends");
    home.commit(".gitattributes", "*.txt text\n", "and the rule that came later");
    first_cut(&home, &["--test", "true"]);
    home.wait_for_turn("b1", "claude");
    assert_eq!(home.status("b1")["checks"][0]["stand"], "passed");
}
