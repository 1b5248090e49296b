//! The world around a simulated bubble: a clock that moves only when told to, a worktree and a base branch whose trees are
//! numbers, and random checks.
//!
//! What an effect does to this world stays done when the process dies before it could tell; doing it again must then have
//! the same result, as it has with git.

use std::sync::{Mutex, PoisonError};

use pairflow_core::bubble::{BubbleState, Command, Effect, Stage, WorktreeSeen, found_author};
use pairflow_core::facts::{CheckPlace, FileChange, Outcome, Receipt, Snapshot};
use pairflow_core::ids::{CommitId, Party, TreeId};
use pairflow_core::log::{Ground, WorkspaceRecord};
use pairflow_core::time::{Moment, Timestamp};
use pairflow_engine::clock::Clock;

use crate::disk::Rng;

/// Everything outside the log.
#[derive(Debug, Clone, Default)]
pub(super) struct World {
    worktree: u64,
    base: u64,
    cut_from: u64,
    newest: u64,
}

impl World {
    /// Someone changes files; now and then they come back to what they were.
    pub(super) fn edit(&mut self, rng: &mut Rng) {
        if rng.once_in(12) {
            self.worktree = self.cut_from;
        } else {
            self.newest += 1;
            self.worktree = self.newest;
        }
    }

    /// Someone pushes to the base branch.
    pub(super) fn move_base(&mut self) {
        self.newest += 1;
        self.base = self.newest;
    }

    /// Returns what a look at the worktree shows.
    pub(super) fn seen(&self, state: &BubbleState) -> WorktreeSeen {
        let tree = tree(self.worktree);
        let differs = state.tree() != Some(&tree);
        WorktreeSeen { differing: differs.then(|| "src/lib.rs".to_owned()).into_iter().collect(), tree }
    }

    /// Performs an effect and returns the command that reports it.
    pub(super) fn perform(&mut self, state: &BubbleState, effect: &Effect, rng: &mut Rng) -> Command {
        match effect {
            Effect::PrepareWorkspace if rng.once_in(20) => Command::StartFailed { reason: "no space left".to_owned() },
            Effect::PrepareWorkspace => Command::WorkspaceReady { workspace: self.workspace() },
            Effect::TakeSnapshot { author, .. } => {
                Command::SnapshotTaken { snapshot: self.snapshot(author.clone(), state) }
            }
            Effect::RunCheck { check, place } => {
                let outcome = outcome(rng);
                let receipt = receipt(&check.name, &check.command, state, outcome);
                Command::Checked { receipt: Receipt { place: *place, ..receipt } }
            }
            Effect::RunReproducer { finding, command } => {
                let outcome = outcome(rng);
                let receipt = receipt(&finding.to_string(), command, state, outcome);
                Command::Reproduced { finding: *finding, receipt }
            }
            Effect::TestFix(fix) => {
                let (red, green) = (outcome(rng), outcome(rng));
                let ran = |outcome| receipt(&fix.finding.to_string(), &fix.command, state, outcome);
                let after = matches!(red, Outcome::Failed { .. }).then(|| ran(green));
                let before = Receipt { tree: fix.before.clone(), ..ran(red) };
                Command::FixTested { finding: fix.finding, before, after }
            }
            Effect::OpenTurn { turn } if state.tree() == Some(&tree(self.worktree)) => {
                Command::TurnReady { turn: *turn, slices: 0 }
            }
            Effect::OpenTurn { .. } => {
                Command::SnapshotTaken { snapshot: self.snapshot(found_author(state, &tree(self.worktree)), state) }
            }
            Effect::Update => self.update(state, rng),
            Effect::Commit(_) if rng.once_in(10) => Command::CommitFailed { reason: "a hook said no".to_owned() },
            Effect::Commit(_) => self.commit(state),
            Effect::RecordDone | Effect::RunAgent { .. } | Effect::Deliver { .. } => Command::RecordDone,
        }
    }

    fn workspace(&mut self) -> WorkspaceRecord {
        self.cut_from = self.base;
        self.worktree = self.base;
        WorkspaceRecord {
            path: "/.pairflow-worktrees/repo/sim".to_owned(),
            git_dir: "/repo/.git/worktrees/sim".to_owned(),
            common_dir: "/repo/.git".to_owned(),
            base: commit(self.base),
            base_tree: tree(self.base),
            port: 4000,
            ports: 10,
            setup: None,
            included: Vec::new(),
            ground: Ground::default(),
        }
    }

    fn snapshot(&self, author: Option<Party>, state: &BubbleState) -> Snapshot {
        let now = tree(self.worktree);
        let changed = |from: Option<&TreeId>| {
            let file = FileChange { path: "src/lib.rs".to_owned(), status: 'M', added: Some(3), removed: Some(1) };
            if from == Some(&now) { Vec::new() } else { vec![file] }
        };
        Snapshot {
            commit: CommitId(format!("c{}", now.0)),
            r#ref: format!("refs/pairflow/sim/{}", state.evidence.snapshots + 1),
            changed: changed(Some(&tree(self.cut_from))),
            since_last: changed(state.tree()),
            out_of_scope: Vec::new(),
            agent_head: None,
            ignore_changes: Vec::new(),
            weakened: Vec::new(),
            whole: None,
            author,
            tree: now,
        }
    }

    /// Merges the base branch; what was not handed over yet is recorded before it.
    fn update(&mut self, state: &BubbleState, rng: &mut Rng) -> Command {
        let base = commit(self.base);
        let moved = state.evidence.workspace.as_ref().is_some_and(|workspace| workspace.base != base);
        if !moved || rng.once_in(5) {
            return Command::UpdateFailed {
                reason: "the base has not moved, or it does not fit".to_owned(),
                conflict: None,
            };
        }
        let mut snapshots = Vec::new();
        if state.tree() != Some(&tree(self.worktree)) {
            let author = match state.phase.turn() {
                Some(turn) if turn.stage == Stage::Open => turn.author(),
                _ => Some(Party::Human),
            };
            snapshots.push(self.snapshot(author, state));
        }
        // A merge whose process died before it could tell is found done.
        if self.cut_from != self.base {
            self.worktree = self.worktree.wrapping_mul(1_000_003) ^ self.base;
            self.cut_from = self.base;
        }
        snapshots.push(self.snapshot(Some(Party::Human), state));
        // Every second base leaves the files of the work alone.
        let same_patch = self.base.is_multiple_of(2);
        Command::UpdateMade { base, base_tree: tree(self.base), snapshots, same_patch }
    }

    fn commit(&self, state: &BubbleState) -> Command {
        let tree = state.tree().cloned().unwrap_or_else(|| tree(self.worktree));
        Command::CommitMade { commit: CommitId(format!("commit-of-{tree}")), old_tip: None }
    }
}

fn outcome(rng: &mut Rng) -> Outcome {
    match rng.below(20) {
        0 | 1 => Outcome::Failed { exit: Some(1), timed_out: false },
        2 => Outcome::Failed { exit: None, timed_out: true },
        3 | 4 => Outcome::CouldNotCheck { why: "no such program".to_owned() },
        _ => Outcome::Passed,
    }
}

fn receipt(check: &str, command: &str, state: &BubbleState, outcome: Outcome) -> Receipt {
    Receipt {
        check: check.to_owned(),
        command: command.to_owned(),
        tree: state.tree().cloned().unwrap_or_else(|| tree(0)),
        outcome,
        duration_ms: 10,
        output: None,
        tail: String::new(),
        place: CheckPlace::Checkout,
    }
}

fn tree(number: u64) -> TreeId {
    TreeId(format!("{number:040x}"))
}

fn commit(number: u64) -> CommitId {
    CommitId(format!("{number:040x}"))
}

/// 2026-02-21T12:00:00Z, when every simulated life begins.
const DAWN: i64 = 1_771_675_200_000;

/// A clock in memory.
#[derive(Debug)]
pub struct SimClock(Mutex<Moment>);

impl SimClock {
    /// Begins at the same moment for everyone.
    pub fn new() -> Self {
        Self(Mutex::new(Moment { ts: Timestamp::from_millis(DAWN), up: 1_000_000 }))
    }

    /// Lets time go by.
    pub fn pass(&self, millis: u64) {
        self.change(|now| {
            now.up += millis;
            now.ts = Timestamp::from_millis(now.ts.millis() + i64::try_from(millis).unwrap_or(i64::MAX));
        });
    }

    /// Lets the wall clock alone jump.
    pub fn jump(&self, millis: i64) {
        self.change(|now| now.ts = Timestamp::from_millis(now.ts.millis().saturating_add(millis)));
    }

    /// Restarts the machine: its uptime begins anew.
    pub fn reboot(&self) {
        self.change(|now| now.up = 100);
    }

    fn change(&self, change: impl FnOnce(&mut Moment)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Default for SimClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SimClock {
    fn now(&self) -> Moment {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
