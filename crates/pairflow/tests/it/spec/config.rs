//! Every key of a bubble's configuration, by what it changes in the running product.

use std::path::Path;

use pairflow_testkit::home::{Home, write_program};
use serde_json::json;

use crate::support::bubbles::home;
use crate::support::log::{dir, lines, lines_of};
use crate::support::spec_story::{TASK, created, joined, to_package};

/// Commits the repository's own configuration.
fn configured(home: &Home, text: &str) {
    home.commit("pairflow.toml", text, "configuration");
}

/// Replaces a part of the file of a bubble that was not started yet.
fn edit(home: &Home, id: &str, from: &str, to: &str) {
    let file = dir(home, id).join("bubble.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{from} is missing in:\n{text}");
    std::fs::write(&file, text.replace(from, to)).unwrap();
}

/// The same, and puts it in force.
fn edit_and_apply(home: &Home, id: &str, from: &str, to: &str) {
    edit(home, id, from, to);
    home.pairflow(&["config", "apply", id, "--yes"]).ok();
}

#[test]
fn the_sample_of_the_specification_starts_with_its_paths_changed() {
    let home = home();
    created(&home, "b_legal_search_01", &[]);
    let sample = format!(
        r#"id = "b_legal_search_01"
repo_path = "{}"
base_branch = "main"
bubble_branch = "bubble/b_legal_search_01"
work_mode = "worktree" # worktree|clone
quality_mode = "strict" # MVP: strict only
reviewer_context_mode = "fresh" # fresh|persistent (default: fresh)
watchdog_timeout_minutes = 5
max_rounds = 8
commit_requires_approval = true
open_command = "cursor {{{{worktree_path}}}}"

[agents]
implementer = "codex"
reviewer = "claude"

[commands]
test = "cd 05_finder && npm test"
typecheck = "cd 05_finder && npx tsc --noEmit"

[notifications]
enabled = true
waiting_human_sound = "/System/Library/Sounds/Ping.aiff"
converged_sound = "/System/Library/Sounds/Glass.aiff"
"#,
        home.repo.display()
    );
    std::fs::write(dir(&home, "b_legal_search_01").join("bubble.toml"), sample).unwrap();
    home.pairflow(&["config", "apply", "b_legal_search_01", "--yes"]).ok();
    home.pairflow(&["start", "b_legal_search_01"]).ok();
    // There is no such directory on the base.
    home.base_fails("b_legal_search_01", "codex");
    let status = home.status("b_legal_search_01");
    assert_eq!((&status["branch"], &status["max_rounds"]), (&json!("bubble/b_legal_search_01"), &json!(8)));
    let commands: Vec<_> = status["checks"].as_array().unwrap().iter().map(|check| check["command"].clone()).collect();
    assert_eq!(commands, ["cd 05_finder && npm test", "cd 05_finder && npx tsc --noEmit"]);
}

#[test]
fn a_mistake_in_the_file_of_a_bubble_stops_its_start_with_file_line_and_span() {
    let home = home();
    created(&home, "b1", &[]);
    let file = dir(&home, "b1").join("bubble.toml");
    let good = std::fs::read_to_string(&file).unwrap();
    let mistakes = [
        ("quality_mode = \"strict\"", "quality_mode = \"balanced\"", "balanced"),
        ("quality_mode = \"strict\"", "quality_mode = \"quick\"", "quick"),
        ("commit_requires_approval = true", "commit_requires_approval = false", "commit_requires_approval"),
        ("max_rounds = 8", "max_round = 8", "did you mean `max_rounds`?"),
        ("id = \"b1\"", "id = \"b2\"", "b2"),
        ("repo_path = \"/", "repo_path = \"", "repo_path"),
        ("work_mode = \"worktree\"", "work_mode = \"copy\"", "\"worktree\" or \"clone\""),
    ];
    for (from, to, told) in mistakes {
        std::fs::write(&file, good.replace(from, to)).unwrap();
        let line = good.lines().position(|line| line.contains(from)).unwrap() + 1;
        let ran = home.pairflow(&["start", "b1"]).ends(2).says(told);
        assert!(ran.stderr.contains(&format!("bubble.toml:{line}:")), "{to}: {ran:?}");
        assert!(ran.stderr.contains('^'), "{to}: {ran:?}");
        assert_eq!(home.status("b1")["state"], "CREATED");
    }
    std::fs::write(&file, good).unwrap();
    home.pairflow(&["start", "b1"]).ok();
}

#[test]
fn a_repository_that_was_moved_is_named_with_the_fix() {
    let home = home();
    created(&home, "b1", &[]);
    let elsewhere = home.root().join("work/elsewhere");
    edit(&home, "b1", home.repo.to_str().unwrap(), elsewhere.to_str().unwrap());
    let ran = home.pairflow(&["start", "b1"]).ends(2).says("repo_path");
    assert!(ran.stderr.contains(home.repo.to_str().unwrap()), "the path to write is named: {ran:?}");
}

#[test]
fn the_base_branch_is_what_the_bubble_is_cut_from() {
    let home = home();
    home.git(&["branch", "trunk"]);
    configured(&home, "base_branch = \"trunk\"\n");
    created(&home, "b1", &[]);
    joined(&home, "b1");
    assert_eq!(home.git(&["rev-parse", "bubble/b1"]), home.git(&["rev-parse", "trunk"]));
    created(&home, "b2", &["--base", "main"]);
    joined(&home, "b2");
    assert_eq!(home.git(&["rev-parse", "bubble/b2"]), home.git(&["rev-parse", "main"]));
}

#[test]
fn the_bubble_branch_can_be_chosen() {
    let home = home();
    created(&home, "b1", &[]);
    edit_and_apply(&home, "b1", "\"bubble/b1\"", "\"team/mine\"");
    let (codex, _) = joined(&home, "b1");
    assert_eq!(home.git_in(&codex.worktree, &["branch", "--show-current"]), "team/mine");
    assert_eq!(home.git(&["branch", "--list", "bubble/*"]), "");
    created(&home, "b2", &[]);
    let (codex, _) = joined(&home, "b2");
    assert_eq!(home.git_in(&codex.worktree, &["branch", "--show-current"]), "bubble/b2", "the default");
}

#[test]
fn each_work_mode_makes_its_own_kind_of_workspace() {
    let home = home();
    for (id, mode, own) in [("w1", "worktree", false), ("c1", "clone", true)] {
        created(&home, id, &[]);
        edit_and_apply(&home, id, "work_mode = \"worktree\"", &format!("work_mode = \"{mode}\""));
        let (codex, _) = joined(&home, id);
        assert_eq!(codex.worktree.join(".git").is_dir(), own, "{mode}");
    }
}

#[test]
fn the_configured_agents_get_the_seats() {
    let home = home();
    configured(&home, "[agents]\nimplementer = \"gemini\"\nreviewer = \"codex\"\n");
    home.pairflow(&["create", "--id", "b1", "--task", TASK, "--test", "true", "--start"]).ok();
    let status = home.wait_for_turn("b1", "gemini");
    assert_eq!(status["seats"], json!({"implementer": "gemini", "reviewer": "codex", "judge": null}));
    home.pairflow(&["env", "b1", "--agent", "claude"]).ends(1);
    let gemini = home.agent("b1", "gemini");
    gemini.write("x.txt", "x\n");
    gemini.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "codex");
    home.pairflow(&["create", "--id", "b2", "--task", TASK, "--test", "true", "--pair", "claude,gemini"]).ok();
    assert_eq!(home.status("b2")["seats"], json!({"implementer": "claude", "reviewer": "gemini", "judge": null}));
}

#[test]
fn a_new_bubble_has_the_defaults_of_the_specification() {
    let home = home();
    created(&home, "b1", &[]);
    let file = std::fs::read_to_string(dir(&home, "b1").join("bubble.toml")).unwrap();
    let defaults = [
        "work_mode = \"worktree\"",
        "quality_mode = \"strict\"",
        "reviewer_context_mode = \"fresh\"",
        "watchdog_timeout_minutes = 5",
        "max_rounds = 8",
        "commit_requires_approval = true",
        "open_command = \"cursor {{worktree_path}}\"",
        "[notifications]\nenabled = true",
    ];
    for line in defaults {
        assert!(file.contains(line), "{line} is missing in:\n{file}");
    }
    joined(&home, "b1");
    let status = home.status("b1");
    assert_eq!(status["max_rounds"], 8);
    assert!((241..=300).contains(&status["watchdog_left_secs"].as_u64().unwrap()), "five minutes: {status:#}");
    let rules = lines(&home, "b1").into_iter().find(|line| line["payload"]["event"] == "start_requested").unwrap();
    assert_eq!(rules["payload"]["rules"]["notifications"]["enabled"], true, "{rules:#}");
}

#[test]
fn the_watchdog_waits_as_long_as_it_is_told() {
    let home = home();
    created(&home, "b1", &[]);
    edit_and_apply(&home, "b1", "watchdog_timeout_minutes = 5", "watchdog_timeout_minutes = 9");
    joined(&home, "b1");
    let status = home.status("b1");
    assert!((481..=540).contains(&status["watchdog_left_secs"].as_u64().unwrap()), "nine minutes: {status:#}");
}

#[test]
fn by_default_codex_implements_and_claude_reviews() {
    let home = home();
    created(&home, "b1", &[]);
    assert_eq!(home.status("b1")["seats"], json!({"implementer": "codex", "reviewer": "claude", "judge": null}));
}

#[test]
fn open_gives_the_worktree_to_the_command_as_one_argument_and_no_shell_reads_it() {
    let home = home();
    let repo = home.root().join("work/my $(touch oops) repo");
    std::fs::create_dir(&repo).unwrap();
    home.git_in(&repo, &["init", "--quiet", "--initial-branch=main"]);
    home.git_in(&repo, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    let line = ["create", "--id", "b1", "--task", "x", "--test", "true", "--start"];
    home.pairflow_in(&repo, &line).ok();
    let bin = home.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    write_program(
        &bin.join("cursor"),
        "#!/bin/sh\nprintf '%s|' \"$@\" > \"$TMPDIR/opened.new\"; mv \"$TMPDIR/opened.new\" \"$TMPDIR/opened\"\n",
    );
    let mut command = home.command(&["bubble", "open", "--id", "b1"]);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    command.current_dir(&repo).env("PATH", path);
    home.finish(command).ok();
    let opened = home.root().join("tmp/opened");
    pairflow_testkit::wait::wait_until("the editor", || opened.exists());
    let worktree = home.root().canonicalize().unwrap().join("work/.pairflow-worktrees/my $(touch oops) repo/b1");
    assert_eq!(std::fs::read_to_string(opened).unwrap(), format!("{}|", worktree.display()), "the default is cursor");
    assert!(!worktree.join("oops").exists() && !repo.join("oops").exists());
}

#[test]
fn the_scope_is_told_to_every_agent_and_held_against_every_round() {
    let home = home();
    configured(&home, "[scope]\nallow = [\"*.txt\", \"notes/**\"]\ndeny = [\"notes/*.md\"]\n");
    created(&home, "b1", &[]);
    let (codex, claude) = joined(&home, "b1");
    let brief =
        |agent: &str| std::fs::read_to_string(dir(&home, "b1").join(format!("artifacts/brief-{agent}.md"))).unwrap();
    for part in ["*.txt", "notes/*.md", "done.txt says done", "Write done.txt"] {
        assert!(brief("codex").contains(part), "{part}: {}", brief("codex"));
    }
    codex.write("done.txt", "done\n");
    codex.write("notes/plan.md", "plan\n");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
    for part in ["OUT OF SCOPE, but changed:\n\n- notes/plan.md\n", "done.txt says done", "*.txt"] {
        assert!(brief("claude").contains(part), "{part}: {}", brief("claude"));
    }
    claude.pairflow(&["pass", "--summary", "no", "--finding", "P1:drop notes/plan.md"]).ok();
    home.wait_for_turn("b1", "codex");
    std::fs::remove_file(codex.worktree.join("notes/plan.md")).unwrap();
    codex.write("src/main.rs", "fn main() {}\n");
    codex.pairflow(&["pass", "--summary", "y"]).ok();
    home.wait_for_turn("b1", "claude");
    let snapshots = lines_of(&home, "b1", "EVIDENCE");
    let outside: Vec<_> = snapshots.iter().map(|line| &line["payload"]["snapshot"]["out_of_scope"]).collect();
    assert!(outside.contains(&&json!(["notes/plan.md"])) && outside.contains(&&json!(["src/main.rs"])), "{outside:?}");
    claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.converged("done").ok();
    let package = std::fs::read_to_string(dir(&home, "b1").join("artifacts/done-package.md")).unwrap();
    assert!(package.contains("out of scope: [src/main.rs](artifact://round-002.diff)"), "{package}");
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ends(1).says("src/main.rs");
    let agent = home.agent("b1", "codex");
    agent.pairflow(&["commit", "b1", "--override-scope", "--reason", "please", "--yes"]).ends(77);
    home.pairflow(&["commit", "b1", "--override-scope", "--reason", "agreed by phone", "--yes"]).ok();
    let ordered = lines(&home, "b1").into_iter().find(|line| line["payload"]["event"] == "commit_requested").unwrap();
    assert_eq!(ordered["payload"]["override_scope"], "agreed by phone");
}

#[test]
fn how_the_commands_were_confirmed_is_on_the_log() {
    let home = home();
    home.commit("Makefile", "test:\n\ttrue\n", "checks");
    let confirmed = |id: &str, more: &[&str]| {
        home.pairflow(&[&["create", "--id", id, "--task", "x"], more].concat()).ok();
        lines(&home, id)[0]["payload"]["confirmed"].clone()
    };
    assert_eq!(confirmed("b1", &["--yes"]), "yes");
    assert_eq!(lines(&home, "b1")[0]["payload"]["rules"]["checks"][0]["command"], "make test");
    assert_eq!(confirmed("b2", &["--test", "true"]), "explicit");
    assert_eq!(confirmed("b3", &["--no-tests", "--manual-check", "look at it"]), "no_tests");
}

#[test]
fn scripted_agents_do_what_the_configured_script_says() {
    let home = home();
    let script = home.root().join("agents.yaml");
    let steps = "- write: {path: done.txt, text: from the script}\n      - pass: {summary: first cut}";
    std::fs::write(&script, format!("agents:\n  codex:\n    - {steps}\n  claude:\n    - - misbehave: hang\n")).unwrap();
    home.configure(&format!("script = \"{}\"\n", script.display()));
    created(&home, "b1", &["--driver", "script"]);
    home.pairflow(&["start", "b1"]).ok();
    let status = home.wait_for_turn("b1", "claude");
    let worktree = Path::new(status["worktree"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(worktree.join("done.txt")).unwrap(), "from the script");
    assert_eq!(lines_of(&home, "b1", "PASS")[0]["payload"]["summary"], "first cut");
}

#[test]
fn what_has_to_be_tried_by_hand_is_told_to_the_agents_and_to_the_person() {
    let home = home();
    configured(&home, "manual_checks = [\"open the page and log in\"]\n");
    home.configure("no_tests = true\n");
    home.pairflow(&["create", "--id", "b1", "--task", TASK]).ok();
    let (codex, claude) = joined(&home, "b1");
    codex.pairflow(&["brief"]).ok().says("open the page and log in");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["brief"]).ok().says("open the page and log in");
    claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.converged("done").ok();
    home.pairflow(&["status", "b1"]).ok().says("by hand: open the page and log in");
    let package = std::fs::read_to_string(dir(&home, "b1").join("artifacts/done-package.md")).unwrap();
    assert!(package.contains("by hand: open the page and log in"), "{package}");
}

#[test]
fn the_package_names_exactly_what_git_says_has_changed() {
    let home = home();
    home.commit("old name.txt", "some text that stays the same\nand another line\n", "to be moved");
    created(&home, "b1", &[]);
    let (codex, _) = to_package(&home, "b1");
    let package = std::fs::read_to_string(dir(&home, "b1").join("artifacts/done-package.md")).unwrap();
    let section = package.split("## Changed files\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let listed: Vec<_> = section.lines().filter(|line| !line.is_empty() && !line.starts_with("```")).collect();
    let tree = home.status("b1")["snapshot"]["tree"].as_str().unwrap().to_owned();
    let expected = home.git(&["diff", "--name-status", "--no-renames", "main", &tree]);
    let told: Vec<_> = listed.iter().map(|line| line.split(" +").next().unwrap().replacen(' ', "\t", 1)).collect();
    assert_eq!(told, expected.lines().collect::<Vec<_>>());
    assert!(codex.worktree.exists());
}
