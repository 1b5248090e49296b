//! One bubble from task to merge, driven by two agents who join by themselves, through nothing but the real binary.

use serde_json::json;

use crate::support::bubbles::{created, home};

#[test]
fn a_bubble_goes_from_task_to_merge_by_commands_alone() {
    let home = home();
    created(&home, "b1");
    let status = home.status("b1");
    assert_eq!((&status["state"], &status["round"]), (&json!("CREATED"), &json!(0)));
    assert_eq!(status["acceptance_criteria"], json!(["done.txt says done"]));

    home.pairflow(&["bubble", "start", "--id", "b1"]).ok().says("&& eval \"$(pairflow env b1 --agent codex)\"");
    let status = home.wait_for_turn("b1", "codex");
    assert_eq!((&status["active_role"], &status["round"]), (&json!("implementer"), &json!(1)));
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    assert!(std::fs::read_to_string(codex.var("PAIRFLOW_BRIEF").unwrap()).unwrap().contains("Write done.txt"));

    codex.write("done.txt", "dome\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok().says("claude is next, as reviewer of round 1");
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["orchestra", "pass", "--summary", "a typo", "--finding", "P1:it says dome"]).ok();
    let status = home.wait_for_turn("b1", "codex");
    assert_eq!((&status["round"], &status["open_findings"][0]["title"]), (&json!(2), &json!("it says dome")));

    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "mended the typo"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "clean now", "--no-findings"]).ok();
    let status = home.wait_for_turn("b1", "codex");
    assert_eq!(status["active_role"], "reviewer", "after a clean review the seats swap");
    let swapped = json!([
        {"round": 1, "implementer": "codex", "reviewer": "claude"},
        {"round": 2, "implementer": "codex", "reviewer": "claude"},
        {"round": 2, "implementer": "claude", "reviewer": "codex"},
    ]);
    assert_eq!(status["round_role_history"], swapped);
    codex.converged("both agree").ok().says("READY_FOR_APPROVAL");

    let status = home.wait_for_state("b1", "READY_FOR_APPROVAL");
    assert_eq!(status["missing_for_convergence"], json!([]));
    home.pairflow(&["inbox", "b1"]).ok().says("approve?").says("pairflow approve b1");
    home.pairflow(&["approve", "b1", "--yes"]).ok().says("pairflow commit b1");
    home.pairflow(&["commit", "b1", "--yes"]).ok().says("on branch bubble/b1");
    let status = home.wait_for_state("b1", "DONE");
    assert_eq!(home.git(&["rev-parse", "bubble/b1"]), status["commit"].as_str().unwrap());
    assert_eq!(home.git(&["show", "bubble/b1:done.txt"]), "done");
    assert_eq!(home.git(&["log", "--format=%s", "main..bubble/b1"]), "Write done.txt", "one commit, no more");

    let line = home.pairflow(&["merge", "b1", "--yes"]).ends(1);
    assert!(line.stdout.contains("merge --ff-only"), "{line:?}");
    assert_eq!(home.git(&["log", "--format=%s", "main"]), "first commit", "the person's checkout was left alone");
    home.pairflow(&["merge", "b1", "--here", "--yes"]).ok().says("Merged bubble b1: main is at");
    assert_eq!(home.git(&["show", "main:done.txt"]), "done");
    assert_eq!(home.git(&["status", "--porcelain"]), "", "nothing of pairflow's shows up in the person's repository");

    home.pairflow(&["verify", "b1"]).ok().says("reviewed by claude and codex");
    let log = home.pairflow(&["log", "b1"]).ok().stdout;
    for part in ["claude    finds P1 it says dome (F1)", "seats swap: claude implements", "convergence on tree"] {
        assert!(log.contains(part), "{part:?} is missing in:\n{log}");
    }
}
