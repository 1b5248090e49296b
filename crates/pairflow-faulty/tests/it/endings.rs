//! Real processes that end at the worst moment, and races. `cargo xtask soak` does the same for hours.

use std::path::Path;

use pairflow_testkit::kill::{
    Kills, Landing, Points, Verb, crowd, fail_in_turn, kill_adoptions, kill_at_random, kill_counting_at_random,
    kill_counting_everywhere, kill_everywhere, kill_moves, race_processes, race_threads,
};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_pairflow-faulty"))
}

/// Has each verb killed at every operation on the disk that it has.
macro_rules! killed_everywhere {
    ($($module:ident $verb:ident)*) => {
        $(mod $module {
            #[test]
            fn a_kill_at_any_operation_leaves_the_bubble_as_before_or_as_after() {
                super::is_killed_everywhere(super::Verb::$verb);
            }
        })*
        const NAMED: &[Verb] = &[$(Verb::$verb),*];
    };
}

killed_everywhere! {
    create Create
    start Start
    pass PassWork
    pass_findings PassFindings
    pass_clean PassClean
    ask_human AskHuman
    converged Converged
    reply Reply
    approve Approve
    rework Rework
    commit Commit
    pause Pause
    resume Resume
    env Env
    stop Stop
    status Status
}

#[test]
fn no_verb_is_left_out() {
    assert_eq!(NAMED, Verb::ALL);
}

fn is_killed_everywhere(verb: Verb) {
    let placed = kill_everywhere(program(), &[verb]).unwrap();
    let Points { operations, counted, .. } = placed.verbs[&verb];
    // A look at a bubble records nothing.
    assert!(operations > 10 && (counted > 0 || verb == Verb::Status), "{placed}");
}

#[test]
fn a_failing_disk_gets_no_acknowledgement_and_changes_nothing() {
    let placed = fail_in_turn(program(), &[Verb::Create, Verb::PassWork, Verb::Reply, Verb::Env]).unwrap();
    assert!(placed.runs() > 200, "{placed}");
}

#[test]
fn a_process_that_is_killed_at_random_loses_nothing_and_leaves_no_half_command() {
    let histogram = kill_at_random(program(), Kills { total: 500, seed: 3, workers: 2 }).unwrap();
    assert!(histogram.total() >= 500 && histogram.at(Landing::BetweenWriteAndAck) > 0, "{histogram}");
}

/// A program that keeps the log of a machine that is no bubble.
fn counter() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_counter-faulty"))
}

#[test]
fn a_kill_at_any_operation_leaves_the_log_of_another_machine_as_before_or_as_after() {
    let counts = kill_counting_everywhere(counter()).unwrap();
    assert!(counts.kills > 20 && counts.counted > 2 && counts.counted < counts.kills, "{counts:?}");
}

#[test]
fn processes_killed_in_the_middle_of_appends_lose_nothing_of_another_machine() {
    let counts = kill_counting_at_random(counter(), 150, 5).unwrap();
    assert!(counts.kills >= 150 && counts.counted > 0, "{counts:?}");
}

#[test]
fn a_kill_at_any_operation_of_an_adoption_leaves_a_bubble_that_is_foreign_or_own_as_a_whole() {
    let adoptions = kill_adoptions(program()).unwrap();
    assert!(adoptions.operations > 10 && adoptions.own > 0, "{adoptions:?}");
}

#[test]
fn a_kill_at_any_operation_after_a_repository_was_moved_loses_neither_the_bubble_nor_its_worktree() {
    let moves = kill_moves(program()).unwrap();
    assert!(moves.operations > 10 && moves.own > 0, "{moves:?}");
}

#[test]
fn two_processes_that_want_the_same_have_one_winner() {
    let raced = race_processes(program(), 50).unwrap();
    assert_eq!(raced.rounds, 50);
}

#[test]
fn two_engines_that_want_the_same_have_one_winner() {
    let raced = race_threads(500).unwrap();
    assert_eq!((raced.rounds, raced.lost + raced.refused), (500, 500));
}

#[test]
fn many_writers_of_one_bubble_leave_no_gap() {
    assert!(crowd(32, 10).unwrap() > 320);
}
