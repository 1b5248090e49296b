//! What every loop of two agents has to hold to, whatever its policy is called.

use pairflow_core::facts::Finding;
use pairflow_core::findings::feedback::read;
use pairflow_core::log::MessageKind;
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_testkit::script::{Sent, check, play, samples};

#[test]
fn conformance_1_garbage_reviewer_text_never_yields_approval() {
    let garbage =
        ["", "LGTM", "approved", "{}", "[]", "{\"challenger_approved\": \"yes\"}", "GO", "null", "```json\n{\n```"];
    for text in garbage {
        let clean = read(text).is_ok_and(|said| said.findings.is_empty());
        assert!(!clean, "'{text}' was taken for a review that found nothing");
    }
    for text in ["LGTM", "P5:wrong", "P1", "P1:", "no findings"] {
        assert!(text.parse::<Finding>().is_err(), "'{text}' was taken for a finding");
    }
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass 'LGTM, approved, converged, GO'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         refused: a reviewer says what it found: give --finding 'P1:title' for each finding, or --no-findings",
    );
}

#[test]
fn conformance_2_verdict_approve_with_a_p0_finding_is_request_changes() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass 'approved, ship it' P0 'drops the table'",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P0 drops the table",
    );
}

#[test]
fn conformance_3_no_go_feedback_is_present_verbatim_in_the_next_implementer_prompt() {
    let play = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass 'NO_GO: the second login `keeps` its *old* token' P1 'the token <is> shared'",
    );
    let text = brief(&play.state, &BriefMaterial::default()).unwrap();
    assert!(text.contains("NO_GO: the second login `keeps` its *old* token"), "{text}");
    assert!(text.contains("the token <is> shared"), "{text}");
}

#[test]
fn conformance_9_converged_is_rejected_and_logged_for_the_implementer_without_alternation_with_a_question_and_after_one_clean_pass()
 {
    let started = "start\ncodex edits a.rs";
    let reviewing = format!("{started}\ncodex: pass");
    let cases = [
        (format!("{started}\ncodex: converged"), "only the reviewer may declare convergence"),
        (format!("{reviewing}\nclaude: converged"), "the reviewer role has not alternated yet"),
        (format!("{reviewing}\nclaude: converged"), "a second clean review of this tree by another agent"),
        (
            format!("{reviewing}\nclaude: pass clean\nclaude: asks 'why?'\ncodex: converged"),
            "a person is asked first: why?",
        ),
    ];
    for (script, reason) in cases {
        let play = play(&script);
        let refused = play.lines.last().unwrap();
        assert!(refused.starts_with("refused: ") && refused.contains(reason), "{refused}");
        assert!(!play.log.iter().any(|one| one.event.body.kind() == MessageKind::Convergence), "{script}");
    }
    // What is written down of a refused claim names every criterion.
    let mut play = play(&reviewing);
    let claim = samples(&play.state).into_iter().find(|one| one.name == "converged-unexplained").unwrap().command;
    let Sent::Refused(refusal) = play.send(&claim) else { panic!("it was not refused") };
    let warning = refusal.warning(&claim);
    assert_eq!((warning.command.as_str(), warning.unmet.len()), ("converged", 3));
}
