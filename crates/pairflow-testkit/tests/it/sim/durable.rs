//! What a hand-over leaves on disk, and in which order: the artifact, then the envelope, then the word that it is done.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pairflow_core::bubble::{Command, Effect, HeadSeen, PassCommand, create, owed};
use pairflow_core::log::{Body, Lifecycle, WorkspaceRecord};
use pairflow_core::rules::Rules;
use pairflow_engine::engine::{Bubble, Control, Engine, EngineError, UserDirs};
use pairflow_engine::store::{Log, Registry, Storage};
use pairflow_testkit::disk::{Fault, FaultyDisk, SimDisk};
use pairflow_testkit::sim::SimClock;

const REPO: &str = "/repo";
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
    let log: Log = Log::new(Arc::new(disk.clone()), Control::of(Path::new(REPO)).files(&id), id)
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
