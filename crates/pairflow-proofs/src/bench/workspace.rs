//! P12: making a bubble with its worktree, beside making nothing but the worktree.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pairflow_core::config::{Layer, Layers, Set, resolve};
use pairflow_core::ids::BubbleId;
use pairflow_engine::clock::SystemClock;
use pairflow_engine::engine::{Engine, UserDirs};
use pairflow_engine::git::Repo;
use pairflow_engine::store::RealDisk;
use pairflow_engine::verbs::{Confirmed, NewBubble};
use pairflow_engine::workspace::{WorkspaceRequest, prepare};
use pairflow_testkit::fixture::plant;

use super::ask::Asked;
use super::sample::{in_turns, timed};
use super::setting::{Setting, lifetime};
use super::table::Row;

/// How many files are checked out.
const FILES: usize = 2000;

/// Makes bubbles and plain worktrees of the same repository in turns.
pub(super) fn measure(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let dir = setting.path("workspace");
    plant(&dir, FILES)?;
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
    let what = format!("create and workspace, {FILES} files");
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
