//! `state.json` can be deleted, old, new, foreign or broken at any moment: the log tells the same state.

use pairflow_engine::store::{Source, Storage, StoreError};
use pairflow_testkit::store::{NOW, files, harm_caches, history, log_on, transcript};

#[test]
fn whatever_happens_to_the_cache_the_log_tells_the_same_state() {
    // `cargo xtask soak` goes on with other seeds.
    harm_caches(18, 2_000);
}

#[test]
fn a_cache_that_is_made_again_has_the_same_bytes() {
    let history = history(5);
    let log = log_on(history.disk.clone());
    history.disk.erase(&files().state());
    assert_eq!(log.refresh().unwrap().from, Source::Log);
    assert_eq!(history.disk.read(&files().state()).unwrap().as_ref(), history.caches.last());
}

#[test]
fn a_cache_of_the_same_file_that_knows_more_than_the_log_is_proof_of_loss() {
    let history = history(4);
    history.disk.overwrite(&transcript(), &history.logs[2]);
    assert!(matches!(log_on(history.disk.clone()).load(), Err(StoreError::Damaged { .. })));
}

#[test]
fn a_load_writes_nothing_and_a_refresh_only_the_cache() {
    let history = history(3);
    history.disk.erase(&files().state());
    let log = log_on(history.disk.clone());
    log.load().unwrap();
    assert!(history.disk.stat(&files().state()).unwrap().is_none());
    let held = log.lock(NOW).unwrap();
    history.disk.erase(&files().state());
    assert_eq!(log.refresh().unwrap().from, Source::Log);
    assert!(history.disk.stat(&files().state()).unwrap().is_none(), "somebody else holds the lock");
    drop(held);
    log.refresh().unwrap();
    assert_eq!(log.load().unwrap().from, Source::Cache);
}

#[test]
fn the_cache_shows_the_fields_of_the_state() {
    let history = history(1);
    let json: serde_json::Value = serde_json::from_slice(history.caches.last().unwrap()).unwrap();
    for field in ["state", "active_agent", "active_since", "active_role", "round_role_history", "last_command_at"] {
        assert!(json.get(field).is_some(), "{field} in {json}");
    }
    assert_eq!(json["cache"]["seq"], history.envelopes.last().unwrap().len());
}
