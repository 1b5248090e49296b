//! Whatever reviewers say, it never accepts anything by itself.
//!
//! Random reviews with any findings and answers are played; after every single fact the play judges each acceptance by
//! the log alone: no question open, every check passed on exactly this tree, nothing grave open or shown by a
//! reproducer, two different agents' clean reviews of it. Only the waivers of the person are an excuse.

use pairflow_core::facts::Seat;
use pairflow_core::log::{Body, ControlAction, MessageKind};
use pairflow_testkit::script::{ScriptRun, play};
use proptest::prelude::*;

/// What a reviewer may claim, right or wrong.
const CLAIMS: &[&str] = &[
    "P0 'drops the table'",
    "P0 'drops the table' by './repro'",
    "P1 'no rollback'",
    "P1 'no rollback' at a.rs:3 by './repro'",
    "P1 'no rollback' late",
    "P1 'leaks memory' late",
    "P1 'waits too long' undoes F1",
    "P1 'Drops the TABLE' undoes F2",
    "P2 'no rollback'",
    "P2 'logs the token' class security",
    "P2 'slow start'",
    "P3 'naming' undoes F9",
    "P3 'drops the table' by './repro'",
];

/// What a reviewer may say to rows that may be there or not.
const REVIEWER: &[&str] = &["confirms F1", "confirms F2", "reopens F1", "reopens F3", "confirms F1 confirms F3"];

/// What an implementer may say to them.
const IMPLEMENTER: &[&str] = &["fixes F1", "fixes F2", "disputes F1 'no'", "fixes F1 fixes F2 fixes F3", ""];

/// What else happens meanwhile; nothing here is a person's waiver.
const MEANWHILE: &[&str] = &[
    "codex edits a.rs",
    "claude edits a.rs",
    "human edits b.rs",
    "test fails",
    "test passes",
    "test cannot run",
    "F1 reproducer passes",
    "F2 reproducer passes",
    "F1 reproducer fails",
    "F1 reproducer cannot run",
    "claude: asks 'why?'",
    "codex: asks 'why?'",
    "human: reply 'because' to 1",
    "human: reply continue to 1",
    "human: rework 'again'",
    "human: pause",
    "human: resume",
    "crash",
];

#[derive(Debug, Clone)]
enum Act {
    /// A review: its claims, its answers, and whether it says that nothing was found.
    Review(Vec<&'static str>, &'static str, bool),
    Clean,
    Converged,
    Produce(&'static str),
    Meanwhile(&'static str),
}

fn act() -> impl Strategy<Value = Act> {
    let claims = proptest::collection::vec(proptest::sample::select(CLAIMS), 0..4);
    let answers = prop_oneof![Just(""), proptest::sample::select(REVIEWER)];
    prop_oneof![
        3 => (claims, answers, any::<bool>()).prop_map(|(claims, said, clean)| Act::Review(claims, said, clean)),
        5 => Just(Act::Clean),
        1 => Just(Act::Converged),
        4 => proptest::sample::select(IMPLEMENTER).prop_map(Act::Produce),
        4 => proptest::sample::select(MEANWHILE).prop_map(Act::Meanwhile),
    ]
}

/// Plays one act as whoever has the turn; a play that is accepted goes back to the loop.
fn perform(play: &mut ScriptRun, act: &Act) {
    let turn = play.state.phase.turn();
    let reviews = turn.is_some_and(|turn| turn.seat == Seat::Reviewer);
    let holder = turn.map_or("codex", |turn| turn.agent.as_str()).to_owned();
    match act {
        Act::Review(claims, said, clean) if reviews => {
            let nothing = if claims.is_empty() && *clean { "clean" } else { "" };
            play.line(&format!("{holder}: pass {nothing} {} {said}", claims.join(" ")));
        }
        Act::Clean | Act::Review(..) if reviews => play.line(&format!("{holder}: pass clean")),
        Act::Converged => play.line(&format!("{holder}: converged")),
        Act::Produce(said) if !reviews => play.line(&format!("{holder}: pass {said}")),
        Act::Meanwhile(line) => play.line(line),
        Act::Clean | Act::Review(..) | Act::Produce(_) => play.line(&format!("{holder}: pass")),
    }
    if play.state.phase.turn().is_none() {
        play.line("human: rework 'again'");
    }
}

fn by_a_person(play: &ScriptRun) -> bool {
    let waives = |body: &Body| match body {
        Body::Control(control) => control.action == ControlAction::Waive,
        Body::Convergence(claim) => !claim.certificate.waived.is_empty(),
        _ => false,
    };
    play.log.iter().any(|one| waives(&one.event.body))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_reviews_is_accepted_without_its_evidence(acts in proptest::collection::vec(act(), 1..60)) {
        let mut play = play("given max_rounds 4\nstart\ncodex edits a.rs\ncodex: pass");
        for act in &acts {
            perform(&mut play, act);
        }
        prop_assert!(!by_a_person(&play), "nobody waived anything here");
    }

    #[test]
    fn a_reviewer_that_never_says_clean_is_never_accepted(acts in proptest::collection::vec(act(), 1..60)) {
        let mut play = play("start\ncodex edits a.rs\ncodex: pass");
        for act in &acts {
            let grave = Act::Review(vec!["P1 'no rollback'"], "", false);
            let reviews = play.state.phase.turn().is_some_and(|turn| turn.seat == Seat::Reviewer);
            perform(&mut play, if reviews && !matches!(act, Act::Meanwhile(_)) { &grave } else { act });
        }
        let accepted = play.log.iter().any(|one| one.event.body.kind() == MessageKind::Convergence);
        prop_assert!(!accepted);
    }
}

#[test]
fn random_reviews_do_reach_acceptance_so_that_the_judge_has_something_to_judge() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let accepted = (0..100).filter(|_| {
        let acts = proptest::collection::vec(act(), 1..60).new_tree(&mut runner).unwrap().current();
        let mut play = play("given max_rounds 4\nstart\ncodex edits a.rs\ncodex: pass");
        acts.iter().for_each(|act| perform(&mut play, act));
        play.log.iter().any(|one| one.event.body.kind() == MessageKind::Convergence)
    });
    assert!(accepted.count() > 20);
}
