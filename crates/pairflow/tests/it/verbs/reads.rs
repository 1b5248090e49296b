//! What can be read: list, log, diff, status, inbox and verify, for people and for programs.

use serde_json::json;

use crate::support::bubbles::{created, done, handed_over, home, ready, started};

#[test]
fn a_list_shows_every_bubble_also_beside_a_damaged_one() {
    let home = home();
    home.pairflow(&["list"]).ok().says("There is no bubble in");
    created(&home, "b1");
    created(&home, "b2");
    let log = home.repo.join(".pairflow/bubbles/b1/transcript.ndjson");
    std::fs::write(&log, "{\"not\": \"ours\"}\n{\"nor\": \"this\"}\n").unwrap();
    std::fs::create_dir_all(home.repo.join(".pairflow/bubbles/Stray Directory")).unwrap();
    let listed = home.pairflow(&["list"]).ok().stdout;
    assert!(listed.contains("UNREADABLE") && listed.contains("Write done.txt"), "{listed}");
    let json = home.pairflow(&["list", "--json"]).ok().json();
    assert_eq!((&json["schema"], &json["bubbles"][1]["bubble_id"]), (&json!("pairflow.list/1"), &json!("b2")));
    assert!(json["bubbles"][0]["error"].is_string());
    home.pairflow(&["status", "b1"]).ends(5).says("pairflow doctor --repair");
    home.pairflow(&["status", "b2"]).ok();
    home.pairflow(&["inbox"]).ok();
}

#[test]
fn ids_may_be_shortened_or_left_out() {
    let home = home();
    started(&home, "login-race");
    home.pairflow(&["status", "log"]).ok();
    home.pairflow(&["bubble", "status"]).ok();
    created(&home, "login-loop");
    home.pairflow(&["status", "login"]).ends(1).says("matches 2 bubbles");
    home.pairflow(&["status"]).ends(1).says("which bubble?");
    let worktree = home.status("login-race")["worktree"].as_str().unwrap().to_owned();
    home.pairflow_in(worktree.as_ref(), &["status"]).ok().says("RUNNING");
    home.pairflow_in("/".as_ref(), &["status", "login-race", "--repo", home.repo.to_str().unwrap()]).ok();
}

#[test]
fn the_log_tells_the_story_in_order() {
    let home = home();
    handed_over(&home, "b1");
    let text = home.pairflow(&["log", "b1"]).ok().stdout;
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part:?} is missing in:\n{text}"));
    assert!(at("bubble created") < at("workspace ready") && at("workspace ready") < at("hands over: first cut"));
    let json = home.pairflow(&["log", "b1", "--json"]).ok().json();
    assert_eq!((&json["schema"], &json["rows"][0]["kind"]), (&json!("pairflow.log/1"), &json!("LIFECYCLE")));
    home.pairflow(&["log", "nope"]).ends(1);
}

#[test]
fn a_diff_is_the_exact_patch_or_numbers_of_all_or_one_round() {
    let home = home();
    created(&home, "b1");
    home.pairflow(&["diff", "b1"]).ends(1).says("pairflow start b1");
    let (codex, claude) = handed_over(&home, "b2");
    claude.pairflow(&["pass", "--summary", "more", "--finding", "P1:more"]).ok();
    home.wait_for_turn("b2", "codex");
    codex.write("more.txt", "more\n");
    codex.pairflow(&["pass", "--summary", "more"]).ok();
    home.wait_for_turn("b2", "claude");
    let all = home.pairflow(&["diff", "b2"]).ok().stdout;
    assert!(all.contains("+done") && all.contains("+more"), "{all}");
    let second = home.pairflow(&["diff", "b2", "--round", "2"]).ok().stdout;
    assert!(!second.contains("+done") && second.contains("+more"), "{second}");
    home.pairflow(&["diff", "b2", "--stat", "--round", "1"]).ok().says("done.txt").says("1 file changed");
    let json = home.pairflow(&["diff", "b2", "--json", "--stat"]).ok().json();
    assert_eq!((&json["schema"], &json["files"][0]["path"]), (&json!("pairflow.diff/1"), &json!("done.txt")));
    assert_eq!(json["patch"], json!(null));
    home.pairflow(&["diff", "b2", "--round", "9"]).ends(1).says("there is no round 9 yet");
}

#[test]
fn the_diff_outlives_its_worktree() {
    let home = home();
    let (codex, _) = handed_over(&home, "b1");
    home.pairflow(&["pause", "b1"]).ok();
    std::fs::remove_dir_all(&codex.worktree).unwrap();
    home.pairflow(&["diff", "b1"]).ok().says("+done");
}

#[test]
fn verify_works_in_every_state_and_fails_on_damage() {
    let home = home();
    created(&home, "b1");
    home.pairflow(&["verify", "b1"]).ok().says("no certificate yet");
    done(&home, "b2");
    let json = home.pairflow(&["verify", "b2", "--json"]).ok().json();
    assert_eq!((&json["holds"], &json["certificate"]["policy"]), (&json!(true), &json!("strict")));
    let package = home.repo.join(".pairflow/bubbles/b2/artifacts/done-package.md");
    // A supervisor would mend what was changed, and what a crash tore, as the next writer does.
    home.pairflow(&["supervisor", "stop"]).ok();
    std::fs::write(&package, "something else").unwrap();
    home.pairflow(&["verify", "b2"]).ends(5).says("it has been changed since");
    let log = home.repo.join(".pairflow/bubbles/b1/transcript.ndjson");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes.extend_from_slice(b"{\"torn\":");
    std::fs::write(&log, bytes).unwrap();
    home.pairflow(&["verify", "b1"]).ends(5);
}

#[test]
fn everything_but_log_and_artifacts_can_be_deleted() {
    let home = home();
    ready(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    let before = home.pairflow(&["status", "b1", "--json"]).ok().stdout;
    for name in ["state.json", "inbox.ndjson", "bubble.toml"] {
        let path = home.repo.join(".pairflow/bubbles/b1").join(name);
        assert!(path.exists(), "{name}");
        std::fs::remove_file(path).unwrap();
    }
    assert_eq!(home.pairflow(&["status", "b1", "--json"]).ok().stdout, before);
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ok();
}

#[test]
fn status_shows_what_a_failing_check_said_and_where_all_of_it_is() {
    let home = home();
    let test = "seq 1 20; echo 'expected 3, got 4'; exit 1";
    home.pairflow(&["create", "--id", "b1", "--task", "t", "--test", test, "--start"]).ok();
    home.base_fails("b1", "codex");
    let codex = home.agent("b1", "codex");
    codex.write("a.txt", "a\n");
    codex.pairflow(&["pass", "--summary", "done"]).ok();
    let status = home.wait_for("b1", |status| status["checks"][0]["stand"] == "failed");
    let path = status["checks"][0]["output"].as_str().unwrap();
    assert!(std::fs::read_to_string(path).unwrap().starts_with("1\n2\n3\n"), "{path}");
    assert_eq!(status["checks"][0]["tail"].as_array().unwrap().len(), 6);
    let shown =
        home.pairflow(&["status", "b1"]).ok().says("expected 3, got 4").says(&format!("full output of test: {path}"));
    assert!(!shown.stdout.contains("\n             2\n"), "the beginning is left out: {}", shown.stdout);
}
