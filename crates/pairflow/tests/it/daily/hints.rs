//! What somebody stumbles over on the first day: hints that lead astray, losses that nobody tells of, and mistakes that
//! are noticed only after something was made.

use std::path::{Path, PathBuf};

use pairflow_testkit::home::{Home, write_program};
use serde_json::json;

use crate::support::bubbles::{created, done, handed_over, home, ready, started};
use crate::support::log::damage;

/// Puts a hook of the repository into the directory `dir`.
fn hook(dir: &Path, name: &str, script: &str) {
    std::fs::create_dir_all(dir).unwrap();
    write_program(&dir.join(name), &format!("#!/bin/sh\n{script}\n"));
}

/// The ids of all bubbles.
fn ids(home: &Home) -> Vec<String> {
    let list = home.pairflow(&["list", "--json"]).ok().json();
    list["bubbles"].as_array().unwrap().iter().map(|row| row["bubble_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_a_hook_refused_is_not_offered_without_the_hook() {
    let home = home();
    let allow = home.root().join("allow");
    hook(&home.repo.join(".git/hooks"), "pre-commit", &format!("test -f {}", allow.display()));
    ready(&home, "hk");
    home.pairflow(&["approve", "hk", "--yes"]).ok();
    let again = "pairflow commit hk --hooks";
    home.pairflow(&["commit", "hk", "--hooks", "--yes"])
        .ends(3)
        .says(&format!("then: {again}"))
        .says("pairflow request-rework hk --message");
    assert_eq!(home.status("hk")["next"][0], again);
    for args in [&["status", "hk"][..], &[], &["inbox", "hk"]] {
        home.pairflow(args).ok().says(again);
    }
    home.pairflow(&["ok", "hk", "--yes"]).ends(3).says("pre-commit hook refused").says(again);
    assert_eq!(home.status("hk")["state"], "APPROVED_FOR_COMMIT");
    std::fs::write(allow, "").unwrap();
    let committed = home.pairflow(&["ok", "hk", "--yes"]).ok().says("Committed ");
    assert!(!committed.stderr.contains("were not run"), "{committed:?}");
}

#[test]
fn hooks_that_were_not_run_are_spoken_of_only_where_there_are_some() {
    let home = home();
    ready(&home, "none");
    let none = home.pairflow(&["ok", "none", "--yes"]).ok();
    assert!(!none.stderr.contains("were not run"), "{none:?}");
    let own = home.root().join("hooks");
    hook(&own, "commit-msg", "exit 1");
    home.git(&["config", "core.hooksPath", &own.display().to_string()]);
    ready(&home, "some");
    home.pairflow(&["ok", "some", "--yes"])
        .ok()
        .says("hooks were not run (commit-msg)")
        .says("To run them for the next commit: `pairflow approve`, then `pairflow commit --hooks`");
}

#[test]
fn a_repair_says_what_it_gives_up_and_the_bubble_waits_for_a_person() {
    let home = home();
    done(&home, "b1");
    let lines = |home: &Home| {
        let log = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/transcript.ndjson")).unwrap();
        log.lines().count()
    };
    let all = lines(&home);
    damage(&home, "b1");
    let asked = home.pairflow(&["doctor", "--repair"]).ends(1).says("it was DONE and will be RUNNING");
    let repaired = home.pairflow(&["doctor", "--repair", "--yes"]).ok();
    // The bubble is taken over in lines of their own.
    let log = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/transcript.ndjson")).unwrap();
    let kept = log.lines().position(|line| line.contains("\"event\":\"adopted\"")).unwrap();
    let (gave_up, question) = (format!(", lost {}", all - kept), format!("{} lost", all - kept));
    assert!(
        asked.stderr.contains(&question) && asked.stderr.contains(&format!("b1: {kept} lines can be kept")),
        "{asked:?}"
    );
    for part in [&gave_up, "it was DONE and is RUNNING, paused", "next: pairflow resume b1", "next: pairflow stop b1"] {
        assert!(repaired.stderr.contains(part), "{part}: {repaired:?}");
    }
    let status = home.status("b1");
    assert_eq!((&status["state"], &status["paused"]), (&json!("RUNNING"), &json!(true)));
    let aside = status["damaged_logs"][0].as_str().unwrap();
    assert!(Path::new(aside).is_file(), "{aside}");
    home.pairflow(&["status", "b1"]).ok().says("Repaired").says(aside);
    home.pairflow(&["verify", "b1"]).ok().says("it was damaged once").says(aside);
}

#[test]
fn a_worktree_that_was_removed_is_named_with_the_way_back() {
    let home = home();
    let (codex, _) = handed_over(&home, "b1");
    assert_eq!(home.status("b1")["worktree_gone"], false);
    home.pairflow(&["open", "b1"])
        .ends(3)
        .says(&format!("The worktree is {}", codex.worktree.display()))
        .says("open_command = \"code {{worktree_path}}\"")
        .says(&format!("next: cd {}", codex.worktree.display()));
    std::fs::remove_dir_all(&codex.worktree).unwrap();
    let status = home.status("b1");
    assert_eq!((&status["worktree_gone"], &status["next"][0]), (&json!(true), &json!("pairflow resume b1")));
    home.pairflow(&["status", "b1"]).ok().says("It is gone; 'pairflow resume b1' restores it");
    let doctor = home.pairflow(&["doctor"]).ends(3).says("problem worktree of b1");
    assert!(doctor.stdout.contains("next: pairflow resume b1\n"), "{doctor:?}");
    home.pairflow(&[]).ok().says("the worktree of bubble b1 is gone; restore it with: pairflow resume b1");
    home.pairflow(&["open", "b1"]).ends(1).says("next: pairflow resume b1");
    home.pairflow(&["resume", "b1"]).ok().says("restored at");
    assert_eq!(home.status("b1")["worktree_gone"], false);
    home.pairflow(&["doctor"]).ok();
}

#[test]
fn a_program_that_is_not_there_is_noticed_before_a_bubble_is_made() {
    let home = home();
    home.install("tmux", "exit 1");
    let own = home.root().join("config/pairflow/config.toml");
    let agents = |program: &str| {
        format!(
            "[agent.typo]\ncommand = [\"{program}\"]\n[agent.anna]\ncommand = [\"sh\"]\n[agent.bert]\ncommand = [\"sh\"]\n"
        )
    };
    home.configure(&agents("nosuchprog"));
    let setup = ["--pair", "typo,anna", "--test", "true", "--driver", "tmux"];
    let new = home.pairflow(&[&["new", "do it"][..], &setup].concat()).ends(3);
    for part in [
        &format!("correct `command` of [agent.typo] in {}, line 3", own.display()),
        "next: pairflow new 'do it' --pair typo,anna",
    ] {
        assert!(new.stderr.contains(part), "{part}: {new:?}");
    }
    home.pairflow(&[&["create", "--task", "do it", "--start"][..], &setup].concat()).ends(3).says("nosuchprog");
    let script = ["new", "do it", "--test", "true", "--driver", "script", "--script", "nowhere.yaml"];
    home.pairflow(&script).ends(2).says("cannot read the script").says("next: pairflow start --help");
    assert_eq!(ids(&home), [""; 0], "nothing was made");
    home.pairflow(&[&["create", "--id", "y", "--task", "do it"][..], &setup].concat()).ok();
    home.configure(&agents("sh"));
    // What a bubble was made with counts, so that file has to be corrected.
    let own = home.repo.join(".pairflow/bubbles/y/bubble.toml");
    home.pairflow(&["start", "y"])
        .ends(3)
        .says(&format!("correct `command` of [agent.typo] in {}, line ", own.display()))
        .says("next: pairflow start y");
    home.pairflow(&["doctor"]).ok().says("anna, bert, typo: sh is ");
}

#[test]
fn a_start_that_the_state_forbids_is_refused_for_that() {
    let home = home();
    started(&home, "b1");
    let start = ["start", "b1", "--driver", "script", "--script", "nowhere.yaml"];
    home.pairflow(&start).ends(1).says("RUNNING");
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    home.pairflow(&start).ends(1).says("CANCELLED");
}

#[test]
fn nothing_is_ended_by_half_a_name() {
    let home = home();
    started(&home, "wd");
    home.pairflow(&["delete", "w", "-y"]).ends(1).says("type its full id").says("next: pairflow delete wd");
    assert_eq!(home.status("wd")["state"], "RUNNING");
    created(&home, "we");
    for verb in ["stop", "delete"] {
        let which = home.pairflow(&[verb, "w", "--yes"]).ends(1).says("matches 2 bubbles");
        assert!(which.stderr.contains("next: pairflow list\n"), "{which:?}");
    }
    let which = home.pairflow(&["stop"]).ends(1).says("which bubble?");
    assert!(which.stderr.contains("next: pairflow list\n"), "{which:?}");
    assert_eq!(ids(&home), ["wd", "we"]);
}

#[test]
fn the_repository_may_be_named_before_the_verb_and_half_a_verb_is_understood() {
    let home = home();
    home.pairflow(&["status"]).ends(1).says("there is no bubble in this repository yet").says("next: pairflow new");
    created(&home, "b1");
    let repo = home.repo.display().to_string();
    let at = |args: &[&str]| home.pairflow_in(home.root(), args);
    at(&["--repo", &repo]).ok().says("b1");
    at(&[&format!("--repo={repo}")]).ok().says("b1");
    at(&["--repo", &repo, "status", "b1"]).ok().says("CREATED");
    let half = home.pairflow(&["stat"]).ends(2);
    assert!(half.stderr.contains("next: pairflow status\n"), "{half:?}");
}

#[test]
fn a_task_that_is_refused_is_asked_for_in_the_words_of_the_call() {
    let home = home();
    home.pairflow(&["new", ""]).ends(2).says("the task is empty").says("next: pairflow new \"what to do\"");
    home.git(&["checkout", "--quiet", "--detach"]);
    let detached = home.pairflow(&["new", "fix it", "--test", "true"]).ends(1).says("is not on a branch");
    assert!(detached.stderr.contains("next: pairflow new 'fix it' --test true --base main\n"), "{detached:?}");
    home.pairflow(&["new", "fix it", "--test", "true", "--base", "main"]).ok();
    home.pairflow(&["pass", "--help"]).ok().says("A Markdown file, or `-` for stdin");
}

#[test]
fn a_document_is_shown_with_gaps_and_not_followed_before_it_is_approved() {
    let home = home();
    let made = home.pairflow(&["create", "--id", "doc", "--kind", "document", "--task", "say what to do"]).ok();
    let row = made.stdout.lines().find(|line| line.starts_with("document:completeness")).unwrap();
    assert!(row["document:completeness".len()..].starts_with(' '), "{made:?}");
    let follow = ["create", "--task", "do it", "--kind", "implementation", "--prd", "doc", "--test", "true"];
    home.pairflow(&follow).ends(1).says("its document is not approved").says("next: pairflow start doc");
}

/// Puts a git of version 2.39 before the real one: it does not know the newer `merge-tree`.
fn old_git(home: &Home) {
    let path = std::env::var_os("PATH").unwrap();
    let real: PathBuf = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.is_file()).unwrap();
    let script = format!(
        "case \"$1\" in\n--version) echo 'git version 2.39.5';;\nmerge-tree) echo 'usage: git merge-tree' >&2; exit 129;;\n\
         *) exec {} \"$@\";;\nesac",
        real.display()
    );
    home.install("git", &script);
}

#[test]
fn a_git_that_is_too_old_is_named_and_nothing_is_changed() {
    let home = home();
    done(&home, "b1");
    handed_over(&home, "b2");
    home.pairflow(&["pause", "b2"]).ok();
    home.commit("other.txt", "other\n", "the base moves");
    let before = home.status("b2")["last_command_at"].clone();
    old_git(&home);
    for args in [&["update", "b2"][..], &["update", "b1"], &["merge", "b1", "--here", "--yes"]] {
        let ran = home.pairflow(args).ends(3).says("git 2.39.5 is too old").says("2.40 or newer");
        assert!(ran.stderr.contains("next: pairflow doctor") && !ran.stderr.contains("usage"), "{args:?}: {ran:?}");
    }
    assert_eq!(home.status("b2")["last_command_at"], before, "nothing was recorded");
    assert_eq!(ids(&home), ["b1", "b2"]);
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    assert!(readme.contains("git 2.40 or newer"), "{readme}");
}

#[test]
fn every_hint_to_merge_is_one_that_merges_here() {
    let home = home();
    done(&home, "b1");
    let refused: &[&[&str]] = &[&["commit", "b1"], &["ok", "b1", "--yes"], &["approve", "b1"], &["pause", "b1"]];
    for args in refused {
        let ran = home.pairflow(args).ends(1);
        assert!(ran.stderr.contains("next: pairflow merge b1 --here\n"), "{args:?}: {ran:?}");
    }
    home.pairflow(&["merge", "b1", "--here", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ends(1).says("next: pairflow delete b1");
}

#[test]
fn the_follow_up_of_work_that_conflicts_says_so() {
    let home = home();
    done(&home, "cf");
    home.commit("done.txt", "something else\n", "the base does it, too");
    home.pairflow(&["update", "cf"])
        .ok()
        .says("main and the work of cf conflict in done.txt")
        .says("the first work of cf-2")
        .says("next: pairflow start cf-2");
}

#[test]
fn from_another_place_every_line_names_the_repository() {
    let home = home();
    ready(&home, "b1");
    let there = format!(" --repo {}", home.repo.display());
    let at = |args: &[&str]| home.pairflow_in(home.root(), &[args, &["--repo", home.repo.to_str().unwrap()]].concat());
    let full = format!("pairflow ok b1{there}");
    assert!(at(&["status", "b1"]).ok().stdout.contains(&full));
    assert_eq!(at(&["status", "b1", "--json"]).ok().json()["next"][0], full.as_str());
    at(&["inbox"]).ok().says(&full);
    at(&["pause", "b1"]).ends(1).says(&format!("next: {full}"));
    assert_eq!(at(&["pause", "b1", "--json"]).ends(1).json()["error"]["hint"], full.as_str());
    at(&["status", "nobody"]).ends(1).says(&format!("next: pairflow list{there}"));
    assert!(!home.pairflow(&["status", "b1", "--repo", "."]).ok().stdout.contains("--repo"), "it is the one around");
}

#[test]
fn an_agent_in_the_persons_own_checkout_is_sent_to_its_worktree() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    let mut pass = codex.command(&["pass", "--summary", "did it"]);
    pass.current_dir(&home.repo);
    let own = format!("cd '{}'", codex.worktree.display());
    home.finish(pass).ends(1).says("belongs to the person's own checkout").says(&own);
    assert_eq!(home.status("b1")["round"], 1);
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "did it"]).ok();
}

#[test]
fn a_reviewer_sees_what_a_change_would_hide() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    codex.write("code.c", "if admin\u{202e} // check\nx\u{200b}y\n\u{1b}[8mhidden()\n");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "did it"]).ok();
    home.wait_for_turn("b1", "claude");
    let brief = home.agent("b1", "claude").pairflow(&["brief"]).ok().stdout;
    let page = home.root().join("page.html");
    home.pairflow(&["export", "b1", "--html", "--out", page.to_str().unwrap()]).ok();
    let html = std::fs::read_to_string(page).unwrap().replace("&lt;", "<").replace("&gt;", ">");
    for shown in ["if admin<U+202E> // check", "x<U+200B>y", "^[[8mhidden()"] {
        assert!(brief.contains(shown) && html.contains(shown), "{shown}: {brief}");
    }
    assert!(brief.contains("characters that are invisible"), "{brief}");
    let exact = home.pairflow(&["diff", "b1"]).ok().stdout;
    assert!(exact.contains("if admin\u{202e} // check"), "a program gets the bytes: {exact}");
}
