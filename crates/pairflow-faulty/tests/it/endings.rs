//! Small sizes of what `cargo xtask kill` does: real processes that end at the worst moment, and races.

use std::path::Path;

use pairflow_testkit::kill::{
    Kills, Landing, Verb, crowd, fail_everywhere, kill_adoptions, kill_at_random, kill_everywhere, kill_moves,
    race_processes, race_threads,
};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_pairflow-faulty"))
}

#[test]
fn a_process_that_is_killed_at_random_loses_nothing_and_leaves_no_half_command() {
    let histogram = kill_at_random(program(), Kills { total: 100, seed: 3, workers: 2 }).unwrap();
    assert!(histogram.total() >= 100 && histogram.at(Landing::BetweenWriteAndAck) > 0, "{histogram}");
}

#[test]
fn a_kill_at_any_operation_on_the_disk_leaves_the_bubble_as_before_or_as_after() {
    let verbs = [Verb::Create, Verb::PassWork, Verb::Reply];
    let placed = kill_everywhere(program(), &verbs).unwrap();
    for (verb, points) in &placed.verbs {
        assert!(points.operations > 10 && points.counted > 0, "{}: {points:?}", verb.name());
    }
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
fn a_failing_disk_gets_no_acknowledgement_and_changes_nothing() {
    let verbs = [Verb::Create, Verb::PassWork, Verb::Env];
    let placed = fail_everywhere(program(), &verbs, &["ENOSPC"]).unwrap();
    assert!(placed.runs() > 60, "{placed}");
}

#[test]
fn two_processes_that_want_the_same_have_one_winner() {
    let raced = race_processes(program(), 10).unwrap();
    assert_eq!(raced.rounds, 10);
}

#[test]
fn two_engines_that_want_the_same_have_one_winner() {
    let raced = race_threads(200).unwrap();
    assert_eq!((raced.rounds, raced.lost + raced.refused), (200, 200));
}

#[test]
fn many_writers_of_one_bubble_leave_no_gap() {
    assert!(crowd(32, 10).unwrap() > 320);
}
