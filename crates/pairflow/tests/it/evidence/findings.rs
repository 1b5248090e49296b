//! Findings that the real program keeps over rounds: answered, confirmed, proven by reproducers, late, waived.

use pairflow_testkit::home::{Agent, Home};
use serde_json::{Value, json};

use crate::support::bubbles::{handed_over, home, started};

pub(super) fn findings(home: &Home, id: &str) -> Vec<Value> {
    home.pairflow(&["findings", id, "--json"]).ok().json()["findings"].as_array().unwrap().clone()
}

pub(super) fn review(home: &Home, reviewer: &Agent<'_>, json: &str) {
    let file = home.root().join("tmp/review.json");
    std::fs::write(&file, json).unwrap();
    reviewer.pairflow(&["pass", "--summary", "reviewed", "--findings", &file.display().to_string()]).ok();
}

#[test]
fn a_finding_is_one_row_from_its_filing_to_its_confirmation() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    review(
        &home,
        &claude,
        r#"{"findings": [{"severity": "P1", "title": "says nothing of failure", "file": "done.txt", "line": 1,
            "class": "core_logic", "suggestion": "say so"}]}"#,
    );
    home.wait_for_turn("b1", "codex");
    let row = &findings(&home, "b1")[0];
    assert_eq!((&row["id"], &row["state"], &row["anchor"]), (&json!("F1"), &json!("open"), &json!("done")));
    let brief = std::fs::read_to_string(codex.var("PAIRFLOW_BRIEF").unwrap()).unwrap();
    assert!(brief.contains("F1 P1 done.txt:1 says nothing of failure") && brief.contains("say so"), "{brief}");

    codex.write("done.txt", "done, or failed\n");
    let fixed = ["pass", "--summary", "says so now", "--fixed", "F1", "--test", "F1=grep -q failed done.txt"];
    codex.pairflow(&fixed).ok();
    home.wait_for_turn("b1", "claude");
    let row = &findings(&home, "b1")[0];
    assert_eq!(
        (&row["state"], &row["open"], &row["fix_evidence"]["shown"]),
        (&json!("fixed"), &json!(true), &json!(true))
    );
    claude.pairflow(&["pass", "--summary", "better", "--confirm", "F1", "--finding", "P3:naming"]).ok();
    home.wait_for_turn("b1", "codex");
    let rows = findings(&home, "b1");
    assert_eq!((&rows[0]["open"], &rows[1]["id"], &rows[1]["open"]), (&json!(false), &json!("F2"), &json!(true)));
    let shown = home.pairflow(&["findings", "b1", "--history"]).ok().stdout;
    assert!(shown.contains("r1   open by claude") && shown.contains("fixed by claude and closed"), "{shown}");
}

#[test]
fn answers_belong_to_their_seat_and_to_open_rows() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    claude
        .pairflow(&["pass", "--summary", "x", "--no-findings", "--fixed", "F1"])
        .ends(1)
        .says("--confirm and --reopen");
    claude.pairflow(&["pass", "--summary", "x", "--finding", "P1:no"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.pairflow(&["pass", "--summary", "x", "--confirm", "F1"]).ends(1).says("--fixed and --dispute");
    codex.pairflow(&["pass", "--summary", "x", "--fixed", "F9"]).ends(1).says("F9 is not an open finding");
    codex.pairflow(&["pass", "--summary", "x", "--dispute", "F1"]).ends(2);
    codex.pairflow(&["pass", "--summary", "x", "--dispute", "F1", "--reason", "it is meant"]).ok();
    home.wait_for_turn("b1", "claude");
    assert_eq!(findings(&home, "b1")[0]["state"], "disputed");
    let reopened = claude.pairflow(&["pass", "--summary", "x", "--reopen", "F1"]).ok();
    assert!(!reopened.stdout.contains("Still open although answered"), "{reopened:?}");
    assert_eq!(findings(&home, "b1")[0]["state"], "reopened");
    home.wait_for_turn("b1", "claude");
    assert_eq!(home.status("b1")["active_role"], "judge", "a disputed P1 on which the reviewer insists is judged");
}

#[test]
fn a_reproducer_decides_when_its_finding_is_mended() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    review(
        &home,
        &claude,
        r#"{"findings": [
            {"severity": "P1", "title": "there is no more.txt", "reproducer": "touch left-behind && test -f more.txt"},
            {"severity": "P2", "title": "a fault that is none", "reproducer": "true"}]}"#,
    );
    home.wait_for_turn("b1", "codex");
    let rows = findings(&home, "b1");
    assert_eq!(rows[0]["reproducer"]["stand"], "fails");
    assert_eq!(rows[1]["reproducer"]["stand"], "dropped");
    assert!(!codex.worktree.join("left-behind").exists(), "it runs in a copy");

    codex.pairflow(&["pass", "--summary", "nothing done", "--fixed", "F1"]).ok();
    home.wait_for_turn("b1", "codex");
    for n in 2..=3 {
        codex.write("draft.txt", &format!("{n}\n"));
        codex.pairflow(&["pass", "--summary", &format!("nothing done, {n}")]).ok();
        home.wait_for_turn("b1", "codex");
    }
    // What goes back too often is reviewed all the same.
    codex.write("draft.txt", "4\n");
    codex.pairflow(&["pass", "--summary", "nothing done at all"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "x", "--confirm", "F1", "--finding", "P3:y"]).ends(1).says("still fails");
    claude.pairflow(&["pass", "--summary", "I believe it", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    assert_eq!(findings(&home, "b1")[0]["open"], true);
    let told = std::fs::read_to_string(codex.var("PAIRFLOW_BRIEF").unwrap()).unwrap();
    assert!(told.contains("fails until it is fixed"), "{told}");

    codex.write("more.txt", "more\n");
    codex.pairflow(&["pass", "--summary", "there it is"]).ok();
    home.wait_for_turn("b1", "claude");
    let row = &findings(&home, "b1")[0];
    assert_eq!((&row["open"], &row["reproducer"]["stand"]), (&json!(false), &json!("passes")));
}

#[test]
fn a_reproducer_that_cannot_work_is_taken_back_by_its_author() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    review(
        &home,
        &claude,
        r#"{"findings": [
            {"severity": "P1", "title": "the list is not sorted", "reproducer": "echo No module named pytest; exit 1"},
            {"severity": "P1", "title": "the empty list fails", "reproducer": "no-such-runner test_empty"}]}"#,
    );
    home.wait_for_turn("b1", "codex");
    let rows = findings(&home, "b1");
    assert_eq!(rows[1]["reproducer"]["stand"], "dropped", "what cannot start shows nothing: {rows:#?}");
    let dispute = [
        "pass",
        "--summary",
        "not installed",
        "--dispute",
        "F1",
        "--reason",
        "pytest is not installed",
        "--fixed",
        "F2",
        "--untestable",
        "F2=the runner is missing",
    ];
    codex.pairflow(&dispute).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "x", "--finding", "P3:y", "--confirm", "F1"]).ends(1).says("--retract F1");
    codex.pairflow(&["pass", "--summary", "x", "--retract", "F1"]).ends(1).says("claude's turn");
    let file = home.root().join("tmp/withdrawn.json");
    std::fs::write(&file, r#"{"findings": [], "confirm": ["F1", "F2"], "retract": ["F1"]}"#).unwrap();
    claude.pairflow(&["pass", "--summary", "it is sorted", "--findings", &file.display().to_string()]).ok();
    home.wait_for_turn("b1", "codex");
    let row = &findings(&home, "b1")[0];
    assert_eq!((&row["open"], &row["withdrawn"], &row["reproducer"]), (&json!(false), &json!(1), &Value::Null));
    home.pairflow(&["findings", "b1"]).ok().says("reproducer withdrawn").says("reproducers withdrawn: 1 (F1)");
    codex.agrees("fine").ok();
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
    let package = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/artifacts/done-package.md")).unwrap();
    assert!(package.contains("- reproducers withdrawn: 1 (F1)"), "{package}");
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn reproducers_of_a_tree_share_one_copy_and_see_nothing_of_one_another() {
    let home = home();
    let log = home.root().join("tmp/setups");
    let setup = format!("echo made > made.txt && echo x >> {}", log.display());
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", "true", "--setup", &setup]).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "x\nx\n", "the worktree and the checkout are set up once");
    let claims = ["the door", "the roof", "the wall"].map(|title| {
        let (own, other) = (&title[4..], "ls | grep -qx -e door -e roof -e wall");
        let spoil = "rm -f made.txt && echo spoilt > done.txt";
        let command = format!("grep -q '^done$' done.txt || exit 0; test -e made.txt || exit 0; {other} && exit 0; touch {own}; {spoil}; exit 1");
        json!({"severity": "P1", "title": format!("{title} is missing"), "reproducer": command})
    });
    review(&home, &claude, &json!({"findings": claims}).to_string());
    home.wait_for_turn("b1", "codex");
    let stands: Vec<_> = findings(&home, "b1").iter().map(|row| row["reproducer"]["stand"].clone()).collect();
    assert_eq!(stands, ["fails", "fails", "fails"], "each finds the tree as it was set up");
    let set_up = std::fs::read_to_string(&log).unwrap();
    assert_eq!(set_up, "x\n".repeat(3), "once more for all of them, before the first failure counted");
    let left = std::fs::read_dir(codex.worktree.parent().unwrap()).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(!left.iter().any(|name| name.starts_with(".scratch")), "the copy is gone: {left:?}");
}

#[test]
fn late_findings_are_marked_and_the_loop_goes_on() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    claude.pairflow(&["pass", "--summary", "x", "--finding", "P1:first"]).ok();
    for (round, title) in [(2, "second"), (3, "third")] {
        home.wait_for_turn("b1", "codex");
        codex.write(format!("round-{round}.txt"), "x\n");
        codex.pairflow(&["pass", "--summary", "more", "--dispute", "F1", "--reason", "no"]).ok();
        home.wait_for_turn("b1", "claude");
        review(
            &home,
            &claude,
            &format!(
                r#"{{"findings": [{{"severity": "P1", "title": "{title}", "file": "done.txt", "line": 1}}], "confirm": []}}"#
            ),
        );
    }
    home.wait_for_turn("b1", "codex");
    let rows = findings(&home, "b1");
    assert_eq!((&rows[1]["late"], &rows[2]["late"]), (&json!(true), &json!(true)));
}

#[test]
fn a_person_can_live_with_a_finding_or_a_check_and_an_agent_cannot_say_so() {
    let home = home();
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", "true", "--lint", "false"]).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_state("b1", "WAITING_HUMAN");
    home.pairflow(&["waive", "--id", "b1", "lint", "--reason", "flaky"]).ok();
    home.wait_for_turn("b1", "codex");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("a.txt", "a\n");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "x", "--finding", "P1:ugly"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.pairflow(&["waive", "--id", "b1", "F1", "--reason", "x"]).ends(77);
    home.pairflow(&["waive", "--id", "b1", "F7", "--reason", "x"]).ends(1).says("F7");
    home.pairflow(&["waive", "--id", "b1", "tests", "--reason", "x"]).ends(1).says("there are test, lint");
    home.pairflow(&["waive", "--id", "b1", "F1"]).ends(2).says("--reason");
    home.pairflow(&["waive", "--id", "b1", "F1", "--reason", "it is only ugly"]).ok();
    home.pairflow(&["waive", "--id", "b1", "F1", "--reason", "again"]).ends(1).says("finding F1 is already waived");
    codex.pairflow(&["waive", "--id", "b1", "F1", "--withdraw"]).ends(77);
    home.pairflow(&["waive", "--id", "b1", "F1", "--withdraw", "--reason", "too ugly"]).ok().says("Withdrew");
    let history = home.pairflow(&["findings", "b1", "--history"]).ok().stdout;
    assert!(history.contains("reopened by human") && history.contains("withdrawn: too ugly"), "{history}");
    home.pairflow(&["waive", "--id", "b1", "F1", "--reason", "it is only ugly"]).ok();
    home.pairflow(&["waive", "--id", "b1", "lint", "--withdraw"]).ok();
    home.pairflow(&["log", "b1"]).ok().says("withdraws the waiver of check 'lint'");
    home.pairflow(&["waive", "--id", "b1", "lint", "--withdraw"]).ends(1).says("is not waived");
    codex.pairflow(&["pass", "--summary", "y"]).ok();
    let failed = |status: &Value| status["checks"][1]["stand"] == "failed" && status["turn_state"] == "open";
    home.wait_for("b1", failed);
    home.pairflow(&["waive", "--id", "b1", "lint", "--reason", "the linter is broken"]).ok();
    if home.status("b1")["active_agent"] == "codex" {
        codex.pairflow(&["pass", "--summary", "z"]).ok();
    }
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "fine", "--no-findings"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.agrees("fine").ok();
    home.wait_for_state("b1", "READY_FOR_APPROVAL");
    let package = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/b1/artifacts/done-package.md")).unwrap();
    assert!(package.contains("the linter is broken") && package.contains("F1 P1 ugly"), "{package}");
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn findings_files_of_every_schema_are_taken_and_garbage_is_refused() {
    let home = home();
    let (_codex, claude) = handed_over(&home, "b1");
    let file = home.root().join("tmp/review.json");
    let unknown = [
        (r#"{"findings": [{"severity": "P7", "title": "x"}]}"#, "unknown variant `P7`"),
        (r#"{"findings": [{"severity": "p1", "title": "x"}]}"#, "unknown variant `p1`"),
        (r#"{"findings": [{"title": "x"}]}"#, "severity"),
    ];
    for (bad, why) in [("", ""), ("fine by me", ""), (r#"{"verdict": "approve"}"#, "")].into_iter().chain(unknown) {
        std::fs::write(&file, bad).unwrap();
        claude.pairflow(&["pass", "--summary", "x", "--findings", &file.display().to_string()]).ends(2).says(why);
    }
    assert_eq!(findings(&home, "b1").len(), 0);
    review(
        &home,
        &claude,
        r#"{"decision": "NO_GO", "feedback": "no error handling", "quality_checks": {"security_review_passed": false}}"#,
    );
    home.wait_for_turn("b1", "codex");
    let rows = findings(&home, "b1");
    assert_eq!((&rows[0]["severity"], &rows[0]["class"]), (&json!("P0"), &json!("security")));
}

#[test]
fn a_file_that_asks_for_changes_is_never_a_clean_review_in_any_schema() {
    let home = home();
    let file = home.root().join("tmp/review.json");
    let pass = ["pass", "--summary", "x", "--findings", &file.display().to_string()].map(str::to_owned);
    let pass = pass.each_ref().map(String::as_str);
    let asks = [
        r#"{"verdict": "request_changes", "summary": "no error handling", "issues": []}"#,
        r#"{"decision": "NO_GO", "feedback": "no limits", "quality_checks": {"security_review_passed": true}}"#,
        r#"{"challenger_approved": false, "critique": "nobody asked for a cache"}"#,
        r#"{"findings": [{"severity": "P1", "title": "the door is open"}]}"#,
    ];
    for (nth, text) in asks.into_iter().enumerate() {
        let id = format!("b{nth}");
        let (_codex, claude) = handed_over(&home, &id);
        let minor = r#"[{"severity": "nitpick", "file_path": "done.txt", "line_start": 1, "issue": "slow"}]"#;
        let nothing = format!(r#"{{"verdict": "request_changes", "summary": "no", "issues": {minor}}}"#);
        std::fs::write(&file, nothing).unwrap();
        claude.pairflow(&pass).ends(1).says("file what blocks as P0 or P1, or approve");
        assert_eq!(findings(&home, &id), Vec::<Value>::new(), "nothing was recorded");
        std::fs::write(&file, text).unwrap();
        claude.pairflow(&pass).ok();
        let status = home.wait_for_turn(&id, "codex");
        assert_eq!((&status["clean_reviews"], &status["active_role"]), (&json!([]), &json!("implementer")), "{text}");
        assert_eq!(findings(&home, &id)[0]["severity"], "P1", "{text}");
    }
}

#[test]
fn a_review_that_wants_to_discuss_asks_the_person() {
    let home = home();
    let (_codex, claude) = handed_over(&home, "b1");
    review(&home, &claude, r#"{"verdict": "needs_discussion", "summary": "which of the two?", "issues": []}"#);
    home.wait_for_state("b1", "WAITING_HUMAN");
    home.pairflow(&["inbox", "b1"]).ok().says("discuss");
    home.pairflow(&["reply", "b1", "--message", "the first"]).ok();
    let status = home.wait_for_turn("b1", "codex");
    assert_eq!(status["clean_reviews"], json!([]), "a review that wants to discuss is not a clean one");
}

#[test]
fn a_grave_claim_is_not_lost_behind_a_remark_that_is_said_three_times() {
    let home = home();
    let (_codex, claude) = handed_over(&home, "b1");
    let claim = |severity: &str, title: &str| format!(r#"{{"severity": "{severity}", "title": "{title}"}}"#);
    let (one, two) = ("no timeout in the fetch client", "the fetch client has no timeout");
    let all = [claim("P3", one), claim("P3", two), claim("P0", two)].join(",");
    review(&home, &claude, &format!(r#"{{"findings": [{all}]}}"#));
    home.wait_for_turn("b1", "codex");
    let grave = findings(&home, "b1").into_iter().any(|row| row["severity"] == "P0" && row["blocks"] == true);
    assert!(grave, "{:#?}", findings(&home, "b1"));
}

#[test]
fn weakened_tests_are_shown_to_the_reviewer() {
    let home = home();
    home.commit(
        "tests/test_login.py",
        "def test_login():\n    assert login() == 1\n\ndef test_out():\n    assert out()\n",
        "tests",
    );
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("done.txt", "done\n");
    codex.write(
        "tests/test_login.py",
        "import pytest\n\n@pytest.mark.skip\ndef test_login():\n    assert login() == 1\n",
    );
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("b1", "claude");
    let brief = std::fs::read_to_string(claude.var("PAIRFLOW_BRIEF").unwrap()).unwrap();
    assert!(
        brief.contains("skipped in tests/test_login.py") && brief.contains("deleted in tests/test_login.py"),
        "{brief}"
    );
}

#[test]
fn new_tests_have_to_fail_on_the_base_where_that_is_asked_for() {
    let home = home();
    home.commit("pairflow.toml", "[evidence]\nred_green = true\n", "configure");
    home.commit("tests/test_all.py", "true # nothing yet\n", "a first test");
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", "sh tests/test_all.py"]).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    let codex = home.agent("b1", "codex");
    let stand = |home: &Home| home.status("b1")["checks"][1].clone();
    codex.write("tests/test_all.py", "true\n");
    codex.write("code.txt", "right\n");
    codex.pairflow(&["pass", "--summary", "a test that shows nothing"]).ok();
    home.wait_for_turn("b1", "codex");
    assert_eq!((&stand(&home)["check"], &stand(&home)["stand"]), (&json!("red-green"), &json!("failed")));
    codex.write("tests/test_all.py", "grep -q right code.txt\n");
    codex.pairflow(&["pass", "--summary", "now it does"]).ok();
    home.wait_for_turn("b1", "claude");
    assert_eq!(stand(&home)["stand"], "passed");
}

#[test]
fn test_and_typecheck_are_run_by_pairflow_on_the_tree_and_kept_for_every_round() {
    let home = home();
    let (test, types) = ("cd sub && test -f made.txt", "cd sub && echo types of $(pwd)");
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", test, "--typecheck", types]).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.base_fails("b1", "codex");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    codex.write("sub/other.txt", "x\n");
    codex.pairflow(&["pass", "--summary", "I ran the tests, all green"]).ok();
    let round = |n: u32| {
        let name = format!(".pairflow/bubbles/b1/artifacts/round-00{n}.tests.txt");
        std::fs::read_to_string(home.repo.join(name)).unwrap()
    };
    let status = home.wait_for_turn("b1", "codex");
    let stands: Vec<_> =
        status["checks"].as_array().unwrap().iter().map(|one| one["stand"].as_str().unwrap()).collect();
    assert_eq!(stands, ["failed", "passed"], "an agent's word is no receipt");
    assert!(round(1).contains("== test: failed") && round(1).contains("types of") && round(1).contains("b1/sub"));
    codex.write("sub/made.txt", "x\n");
    codex.pairflow(&["pass", "--summary", "now"]).ok();
    home.wait_for_turn("b1", "claude");
    claude.pairflow(&["pass", "--summary", "x", "--finding", "P1:unclear"]).ok();
    home.wait_for_turn("b1", "codex");
    codex.write("sub/more.txt", "x\n");
    codex.pairflow(&["pass", "--summary", "clear", "--fixed", "F1", "--untestable", "F1=a comment"]).ok();
    home.wait_for_turn("b1", "claude");
    assert!(round(2).contains("== test: passed") && round(2).contains("== typecheck: passed"));
}
