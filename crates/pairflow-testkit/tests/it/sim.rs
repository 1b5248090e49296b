//! A few of the lives that `cargo xtask sim` lives by the thousands, and what such lives have brought to light.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pairflow_core::bubble::{Command, Effect, HeadSeen, PassCommand, create, owed};
use pairflow_core::ids::{BubbleId, CommitId, TreeId};
use pairflow_core::log::{Body, Ground, Lifecycle, RetryKey, WorkspaceRecord};
use pairflow_core::rules::Rules;
use pairflow_engine::clock::Clock;
use pairflow_engine::engine::{Bubble, ControlDir, Engine, EngineError, UserDirs};
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
    let log: Log = Log::new(Arc::new(disk.clone()), ControlDir::of(Path::new(REPO)).files(&id()), id())
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
    let acts = ["power losses", "processes killed", "rivals that were faster", "caches harmed"];
    let ends = ["lives ended DONE", "lives with a defect found later"];
    for happened in acts.into_iter().chain(ends) {
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

const STATE: &str = "/state";

fn bubble_on(disk: impl Storage + 'static) -> Bubble {
    found_on(disk).unwrap()
}

fn found_on(disk: impl Storage + 'static) -> Result<Bubble, EngineError> {
    let dirs = UserDirs { runtime: PathBuf::from("/run"), state: PathBuf::from(STATE), config: PathBuf::new() };
    let engine = Engine::new(Arc::new(disk), Arc::new(SimClock::new()), dirs);
    engine.bubble(Path::new(REPO), &"b1".parse().unwrap())
}

/// A disk with a bubble in which codex has the turn.
fn prepared() -> SimDisk {
    let disk = SimDisk::new();
    let id = "b1".parse().unwrap();
    let rules = Rules { manual_checks: vec!["try it".to_owned()], ..Rules::default() };
    let created = Lifecycle::Created {
        repo: REPO.to_owned(),
        task: "fix the login race".to_owned(),
        acceptance_criteria: Vec::new(),
        rules: Box::new(rules.clone()),
        confirmed: "no_tests".to_owned(),
        identity: None,
    };
    let log: Log = Log::new(Arc::new(disk.clone()), ControlDir::of(Path::new(REPO)).files(&id), id)
        .owned(Registry::new(Arc::new(disk.clone()), STATE.into()));
    drop(log.create(&create(created), pairflow_engine::clock::Clock::now(&SimClock::new())).unwrap());
    let bubble = bubble_on(disk.clone());
    bubble.apply(&Command::Start { rules: Box::new(rules) }).unwrap();
    bubble.apply(&Command::WorkspaceReady { workspace: workspace() }).unwrap();
    let [Effect::OpenTurn { turn }] = owed(&bubble.load().unwrap().state)[..] else {
        panic!("a turn has to be opened")
    };
    bubble.apply(&Command::TurnReady { turn, slices: 0 }).unwrap();
    disk
}

fn workspace() -> WorkspaceRecord {
    serde_json::from_value(serde_json::json!({
        "path": "/work/b1", "git_dir": "/repo/.git/worktrees/b1", "common_dir": "/repo/.git",
        "base": "c0ffee", "base_tree": "7ee", "port": 4000, "ports": 10,
    }))
    .unwrap()
}

/// What `pass` does with a summary that is too long for a line.
fn pass(bubble: &Bubble, long: &str) -> Result<(), EngineError> {
    let mut refs = Vec::new();
    let summary = bubble.inline(long, &mut refs)?;
    let head = HeadSeen::Branch(bubble.load()?.state.rules.bubble_branch.clone());
    let by = "codex".parse().unwrap();
    bubble.apply(&Command::Pass(PassCommand { refs, ..PassCommand::new(by, summary, head) }))?;
    Ok(())
}

#[test]
fn whenever_the_power_goes_an_envelope_is_never_there_without_its_artifact() {
    let (start, long) = (prepared(), "what was done, at length. ".repeat(3000));
    let (mut at, mut recorded) = (0, 0);
    loop {
        at += 1;
        let disk = start.fork();
        let dying = FaultyDisk::new(Arc::new(disk.clone()), at, Fault::Crash);
        let told = found_on(dying.clone()).and_then(|bubble| pass(&bubble, &long));
        for seed in 0..20 {
            let left = disk.fork();
            left.crash(seed);
            let bubble = bubble_on(left);
            let envelopes = bubble.log().envelopes().unwrap();
            let passed = envelopes.iter().find(|one| matches!(one.event.body, Body::Pass(_)));
            assert!(
                told.is_err() || passed.is_some(),
                "acknowledged and lost, power cut at operation {at}, seed {seed}"
            );
            let Some(passed) = passed else { continue };
            let [uri] = &passed.event.refs[..] else { panic!("{:?}", passed.event.refs) };
            let kept = bubble.artifacts().read(uri.strip_prefix("artifact://").unwrap()).unwrap();
            assert_eq!(kept, long.as_bytes(), "power cut at operation {at}, seed {seed}");
            recorded += 1;
        }
        if !dying.struck() {
            break;
        }
    }
    assert!(at > 8 && recorded >= 20, "{at} operations, {recorded} times recorded");
}
