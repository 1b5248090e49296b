//! Runs one check on a tree: passed, failed, or could not be checked.
//!
//! Whether a receipt can be reused, and what a result leads to, is decided elsewhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::facts::{CheckPlace, Outcome, Receipt};
use pairflow_core::ids::TreeId;

use crate::process::{Cancel, Job, JobCommand, JobKind, JobResult, Registration, run, tail};

/// How much of the output a receipt shows.
const TAIL_LINES: usize = 20;
const TAIL_CHARS: usize = 2000;
/// How many of the files that a check changed are named.
const NAMED_FILES: usize = 20;

/// A check to run, and the eyes that see whether it changed the tree.
pub struct CheckRun<'a> {
    /// Which check: `test`, `typecheck`, `lint`, `setup`.
    pub name: &'a str,
    /// The command line, run by a shell.
    pub command: &'a str,
    /// Where it runs.
    pub workspace: &'a Path,
    /// What kind of place that is.
    pub place: CheckPlace,
    /// The tree that the workspace holds.
    pub tree: &'a TreeId,
    /// How long it may run.
    pub timeout: Duration,
    /// How much of its output is kept.
    pub max_output: usize,
    /// Variables on top of the few that are inherited.
    pub env: &'a [(String, String)],
    /// The directory of the process records, if the group is to be found after a crash.
    pub registry: Option<PathBuf>,
    /// Says which tree the workspace holds now.
    pub observe: &'a dyn Fn() -> Result<TreeId, String>,
    /// Names the files that differ between two trees.
    pub changed_files: &'a dyn Fn(&TreeId, &TreeId) -> Vec<String>,
}

/// A check that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// The receipt, whose `output` is for the caller to fill in once the bytes are stored.
    pub receipt: Receipt,
    /// The output.
    pub output: Vec<u8>,
}

impl CheckResult {
    /// Makes a run that shows nothing one that could not be checked. `why_not` gets the command, its exit code and its
    /// output.
    pub fn unless(mut self, why_not: fn(&str, Option<i32>, &str) -> Option<&'static str>) -> Self {
        let exit = match self.receipt.outcome {
            Outcome::Passed => Some(0),
            Outcome::Failed { exit, timed_out: false } => exit,
            Outcome::Failed { .. } | Outcome::CouldNotCheck { .. } => return self,
        };
        let output = String::from_utf8_lossy(&self.output);
        if let Some(why) = why_not(&self.receipt.command, exit, &output) {
            self.receipt.outcome = Outcome::CouldNotCheck { why: why.to_owned() };
        }
        self
    }
}

/// The check was cancelled: nothing is known about the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the check was cancelled; nothing is known about the tree")]
pub struct Cancelled;

/// Runs a check to its end.
pub fn run_check(check: &CheckRun<'_>, cancel: &Cancel) -> Result<CheckResult, Cancelled> {
    let ran = run(&job(check), cancel);
    if ran.cancelled || (ran.could_not_start.is_some() && cancel.is_cancelled()) {
        return Err(Cancelled);
    }
    let receipt = Receipt {
        check: check.name.to_owned(),
        command: check.command.to_owned(),
        tree: check.tree.clone(),
        outcome: outcome(check, &ran),
        duration_ms: u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
        output: None,
        tail: tail(&ran.output, TAIL_LINES, TAIL_CHARS),
        place: check.place,
    };
    Ok(CheckResult { receipt, output: ran.output })
}

fn job(check: &CheckRun<'_>) -> Job {
    let what = format!("{}: {}", check.name, check.command);
    Job {
        command: JobCommand::Shell(check.command.to_owned()),
        cwd: check.workspace.to_owned(),
        env: check.env.to_vec(),
        timeout: Some(check.timeout),
        max_output_bytes: check.max_output,
        log: None,
        registry: check.registry.clone().map(|dir| Registration { dir, kind: JobKind::Check, what }),
    }
}

fn outcome(check: &CheckRun<'_>, ran: &JobResult) -> Outcome {
    // What a check says of a tree that is not the one it was given counts neither for nor against it.
    if let Some(why) = ran.could_not_start.clone().or_else(|| disturbed(check)) {
        return Outcome::CouldNotCheck { why };
    }
    match ran.exit {
        Some(0) if !ran.timed_out => Outcome::Passed,
        exit => Outcome::Failed { exit, timed_out: ran.timed_out },
    }
}

fn disturbed(check: &CheckRun<'_>) -> Option<String> {
    let now = match (check.observe)() {
        Ok(now) => now,
        Err(error) => return Some(format!("the worktree could not be read after the check: {error}")),
    };
    if now == *check.tree {
        return None;
    }
    let files = (check.changed_files)(check.tree, &now);
    let named = files.iter().take(NAMED_FILES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match files.len().saturating_sub(NAMED_FILES) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(format!(
        "files changed while the check ran: {named}{more}; list them in .gitignore, or change the check so that it leaves them alone"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench {
        dir: tempfile::TempDir,
        cancel: Cancel,
    }

    /// A tree is, here, the list of the files that are there.
    fn seen(dir: &Path) -> TreeId {
        let mut names: Vec<String> =
            std::fs::read_dir(dir).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        TreeId(names.join(" "))
    }

    fn differing(one: &TreeId, other: &TreeId) -> Vec<String> {
        other.0.split(' ').filter(|name| !one.0.split(' ').any(|known| known == *name)).map(str::to_owned).collect()
    }

    impl Bench {
        fn new() -> Self {
            Self { dir: tempfile::tempdir().unwrap(), cancel: Cancel::new().unwrap() }
        }

        fn check(&self, command: &str, timeout: Duration) -> Result<CheckResult, Cancelled> {
            let tree = seen(self.dir.path());
            let check = CheckRun {
                name: "test",
                command,
                workspace: self.dir.path(),
                place: CheckPlace::Checkout,
                tree: &tree,
                timeout,
                max_output: 10_000,
                env: &[("PORT".into(), "4711".into())],
                registry: None,
                observe: &|| Ok(seen(self.dir.path())),
                changed_files: &differing,
            };
            run_check(&check, &self.cancel)
        }

        fn outcome(&self, command: &str) -> Outcome {
            self.check(command, Duration::from_secs(20)).unwrap().receipt.outcome
        }
    }

    #[test]
    fn exit_code_zero_on_an_unchanged_tree_passes() {
        let bench = Bench::new();
        std::fs::create_dir(bench.dir.path().join("web")).unwrap();
        let checked = bench.check("cd web && echo \"port $PORT\" && echo oops >&2", Duration::from_secs(20)).unwrap();
        assert_eq!(checked.receipt.outcome, Outcome::Passed);
        assert_eq!(checked.receipt.tail, "port 4711\noops");
        assert_eq!(checked.output, b"port 4711\noops\n");
        assert_eq!((checked.receipt.check.as_str(), checked.receipt.output), ("test", None));
    }

    #[test]
    fn any_other_exit_code_fails() {
        let failed = Outcome::Failed { exit: Some(3), timed_out: false };
        assert_eq!(Bench::new().outcome("echo no; exit 3"), failed);
    }

    #[test]
    fn a_check_that_outlives_its_time_fails() {
        let checked = Bench::new().check("sleep 60", Duration::from_millis(50)).unwrap();
        assert_eq!(checked.receipt.outcome, Outcome::Failed { exit: None, timed_out: true });
    }

    #[test]
    fn a_command_that_does_not_exist_is_neither_a_pass_nor_a_failure() {
        let Outcome::CouldNotCheck { why } = Bench::new().outcome("no-such-program-here --all") else { panic!() };
        assert!(why.contains("not found") && why.contains("no-such-program-here"), "{why}");
    }

    #[test]
    fn a_check_that_changes_the_tree_could_not_check_and_names_the_files() {
        let why = |command: &str| match Bench::new().outcome(command) {
            Outcome::CouldNotCheck { why } => why,
            other => panic!("{other:?}"),
        };
        assert!(why("touch left-over.txt").contains("left-over.txt"));
        assert!(why("touch left-over.txt; exit 1").contains("left-over.txt"));
        let many = why("for i in 1 2 3 4 5; do for j in 1 2 3 4 5; do touch f$i$j; done; done");
        assert!(many.contains("f11, f12") && many.contains("and 5 more"), "{many}");
    }

    #[test]
    fn a_tree_that_cannot_be_read_afterwards_could_not_be_checked() {
        let bench = Bench::new();
        let tree = seen(bench.dir.path());
        let check = CheckRun {
            name: "test",
            command: "true",
            workspace: bench.dir.path(),
            place: CheckPlace::Checkout,
            tree: &tree,
            timeout: Duration::from_secs(20),
            max_output: 100,
            env: &[],
            registry: None,
            observe: &|| Err("git is gone".into()),
            changed_files: &differing,
        };
        let outcome = run_check(&check, &bench.cancel).unwrap().receipt.outcome;
        assert!(matches!(outcome, Outcome::CouldNotCheck { why } if why.contains("git is gone")));
    }

    #[test]
    fn a_cancelled_check_leaves_no_receipt() {
        let bench = Bench::new();
        bench.cancel.cancel();
        assert_eq!(bench.check("sleep 60", Duration::from_secs(60)), Err(Cancelled));
    }
}
