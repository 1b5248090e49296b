//! A few of the lives that `cargo xtask sim` lives by the thousands, and what such lives have brought to light.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pairflow_core::bubble::{Command, create};
use pairflow_core::ids::{BubbleId, CommitId, TreeId};
use pairflow_core::log::{Ground, Lifecycle, RetryKey, WorkspaceRecord};
use pairflow_core::rules::Rules;
use pairflow_engine::clock::Clock;
use pairflow_engine::engine::{Bubble, Control, Engine, UserDirs};
use pairflow_engine::store::{Log, Registry, Storage};
use pairflow_testkit::disk::{Fault, FaultyDisk, SimDisk};
use pairflow_testkit::sim::{Seeds, SimClock, live, run};

const REPO: &str = "/repo";

fn id() -> BubbleId {
    "sim".parse().unwrap()
}

fn bubble(disk: impl Storage + 'static) -> Result<Bubble, pairflow_engine::engine::EngineError> {
    let own = || PathBuf::from("/own");
    let dirs = UserDirs { runtime: own(), state: own(), config: own() };
    Engine::new(Arc::new(disk), Arc::new(SimClock::new()), dirs).bubble(Path::new(REPO), &id())
}

/// A disk with a bubble that runs, everything on it safe.
fn running() -> SimDisk {
    let disk = SimDisk::new();
    let rules = Rules { manual_checks: vec!["try it".to_owned()], ..Rules::default() };
    let created = Lifecycle::Created {
        repo: REPO.to_owned(),
        task: "fix the login race".to_owned(),
        acceptance_criteria: Vec::new(),
        rules: Box::new(rules.clone()),
        confirmed: "no_tests".to_owned(),
        identity: None,
    };
    let log: Log = Log::new(Arc::new(disk.clone()), Control::of(Path::new(REPO)).files(&id()), id())
        .owned(Registry::new(Arc::new(disk.clone()), "/own".into()));
    log.create(&create(created), SimClock::new().now()).unwrap();
    let workspace = WorkspaceRecord {
        path: "/work".to_owned(),
        git_dir: "/repo/.git".to_owned(),
        common_dir: "/repo/.git".to_owned(),
        base: CommitId("0".repeat(40)),
        base_tree: TreeId("1".repeat(40)),
        port: 4000,
        ports: 10,
        setup: None,
        included: Vec::new(),
        ground: Ground::default(),
    };
    let bubble = bubble(disk.clone()).unwrap();
    bubble.apply(&Command::Start { rules: Box::new(rules) }).unwrap();
    bubble.apply(&Command::WorkspaceReady { workspace }).unwrap();
    disk
}

#[test]
fn simulated_lives_with_crashes_anywhere_keep_every_promise() {
    let tally = run(Seeds { first: 0, count: 50, steps: 100, threads: 2 }).unwrap_or_else(|broken| panic!("{broken}"));
    for happened in ["power losses", "processes killed", "rivals that were faster", "lives ended DONE", "caches harmed"]
    {
        assert!(tally.of(happened) > 0, "{happened}:\n{tally}");
    }
}

#[test]
fn the_same_seed_is_the_same_life() {
    assert_eq!(live(7, 100), live(7, 100));
}

#[test]
fn a_repeated_command_is_acknowledged_only_when_its_record_is_durable() {
    let prepared = running();
    let agent = Rules::default().agents.implementer;
    let question = "which one?".to_owned();
    let key = RetryKey("once".to_owned());
    let ask = Command::AskHuman { by: agent, question, refs: Vec::new(), key: Some(key.clone()) };
    let mut repeated = 0;
    for at in 1..80 {
        let disk = prepared.fork();
        let dying = FaultyDisk::new(Arc::new(disk.clone()), at, Fault::Crash);
        let _ = bubble(dying).and_then(|bubble| bubble.apply(&ask));
        disk.kill();
        let again = bubble(disk.clone()).unwrap().apply(&ask).unwrap();
        repeated += u32::from(again.repeated);
        for seed in 0..20 {
            let after = disk.fork();
            after.crash(seed);
            let state = bubble(after).unwrap().load().unwrap().state;
            assert!(state.keys.iter().any(|(one, _)| *one == key), "killed at {at}, power lost with seed {seed}");
        }
    }
    assert!(repeated > 0, "no attempt was killed between its write and its sync");
}
