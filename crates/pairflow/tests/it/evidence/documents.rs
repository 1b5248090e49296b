//! Document bubbles: judged by pairflow's own checks, reviewed in steps, understood by the person; and the
//! implementation that follows an approved document.

use pairflow_core::hash::sha256;
use pairflow_testkit::home::{Agent, Home, Ran};
use serde_json::{Value, json};

use crate::support::bubbles::home;
use crate::support::log::lines_of;

const GOOD: &str = "# Retry\n\n## Scope\n- Downloads of the nightly job.\n\n## Non-goals\n- Uploads.\n\n\
    ## Requirements\n- R1: A download that fails is tried up to 4 times.\n\n\
    ## Acceptance criteria\n- AC1 (R1): With 3 failures in a row the document is printed.\n\n\
    ## Risks\n- A server that hangs holds the job for 30 s.\n\n## Rollout\n- One week on the test machine.\n";

const STEPS: [&str; 6] = [
    "--step",
    "contradictions=none between scope, requirements and criteria",
    "--step",
    "dry-run=a loop around the download; nothing blocks it",
    "--step",
    "adversarial=a hanging server is named as a risk",
];

fn document_bubble<'a>(home: &'a Home, id: &str) -> (Agent<'a>, Agent<'a>) {
    home.pairflow(&["create", "--id", id, "--task", "Write the PRD", "--kind", "document"]).ok();
    home.pairflow(&["start", id]).ok();
    home.wait_for_turn(id, "codex");
    (home.agent(id, "codex"), home.agent(id, "claude"))
}

fn stands(status: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    status["checks"].as_array().unwrap().iter().map(|one| (text(&one["check"]), text(&one["stand"]))).collect()
}

/// The implementer hands over, with the outline that every hand-over of a document has, and an explanation.
fn hand_over(agent: &Agent<'_>, summary: &str, more: &[&str]) -> Ran {
    let explanation = agent.explanation();
    let outline =
        ["pass", "--summary", summary, "--step", "dry-run=a loop around the download", "--explain", &explanation];
    agent.pairflow(&[&outline[..], more].concat())
}

fn review(agent: &Agent<'_>, findings: &[&str]) -> Ran {
    let args: Vec<&str> = ["pass", "--summary", "read"].iter().chain(&STEPS).chain(findings).copied().collect();
    agent.pairflow(&args)
}

#[test]
fn a_document_goes_through_checks_steps_and_the_persons_understanding() {
    let home = home();
    let (codex, claude) = document_bubble(&home, "prd");
    codex.write("docs/prd.md", &GOOD.replace("## Rollout", "## Later"));
    codex
        .pairflow(&["pass", "--summary", "first draft"])
        .ends(1)
        .says("pairflow pass --summary '…' --step dry-run='…'");
    hand_over(&codex, "first draft", &[]).ok();
    // What a check shows goes back before anyone reviews it.
    let status = home.wait_for_turn("prd", "codex");
    assert_eq!(stands(&status)[0], ("document:completeness".to_owned(), "failed".to_owned()));
    let brief = std::fs::read_to_string(codex.var("PAIRFLOW_BRIEF").unwrap()).unwrap();
    assert!(brief.to_lowercase().contains("rollout"), "{brief}");
    codex.write("docs/prd.md", &format!("{GOOD}\n"));
    hand_over(&codex, "second draft", &[]).ok();
    home.wait_for_turn("prd", "claude");
    let brief = std::fs::read_to_string(claude.var("PAIRFLOW_BRIEF").unwrap()).unwrap();
    assert!(brief.contains("--step") && brief.contains("> a loop around the download"), "{brief}");

    claude.pairflow(&["pass", "--summary", "x", "--no-findings"]).ends(1).says("contradictions, dry-run, adversarial");
    review(&claude, &["--finding", "P1:no rollout"]).ok();
    home.wait_for_turn("prd", "codex");
    codex.write("docs/prd.md", GOOD);
    hand_over(&codex, "with a rollout", &["--fixed", "F1"]).ok();
    let status = home.wait_for_turn("prd", "claude");
    assert!(stands(&status).iter().all(|(_, stand)| stand == "passed"), "{status:#}");
    review(&claude, &["--no-findings"]).ok();
    home.wait_for_turn("prd", "codex");
    codex.converged("done").ends(1).says("understood").says("pairflow brief prd");
    review(&codex, &["--no-findings"]).ok();

    home.wait_for_state("prd", "WAITING_HUMAN");
    home.pairflow(&["approve", "prd", "--yes"]).ends(1);
    home.pairflow(&["inbox", "prd"]).ok().says("--decision accept");
    home.pairflow(&["reply", "prd", "--message", "what is the test machine?"]).ok();
    home.wait_for_turn("prd", "codex");
    let asked = std::fs::read_to_string(home.agent("prd", "codex").var("PAIRFLOW_BRIEF").unwrap()).unwrap();
    assert!(asked.contains("what is the test machine?"), "{asked}");
    let (codex, claude) = (home.agent("prd", "codex"), home.agent("prd", "claude"));
    codex.write("docs/prd.md", &GOOD.replace("the test machine", "the test machine in the office"));
    hand_over(&codex, "said which one", &[]).ok();
    home.wait_for_turn("prd", "claude");
    review(&claude, &["--no-findings"]).ok();
    home.wait_for_turn("prd", "codex");
    review(&codex, &["--no-findings"]).ok();
    home.wait_for_state("prd", "WAITING_HUMAN");
    home.pairflow(&["reply", "prd", "--decision", "accept"]).ok();
    home.wait_for_state("prd", "READY_FOR_APPROVAL");
    home.pairflow(&["verify", "prd"]).ok();
}

#[test]
fn every_section_that_a_document_lacks_is_named_to_its_implementer() {
    let home = home();
    let (codex, _) = document_bubble(&home, "prd");
    codex.write("docs/prd.md", "# Retry\n\nA download that fails is tried up to 4 times.\n");
    hand_over(&codex, "draft", &[]).ok();
    home.wait_for("prd", |status| status["turn_state"] == "open" && stands(status)[0].1 == "failed");
    let brief = std::fs::read_to_string(codex.var("PAIRFLOW_BRIEF").unwrap()).unwrap();
    for section in ["Scope", "Non-goals", "Requirements", "Acceptance criteria", "Risks", "Rollout"] {
        assert!(brief.contains(&format!("the section \"{section}\" is missing")), "{section}:\n{brief}");
    }
}

#[test]
fn an_unresolved_blocker_of_the_dry_run_fails_the_gate_until_it_is_resolved() {
    let home = home();
    let (codex, claude) = document_bubble(&home, "prd");
    codex.write("docs/prd.md", GOOD);
    hand_over(&codex, "draft", &["--blocker", "no server is named"]).ok();
    let status = home.wait_for_turn("prd", "claude");
    assert_eq!(status["open_findings"][0]["title"], "no server is named", "{status:#}");
    let brief = std::fs::read_to_string(claude.var("PAIRFLOW_BRIEF").unwrap()).unwrap();
    assert!(brief.contains("F1 P1 no server is named (blocks the implementation"), "{brief}");
    review(&claude, &["--no-findings", "--confirm", "F1"]).ends(1).says("F1 is a blocker");
    review(&claude, &["--no-findings"]).ok();

    let status = home.wait_for_turn("prd", "codex");
    assert_eq!((&status["active_role"], &status["open_findings"][0]["blocks"]), (&"implementer".into(), &true.into()));
    codex.write("docs/prd.md", &GOOD.replace("Downloads", "Downloads from files.example.org"));
    hand_over(&codex, "named it", &["--fixed", "F1"]).ok();
    home.wait_for_turn("prd", "claude");
    review(&claude, &["--no-findings", "--confirm", "F1"]).ok();
    let status = home.wait_for_turn("prd", "codex");
    assert_eq!((&status["active_role"], &status["open_findings"]), (&"reviewer".into(), &serde_json::json!([])));
    review(&codex, &["--no-findings"]).ok();
    home.wait_for_state("prd", "WAITING_HUMAN");
    home.pairflow(&["reply", "prd", "--decision", "accept"]).ok();
    home.wait_for_state("prd", "READY_FOR_APPROVAL");
}

#[test]
fn the_adversarial_pass_is_a_recorded_step_with_tagged_findings() {
    let home = home();
    let (codex, claude) = document_bubble(&home, "prd");
    codex.write("docs/prd.md", GOOD);
    hand_over(&codex, "draft", &[]).ok();
    home.wait_for_turn("prd", "claude");
    let finding = |tag: &'static str| ["--finding", tag];
    review(&claude, &finding("P4:the server lies")).ends(2);
    let tagged = ["P0:the server lies", "P1:two jobs at once", "P2:a slow disk", "P3:the wording"];
    review(&claude, &tagged.map(finding).concat()).ok();

    let passed = lines_of(&home, "prd", "PASS").pop().unwrap();
    let said = &passed["payload"];
    let found =
        |finding: &Value| format!("{}:{}", finding["severity"].as_str().unwrap(), finding["title"].as_str().unwrap());
    assert_eq!(said["findings"].as_array().unwrap().iter().map(found).collect::<Vec<_>>(), tagged);
    let step = serde_json::json!({"step": "adversarial", "result": "a hanging server is named as a risk"});
    assert!(said["steps"].as_array().unwrap().contains(&step), "{said:#}");
}

#[test]
fn only_the_documents_that_are_named_are_checked() {
    let home = home();
    let create = ["create", "--id", "b1", "--task", "x", "--kind", "document", "--document", "docs/prd.md"];
    home.pairflow(&create).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    let (named, (any, _)) = (home.agent("b1", "codex"), document_bubble(&home, "b2"));
    for codex in [&named, &any] {
        codex.write("docs/prd.md", GOOD);
        codex.write("notes.md", "# Notes\n\nSee [the limits](#limits).\n");
        hand_over(codex, "first draft", &[]).ok();
    }
    home.wait_for_turn("b1", "claude");
    assert!(stands(&home.status("b1")).iter().all(|(_, stand)| stand == "passed"));
    home.wait_for("b2", |status| stands(status).iter().any(|(_, stand)| stand == "failed"));
}

#[test]
fn a_document_check_can_be_waived_by_the_person_only() {
    let home = home();
    let (codex, claude) = document_bubble(&home, "prd");
    codex.write(
        "docs/prd.md",
        &GOOD
            .replace("\n\n## Risks", "\n- AC2 (R2): The page feels fast.\n\n## Risks")
            .replace("\n\n## Acceptance", "\n- R2: The page is fast.\n\n## Acceptance"),
    );
    hand_over(&codex, "draft", &[]).ok();
    let status = home.wait_for_turn("prd", "codex");
    assert!(stands(&status).contains(&("document:ambiguity".to_owned(), "failed".to_owned())), "{status:#}");
    claude.pairflow(&["waive", "--id", "prd", "document:ambiguity", "--reason", "x"]).ends(77);
    home.pairflow(&["waive", "--id", "prd", "document:ambiguity", "--reason", "meant to be open"]).ok();
    hand_over(&codex, "as it is", &[]).ok();
    let status = home.wait_for_turn("prd", "claude");
    assert!(stands(&status).contains(&("document:ambiguity".to_owned(), "waived".to_owned())), "{status:#}");
}

#[test]
fn an_implementation_follows_an_approved_document_that_is_pinned_by_its_hash() {
    let home = home();
    home.commit("docs/prd.md", GOOD, "the document");
    let make = |id: &str, prd: &[&str]| {
        let args = ["create", "--id", id, "--task", "x", "--test", "true", "--kind", "implementation"];
        home.pairflow(&[&args[..], prd].concat())
    };
    make("i1", &[]).ends(2).says("--prd");
    make("i2", &["--prd", "docs/none.md"]).ends(3).says("docs/none.md");
    let hash = &sha256(GOOD.as_bytes())[..12];
    let asked = make("i3", &["--prd", "docs/prd.md"]).ends(1).says("is not the result of a document bubble");
    assert!(asked.stderr.contains("1 acceptance criteria"), "{asked:?}");
    assert!(asked.stderr.contains(&format!("--prd docs/prd.md --prd-approved {hash}\n")), "{asked:?}");
    make("i3", &["--prd", "docs/prd.md", "--prd-approved", "0123456789ab"])
        .ends(1)
        .says(&format!("--prd-approved {hash}"));
    make("i3", &["--prd", "docs/prd.md", "--prd-approved", hash]).ok();
    let status = home.status("i3");
    assert_eq!(status["acceptance_criteria"], json!(["AC1 (R1): With 3 failures in a row the document is printed."]));
    assert_eq!(status["prd"]["approved"], "person");
    home.pairflow(&["status", "i3"]).ok().says("docs/prd.md, confirmed by the person when the bubble was created");
    let first = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/i3/transcript.ndjson")).unwrap();
    assert!(first.contains("\"source\":\"docs/prd.md\""), "{first}");
    assert!(first.contains("[\"docs/prd.md\",\""), "the document is pinned by its hash: {first}");
    home.pairflow(&["start", "i3"]).ok();
    home.wait_for_turn("i3", "codex");
    let agent = home.agent("i3", "codex");
    agent.write("docs/prd.md", "# Easier\n");
    agent.pairflow(&["pass", "--summary", "made the document fit the code"]).ok();
    let status = home.wait_for_turn("i3", "claude");
    assert_eq!(status["snapshot"]["out_of_scope"], serde_json::json!(["docs/prd.md"]), "{status:#}");
    home.pairflow(&["verify", "i3"]).ends(5).says("has a docs/prd.md that was changed");
    let (codex, _) = document_bubble(&home, "prd");
    make("i4", &["--prd", "prd"]).ends(1).says("not approved");
    drop(codex);
    home.pairflow(&["create", "--id", "both", "--task", "x", "--kind", "document", "--prd", "prd"]).ends(2).says("prd");
}

#[test]
fn an_approved_document_that_is_nowhere_else_can_be_read_and_is_compared_by_verify() {
    let home = home();
    home.commit("docs/old.md", "# Old\n", "another document");
    let (codex, claude) = document_bubble(&home, "prd");
    codex.write("docs/prd.md", GOOD);
    hand_over(&codex, "draft", &[]).ok();
    home.wait_for_turn("prd", "claude");
    review(&claude, &["--no-findings"]).ok();
    home.wait_for_turn("prd", "codex");
    review(&codex, &["--no-findings"]).ok();
    home.wait_for_state("prd", "WAITING_HUMAN");
    home.pairflow(&["reply", "prd", "--decision", "accept"]).ok();
    home.wait_for_state("prd", "READY_FOR_APPROVAL");
    home.pairflow(&["approve", "prd", "--yes"]).ok();

    let args = ["create", "--id", "i1", "--task", "x", "--test", "true", "--kind", "implementation", "--prd", "prd"];
    home.pairflow(&args).ok();
    home.pairflow(&["start", "i1"]).ok();
    home.wait_for_turn("i1", "codex");
    let (codex, claude) = (home.agent("i1", "codex"), home.agent("i1", "claude"));
    assert!(!codex.worktree.join("docs/prd.md").exists(), "nobody has merged it");
    let named = |agent: &Agent<'_>| {
        let brief = std::fs::read_to_string(agent.var("PAIRFLOW_BRIEF").unwrap()).unwrap();
        let path = brief.lines().find(|line| line.contains("/artifacts/prd/")).map(str::trim);
        std::path::PathBuf::from(path.unwrap_or_else(|| panic!("no path of the document in {brief}")))
    };
    assert_eq!(std::fs::read_to_string(named(&codex)).unwrap(), GOOD);
    let brief = std::fs::read_to_string(codex.var("PAIRFLOW_BRIEF").unwrap()).unwrap();
    assert!(brief.contains("- AC1 (R1): With 3 failures in a row the document is printed."), "{brief}");
    home.pairflow(&["status", "i1"]).ok().says("docs/prd.md, approved in bubble prd");
    codex.write("code.txt", "x\n");
    codex.pairflow(&["pass", "--summary", "x"]).ok();
    home.wait_for_turn("i1", "claude");
    let copy = named(&claude);
    home.pairflow(&["verify", "i1"]).ok().says("document docs/prd.md");

    std::fs::write(&copy, "# Easier\n").unwrap();
    home.pairflow(&["verify", "i1"]).ends(5).says("document docs/prd.md").says("was changed");
    std::fs::remove_file(&copy).unwrap();
    home.pairflow(&["verify", "i1"]).ok();
    home.pairflow(&["stop", "prd", "--yes"]).ok();
    home.pairflow(&["verify", "i1"]).ends(5).says("docs/prd.md").says("is gone");
}
