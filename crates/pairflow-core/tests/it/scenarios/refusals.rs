//! Every refusal says how its caller goes on, and no agent is sent to a verb that is a person's.

use pairflow_core::bubble::{Refusal, RefusedCaller, StateName};
use pairflow_core::facts::Seat;
use pairflow_core::ids::{BubbleId, FindingId, MsgId};
use pairflow_core::log::Waivable;
use pairflow_core::policy::Unmet;
use pairflow_testkit::script::play;

fn id() -> BubbleId {
    "demo".parse().unwrap()
}

fn every_refusal() -> Vec<Refusal> {
    let agent = || "codex".parse().unwrap();
    let text = || "why".to_owned();
    let msg = || MsgId("msg_20260221_001".to_owned());
    let states = [
        StateName::Created,
        StateName::PreparingWorkspace,
        StateName::Running,
        StateName::WaitingHuman,
        StateName::ReadyForApproval,
        StateName::ApprovedForCommit,
        StateName::Committed,
        StateName::Done,
        StateName::Failed,
        StateName::Cancelled,
    ];
    let mut all: Vec<_> =
        states.into_iter().map(|state| Refusal::WrongState { state, command: "pass", why: None }).collect();
    all.extend([
        Refusal::Untimely { state: StateName::Running, command: "update", why: "an agent is at work", first: "pause" },
        Refusal::NotYourTurn { by: agent(), holder: agent(), seat: Seat::Reviewer, round: 1 },
        Refusal::StillOpening { turn: text(), owes: text() },
        Refusal::Paused { command: "pass" },
        Refusal::QuestionOpen { question: text() },
        Refusal::NoSeat { agent: agent(), known: text() },
        Refusal::Empty { what: "the summary" },
        Refusal::Empty { what: "the question" },
        Refusal::Placeholder { what: "the summary" },
        Refusal::TooLong { what: "the summary", bytes: 1, limit: 0 },
        Refusal::NulByte { what: "the summary" },
        Refusal::LongTitle { chars: 501 },
        Refusal::TooMany { what: "findings", count: 101, limit: 100 },
        Refusal::TooMany { what: "refs", count: 101, limit: 100 },
        Refusal::NoDeclaration,
        Refusal::NothingBlocks,
        Refusal::StillFails { id: FindingId(1) },
        Refusal::TwoAnswers { id: FindingId(1) },
        Refusal::WaivedByPerson { id: FindingId(1) },
        Refusal::WaivedAlready { what: Waivable::Finding(FindingId(1)) },
        Refusal::AnswersOfOtherSeat { seat: Seat::Reviewer },
        Refusal::AnswersOfOtherSeat { seat: Seat::Implementer },
        Refusal::FindingsFromImplementer,
        Refusal::WrongBranch { at: text(), branch: text(), worktree: text() },
        Refusal::WorktreeGone { worktree: text() },
        Refusal::NotReviewer { by: agent(), seat: Seat::Implementer, round: 1 },
        Refusal::NotConverged { unmet: vec![Unmet::NothingHandedOver] },
        Refusal::SlicesMissing { missing: vec![2], of: 3 },
        Refusal::NoSuchSlice { number: 4, of: 3 },
        Refusal::NoQuestion,
        Refusal::WhichQuestion { open: vec![msg(), msg()] },
        Refusal::UnknownQuestion { id: msg(), open: Vec::new() },
        Refusal::NoDecision,
        Refusal::UnnamedPermission { bubble: id(), question: msg() },
        Refusal::PermissionDecision,
        Refusal::OnlyInPane { bubble: id() },
        Refusal::CannotAccept { why: text() },
        Refusal::WorktreeDiffers { files: Vec::new() },
        Refusal::AnotherPackage,
        Refusal::UnknownFinding { id: text() },
        Refusal::OutOfScope { files: Vec::new() },
        Refusal::CommitUnderWay,
        Refusal::BadRules { why: text() },
        Refusal::NotOwed,
    ]);
    all.extend(of_documents());
    let raced: Vec<_> = all.iter().cloned().map(Refusal::lost_race).collect();
    all.extend(raced);
    all
}

/// What only a document, its implementer or its reviewer is refused.
fn of_documents() -> Vec<Refusal> {
    vec![
        Refusal::StepsMissing { missing: vec!["dry-run"] },
        Refusal::NoOutline,
        Refusal::StepOfReviewer { step: "adversarial" },
        Refusal::NoBlockersHere { seat: Seat::Reviewer },
        Refusal::NoBlockersHere { seat: Seat::Implementer },
        Refusal::Unresolved { id: FindingId(1) },
        Refusal::Empty { what: "a blocker" },
    ]
}

#[test]
fn every_refusal_says_how_a_person_goes_on() {
    for refusal in every_refusal() {
        assert!(refusal.next(&id(), RefusedCaller::Person).is_some(), "{refusal:?}");
    }
}

#[test]
fn no_refusal_sends_an_agent_to_a_verb_that_is_a_persons() {
    let open_to_agents = ["pairflow status ", "pairflow brief ", "pairflow pass ", "pairflow ask-human ", "git -C "];
    for refusal in every_refusal() {
        let next = refusal
            .next(&id(), RefusedCaller::Agent { slices: 0 })
            .unwrap_or_else(|| panic!("{refusal:?} has no next step"));
        assert!(open_to_agents.iter().any(|verb| next.starts_with(verb)), "{refusal:?}: {next}");
    }
}

#[test]
fn a_line_that_hands_over_a_document_or_its_review_has_all_of_its_steps() {
    let steps = " --step contradictions='…' --step dry-run='…' --step adversarial='…'";
    let mut reviews = 0;
    for refusal in every_refusal() {
        let next = refusal.next(&id(), RefusedCaller::DocumentAgent { slices: 0 }).unwrap();
        let review = ["--no-findings", "--finding", "--reopen"].iter().any(|option| next.contains(option));
        assert_eq!(next.ends_with(steps), review, "{refusal:?}: {next}");
        let work = next.starts_with("pairflow pass ") && !review;
        assert_eq!(next.matches(" --step ").count(), if review { 3 } else { usize::from(work) }, "{next}");
        assert_eq!(next.contains(" --step dry-run='…'"), review || work, "{next}");
        reviews += usize::from(review);
    }
    assert!(reviews >= 3, "{reviews} lines hand over a review");
}

#[test]
fn no_hint_says_for_a_reviewer_what_it_found() {
    for refusal in every_refusal() {
        for caller in [RefusedCaller::Agent { slices: 0 }, RefusedCaller::DocumentAgent { slices: 2 }] {
            let next = refusal.next(&id(), caller).unwrap();
            let answers = ["--no-findings", "--confirm", "--reopen"];
            assert!(!answers.iter().any(|answer| next.contains(answer)), "{refusal:?}: {next}");
        }
    }
}

#[test]
fn a_line_that_finds_nothing_in_a_change_in_slices_has_all_of_them() {
    let mut clean = 0;
    let slices = Refusal::NotConverged { unmet: vec![Unmet::Slices(vec![2])] };
    for refusal in every_refusal().into_iter().chain([slices]) {
        for caller in [RefusedCaller::Agent { slices: 3 }, RefusedCaller::DocumentAgent { slices: 3 }] {
            let next = refusal.next(&id(), caller).unwrap();
            let nothing = next.contains(" converged ");
            assert_eq!(next.ends_with(" --reviewed 1,2,3"), nothing, "{refusal:?}: {next}");
            assert_eq!(next.matches("--reviewed").count(), usize::from(nothing), "{next}");
            clean += usize::from(nothing);
        }
    }
    assert!(clean >= 2, "{clean} lines find nothing");
}

#[test]
fn a_text_that_belongs_to_a_persons_verb_has_no_next_step_for_an_agent() {
    let refusal = Refusal::Empty { what: "the commit message" };
    assert_eq!(refusal.next(&id(), RefusedCaller::Agent { slices: 0 }), None);
    assert_eq!(refusal.next(&id(), RefusedCaller::Person).as_deref(), Some("pairflow commit demo --message '…'"));
}

#[test]
fn a_verb_that_comes_too_early_is_told_the_one_that_comes_first() {
    for first in ["pause", "resume", "update"] {
        let refusal = Refusal::Untimely { state: StateName::Running, command: "restart", why: "busy", first };
        assert_eq!(refusal.next(&id(), RefusedCaller::Person), Some(format!("pairflow {first} demo")));
    }
}

#[test]
fn a_line_that_is_pasted_as_it_was_printed_says_nothing() {
    let mut play = play("start");
    for line in ["codex: pass '…'", "codex: asks ' … '"] {
        play.line(line);
        let last = play.lines.last().unwrap();
        assert!(last.contains("is still the placeholder '…'"), "{line}: {last}");
    }
}
