//! The daily round: `new`, bare `pairflow`, `next` and `ok`, with scripted agents and the real program.

use serde_json::Value;

use crate::support::bubbles::home;
use crate::support::log::damage;
use crate::support::scripted::{ASKING, SMOOTH, new_bubble};
use crate::support::terminal::{on_terminal, shell};

fn ids(home: &Value) -> Vec<&str> {
    home["bubbles"].as_array().unwrap().iter().map(|row| row["bubble_id"].as_str().unwrap()).collect()
}

#[test]
fn new_makes_an_id_out_of_the_text_and_starts_at_once() {
    let home = home();
    let ran = home.pairflow(&["new", "Fix", "the", "Login: race!", "--test", "true"]).ok();
    for part in
        ["fix-the-login-race", "agents   codex implements, claude reviews", "Worktree: ", "on branch bubble/fix-"]
    {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    assert!(ran.stderr.contains("eval \"$(pairflow env fix-the-login-race --agent claude)\""), "{}", ran.stderr);
    assert_eq!(home.status("fix-the-login-race")["state"], "RUNNING");
    home.pairflow(&["new", "fix the login race", "--test", "true"]).ok().says("fix-the-login-race-2");
    home.pairflow(&["new", "fix the login race", "--test", "true"]).ok().says("fix-the-login-race-3");
    home.pairflow(&["new", "anything", "--id", "mine", "--test", "true"]).ok().says("bubble/mine");
}

#[test]
fn new_confirms_detected_commands_like_create() {
    let home = home();
    home.pairflow(&["new", "do it"]).ends(1).says("no command to check the work was found");
    home.commit("Makefile", "test:\n\ttrue\n", "tests");
    home.pairflow(&["new", "do it"]).ends(1).says("make test").says("--yes");
    home.pairflow(&["new", "do it", "--yes"]).ok().says("make test");
    home.pairflow(&["new"]).ends(2).says("the task is missing");
    home.pairflow(&["new", "…", "--yes"]).ends(2).says("--id");
}

#[test]
fn a_bubble_that_cannot_be_started_is_named_and_can_be_started_again() {
    let home = home();
    let ran = home.pairflow(&["new", "do it", "--test", "true", "--setup", "exit 7"]).ends(3);
    assert!(ran.stderr.contains("bubble do-it was created but could not be started"), "{}", ran.stderr);
    assert!(ran.stderr.contains("next: pairflow start do-it"), "{}", ran.stderr);
    assert_eq!(home.status("do-it")["state"], "CREATED");
}

#[test]
fn home_says_how_to_begin_without_any_bubble() {
    let home = home();
    home.pairflow(&[]).ok().says("There is no bubble in").says("next: pairflow new");
    home.pairflow_in(home.root(), &[]).ok().says("There is no bubble yet").says("pairflow demo");
    let empty = home.pairflow(&["--json"]).ok().json();
    assert_eq!((&empty["schema"], ids(&empty).len()), (&"pairflow.home/1".into(), 0));
}

#[test]
fn home_shows_what_waits_oldest_first_then_all_bubbles() {
    let home = home();
    new_bubble(&home, "say hello", ASKING);
    home.wait_for_state("say-hello", "WAITING_HUMAN");
    new_bubble(&home, "greet", SMOOTH);
    home.wait_for_state("greet", "READY_FOR_APPROVAL");
    let ran = home.pairflow(&[]).ok();
    let lines: Vec<_> = ran.stdout.lines().map(str::trim).collect();
    assert_eq!(lines[0], "Waiting for you: 2");
    assert!(lines[1].ends_with("say-hello, codex: Which greeting?"), "{lines:?}");
    assert_eq!(lines[2], "pairflow reply say-hello --message '…'");
    assert!(
        lines[3].contains("greet, pairflow: 1 file +1 -0, reviewed clean by claude and codex: approve?"),
        "{lines:?}"
    );
    assert_eq!(lines[4], "pairflow ok greet");
    assert_eq!(lines[6].split_whitespace().collect::<Vec<_>>(), ["ID", "STATE", "TURN", "ROUND", "AGE", "TASK"]);
    assert!(lines[7].starts_with("greet") && lines[7].contains("READY_FOR_APPROVAL"), "{lines:?}");
    assert!(lines[8].starts_with("say-hello  WAITING_HUMAN") && lines[8].ends_with("say hello"), "{lines:?}");
    let json = home.pairflow(&["--json"]).ok().json();
    assert_eq!(ids(&json), ["greet", "say-hello"]);
    assert_eq!(json["waiting"][0]["question"], "Which greeting?");
    assert_eq!(json["waiting"][1]["answer"][0], "pairflow ok greet");
}

#[test]
fn outside_of_a_repository_home_shows_all_of_them_with_lines_that_work_there() {
    let home = home();
    new_bubble(&home, "say hello", ASKING);
    home.wait_for_state("say-hello", "WAITING_HUMAN");
    let other = home.root().join("work/other repo");
    std::fs::create_dir(&other).unwrap();
    home.git_in(&other, &["init", "--quiet"]);
    home.git_in(&other, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    home.pairflow_in(&other, &["create", "--id", "else", "--task", "x", "--test", "true"]).ok();
    let ran = home.pairflow_in(home.root(), &[]).ok().says("REPOSITORY").says("other repo");
    let line = ran.stdout.lines().map(str::trim).find(|line| line.starts_with("pairflow reply")).unwrap().to_owned();
    assert!(line.ends_with(&format!("--message '…' --repo {}", home.repo.display())), "{line}");
    let pairflow = format!("pairflow() {{ {} \"$@\"; }}", env!("CARGO_BIN_EXE_pairflow"));
    let typed = |line: &str| {
        let mut command = shell(&home, &format!("{pairflow}\n{line}"));
        command.current_dir(home.root());
        home.finish(command)
    };
    typed(&line).ends(1).says("is still the placeholder '…'");
    typed(&line.replace('…', "in English")).ok().says("Answered");
    assert!(!home.pairflow_in(&other, &[]).ok().stdout.contains("say-hello"), "a repository shows its own bubbles");
}

#[test]
fn a_broken_bubble_is_a_row_with_its_reason_and_hides_nothing() {
    let home = home();
    for id in ["bad", "good"] {
        home.pairflow(&["create", "--id", id, "--task", "x", "--test", "true"]).ok();
    }
    damage(&home, "bad");
    let ran = home.pairflow(&[]).ok();
    let bad = ran.stdout.lines().find(|line| line.starts_with("bad")).unwrap();
    assert!(bad.contains("UNREADABLE") && bad.contains("is damaged in line 1"), "{bad}");
    assert!(ran.stdout.lines().any(|line| line.starts_with("good") && line.contains("CREATED")), "{}", ran.stdout);
    home.pairflow(&["next"]).ok().says("bad: ").says("Nothing waits for you.");
}

#[test]
fn the_whole_day_without_a_terminal() {
    let home = home();
    home.pairflow(&["next"]).ok().says("Nothing waits for you.");
    new_bubble(&home, "say hello", ASKING);
    home.wait_for_state("say-hello", "WAITING_HUMAN");
    let refused = home.pairflow(&["ok"]).ends(1);
    assert!(
        refused.stderr.contains("say-hello is WAITING_HUMAN, not ready for approval: a question is open"),
        "{}",
        refused.stderr
    );
    let next = home.pairflow(&["next"]).ok();
    for part in [
        "say-hello waits for you",
        "task        say hello",
        "codex       Which greeting?",
        "pairflow reply say-hello --message '…'",
    ] {
        assert!(next.stdout.contains(part), "{part}: {}", next.stdout);
    }
    home.pairflow(&["reply", "say-hello", "--message", "a warm one"]).ok();
    home.wait_for_state("say-hello", "READY_FOR_APPROVAL");
    let next = home.pairflow(&["next"]).ok();
    for part in ["round 1, codex: wrote hello.txt", "hello.txt | 1 +", "answer      pairflow ok say-hello"] {
        assert!(next.stdout.contains(part), "{part}: {}", next.stdout);
    }
    home.pairflow(&["ok"]).ends(1).says("Package of bubble say-hello").says("add --yes");
    assert_eq!(home.status("say-hello")["state"], "READY_FOR_APPROVAL");
    home.pairflow(&["ok", "--yes"]).ok().says("Committed ").says("next: pairflow merge say-hello");
    assert_eq!(home.git(&["show", "bubble/say-hello:hello.txt"]), "hello");
    home.pairflow(&["ok", "say-hello", "--yes"]).ends(1).says("is DONE").says("next: pairflow merge say-hello");
}

#[test]
fn ok_only_commits_what_is_approved_already_and_merges_on_request() {
    let home = home();
    new_bubble(&home, "greet", SMOOTH);
    home.wait_for_state("greet", "READY_FOR_APPROVAL");
    home.pairflow(&["approve", "greet", "--yes"]).ok();
    home.git(&["switch", "--quiet", "-c", "elsewhere"]);
    let ran = home.pairflow(&["ok", "greet", "--merge", "--yes"]).ok().says("Committed ").says("Merged bubble greet");
    assert!(!ran.stdout.contains("Package of bubble"), "{}", ran.stdout);
    assert_eq!(home.git(&["show", "main:hello.txt"]), "hello");
}

#[test]
fn ok_refuses_a_worktree_that_was_changed_after_the_review() {
    let home = home();
    new_bubble(&home, "greet", SMOOTH);
    let status = home.wait_for_state("greet", "READY_FOR_APPROVAL");
    std::fs::write(std::path::Path::new(status["worktree"].as_str().unwrap()).join("hello.txt"), "bye\n").unwrap();
    home.pairflow(&["ok", "--yes"]).ends(1).says("hello.txt");
    assert_eq!(home.status("greet")["state"], "READY_FOR_APPROVAL");
}

#[test]
fn on_a_terminal_one_key_is_enough() {
    let home = home();
    new_bubble(&home, "say hello", ASKING);
    home.wait_for_state("say-hello", "WAITING_HUMAN");
    let prompt = "[r=reply  d=diff  s=skip  q=quit]";
    let keys = [(prompt, "x"), ("", "s")];
    let (code, text) = on_terminal(home.command(&["next"]), &keys);
    assert!(code == 0 && text.contains("Nothing else waits for you; skipped 1."), "{text}");
    let keys = [(prompt, "r"), ("Your text:", "a warm one\n")];
    let (code, text) = on_terminal(home.command(&["next"]), &keys);
    assert!(code == 0 && text.contains("of say-hello"), "{text}");
    home.wait_for_state("say-hello", "READY_FOR_APPROVAL");
    let prompt = "a=approve and commit  r=send back  d=diff  s=skip  q=quit]";
    let keys = [(prompt, "d"), ("+hello", ""), (prompt, "a"), ("and commit it? [y/N]", "y\n")];
    let (code, text) = on_terminal(home.command(&["next"]), &keys);
    assert!(code == 0 && text.contains("Committed ") && text.contains("Nothing waits for you."), "{text}");
    assert_eq!(home.status("say-hello")["state"], "DONE");
}

#[test]
fn ctrl_c_at_the_key_quits_and_changes_nothing() {
    let home = home();
    new_bubble(&home, "say hello", ASKING);
    home.wait_for_state("say-hello", "WAITING_HUMAN");
    let (code, _) = on_terminal(home.command(&["next"]), &[("q=quit]", "\u{3}")]);
    assert_eq!((code, home.status("say-hello")["state"].as_str()), (0, Some("WAITING_HUMAN")));
}

#[test]
fn ok_asks_on_a_terminal_and_a_no_changes_nothing() {
    let home = home();
    new_bubble(&home, "greet", SMOOTH);
    home.wait_for_state("greet", "READY_FOR_APPROVAL");
    let (code, text) = on_terminal(home.command(&["ok"]), &[("and commit it? [y/N]", "n\n")]);
    assert!(code == 1 && text.contains("Package of bubble greet") && text.contains("nothing was changed"), "{text}");
    assert_eq!(home.status("greet")["state"], "READY_FOR_APPROVAL");
    let (code, text) = on_terminal(home.command(&["ok"]), &[("and commit it? [y/N]", "y\n")]);
    assert!(code == 0 && text.contains("Committed "), "{text}");
}

#[test]
fn human_commands_are_refused_to_agents_and_home_is_not() {
    let home = home();
    for (args, code) in
        [(&["new", "x"][..], 77), (&["next"], 77), (&["ok", "--yes"], 77), (&["init", "--yes"], 77), (&[], 0)]
    {
        let mut command = home.command(args);
        command.env("PAIRFLOW_BUBBLE", "b");
        home.finish(command).ends(code);
    }
}
