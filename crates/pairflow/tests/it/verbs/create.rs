//! `create` and `start`: what they make, what they refuse, and how check commands are confirmed.

use std::io::Write;
use std::process::Stdio;

use pairflow_testkit::home::{Home, Ran};
use serde_json::json;

use crate::support::bubbles::{CHECK, created, home};

const TEST: [&str; 2] = ["--test", "true"];

fn create(home: &Home, args: &[&str]) -> Ran {
    home.pairflow(&[&["create"], args].concat())
}

#[test]
fn create_says_what_it_made_and_what_comes_next() {
    let home = home();
    let ran = create(&home, &["--id", "b1", "--task", "do it", "--test", "true"]).ok();
    let repo = home.repo.display().to_string();
    for part in ["b1", &repo, "main", "codex implements, claude reviews", "true", "pairflow start b1"] {
        assert!(ran.stdout.contains(part) || ran.stderr.contains(part), "{part}: {ran:?}");
    }
    assert_eq!(home.status("b1")["state"], "CREATED");
    assert_eq!(home.git(&["status", "--porcelain"]), "", "its own files are excluded");
    assert!(home.repo.join(".pairflow/bubbles/b1/bubble.toml").exists());
}

#[test]
fn create_prints_json_for_programs() {
    let home = home();
    let made = create(&home, &["--id", "b1", "--task", "do it", "--test", "true", "--json"]).ok().json();
    assert_eq!(made["schema"], "pairflow.created/1");
    assert_eq!(made["checks"], json!([{"name": "test", "command": "true"}]));
    assert_eq!((&made["confirmed"], &made["base_branch"]), (&json!("explicit"), &json!("main")));
}

#[test]
fn the_id_is_made_out_of_the_task_and_stays_unique() {
    let home = home();
    for id in ["fix-the-login-race", "fix-the-login-race-2"] {
        let made = create(&home, &["--task", "Fix the login race!", "--test", "true", "--json"]).ok().json();
        assert_eq!(made["bubble_id"], id);
    }
}

#[test]
fn create_refuses_an_id_that_is_taken_or_no_id() {
    let home = home();
    created(&home, "b1");
    create(&home, &["--id", "b1", "--task", "x", "--test", "true"]).ends(1).says("already exists");
    create(&home, &["--id", "../b", "--task", "x", "--test", "true"]).ends(2);
}

#[test]
fn create_refuses_repositories_and_branches_that_are_not_there() {
    let home = home();
    let (plain, bare, empty) = (home.root().join("plain"), home.root().join("bare.git"), home.root().join("empty"));
    std::fs::create_dir_all(&plain).unwrap();
    home.git(&["init", "--quiet", "--bare", bare.to_str().unwrap()]);
    home.git(&["init", "--quiet", empty.to_str().unwrap()]);
    for repo in [&plain, &bare, &empty] {
        let path = repo.to_str().unwrap();
        let ran = create(&home, &["--id", "b1", "--repo", path, "--task", "x", "--test", "true"]).ends(1);
        assert!(ran.stderr.contains(path), "{ran:?}");
    }
    create(&home, &["--id", "b1", "--base", "nope", "--task", "x", "--test", "true"]).ends(1).says("nope");
}

#[test]
fn a_task_is_text_or_a_file_or_stdin_and_never_empty() {
    let home = home();
    std::fs::write(home.repo.join("task.md"), "# From a file\n").unwrap();
    create(&home, &["--id", "b1", "--task", "task.md", "--test", "true"]).ok();
    create(&home, &["--id", "b2", "--task", "@task.md", "--test", "true"]).ok();
    assert_eq!(home.status("b1")["task_title"], "From a file");
    assert_eq!(home.status("b2")["task_title"], "From a file");
    let mut command = home.command(&["create", "--id", "b3", "--task", "-", "--test", "true"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"From a pipe").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(home.status("b3")["task_title"], "From a pipe");
    std::fs::write(home.repo.join("empty.md"), " \n").unwrap();
    create(&home, &["--id", "b4", "--task", "@empty.md", "--test", "true"]).ends(2).says("empty");
    create(&home, &["--id", "b4", "--task", " ", "--test", "true"]).ends(2);
    create(&home, &["--id", "b4", "--test", "true"]).ends(2).says("the task is missing");
}

#[test]
fn without_a_terminal_detected_commands_need_a_yes() {
    let home = home();
    home.commit("Makefile", "test:\n\ttrue\n", "a makefile");
    let ran = create(&home, &["--id", "b1", "--task", "x"]).ends(1);
    assert!(ran.stderr.contains("make test") && ran.stderr.contains("--yes"), "{ran:?}");
    home.pairflow(&["status", "b1"]).ends(1);
    let made = create(&home, &["--id", "b1", "--task", "x", "--yes", "--json"]).ok().json();
    assert_eq!((&made["checks"][0]["command"], &made["confirmed"]), (&json!("make test"), &json!("yes")));
}

#[test]
fn where_nothing_is_detected_a_yes_is_not_enough() {
    let home = home();
    for args in [&["--id", "b1", "--task", "x", "--yes"][..], &["--id", "b1", "--task", "x"]] {
        create(&home, args).ends(1).says("--no-tests").says("--manual-check");
    }
    let line = ["--id", "b1", "--task", "x", "--no-tests", "--manual-check", "open the page", "--json"];
    let made = create(&home, &line).ok().json();
    assert_eq!((&made["confirmed"], &made["manual_checks"]), (&json!("no_tests"), &json!(["open the page"])));
}

#[test]
fn commands_of_the_repositorys_own_file_are_trusted_once() {
    let home = home();
    home.commit("pairflow.toml", "base_branch = \"main\"\n[commands]\ntest = \"true\"\n", "configuration");
    let hash = home.pairflow(&["trust", "--json"]).ok().json()["hash"].as_str().unwrap().to_owned();
    let trust = format!("--trust={hash}");
    let made = create(&home, &["--id", "b1", "--task", "x", "--json", &trust]).ok().json();
    assert_eq!((&made["checks"][0]["command"], &made["confirmed"]), (&json!("true"), &json!("trusted")));
    let again = create(&home, &["--id", "b2", "--task", "x", "--json"]).ok().json();
    assert_eq!(again["confirmed"], "before");
}

#[test]
fn a_mistake_in_a_file_is_shown_with_its_place() {
    let home = home();
    std::fs::write(home.repo.join("pairflow.toml"), "max_rounds = \"many\"\n").unwrap();
    let ran = create(&home, &["--id", "b1", "--task", "x", "--test", "true"]).ends(2);
    assert!(ran.stderr.contains("pairflow.toml:1:14"), "{ran:?}");
    assert!(ran.stderr.contains("1 | max_rounds = \"many\"") && ran.stderr.contains("^^^^^^"), "{ran:?}");
}

#[test]
fn create_starts_at_once_if_told_to() {
    let home = home();
    create(&home, &["--id", "b1", "--task", "x", "--test", "true", "--start"]).ok().says("Started bubble b1");
    home.wait_for_turn("b1", "codex");
}

#[test]
fn start_takes_over_what_was_edited_and_applied_before_it() {
    let home = home();
    created(&home, "b1");
    let file = home.repo.join(".pairflow/bubbles/b1/bubble.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("max_rounds = 8", "max_rounds = 3")).unwrap();
    home.pairflow(&["config", "apply", "b1", "--yes"]).ok();
    home.pairflow(&["start", "b1"]).ok();
    assert_eq!(home.status("b1")["max_rounds"], 3);
}

#[test]
fn start_writes_the_bubbles_file_again_if_it_is_gone() {
    let home = home();
    created(&home, "b1");
    let file = home.repo.join(".pairflow/bubbles/b1/bubble.toml");
    std::fs::remove_file(&file).unwrap();
    home.pairflow(&["start", "b1"]).ok();
    assert_eq!(home.status("b1")["checks"][0]["command"], CHECK);
    assert!(file.exists());
}

#[test]
fn start_refuses_a_bubble_that_runs_or_is_not_there() {
    let home = home();
    created(&home, "b1");
    home.pairflow(&["start", "b1"]).ok();
    home.pairflow(&["start", "b1"]).ends(1).says("the bubble is RUNNING");
    home.pairflow(&["start", "nope"]).ends(1).says("there is no bubble 'nope'");
}

#[test]
fn a_start_that_fails_leaves_the_bubble_startable_again() {
    let home = home();
    create(&home, &["--id", "b1", "--task", "x", "--test", "true", "--setup", "test -f ready"]).ok();
    let ran = home.pairflow(&["start", "b1"]).ends(3);
    assert!(ran.stderr.contains("test -f ready") && ran.stderr.contains("pairflow start b1"), "{ran:?}");
    assert_eq!(home.status("b1")["state"], "CREATED");
    home.commit("ready", "", "what the setup needs");
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
}

#[test]
fn a_script_driver_needs_its_script() {
    let home = home();
    create(&home, &[&["--id", "b1", "--task", "x"][..], &TEST].concat()).ok();
    home.pairflow(&["start", "b1", "--driver", "script"]).ends(2).says("--script");
    let line = ["start", "b1", "--driver", "script", "--script", "agents.yaml"];
    home.pairflow(&line).ends(2).says("cannot read the script").says("agents.yaml");
    std::fs::write(home.repo.join("agents.yaml"), "agents:\n  codex:\n    - - dance: 1\n").unwrap();
    home.pairflow(&line).ends(2).says("agents.yaml:3:");
    assert_eq!(home.status("b1")["state"], "CREATED");
}

#[test]
fn agents_run_in_panes_unless_something_else_is_said() {
    let home = home();
    std::fs::remove_dir_all(home.root().join("config/pairflow")).unwrap();
    let driver = |id: &str, more: &[&str]| {
        home.pairflow(&[&["create", "--id", id, "--task", "x", "--test", "true"], more].concat()).ok();
        home.status(id)["driver"].clone()
    };
    assert_eq!(driver("b1", &[]), "tmux");
    assert_eq!(driver("b2", &["--driver", "external"]), "external");
    assert_eq!(driver("b3", &["--script", "agents.yaml"]), "script", "whoever names a script wants it played");
    assert_eq!(driver("b4", &["--script", "agents.yaml", "--driver", "external"]), "external");
    home.configure("");
    assert_eq!(driver("b5", &[]), "external");
}
