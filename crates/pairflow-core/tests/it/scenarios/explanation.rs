//! The explanation pack: a criterion of convergence, by whichever verb it is reached.

use crate::scenarios::tie_break::looks;
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_core::view::status::Status;
use pairflow_testkit::script::{check, play};

const ALL: &str =
    "an explanation for the person (--explain FILE with the headings: what changed, why, risks, manual test plan)";

const SECOND: &str = "start
    codex edits a.rs
    codex: pass
    claude: pass clean";

#[test]
fn no_claim_is_accepted_without_an_explanation() {
    check(
        &format!("{SECOND}\ncodex: converged unexplained\ncodex: converged unexplained\ncodex: converged explained"),
        &format!(
            "#1 RUNNING codex implementer round 1
             #2 RUNNING claude reviewer round 1
             #3 RUNNING codex reviewer round 1 clean: claude
             refused: not converged yet: {ALL}
             refused: not converged yet: {ALL}
             #4 READY_FOR_APPROVAL round 1 tree1"
        ),
    );
}

#[test]
fn no_clean_pass_completes_the_acceptance_without_an_explanation() {
    check(
        &format!(
            "{SECOND}\ncodex: pass clean unexplained\ncodex: pass P3 'naming' unexplained\ncodex: pass clean explained"
        ),
        &format!(
            "#1 RUNNING codex implementer round 1
             #2 RUNNING claude reviewer round 1
             #3 RUNNING codex reviewer round 1 clean: claude
             refused: not converged yet: {ALL}
             refused: not converged yet: {ALL}
             #4 READY_FOR_APPROVAL round 1 tree1"
        ),
    );
    check(
        &format!("{SECOND}\ncodex: pass P1 'no rollback' unexplained"),
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         #4 RUNNING claude implementer round 2 clean: claude open: F1 P1 no rollback",
    );
}

#[test]
fn what_is_missing_is_said_in_the_same_words_everywhere() {
    let play = play(SECOND);
    let status = Status::of(&play.state, play.log.last().unwrap().at);
    let shown: Vec<_> = status.missing_for_convergence.iter().map(ToString::to_string).collect();
    assert!(shown.contains(&ALL.to_owned()), "{shown:?}");
    let brief = brief(&play.state, &BriefMaterial::default()).unwrap();
    for line in [
        "It must tell the person what is still missing (what changed, why, risks, manual test plan)",
        "--no-findings --explain FILE",
        "pairflow converged --id demo --summary '…' --explain FILE",
    ] {
        assert!(brief.contains(line), "{line}: {brief}");
    }
}

#[test]
fn only_a_person_does_without_an_explanation_and_the_package_says_so() {
    let play = play(&format!("{}claude: pass clean\nhuman: reply accept", looks(11)));
    let certificate = play.state.gate.certificate.as_ref().unwrap();
    let missing = "an explanation (what changed, why, risks, manual test plan)";
    assert_eq!(certificate.waived, ["a second clean review", missing]);
    assert!(play.package().contains(&format!("accepted by a person without: {missing}")), "{}", play.package());
    assert!(play.package().contains("Missing: no agent has explained this (why)."), "{}", play.package());
}

#[test]
fn only_the_parts_that_nobody_gave_are_asked_for() {
    check(
        "start
         codex edits a.rs
         codex: pass explaining '## What changed\\nA lock.\\n## Why\\nA race.'
         claude: pass clean explaining '## Risks\\nNone known.'
         codex: converged unexplained
         codex: converged explaining '## Test plan\\nLog in twice.'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 1 clean: claude
         refused: not converged yet: an explanation for the person (--explain FILE with the headings: manual test plan)
         #4 READY_FOR_APPROVAL round 1 tree1",
    );
}

#[test]
fn a_claim_with_all_four_parts_is_accepted_at_once_and_nothing_is_noted() {
    let play = play(&format!("{SECOND}\ncodex: converged explained"));
    let certificate = play.state.gate.certificate.as_ref().unwrap();
    assert!(!certificate.notes.iter().any(|note| note.contains("explain")), "{:?}", certificate.notes);
    for said in ["the what", "the why", "the risks", "the test plan"] {
        assert!(play.package().contains(said), "{said}: {}", play.package());
    }
}
