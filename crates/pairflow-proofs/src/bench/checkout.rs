//! P16: a receipt of a check in pairflow's own checkout, warm, beside the command alone in the worktree.

use std::path::Path;
use std::time::Duration;

use pairflow_core::facts::{CheckPlace, Outcome as Said};
use pairflow_core::ids::BubbleId;
use pairflow_core::rules::WorkMode;
use pairflow_engine::checks::{CheckRun, run_check};
use pairflow_engine::git::{Repo, Taken, Workspace, observe, take};
use pairflow_engine::process::Cancel;
use pairflow_engine::workspace::{Checkout, Request, prepare};
use pairflow_testkit::fixture::plant;

use super::ask::Asked;
use super::sample::{Times, in_turns, timed};
use super::setting::{Setting, lifetime};
use super::table::{Outcome, Row};

/// How many files the repository has.
const FILES: usize = 10_000;
/// The check whose receipt may cost a fifth more.
const SLOW: &str = "sleep 5";

/// Takes receipts of trees that differ in one file, and runs the same command in the worktree, in turns.
pub(super) fn measure(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let dir = setting.path("checkout");
    plant(&dir, FILES)?;
    let repo = Repo::discover(&dir)?;
    let id: BubbleId = "bench".parse()?;
    let prepared = prepare(&Request {
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
    let what = format!("milliseconds that a receipt adds to `true`, {FILES} files");
    Ok(vec![
        Row::ratio("P16", format!("receipt of a check of 5 s, {FILES} files"), "in the worktree", (&slow, &alone), 1.2),
        Row { id: "P16b", what, against: "", result, goal: 300.0 },
    ])
}

fn both(
    setting: &Setting,
    (repo, worktree): (&Repo, &Workspace),
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
fn checked(repo: &Repo, worktree: &Workspace, taken: &Taken, command: &str) -> anyhow::Result<()> {
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
