//! The explanation pack: asked for once, never in the way of a clean review.

use pairflow_core::log::Kind;
use pairflow_testkit::script::{check, play};

const ALL: &str =
    "an explanation for the person (--explain FILE with the headings: what changed, why, risks, manual test plan)";

const SECOND: &str = "start
    codex edits a.rs
    codex: pass
    claude: pass clean";

#[test]
fn the_first_claim_without_an_explanation_is_refused_and_the_second_is_not_held_up() {
    check(
        &format!("{SECOND}\ncodex: converged unexplained\ncodex: converged unexplained"),
        &format!(
            "#1 RUNNING codex implementer round 1
             #2 RUNNING claude reviewer round 1
             #3 RUNNING codex reviewer round 2 clean: claude
             refused: not converged yet: {ALL}
             #4 READY_FOR_APPROVAL round 2 tree1"
        ),
    );
}

#[test]
fn the_refused_claim_is_written_down_with_what_is_missing() {
    let play = play(&format!("{SECOND}\ncodex: converged unexplained"));
    let warning = play.log.last().unwrap();
    assert_eq!(warning.event.body.kind(), Kind::ProtocolWarning);
    let json: serde_json::Value = serde_json::from_str(&warning.event.body.to_json()).unwrap();
    assert_eq!(json["unmet"], serde_json::json!([ALL]));
    assert_eq!(play.refold(), play.unit, "the log alone remembers that it was asked for");
}

#[test]
fn the_certificate_and_the_package_say_what_was_not_explained() {
    let play = play(&format!("{SECOND}\ncodex: converged unexplained\ncodex: converged unexplained"));
    let notes = &play.unit.certificate.as_ref().unwrap().notes;
    let note = "the agents did not explain: what changed, why, risks, manual test plan";
    assert_eq!(notes[0], note);
    assert!(play.package().contains(note), "{}", play.package());
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
         #3 RUNNING codex reviewer round 2 clean: claude
         refused: not converged yet: an explanation for the person (--explain FILE with the headings: manual test plan)
         #4 READY_FOR_APPROVAL round 2 tree1",
    );
}

#[test]
fn a_claim_with_all_four_parts_is_accepted_at_once_and_nothing_is_noted() {
    let play = play(&format!("{SECOND}\ncodex: converged explained"));
    let certificate = play.unit.certificate.as_ref().unwrap();
    assert!(!certificate.notes.iter().any(|note| note.contains("explain")), "{:?}", certificate.notes);
    for said in ["the what", "the why", "the risks", "the test plan"] {
        assert!(play.package().contains(said), "{said}: {}", play.package());
    }
}

#[test]
fn a_clean_pass_is_never_held_up() {
    check(
        &format!("{SECOND}\ncodex: pass clean"),
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex reviewer round 2 clean: claude
         #4 READY_FOR_APPROVAL round 2 tree1",
    );
}
