//! The agents' side: who may say what, proven by a token, and what is not for agents at all.

use serde_json::json;

use crate::support::bubbles::{created, handed_over, home, ready, started};

#[test]
fn a_verb_without_identity_is_refused() {
    let home = home();
    started(&home, "b1");
    for verb in [["pass", "--summary"], ["converged", "--summary"], ["ask-human", "--question"]] {
        home.pairflow(&[verb[0], verb[1], "x"]).ends(1).says("PAIRFLOW_TOKEN");
    }
}

#[test]
fn a_token_is_void_as_soon_as_a_new_one_is_made() {
    let home = home();
    started(&home, "b1");
    let old = home.agent("b1", "codex");
    let new = home.agent("b1", "codex");
    old.pairflow(&["pass", "--summary", "x"]).ends(1).says("pairflow env b1 --agent codex");
    new.pairflow(&["pass", "--summary", "x"]).ok();
}

#[test]
fn env_lets_only_agents_of_the_bubble_in() {
    let home = home();
    started(&home, "b1");
    home.pairflow(&["env", "b1", "--agent", "gemini"]).ends(1).says("its agents are codex, claude");
    let joined = home.pairflow(&["env", "b1", "--agent", "codex", "--json"]).ok().json();
    assert_eq!((&joined["schema"], &joined["agent"]), (&json!("pairflow.env/1"), &json!("codex")));
    assert_eq!(joined["env"]["PAIRFLOW_BUBBLE"], "b1");
    let transcript = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/transcript.ndjson")).unwrap();
    assert!(!transcript.contains(joined["env"]["PAIRFLOW_TOKEN"].as_str().unwrap()), "only the hash is stored");
}

#[test]
fn an_agent_acts_in_its_own_bubble_and_in_its_own_turn_only() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    claude.pairflow(&["pass", "--summary", "x", "--no-findings"]).ends(1).says("round 1 is codex's turn");
    codex.pairflow(&["pass", "--summary", "x", "--id", "b2"]).ends(1).says("works in bubble b1");
    codex.pairflow(&["pass", "--summary", " "]).ends(2);
    codex.pairflow(&["pass", "--summary", "x", "--finding", "P1:no"]).ends(1).says("not findings");
    codex.pairflow(&["pass", "--summary", "x", "--ref", "/etc/passwd"]).ends(1).says("outside the worktree");
}

#[test]
fn an_agent_gets_the_brief_of_its_own_turn_only() {
    let home = home();
    started(&home, "b1");
    started(&home, "b2");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.pairflow(&["brief"]).ok().says("pairflow pass --id b1");
    codex.pairflow(&["brief", "b1"]).ok();
    codex.pairflow(&["brief", "b2"]).ends(1).says("works in bubble b1");
    claude.pairflow(&["brief"]).ends(1).says("it is not your turn").says("pairflow status b1");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["brief"]).ok().says("--no-findings");
    // What it was told for its last turn is not what it is to do now.
    codex.pairflow(&["brief"]).ends(1).says("claude has it, as reviewer");
    home.pairflow(&["brief", "b1"]).ok().says("--no-findings");
}

#[test]
fn a_reviewer_has_to_declare_what_it_found() {
    let home = home();
    let (_, claude) = handed_over(&home, "b1");
    claude.pairflow(&["pass", "--summary", "hm"]).ends(1).says("--no-findings");
    claude.pairflow(&["pass", "--summary", "hm", "--finding", "P9:x"]).ends(2);
}

#[test]
fn a_repeated_pass_is_one_record() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    let first = codex.pairflow(&["pass", "--summary", "x", "--json"]).ok().json();
    let again = codex.pairflow(&["pass", "--summary", "x", "--json"]).ok().json();
    assert_eq!((&first["id"], &again["repeated"]), (&again["id"], &json!(true)));
}

#[test]
fn converged_is_the_reviewers_and_needs_evidence() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    codex.pairflow(&["converged", "--summary", "done"]).ends(1).says("claude's turn");
    let ran = claude.pairflow(&["converged", "--summary", "done"]).ends(1).says("a second clean review");
    assert!(ran.stderr.contains("pairflow brief b1") && !ran.stderr.contains("--no-findings"), "{ran:?}");
    let log = home.pairflow(&["log", "b1"]).ok().stdout;
    assert!(log.contains("converged") && log.contains("a second clean review"), "{log}");
    claude.pairflow(&["pass", "--summary", "clean", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.write("late.txt", "the reviewer's own edit\n");
    codex.pairflow(&["converged", "--summary", "done"]).ends(1).says("late.txt");
    std::fs::remove_file(codex.worktree.join("late.txt")).unwrap();
    codex.converged("done").ok().says("READY_FOR_APPROVAL");
}

#[test]
fn an_implementer_may_not_declare_convergence() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    codex.pairflow(&["converged", "--summary", "done"]).ends(1).says("only the reviewer may declare convergence");
}

#[test]
fn on_another_branch_a_pass_is_refused_with_the_way_back() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    home.git_in(&codex.worktree, &["switch", "--quiet", "-c", "elsewhere"]);
    codex.pairflow(&["pass", "--summary", "x"]).ends(1).says("switch bubble/b1");
}

#[test]
fn human_verbs_refuse_in_an_agents_environment_and_the_attempt_is_recorded() {
    let home = home();
    let (codex, _) = ready(&home, "b1");
    let human: &[&[&str]] = &[
        &["approve", "b1"],
        &["commit", "b1"],
        &["request-rework", "b1", "--message", "x"],
        &["reply", "b1", "--message", "x"],
        &["start", "b1"],
        &["stop", "b1", "--yes"],
        &["delete", "b1", "--yes"],
        &["resume", "b1"],
        &["pause", "b1"],
        &["update", "b1"],
        &["merge", "b1"],
        &["watchdog", "b1"],
        &["open", "b1"],
        &["env", "b1", "--agent", "claude"],
        &["create", "--task", "x", "--test", "true"],
        &["supervise", "--once"],
        &["supervisor", "stop"],
    ];
    for args in human {
        codex.pairflow(args).ends(77).says("is for people");
    }
    assert_eq!(home.status("b1")["state"], "READY_FOR_APPROVAL");
    let log = home.pairflow(&["log", "b1"]).ok().stdout;
    assert!(log.contains("approve") && log.contains("is for people"), "{log}");
    for args in [&["status", "b1"][..], &["inbox", "b1"], &["log", "b1"], &["diff", "b1"], &["verify", "b1"], &["list"]]
    {
        codex.pairflow(args).ok();
    }
}

#[test]
fn a_wrong_token_leaves_no_trace_in_the_log() {
    let home = home();
    ready(&home, "b1");
    let before = home.pairflow(&["log", "b1"]).ok().stdout;
    let mut command = home.command(&["approve", "b1", "--yes"]);
    command.env("PAIRFLOW_BUBBLE", "b1").env("PAIRFLOW_AGENT", "codex").env("PAIRFLOW_TOKEN", "made up");
    home.finish(command).ends(77);
    assert_eq!(home.pairflow(&["log", "b1"]).ok().stdout, before);
}

#[test]
fn a_descendant_of_an_agent_stays_an_agent_without_its_variables() {
    let home = home();
    created(&home, "b1");
    let steps = "agents:\n  codex:\n    - - run: env -u PAIRFLOW_BUBBLE -u PAIRFLOW_AGENT -u PAIRFLOW_TOKEN \
                 PROGRAM pause b1 > out.txt 2>&1; echo $? >> out.txt\n\
                 \x20     - write: { path: done.txt, text: done }\n      - pass: { summary: tried it }\n";
    let script = home.root().join("agents.yaml");
    std::fs::write(&script, steps.replace("PROGRAM", env!("CARGO_BIN_EXE_pairflow"))).unwrap();
    home.pairflow(&["start", "b1", "--driver", "script", "--script", script.to_str().unwrap()]).ok();
    let status = home.wait_for("b1", |status| status["active_agent"] == "claude");
    let out =
        std::fs::read_to_string(std::path::Path::new(status["worktree"].as_str().unwrap()).join("out.txt")).unwrap();
    assert!(out.contains("started by an agent") && out.ends_with("77\n"), "{out}");
    assert_eq!(status["paused"], false);
}
