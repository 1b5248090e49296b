//! The world around a bubble: a worktree, a base branch, checks and a clock, none of them real.

use std::collections::{BTreeMap, BTreeSet};

use pairflow_core::bubble::{HeadSeen, WorktreeSeen};
use pairflow_core::facts::{CheckPlace, FileChange, Outcome, Receipt, Snapshot};
use pairflow_core::ids::{CommitId, FindingId, Party, TreeId};
use pairflow_core::log::{Ground, WorkspaceRecord};
use pairflow_core::policy::FixToTest;
use pairflow_core::rules::{Check, Scope};
use pairflow_core::time::{Moment, Timestamp};

/// Paths with the version of each file.
type Files = BTreeMap<String, u32>;

/// 2026-02-21T12:00:00Z, the day on which every script begins.
const DAWN: i64 = 1_771_675_200_000;

/// Everything outside the bubble's log.
#[derive(Debug, Clone)]
pub(super) struct World {
    /// What the clocks say.
    pub now: Moment,
    /// Where the worktree's HEAD is; the bubble's own branch if nothing is said.
    pub head: Option<HeadSeen>,
    /// What the checks say, if not "passed".
    pub checks: BTreeMap<String, Outcome>,
    /// Why the next workspace cannot be made.
    pub start_fails: Option<String>,
    /// Why commits cannot be made.
    pub commit_fails: Option<String>,
    /// Why the base cannot be merged.
    pub update_fails: Option<String>,
    /// How many lines each changed file adds.
    pub lines: u64,
    files: Files,
    cut_from: Files,
    base: Files,
    versions: u32,
    trees: Vec<Files>,
    commits: u32,
}

impl World {
    /// A repository with two files, at the beginning of time.
    pub(super) fn new() -> Self {
        let files = Files::from([("README.md".to_owned(), 0), ("src/lib.rs".to_owned(), 0)]);
        Self {
            now: Moment { ts: Timestamp::from_millis(DAWN), up: 1_000_000 },
            head: None,
            checks: BTreeMap::new(),
            start_fails: None,
            commit_fails: None,
            update_fails: None,
            lines: 1,
            files: files.clone(),
            cut_from: files.clone(),
            base: files,
            versions: 0,
            trees: Vec::new(),
            commits: 0,
        }
    }

    /// Lets both clocks go on.
    pub(super) fn pass_time(&mut self, millis: u64) {
        self.now.up += millis;
        self.jump(i64::try_from(millis).unwrap_or(i64::MAX));
    }

    /// Lets the wall clock alone jump.
    pub(super) fn jump(&mut self, millis: i64) {
        self.now.ts = Timestamp::from_millis(self.now.ts.millis().saturating_add(millis));
    }

    /// Changes a file of the worktree.
    pub(super) fn edit(&mut self, path: &str) {
        self.versions += 1;
        self.files.insert(path.to_owned(), self.versions);
    }

    /// Deletes a file of the worktree.
    pub(super) fn delete(&mut self, path: &str) {
        self.files.remove(path);
    }

    /// Gives a file the content that it had in the base.
    pub(super) fn restore(&mut self, path: &str) {
        match self.cut_from.get(path) {
            Some(version) => self.files.insert(path.to_owned(), *version),
            None => self.files.remove(path),
        };
    }

    /// Changes a file of the base branch.
    pub(super) fn move_base(&mut self, path: &str) {
        self.versions += 1;
        self.base.insert(path.to_owned(), self.versions);
    }

    /// Merges the base branch into the worktree. Returns whether the work changes the same files in the same way as before.
    pub(super) fn merge_base(&mut self) -> bool {
        let changed = differing(&self.cut_from, &self.base);
        let same_patch = changed.is_disjoint(&differing(&self.cut_from, &self.files));
        for path in changed {
            match self.base.get(&path) {
                Some(version) => self.files.insert(path, *version),
                None => self.files.remove(&path),
            };
        }
        self.cut_from = self.base.clone();
        same_patch
    }

    /// Returns the name of the worktree's tree: `tree0` is the first that was ever looked at.
    pub(super) fn tree(&mut self) -> TreeId {
        let files = self.files.clone();
        self.name(files)
    }

    /// Returns the name of the tree that the bubble was cut from.
    pub(super) fn base_tree(&mut self) -> TreeId {
        let files = self.cut_from.clone();
        self.name(files)
    }

    /// Returns what a look at the worktree shows, compared with `expected`.
    pub(super) fn seen(&mut self, expected: Option<&TreeId>) -> WorktreeSeen {
        let tree = self.tree();
        let expected = expected.and_then(|tree| self.files_of(tree)).unwrap_or_else(|| self.cut_from.clone());
        WorktreeSeen { tree, differing: differing(&expected, &self.files).into_iter().collect() }
    }

    /// Takes a snapshot of the worktree.
    pub(super) fn snapshot(&mut self, author: Option<Party>, before: Option<&TreeId>, scope: &Scope) -> Snapshot {
        let tree = self.tree();
        let before = before.and_then(|tree| self.files_of(tree)).unwrap_or_else(|| self.cut_from.clone());
        let changed = changes(&self.cut_from, &self.files, self.lines);
        let outside = changed.iter().map(|file| &file.path).filter(|path| !scope.admits(path));
        Snapshot {
            commit: CommitId(format!("snapshot-of-{tree}")),
            r#ref: format!("refs/pairflow/demo/{tree}"),
            author,
            since_last: changes(&before, &self.files, self.lines),
            out_of_scope: outside.cloned().collect(),
            changed,
            agent_head: None,
            ignore_changes: Vec::new(),
            weakened: Vec::new(),
            whole: None,
            tree,
        }
    }

    /// Runs a check on a tree.
    pub(super) fn run(&self, check: &Check, tree: &TreeId, place: CheckPlace) -> Receipt {
        let elsewhere = match place {
            CheckPlace::Base => Some("base"),
            CheckPlace::Fresh => Some("fresh"),
            CheckPlace::Checkout | CheckPlace::Worktree => None,
        };
        // What the script says of a check holds where the work is, unless it names another place.
        let key = elsewhere.map_or_else(|| check.name.clone(), |place| format!("{} {place}", check.name));
        let fallback = if place == CheckPlace::Fresh { self.checks.get(&check.name) } else { None };
        Receipt {
            check: check.name.clone(),
            command: check.command.clone(),
            tree: tree.clone(),
            outcome: self.checks.get(&key).or(fallback).cloned().unwrap_or(Outcome::Passed),
            duration_ms: 10,
            output: None,
            tail: String::new(),
            place,
        }
    }

    /// Runs the reproducer of a finding: it fails, unless the script says something else of it.
    pub(super) fn reproduce(&self, finding: FindingId, command: &str, tree: TreeId) -> Receipt {
        let fails = Outcome::Failed { exit: Some(1), timed_out: false };
        let check = Check { name: finding.to_string(), command: command.to_owned() };
        let outcome = self.checks.get(&check.name).cloned().unwrap_or(fails);
        let tail = if outcome.passed() { String::new() } else { "expected 1\ncame 2".to_owned() };
        Receipt { outcome, tail, ..self.run(&check, &tree, CheckPlace::Checkout) }
    }

    /// Runs the test of a fix: it fails before and passes after, unless the script says something else (`F1 passes before`).
    pub(super) fn test_fix(&self, fix: &FixToTest, tree: TreeId) -> (Receipt, Option<Receipt>) {
        let check = Check { name: format!("test of {}", fix.finding), command: fix.command.clone() };
        let said =
            |when: &str, usual: Outcome| self.checks.get(&format!("{} {when}", fix.finding)).cloned().unwrap_or(usual);
        let red = said("before", Outcome::Failed { exit: Some(1), timed_out: false });
        let after = matches!(red, Outcome::Failed { .. }).then(|| Receipt {
            outcome: said("after", Outcome::Passed),
            ..self.run(&check, &tree, CheckPlace::Checkout)
        });
        (Receipt { outcome: red, ..self.run(&check, &fix.before, CheckPlace::Checkout) }, after)
    }

    /// Makes the workspace.
    pub(super) fn workspace(&mut self) -> WorkspaceRecord {
        WorkspaceRecord {
            path: "/work/demo".to_owned(),
            git_dir: "/repo/.git/worktrees/demo".to_owned(),
            common_dir: "/repo/.git".to_owned(),
            base: CommitId("base".to_owned()),
            base_tree: self.base_tree(),
            port: 4000,
            ports: 10,
            setup: None,
            included: Vec::new(),
            ground: Ground::default(),
        }
    }

    /// Makes a commit.
    pub(super) fn commit(&mut self) -> CommitId {
        self.commits += 1;
        CommitId(format!("commit{}", self.commits))
    }

    fn name(&mut self, files: Files) -> TreeId {
        let known = self.trees.iter().position(|tree| *tree == files);
        let number = known.unwrap_or_else(|| {
            self.trees.push(files);
            self.trees.len() - 1
        });
        TreeId(format!("tree{number}"))
    }

    fn files_of(&self, tree: &TreeId) -> Option<Files> {
        let number: usize = tree.0.strip_prefix("tree")?.parse().ok()?;
        self.trees.get(number).cloned()
    }
}

/// The paths whose content differs.
fn differing(before: &Files, after: &Files) -> BTreeSet<String> {
    let paths = before.keys().chain(after.keys());
    paths.filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

/// The changes from one tree to the other, as git lists them.
fn changes(before: &Files, after: &Files, lines: u64) -> Vec<FileChange> {
    let change = |path: String| {
        let (status, added, removed) = match (before.contains_key(&path), after.contains_key(&path)) {
            (false, _) => ('A', lines, 0),
            (true, true) => ('M', lines, 1),
            (true, false) => ('D', 0, 1),
        };
        FileChange { path, status, added: Some(added), removed: Some(removed) }
    };
    differing(before, after).into_iter().map(change).collect()
}
