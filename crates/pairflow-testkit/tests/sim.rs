//! A few of the lives that `cargo xtask sim` lives by the thousands.

use pairflow_testkit::sim::{Seeds, live, run};

#[test]
fn simulated_lives_with_crashes_anywhere_keep_every_promise() {
    let tally = run(Seeds { first: 0, count: 60, steps: 100, threads: 2 }).unwrap_or_else(|broken| panic!("{broken}"));
    for happened in ["power losses", "processes killed", "rivals that were faster", "lives ended DONE", "caches harmed"]
    {
        assert!(tally.of(happened) > 0, "{happened}:\n{tally}");
    }
}

#[test]
fn the_same_seed_is_the_same_life() {
    assert_eq!(live(7, 100), live(7, 100));
}

/// A retry that found the record of a killed attempt once acknowledged it before anything had made it durable.
#[test]
fn a_repeated_command_is_acknowledged_only_when_its_record_is_durable() {
    assert_eq!(live(1102, 100).map(|tally| tally.seeds), Ok(1));
}
