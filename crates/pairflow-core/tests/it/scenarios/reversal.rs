//! A finding that asks to undo what an earlier round asked for: a person decides, once.

use pairflow_core::log::QuestionKind;
use pairflow_testkit::script::{check, play};

use super::ledger::rows;

const UNDOES: &str = "
    start
    codex edits a.rs
    codex: pass
    claude: pass P1 'no lock around the write'
    codex edits a.rs
    codex: pass fixes F1
    claude: pass P1 'this waits too long' undoes F1 confirms F1";

#[test]
fn a_finding_that_asks_to_undo_an_earlier_one_stops_the_loop_with_one_question() {
    let play = play(&format!("{UNDOES}\nwait 6m\nsettle"));
    assert_eq!(rows(&play), ["F1 P1 no lock around the write: fixed, closed", "F2 P1 this waits too long: reversal"]);
    let asked: Vec<_> = play.state.gate.questions.iter().map(|open| (open.kind, open.question.as_str())).collect();
    let question = "F2 P1 this waits too long asks to undo F1, so the loop would not end.\n\
                    F2 P1 this waits too long (reversal), says claude\n\
                    F1 P1 no lock around the write (fixed), says claude\n\
                    Say which of the two holds: your message goes to the agents.\n\
                    side-with-finding: F2 holds and has to be fixed.\n\
                    side-with-implementer: F2 does not hold and is dismissed.\n\
                    continue: goes on with codex as implementer, up to 8 more rounds.\n\
                    accept: accepts the work as it is: open findings stay open, and the package lists them.";
    assert_eq!(asked, [(QuestionKind::Reversal, question)]);
}

#[test]
fn after_the_answer_it_is_a_finding_like_any_other_and_nobody_is_asked_again() {
    let play = play(&format!(
        "{UNDOES}
         human: reply 'F2 holds' continue
         codex: pass disputes F2 'F1 asked for it'
         claude: pass P1 'this waits too long' undoes F1"
    ));
    assert!(play.state.gate.questions.is_empty(), "{:?}", play.state.gate.questions);
    assert_eq!(rows(&play)[1], "F2 P1 this waits too long: reopened");
    let change = &play.state.ledger.rows[1].history[1];
    assert_eq!((change.by.to_string(), change.note.as_str()), ("human".to_owned(), "the person was asked about it"));
}

#[test]
fn the_persons_words_reach_the_implementer() {
    let play = play(&format!("{UNDOES}\nhuman: reply 'F2 holds, drop the lock' continue"));
    let text =
        pairflow_core::view::brief::brief(&play.state, &pairflow_core::view::brief::BriefMaterial::default()).unwrap();
    assert!(text.contains("F2 holds, drop the lock"), "{text}");
}

#[test]
fn an_old_row_that_is_claimed_again_to_undo_a_newer_one_is_a_reversal_too() {
    let play = play(
        "
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no lock around the write'
         codex edits a.rs
         codex: pass fixes F1
         claude: pass P1 'the write is never flushed' confirms F1
         codex edits a.rs
         codex: pass fixes F2
         claude: pass P1 'no lock around the write' undoes F2 confirms F2",
    );
    assert_eq!(rows(&play)[0], "F1 P1 no lock around the write: reversal");
    assert_eq!(play.state.gate.questions[0].kind, QuestionKind::Reversal);
}

#[test]
fn a_nitpick_that_undoes_something_does_not_stop_the_loop() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no lock around the write'
         codex edits a.rs
         codex: pass fixes F1
         claude: pass P3 'this waits too long' undoes F1 confirms F1",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no lock around the write
         #4 RUNNING claude reviewer round 2 open: F1 P1 no lock around the write [fixed]
         #5 RUNNING codex reviewer round 2 clean: claude open: F2 P3 this waits too long [reversal]",
    );
}

#[test]
fn a_finding_that_names_itself_or_nothing_that_is_there_undoes_nothing() {
    let play = play(
        "
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no lock around the write' undoes F7
         codex: pass
         claude: pass P1 'no lock around the write' undoes F1",
    );
    assert_eq!(rows(&play), ["F1 P1 no lock around the write: open"]);
    assert!(play.state.gate.questions.is_empty());
}

#[test]
fn accept_takes_the_work_as_it_is_and_names_the_finding() {
    let play = play(&format!("{UNDOES}\nhuman: reply accept"));
    assert_eq!(
        play.state.gate.certificate.unwrap().waived,
        [
            "F2 P1 this waits too long",
            "two clean reviews",
            "an explanation (what changed, why, risks, manual test plan)"
        ]
    );
}
