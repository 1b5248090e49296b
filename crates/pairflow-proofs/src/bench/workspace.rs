//! P12 and P16: making a bubble with its worktree, beside making only the worktree; and a receipt of a check in pairflow's
//! own checkout, beside the command alone in the worktree.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pairflow_core::config::{Layer, Layers, Set, resolve};
use pairflow_core::facts::{CheckPlace, Outcome as Said};
use pairflow_core::ids::BubbleId;
use pairflow_core::rules::WorkMode;
use pairflow_engine::checks::{CheckRun, run_check};
use pairflow_engine::clock::SystemClock;
use pairflow_engine::engine::{Engine, UserDirs};
use pairflow_engine::git::{KeptSnapshot, Repo, Worktree, observe, take};
use pairflow_engine::process::Cancel;
use pairflow_engine::store::RealDisk;
use pairflow_engine::verbs::{Confirmed, NewBubble};
use pairflow_engine::workspace::{Checkout, WorkspaceRequest, prepare};
use pairflow_testkit::fixture::plant;

use super::measure::{Asked, Outcome, Row, Setting, Times, in_turns, lifetime, timed};

/// How many files are checked out.
const WORKTREE_FILES: usize = 2000;

/// Makes bubbles and plain worktrees of the same repository in turns.
pub(super) fn measure_workspace(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let dir = setting.path("workspace");
    plant(&dir, WORKTREE_FILES)?;
    let repo = Repo::discover(&dir)?;
    let home = setting.path("home");
    let dirs = UserDirs { runtime: home.join("run"), state: home.join("state"), config: home.join("config.toml") };
    let engine = Engine::new(Arc::new(RealDisk), Arc::new(SystemClock), dirs);
    let mut made = 0;
    let mut bubble = || {
        made += 1;
        let id: BubbleId = format!("bench-{made}").parse()?;
        let mut place = None;
        let took = timed(|| {
            place = Some(make(&engine, &repo, &id)?);
            Ok(())
        })?;
        place.map_or(Ok(()), |place| remove(setting, &dir, &place))?;
        Ok(took)
    };
    let mut added = 0;
    let mut worktree = || {
        added += 1;
        let (place, branch) = (setting.path(&format!("plain-{added}")), format!("plain-{added}"));
        let shown = place.display().to_string();
        let args = ["worktree", "add", "--quiet", "--no-track", "-b", &branch, &shown, "main"];
        let took = lifetime(&mut setting.start(Path::new("git"), &dir, &args))?;
        remove(setting, &dir, &place)?;
        Ok(took)
    };
    let [bubble, worktree] = in_turns(asked.fewer(10), [&mut bubble, &mut worktree])?;
    let what = format!("create and workspace, {WORKTREE_FILES} files");
    Ok(vec![Row::ratio("P12", what, "git worktree add", (&bubble, &worktree), 1.1)])
}

/// Makes a bubble and its worktree, and returns where that is.
fn make(engine: &Engine, repo: &Repo, id: &BubbleId) -> anyhow::Result<PathBuf> {
    let flags = Layer {
        id: Some(Set::flag(id.clone())),
        repo_path: Some(Set::flag(repo.root.display().to_string())),
        base_branch: Some(Set::flag("main".to_owned())),
        test: Some(Set::flag("true".to_owned())),
        ..Layer::default()
    };
    let resolved = resolve(&Layers { flags: Layer::from_flags(flags)?, ..Layers::default() })?;
    let rules = resolved.rules.clone();
    let task = "Make the session survive a restart of the server.".to_owned();
    engine.create(NewBubble {
        id: id.clone(),
        repo,
        task,
        resolved,
        confirmed: Confirmed::Explicit,
        identity: None,
        prd_approved: Vec::new(),
    })?;
    let prepared = prepare(&WorkspaceRequest {
        repo,
        id,
        mode: rules.work_mode,
        base_branch: &rules.base_branch,
        continues: None,
        bubble_branch: &rules.bubble_branch,
    })?;
    Ok(prepared.path)
}

/// Removes a worktree, so that the next one finds what this one found.
fn remove(setting: &Setting, repo: &Path, place: &Path) -> anyhow::Result<()> {
    let shown = place.display().to_string();
    lifetime(&mut setting.start(Path::new("git"), repo, &["worktree", "remove", "--force", &shown])).map(drop)
}

/// How many files the repository has.
const CHECKOUT_FILES: usize = 10_000;
/// The check whose receipt may cost a fifth more.
const SLOW: &str = "sleep 5";

/// Takes receipts of trees that differ in one file, and runs the same command in the worktree, in turns.
pub(super) fn measure_checkout(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let dir = setting.path("checkout");
    plant(&dir, CHECKOUT_FILES)?;
    let repo = Repo::discover(&dir)?;
    let id: BubbleId = "bench".parse()?;
    let prepared = prepare(&WorkspaceRequest {
        repo: &repo,
        id: &id,
        mode: WorkMode::Worktree,
        base_branch: "main",
        continues: None,
        bubble_branch: "bubble/bench",
    })?;
    let worktree = prepared.workspace(&repo, &id);
    let [slow, alone] = both(setting, (&repo, &worktree), SLOW, asked.fewer(20))?;
    let [quick, nothing] = both(setting, (&repo, &worktree), "true", asked.fewer(4))?;
    let added = quick.p50().saturating_sub(nothing.p50()).as_millis();
    let result = Outcome::Count(u32::try_from(added).unwrap_or(u32::MAX));
    let what = format!("milliseconds that a receipt adds to `true`, {CHECKOUT_FILES} files");
    Ok(vec![
        Row::ratio(
            "P16",
            format!("receipt of a check of 5 s, {CHECKOUT_FILES} files"),
            "in the worktree",
            (&slow, &alone),
            1.2,
        ),
        Row { id: "P16b", what, against: "", result, goal: 300.0 },
    ])
}

fn both(
    setting: &Setting,
    (repo, worktree): (&Repo, &Worktree),
    command: &str,
    rounds: usize,
) -> anyhow::Result<[Times; 2]> {
    let mut number = 0;
    let mut receipt = || {
        number += 1;
        std::fs::write(worktree.path.join("work.txt"), format!("{command} {number}\n"))?;
        let taken = take(worktree, number)?;
        timed(|| checked(repo, worktree, &taken, command))
    };
    let mut alone = || lifetime(&mut setting.start(Path::new("sh"), &worktree.path, &["-c", command]));
    in_turns(rounds, [&mut receipt, &mut alone])
}

/// Brings the checkout to the tree, runs the command, and looks whether it changed anything.
fn checked(repo: &Repo, worktree: &Worktree, taken: &KeptSnapshot, command: &str) -> anyhow::Result<()> {
    let checkout = Checkout::warm(repo, worktree, &taken.commit)?;
    let run = CheckRun {
        name: "test",
        command,
        workspace: checkout.path(),
        place: CheckPlace::Checkout,
        tree: &taken.tree,
        timeout: Duration::from_secs(60),
        max_output: 1 << 20,
        env: &[],
        registry: None,
        observe: &|| observe(checkout.workspace()).map_err(|error| error.to_string()),
        changed_files: &|_, _| Vec::new(),
    };
    let receipt = run_check(&run, &Cancel::new()?)?.receipt;
    anyhow::ensure!(receipt.outcome == Said::Passed, "{command}: {:?}", receipt.outcome);
    Ok(())
}
