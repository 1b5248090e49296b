//! `state.json` can be deleted, old, new, foreign or broken at any moment: the log tells the same state.

use pairflow_core::bubble::BubbleState;
use pairflow_engine::store::{StateSource, Storage, StoreError};
use pairflow_testkit::store::{Counter, NOW, Sample, files, harm_caches, history, log_on, transcript};

#[test]
fn whatever_happens_to_the_cache_the_log_tells_the_same_state() {
    // `cargo xtask soak` goes on with other seeds.
    harm_caches::<BubbleState>(18, 2_000);
    harm_caches::<Counter>(18, 2_000);
}

#[test]
fn a_cache_that_is_made_again_has_the_same_bytes() {
    make_cache_again::<BubbleState>();
    make_cache_again::<Counter>();
}

fn make_cache_again<M: Sample>() {
    let history = history::<M>(5);
    let log = log_on::<M>(history.disk.clone());
    history.disk.erase(&files::<M>().state());
    assert_eq!(log.refresh().unwrap().from, StateSource::Log);
    assert_eq!(history.disk.read(&files::<M>().state()).unwrap().as_ref(), history.caches.last());
}

#[test]
fn a_cache_of_the_same_file_that_knows_more_than_the_log_is_proof_of_loss() {
    shorten_log_under_cache::<BubbleState>();
    shorten_log_under_cache::<Counter>();
}

fn shorten_log_under_cache<M: Sample>() {
    let history = history::<M>(4);
    history.disk.overwrite(&transcript::<M>(), &history.logs[2]);
    assert!(matches!(log_on::<M>(history.disk.clone()).load(), Err(StoreError::Damaged { .. })));
}

#[test]
fn a_load_writes_nothing_and_a_refresh_only_the_cache() {
    load_and_refresh::<BubbleState>();
    load_and_refresh::<Counter>();
}

fn load_and_refresh<M: Sample>() {
    let history = history::<M>(3);
    history.disk.erase(&files::<M>().state());
    let log = log_on::<M>(history.disk.clone());
    log.load().unwrap();
    assert!(history.disk.stat(&files::<M>().state()).unwrap().is_none());
    let held = log.lock(NOW).unwrap();
    history.disk.erase(&files::<M>().state());
    assert_eq!(log.refresh().unwrap().from, StateSource::Log);
    assert!(history.disk.stat(&files::<M>().state()).unwrap().is_none(), "somebody else holds the lock");
    drop(held);
    log.refresh().unwrap();
    assert_eq!(log.load().unwrap().from, StateSource::Cache);
}

#[test]
fn the_cache_shows_the_fields_of_the_state() {
    let history = history::<BubbleState>(1);
    let json: serde_json::Value = serde_json::from_slice(history.caches.last().unwrap()).unwrap();
    for field in ["state", "active_agent", "active_since", "active_role", "round_role_history", "last_command_at"] {
        assert!(json.get(field).is_some(), "{field} in {json}");
    }
    assert_eq!(json["cache"]["seq"], history.envelopes.last().unwrap().len());
}
