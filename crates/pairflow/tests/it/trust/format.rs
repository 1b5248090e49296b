//! A log that another version of pairflow wrote is refused by every command, with one sentence, and stays as it is.

use std::path::PathBuf;
use std::sync::Arc;

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use pairflow_core::log::{Body, Event};
use pairflow_core::time::{Moment, Timestamp};
use pairflow_engine::store::{Log, LogFiles, RealDisk, Registry};
use pairflow_testkit::home::Home;
use pairflow_testkit::store::{Dated, dated};

use super::support::log_of;
use crate::support::bubbles::{created, home, quiet, started};

/// Every kind of command that needs a log.
fn verbs(id: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["status", id],
        vec!["status", id, "--json"],
        vec!["log", id],
        vec!["verify", id],
        vec!["findings", id],
        vec!["diff", id],
        vec!["export", id],
        vec!["start", id],
        vec!["pause", id],
        vec!["resume", id],
        vec!["approve", id],
        vec!["commit", id],
        vec!["open", id],
        vec!["env", id, "--agent", "codex"],
        vec!["stop", id, "--yes"],
        vec!["delete", id, "--yes"],
        vec!["adopt", id],
        vec!["adopt", id, "--yes"],
    ]
}

/// Replaces the log of a bubble by the one that a pairflow of another format would have written for this user.
fn written_by_another_version<const FORMAT: u32>(home: &Home, id: &str) {
    let id: BubbleId = id.parse().unwrap();
    let files = LogFiles::of::<BubbleState>(&home.repo.join(".pairflow"), &id);
    let log: Log = Log::new(Arc::new(RealDisk), files.clone(), id.clone());
    let events: Vec<Event<Body>> = log.envelopes().unwrap().into_iter().map(|envelope| envelope.event).collect();
    std::fs::remove_file(files.transcript()).unwrap();
    std::fs::remove_file(files.state()).unwrap();
    let registry = Registry::new(Arc::new(RealDisk), home.root().join("state/pairflow"));
    let log = Log::<Dated<BubbleState, FORMAT>>::new(Arc::new(RealDisk), files, id).owned(registry);
    let events: Vec<_> = events.into_iter().map(dated).collect();
    log.create(&events, Moment { ts: Timestamp::from_millis(1_794_000_000_000), up: 5_000 }).unwrap();
}

/// A log as it was written before its format had a number.
const UNNUMBERED: &[u8] = include_bytes!("format-1.ndjson");

/// Insists that every command refuses the bubble with this sentence, that others are still shown, and that nothing
/// is written.
#[track_caller]
fn is_refused(home: &Home, id: &str, sentence: &str) {
    let log = log_of(&home.repo, id);
    let before = std::fs::read(&log).unwrap();
    let sentence = format!("{} {sentence}", log.display());
    for verb in verbs(id) {
        home.pairflow(&verb).ends(1).says(&sentence);
    }
    let listed = home.pairflow(&["list"]).ok();
    listed.says("UNREADABLE").says(&sentence).says("sound").says("CREATED");
    let json = home.pairflow(&["list", "--json"]).ok().json();
    let of = |id: &str| json["bubbles"].as_array().unwrap().iter().find(|one| one["bubble_id"] == id).unwrap().clone();
    assert_eq!((&of("sound")["state"], &of(id)["state"]), (&"CREATED".into(), &serde_json::Value::Null));
    assert!(of(id)["error"].as_str().unwrap().starts_with(&sentence));
    home.pairflow(&["supervise", "--once"]).says(&sentence);
    home.pairflow(&["doctor"]).says(&sentence);
    home.pairflow(&["doctor", "--repair", "--yes"]);
    assert_eq!(std::fs::read(&log).unwrap(), before, "the log was written to");
}

/// Returns the worktree of a bubble.
fn worktree(home: &Home, id: &str) -> PathBuf {
    home.root().canonicalize().unwrap().join("work/.pairflow-worktrees/repo").join(id)
}

#[test]
fn a_log_of_an_older_format_is_refused_and_its_work_goes_on_in_a_new_bubble() {
    let home = home();
    created(&home, "sound");
    started(&home, "old");
    quiet(&home);
    written_by_another_version::<1>(&home, "old");
    let worktree = worktree(&home, "old");
    let way = format!(
        "has format 1; this version of pairflow reads format 2; finish it with the pairflow that wrote it, or commit the work in {} and create a new bubble from that branch",
        worktree.display()
    );
    is_refused(&home, "old", &way);
    home.pairflow(&["status", "old"]).ends(1).says("pairflow create --base bubble/old");
    std::fs::write(worktree.join("half.txt"), "half\n").unwrap();
    home.git_in(&worktree, &["add", "half.txt"]);
    home.git_in(&worktree, &["commit", "--quiet", "-m", "half of it"]);
    let anew = ["create", "--base", "bubble/old", "--id", "anew", "--task", "the other half", "--test", "true"];
    home.pairflow(&anew).ok();
    home.pairflow(&["start", "anew"]).ok();
    home.wait_for_turn("anew", "codex");
    assert!(self::worktree(&home, "anew").join("half.txt").exists());
}

#[test]
fn a_log_of_a_newer_format_is_refused_until_pairflow_is_updated() {
    let home = home();
    created(&home, "sound");
    created(&home, "new");
    written_by_another_version::<3>(&home, "new");
    is_refused(
        &home,
        "new",
        "has format 3; this version of pairflow reads format 2; update pairflow to continue with it",
    );
}

#[test]
fn a_foreign_log_without_a_format_is_refused_and_not_offered_for_adoption() {
    let home = home();
    created(&home, "sound");
    let log = log_of(&home.repo, "fixture");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, UNNUMBERED).unwrap();
    let way = "has format 1; this version of pairflow reads format 2; finish it with the pairflow that wrote it, or create a new bubble";
    is_refused(&home, "fixture", way);
    let listed = home.pairflow(&["list"]).ok();
    assert!(!(listed.stdout + &listed.stderr).contains("pairflow adopt"), "adoption leads nowhere");
}
