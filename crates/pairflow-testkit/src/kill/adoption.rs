//! Adoptions and moved repositories: the process is killed at every operation on the disk, on a bubble that is used again
//! and again.
//!
//! After every kill the bubble is foreign still, and can be adopted, or it is the person's own. Either way its log has
//! everything that it had, and its worktree is there with the work in it.

use std::path::{Path, PathBuf};

use pairflow_core::log::{Body, Envelope, Lifecycle};
use pairflow_engine::engine::Bubble;

use super::placed::{KILLED, MOST};
use super::stage::Stage;
use crate::home::Ran;
use crate::sim::Witness;

/// A file of half-done work in the worktree.
const WORK: &str = "half.txt";

/// What the kills of an adoption or a move came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Adoptions {
    /// How many operations there are.
    pub operations: u64,
    /// After how many kills the bubble was the person's own.
    pub own: u64,
}

/// Kills `program` at every operation of an adoption of a bubble that is not on record.
pub fn kill_adoptions(program: &Path) -> Result<Adoptions, String> {
    let stage = Stage::new(program)?;
    let id = stage.scene()?.bubble.id.to_string();
    every_operation(&stage, &id, |_| {
        let bubble = at(&stage, stage.repo(), &id)?;
        let registry = stage.engine().registry();
        registry.forget(stage.repo(), &bubble.id).map_err(|error| error.to_string())?;
        Ok((stage.repo().to_owned(), 1))
    })
}

/// Kills `program` at every operation by which a bubble is found again whose repository was moved.
pub fn kill_moves(program: &Path) -> Result<Adoptions, String> {
    let stage = Stage::new(program)?;
    let id = stage.scene()?.bubble.id.to_string();
    let (home, away) = (stage.repo().to_owned(), stage.repo().with_file_name("away"));
    every_operation(&stage, &id, |run| {
        let (from, to) = if run % 2 == 1 { (&home, &away) } else { (&away, &home) };
        std::fs::rename(from, to).map_err(|error| format!("{}: {error}", to.display()))?;
        Ok((to.clone(), 0))
    })
}

/// Has the bubble made foreign by `estrange`, adopted with a kill at the next operation, and looked at, until an adoption
/// is not killed any more. `estrange` says where the repository is then, and how many adoptions the log will tell of.
fn every_operation(
    stage: &Stage,
    id: &str,
    estrange: impl Fn(u64) -> Result<(PathBuf, usize), String>,
) -> Result<Adoptions, String> {
    let mut points = Adoptions::default();
    let worktree = worktree(&at(stage, stage.repo(), id)?)?;
    std::fs::write(worktree.join(WORK), id).map_err(|error| error.to_string())?;
    let mut before = log(&at(stage, stage.repo(), id)?)?;
    for run in 1..=MOST {
        let (repo, adoptions) = estrange(run)?;
        let ran = adopt(stage, &repo, id, &format!("kill@{run}"))?;
        let told = |why: String| format!("adopt with kill@{run}: {why}\n{}", ran.stderr);
        let (own, after) = judge(stage, &repo, id, &before, adoptions).map_err(told)?;
        before = after;
        if ran.code != KILLED {
            return if ran.code == 0 && own { Ok(points) } else { Err(told(format!("it ended with {}", ran.code))) };
        }
        points.operations = run;
        points.own += u64::from(own);
    }
    Err("an adoption has no end of operations".to_owned())
}

/// Looks at the bubble after a kill, adopts it if it is foreign still, and returns whether it was not, with its log.
fn judge(
    stage: &Stage,
    repo: &Path,
    id: &str,
    before: &[Envelope],
    adoptions: usize,
) -> Result<(bool, Vec<Envelope>), String> {
    let bubble = at(stage, repo, id)?;
    let own = bubble.foreign().map_err(|error| error.to_string())?.is_none();
    if !own {
        let again = adopt(stage, repo, id, "")?;
        if again.code != 0 {
            return Err(format!("the next adoption ended with {}: {}", again.code, again.stderr));
        }
    }
    bubble.insist_own().map_err(|error| error.to_string())?;
    let after = log(&bubble)?;
    let Some(fresh) = after.strip_prefix(before) else { return Err("lines of the log are lost".to_owned()) };
    let adopts = |one: &&Envelope| matches!(one.event.body, Body::Lifecycle(Lifecycle::Adopted { .. }));
    let count = fresh.iter().filter(adopts).count();
    if count != adoptions {
        return Err(format!("the log tells of {count} adoptions, not of {adoptions}"));
    }
    let work = worktree(&bubble)?.join(WORK);
    if !work.is_file() {
        return Err(format!("{} is lost", work.display()));
    }
    Ok((own, after))
}

/// Runs the adoption, with a fault if one is named.
fn adopt(stage: &Stage, repo: &Path, id: &str, fault: &str) -> Result<Ran, String> {
    let mut command = stage.command(None, &["adopt", id, "--yes"].map(str::to_owned));
    command.current_dir(repo);
    if !fault.is_empty() {
        command.env("PF_FAULT", fault);
    }
    Ok(Ran::of(&command.output().map_err(|error| error.to_string())?))
}

fn at(stage: &Stage, repo: &Path, id: &str) -> Result<Bubble, String> {
    let id = id.parse().map_err(|why| format!("{id}: {why}"))?;
    stage.engine().look_at(repo, &id).map_err(|error| error.to_string())
}

/// Reads the log as a witness does.
fn log(bubble: &Bubble) -> Result<Vec<Envelope>, String> {
    let path = bubble.log().files().transcript();
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut witness = Witness::<pairflow_core::bubble::BubbleState>::new(bubble.id.clone());
    witness.look(&bytes)?;
    Ok(witness.log)
}

fn worktree(bubble: &Bubble) -> Result<PathBuf, String> {
    let state = bubble.load().map_err(|error| error.to_string())?.state;
    let problem = bubble.worktree_problem(&state).map(|problem| problem.to_string());
    problem.map_or_else(|| Ok(bubble.worktree_for(bubble.control.repo())), Err)
}
