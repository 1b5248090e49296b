//! The faults and frictions of commands, identity and git: what must not be executed, hidden, mixed up or committed.

use pairflow_testkit::home::{Agent, Home};
use serde_json::json;

use crate::support::bubbles::{created, done, handed_over, home, ready, started};
use crate::support::log::{file, lines, lines_of};

#[test]
fn top_level_help_and_version_end_with_0() {
    let home = home();
    for args in [&[][..], &["--help"], &["-h"], &["help"], &["--version"], &["-V"], &["bubble", "--help"]] {
        let ran = home.pairflow(args).ok();
        assert!(
            !ran.stdout.is_empty() && ran.stderr.lines().all(|line| !line.starts_with("error")),
            "{args:?}: {ran:?}"
        );
    }
    home.pairflow(&["--version"]).ok().says(env!("CARGO_PKG_VERSION"));
}

#[test]
fn hostile_ids_are_refused_wherever_an_id_is_taken() {
    let home = home();
    created(&home, "b1");
    let hostile = [
        "../../etc",
        "a b",
        "$(touch x)",
        "a;b",
        "-rf",
        "--",
        ".",
        "..",
        "a/b",
        "A",
        "a\n b",
        "",
        "é",
        &"a".repeat(64),
    ];
    let before = std::fs::read_dir(home.repo.join(".pairflow/bubbles")).unwrap().count();
    for id in hostile {
        home.pairflow(&["create", "--task", "x", "--test", "true", &format!("--id={id}")]).ends(2);
        home.pairflow(&["status", &format!("--id={id}")]).ends(2);
        home.pairflow(&["delete", "--yes", &format!("--id={id}")]).ends(2);
    }
    assert_eq!(std::fs::read_dir(home.repo.join(".pairflow/bubbles")).unwrap().count(), before);
    let mut agent = home.command(&["pass", "--summary", "x"]);
    agent.env("PAIRFLOW_BUBBLE", "../../etc").env("PAIRFLOW_AGENT", "codex").env("PAIRFLOW_TOKEN", "x");
    home.finish(agent).ends(1).says("PAIRFLOW_BUBBLE");
}

#[test]
fn a_ref_with_a_newline_and_a_command_is_refused_and_never_shown_as_lines() {
    let home = home();
    let (_, claude) = handed_over(&home, "b1");
    let name = "x\ntouch FILE\n#";
    let pass = ["pass", "--summary", "x", "--finding", "P1:x", "--ref", name];
    claude.pairflow(&pass).ends(1).says("control characters");
    std::fs::write(claude.worktree.join(name), "").unwrap();
    claude.pairflow(&pass).ends(1).says("'x touch FILE #'");
    std::fs::remove_file(claude.worktree.join(name)).unwrap();
    claude.pairflow(&["ask-human", "--question", "x", "--ref", "a\u{1b}]0;x\u{7}"]).ends(1).says("control characters");
    assert_eq!(lines_of(&home, "b1", "PASS").len(), 1);
}

#[test]
fn escape_sequences_in_a_question_reach_no_terminal() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31mMay I?\u{202e}\u{1b}]52;c;cm0=\u{1b}\\\r\u{8} yes";
    codex.pairflow(&["ask-human", "--question", evil]).ok();
    let reads: [&[&str]; 8] = [
        &["inbox", "b1"],
        &["inbox", "b1", "--json"],
        &["status", "b1"],
        &["status", "b1", "--json"],
        &["log", "b1"],
        &["log", "b1", "--json"],
        &["next"],
        &[],
    ];
    for args in reads {
        let ran = home.pairflow(args).ok().says("May I?");
        let harmful = |c: char| c != '\n' && pairflow_core::safe::steers(c);
        assert!(!ran.stdout.contains(harmful) && !ran.stderr.contains(harmful), "{args:?}: {ran:?}");
    }
    assert_eq!(home.status("b1")["questions"][0]["question"], evil, "programs get what was asked");
    home.pairflow(&["reply", "b1", "--message", "yes"]).ok();
}

#[test]
fn the_same_id_in_two_repositories_is_two_bubbles() {
    let home = home();
    let other = home.root().join("work/other");
    std::fs::create_dir(&other).unwrap();
    home.git_in(&other, &["init", "--quiet", "--initial-branch=main"]);
    home.git_in(&other, &["commit", "--quiet", "--allow-empty", "-m", "start"]);
    started(&home, "login");
    let repo = other.to_str().unwrap();
    home.pairflow(&["create", "--repo", repo, "--id", "login", "--task", "x", "--test", "true", "--start"]).ok();
    let status = |repo: &str| home.pairflow(&["status", "login", "--repo", repo, "--json"]).ok().json();
    let (ours, theirs) = (status(home.repo.to_str().unwrap()), status(repo));
    assert_eq!((&ours["state"], &theirs["state"]), (&json!("RUNNING"), &json!("RUNNING")));
    assert_ne!(ours["worktree"], theirs["worktree"]);
    let ports = |repo: &str| home.pairflow(&["env", "login", "--repo", repo, "--agent", "codex", "--json"]).ok().json();
    let (our_port, their_port) = (ports(home.repo.to_str().unwrap()), ports(repo));
    assert_ne!(our_port["env"]["PORT"], their_port["env"]["PORT"]);
    home.pairflow(&["stop", "login", "--repo", repo, "--yes"]).ok();
    home.pairflow(&["delete", "login", "--repo", repo, "--yes"]).ok();
    assert_eq!(home.status("login")["state"], "RUNNING");
    home.agent("login", "codex").pairflow(&["pass", "--summary", "x"]).ok();
}

#[test]
fn stopping_or_deleting_a_bubble_leaves_one_alone_whose_id_begins_like_it() {
    let home = home();
    for id in ["cart", "cart-total", "cart-total-2"] {
        started(&home, id);
    }
    home.pairflow(&["stop", "cart", "--yes"]).ok();
    home.pairflow(&["delete", "cart", "--yes"]).ok();
    for id in ["cart-total", "cart-total-2"] {
        let codex = home.agent(id, "codex");
        assert!(codex.worktree.is_dir());
        codex.write("done.txt", "done\n");
        codex.pairflow(&["pass", "--summary", "x"]).ok();
        home.wait_for_turn(id, "claude");
    }
    home.pairflow(&["stop", "cart", "--yes"]).ends(1).says("matches 2 bubbles");
    started(&home, "cart");
    assert_eq!(home.status("cart")["state"], "RUNNING");
}

#[test]
fn a_start_that_fails_leaves_the_bubble_startable() {
    let home = home();
    created(&home, "b1");
    home.git(&["branch", "bubble/b1"]);
    home.pairflow(&["start", "b1"]).ends(3).says("branch bubble/b1 already exists").says("git branch -D bubble/b1");
    assert_eq!(home.status("b1")["state"], "CREATED");
    home.git(&["branch", "-D", "bubble/b1"]);
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
}

#[test]
fn status_and_inbox_work_from_inside_the_worktree() {
    let home = home();
    let (codex, _) = handed_over(&home, "b1");
    created(&home, "b2");
    codex.write("deep/er/file", "x");
    for dir in [codex.worktree.clone(), codex.worktree.join("deep/er")] {
        for args in
            [&["status", "--id", "b1"][..], &["status"], &["inbox", "--id", "b1"], &["inbox"], &["log"], &["diff"]]
        {
            home.pairflow_in(&dir, args).ok();
        }
        let status = home.pairflow_in(&dir, &["status", "--json"]).ok().json();
        assert_eq!(status["bubble_id"], "b1", "without an id it is the one around");
        assert_eq!(home.pairflow_in(&dir, &["status", "b2", "--json"]).ok().json()["bubble_id"], "b2");
    }
}

/// Whatever state a bubble is in, the person's own checkout shows nothing of it.
#[test]
fn nothing_of_pairflow_is_ever_tracked_or_committed() {
    let home = home();
    let clean = |when: &str| {
        assert_eq!(home.git(&["status", "--porcelain", "--untracked-files=all"]), "", "{when}");
    };
    created(&home, "b1");
    clean("created");
    ready(&home, "b2");
    clean("ready");
    home.pairflow(&["approve", "b2", "--yes"]).ok();
    home.pairflow(&["commit", "b2", "--yes"]).ok();
    clean("done");
    assert_eq!(home.git(&["ls-tree", "-r", "--name-only", "bubble/b2"]), "README.md\ndone.txt");
    assert_eq!(home.git(&["diff", "--name-only", "main", "bubble/b2"]), "done.txt");
    home.pairflow(&["merge", "b2", "--here", "--yes"]).ok();
    clean("merged");
    home.git(&["add", "--all"]);
    clean("added");
    home.pairflow(&["delete", "b2", "--yes"]).ok();
    clean("deleted");
    let tracked = home.git(&["log", "--all", "--name-only", "--format="]);
    assert!(!tracked.lines().any(|path| path.contains("pairflow")), "{tracked}");
}

/// The original committed its own wrapper with everything else that lay in the worktree.
#[test]
fn a_commit_holds_the_work_and_no_file_of_pairflows() {
    let home = home();
    home.pairflow(&["init", "--yes", "--test", "true"]);
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("done.txt", "done\n");
    codex.write(".pairflow/bin/pairflow", "#!/bin/sh\n");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "x", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.converged("x").ok();
    home.pairflow(&["approve", "b1", "--yes"]).ok();
    home.pairflow(&["commit", "b1", "--yes"]).ok();
    let committed = home.git(&["diff", "--name-only", "main", "bubble/b1"]);
    assert_eq!(committed, "done.txt");
}

#[test]
fn merge_checks_nothing_out_in_the_persons_own_tree() {
    let home = home();
    done(&home, "b1");
    home.git(&["switch", "--quiet", "-c", "elsewhere"]);
    home.commit("mine.txt", "mine\n", "something of my own");
    std::fs::write(home.repo.join("mine.txt"), "not committed yet\n").unwrap();
    std::fs::write(home.repo.join("done.txt"), "a file of mine with the same name\n").unwrap();
    let look =
        || (home.git(&["rev-parse", "HEAD"]), home.git(&["branch", "--show-current"]), home.git(&["status", "-s"]));
    let before = look();
    home.pairflow(&["merge", "b1", "--yes"]).ok();
    assert_eq!(look(), before);
    assert_eq!(std::fs::read_to_string(home.repo.join("done.txt")).unwrap(), "a file of mine with the same name\n");
    assert_eq!(home.git(&["show", "main:done.txt"]), "done");
}

#[test]
fn where_the_base_is_checked_out_merge_prints_the_line_and_changes_nothing() {
    let home = home();
    done(&home, "b1");
    let head = home.git(&["rev-parse", "HEAD"]);
    home.pairflow(&["merge", "b1", "--yes"]).says("merge --ff-only");
    assert_eq!(home.git(&["rev-parse", "HEAD"]), head);
    assert!(!home.repo.join("done.txt").exists());
}

#[test]
fn a_repeated_pass_of_the_implementer_is_never_stored_as_the_reviewers() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    codex.pairflow(&["pass", "--summary", "again", "--no-findings"]).ends(1).says("claude's turn");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok().says("Already recorded");
    let mut forged = codex.command(&["pass", "--summary", "clean", "--no-findings"]);
    forged.env("PAIRFLOW_AGENT", "claude");
    home.finish(forged).ends(1);
    let passes = lines_of(&home, "b1", "PASS");
    assert_eq!(passes.iter().map(|pass| pass["sender"].as_str().unwrap()).collect::<Vec<_>>(), ["codex"]);
    assert_eq!(home.status("b1")["clean_reviews"], json!([]));
    claude.pairflow(&["pass", "--summary", "clean", "--no-findings"]).ok();
}

/// Plays rounds in which the reviewer finds something, up to and with round `last`.
#[track_caller]
fn rounds<'a>(home: &'a Home, id: &str, last: u32, finding: &str) -> (Agent<'a>, Agent<'a>) {
    let (codex, claude) = (home.agent(id, "codex"), home.agent(id, "claude"));
    for round in 1..=last {
        home.wait_for_turn(id, "codex");
        codex.write("done.txt", &format!("{round}\n"));
        codex.pairflow(&["pass", "--summary", &format!("round {round}")]).ok();
        home.wait_for_turn(id, "claude");
        claude.pairflow(&["pass", "--summary", &format!("round {round}"), "--finding", finding]).ok();
    }
    (codex, claude)
}

#[test]
fn max_rounds_is_honoured_with_a_question_to_the_person() {
    let home = home();
    home.commit("pairflow.toml", "max_rounds = 3\n", "configuration");
    started(&home, "b1");
    let (codex, _) = rounds(&home, "b1", 3, "P1:still wrong");
    let status = home.wait_for_state("b1", "WAITING_HUMAN");
    assert_eq!((&status["looks_used"], &status["questions"][0]["kind"]), (&json!(3), &json!("tie_break")));
    codex.pairflow(&["pass", "--summary", "one more"]).ends(1).says("a person is asked first");
    home.pairflow(&["reply", "b1", "--decision", "accept"]).ok();
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
}

#[test]
fn a_blocker_in_a_late_round_still_blocks() {
    let home = home();
    home.commit("pairflow.toml", "max_rounds = 20\n", "configuration");
    started(&home, "b1");
    let (codex, claude) = rounds(&home, "b1", 9, "P0:loses data");
    home.wait_for_turn("b1", "codex");
    assert_eq!(home.status("b1")["open_findings"][0]["severity"], "P0");
    codex.pairflow(&["pass", "--summary", "nothing to mend"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["converged", "--summary", "fine"]).ends(1).says("a second clean review");
    claude.pairflow(&["pass", "--summary", "still", "--finding", "P0:loses data"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.pairflow(&["converged", "--summary", "fine"]).ends(1).says("only the reviewer");
    let missing = home.status("b1")["missing_for_convergence"].to_string();
    assert!(missing.contains("P0 loses data"), "{missing}");
}

#[test]
fn approve_by_an_agent_is_refused_with_77() {
    let home = home();
    let (codex, claude) = ready(&home, "b1");
    for agent in [&codex, &claude] {
        for verb in ["approve", "ok", "commit"] {
            agent.pairflow(&[verb, "b1"]).ends(77).says("is for people");
        }
    }
    assert_eq!(home.status("b1")["state"], "READY_FOR_APPROVAL");
    assert!(lines_of(&home, "b1", "APPROVAL_DECISION").is_empty());
    let attempts = lines_of(&home, "b1", "PROTOCOL_WARNING");
    assert!(attempts.iter().any(|line| line["payload"]["command"] == "approve"), "the attempt is in the log");
}

#[test]
fn stop_works_where_nothing_ever_ran() {
    let home = home();
    created(&home, "b1");
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    assert_eq!(home.status("b1")["state"], "CANCELLED");
}

#[test]
fn the_create_line_of_the_specification_works_and_nothing_is_assumed_about_tests() {
    let home = home();
    let repo = home.repo.to_str().unwrap();
    let line = ["bubble", "create", "--id", "b_inbox_001", "--repo", repo, "--base", "main", "--task", "write it"];
    home.pairflow(&line).ends(1).says("--test");
    home.pairflow(&[&line[..], &["--test", "true"]].concat()).ok();
    assert_eq!(lines(&home, "b_inbox_001")[0]["payload"]["rules"]["checks"][0]["command"], "true");
}

#[test]
fn the_done_package_has_files_checks_and_risks_without_anybody_writing_it_by_hand() {
    let home = home();
    done(&home, "b1");
    let package = std::fs::read_to_string(file(&home, "b1", "artifacts/done-package.md")).unwrap();
    for part in ["done.txt", "test -f done.txt", "risk", "first cut"] {
        assert!(package.to_lowercase().contains(part), "{part} is missing in\n{package}");
    }
}
