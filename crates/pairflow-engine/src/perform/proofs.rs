//! Runs the commands that show findings and fixes: reproducers, acceptance tests, and the tests of fixes.
//!
//! Acceptance tests are laid over any tree, the tests of a fix over the tree without it. git does that in its object store, as
//! a commit of pairflow's own that no ref keeps. So no link of the repository can lead a file elsewhere, and the next checkout
//! of the tree itself removes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pairflow_core::bubble::{BubbleState, Command};
use pairflow_core::facts::{AcceptanceFile, CheckPlace, Outcome, Receipt, Snapshot};
use pairflow_core::gates::{could_not_run, shows_no_fix};
use pairflow_core::hash::sha256;
use pairflow_core::ids::{CommitId, FindingId, TreeId};
use pairflow_core::policy::FixToTest;

use super::checkout::{CheckCommand, CheckDir, Context, KeptCheckouts, place};
use super::checks::{run_on_site, store_output};
use super::own_checks::changed_tests;
use crate::engine::{Bubble, EngineError};
use crate::git::{GitCall, Repo, changes, lay_over};
use crate::regular;

/// How many files acceptance tests may have, and how many bytes in all.
const MAX_FILES: usize = 64;
const MAX_BYTES: u64 = 1024 * 1024;
/// How long the path of one may be, in bytes.
const MAX_PATH: usize = 500;

/// Runs one reproducer; returns `None` if it was cancelled. Files are put back before each one; what git ignores stays.
pub(super) fn run_reproducer(
    context: Context<'_>,
    (finding, command): (FindingId, &str),
    checkout: &mut Option<CheckDir>,
) -> Result<Option<Command>, EngineError> {
    let Context { bubble, state, .. } = context;
    let (Some(tree), Some(workspace)) = (state.tree(), &state.evidence.workspace) else { return Ok(None) };
    // Acceptance tests run before there is any work, too.
    let commit = state.evidence.snapshot.as_ref().map_or(&workspace.base, |snapshot| &snapshot.commit);
    let name = format!("reproducer of {}", finding);
    let command = CheckCommand { name: &name, command, tree };
    let reproducer = state.ledger.get(finding).and_then(|row| row.reproducer.as_ref());
    let files = reproducer.map(|one| one.overlay.as_slice()).unwrap_or_default();
    let place = place(state);
    let ran = match with_acceptance(bubble, state, (tree, commit), files)? {
        Ok(commit) => run_on_site(context, command, (&commit, place, true), checkout)?,
        Err(why) => Some(command.without_run(Outcome::CouldNotCheck { why: why.clone() }, why, place)),
    };
    let receipt = ran.map(|ran| store_output(bubble, ran.unless(could_not_run))).transpose()?;
    Ok(receipt.map(|receipt| Command::Reproduced { finding, receipt }))
}

/// Runs the test of a fix without the fix, and with it if it failed there. Returns `None` if it was cancelled.
pub(super) fn test_fix(
    context: Context<'_>,
    fix: &FixToTest,
    kept: &mut KeptCheckouts,
) -> Result<Option<Command>, EngineError> {
    let Context { bubble, state, .. } = context;
    let Some(snapshot) = &state.evidence.snapshot else { return Ok(None) };
    let name = format!("test of the fix of {}", fix.finding);
    let command = |tree| CheckCommand { name: &name, command: &fix.command, tree };
    let without = with_tests(bubble, state, &fix.before, snapshot)?;
    // It is a fresh checkout: what was built with the fix must not be there.
    let before = run_test(context, command(&fix.before), (&without, CheckPlace::Fresh), &mut kept.without_fix)?;
    let Some(before) = before else { return Ok(None) };
    let after = match before.outcome {
        Outcome::Failed { timed_out: false, .. } => {
            // What a check left behind must not make it pass either.
            let with = (&snapshot.commit, CheckPlace::Fresh);
            let after = run_test(context, command(&snapshot.tree), with, &mut kept.without_fix)?;
            if after.is_none() {
                return Ok(None);
            }
            after
        }
        _ => None,
    };
    Ok(Some(Command::FixTested { finding: fix.finding, before, after }))
}

/// Runs a test in a checkout of `commit`, and stores its output.
fn run_test(
    context: Context<'_>,
    command: CheckCommand<'_>,
    (commit, place): (&CommitId, CheckPlace),
    checkout: &mut Option<CheckDir>,
) -> Result<Option<Receipt>, EngineError> {
    let ran = run_on_site(context, command, (commit, place, true), checkout)?;
    ran.map(|ran| store_output(context.bubble, ran.unless(shows_no_fix))).transpose()
}

/// Returns the commit of `before` with the test files over it that were changed since.
fn with_tests(
    bubble: &Bubble,
    state: &BubbleState,
    before: &TreeId,
    snapshot: &Snapshot,
) -> Result<CommitId, EngineError> {
    let git = Repo::discover(bubble.control.repo())?.git();
    let tests: BTreeSet<String> = changed_tests(&changes(&git, before, &snapshot.tree)?).into_iter().collect();
    let listed = git.run(GitCall::new(["ls-tree", "-r", "-z", &snapshot.tree.0]))?;
    let mut entries = Vec::new();
    for entry in listed.parts().filter(|entry| !entry.starts_with(b"160000 ")) {
        if path_in(entry).is_some_and(|path| tests.contains(&path)) {
            entries.extend_from_slice(entry);
            entries.push(0);
        }
    }
    Ok(lay_over(&bubble.workspace(state)?, &git, before, entries)?)
}

/// Returns the commit of a tree with acceptance tests over it, or why they cannot be laid over it.
fn with_acceptance(
    bubble: &Bubble,
    state: &BubbleState,
    (tree, commit): (&TreeId, &CommitId),
    files: &[AcceptanceFile],
) -> Result<Result<CommitId, String>, EngineError> {
    if files.is_empty() {
        return Ok(Ok(commit.clone()));
    }
    let git = Repo::discover(bubble.control.repo())?.git();
    let mut entries = Vec::new();
    for file in files {
        let content = match admit_path(&file.path).and_then(|_| stored(bubble, file)) {
            Ok(content) => content,
            Err(why) => return Ok(Err(why)),
        };
        let mode = if content.starts_with(b"#!") { "100755" } else { "100644" };
        let blob = git.run(GitCall::new(["hash-object", "-w", "--stdin"]).input(content))?.line()?;
        entries.extend_from_slice(format!("{mode} blob {blob}\t{}\0", file.path).as_bytes());
    }
    Ok(Ok(lay_over(&bubble.workspace(state)?, &git, tree, entries)?))
}

/// Reads the content of an acceptance test, if it is still what was handed over.
fn stored(bubble: &Bubble, file: &AcceptanceFile) -> Result<Vec<u8>, String> {
    let name = file.content.strip_prefix("artifact://").unwrap_or(&file.content);
    let content = bubble.artifacts().read(name).map_err(|error| error.to_string())?;
    match name.rsplit('/').next() == Some(&sha256(&content)) {
        true => Ok(content),
        false => Err(format!("the artifact {name} with the acceptance test {} was changed", file.path)),
    }
}

/// Reads acceptance tests from `dir` and stores each by its hash. Paths are relative to `dir`, and later to the root of
/// the repository.
///
/// # Errors
///
/// Paths that lead elsewhere or that the repository already has, anything but regular files, and too many or too large
/// ones.
pub fn store_acceptance(
    bubble: &Bubble,
    state: &BubbleState,
    dir: &Path,
    files: &[String],
) -> Result<Vec<AcceptanceFile>, EngineError> {
    let refused = |why: String| Err(EngineError::BadInput(why));
    if files.len() > MAX_FILES {
        return refused(format!("there are {} acceptance files; the limit is {MAX_FILES}", files.len()));
    }
    let taken = TakenPaths::of(bubble, state)?;
    let (mut read, mut room) = (BTreeMap::<&str, Vec<u8>>::new(), MAX_BYTES);
    for given in files {
        let path = admit_path(given).map_err(EngineError::BadInput)?;
        if let Some(other) = taken.in_the_way(path) {
            return refused(format!(
                "acceptance tests may not replace files of the repository: {other}; rename {path}"
            ));
        }
        let content = match regular::read_beneath(dir, Path::new(path), room) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                return refused(format!("the acceptance files are larger than {MAX_BYTES} bytes in all, at {path}"));
            }
            Err(error) => {
                return refused(format!("cannot read the acceptance file {path} in {}: {error}", dir.display()));
            }
        };
        room = room.saturating_sub(content.len() as u64);
        if let Some(first) = read.keys().find(|first| **first != path && overlaps(first, path)) {
            return refused(format!("the acceptance files {first} and {path} exclude each other"));
        }
        read.insert(path, content);
    }
    let store = |(path, content): (&str, Vec<u8>)| {
        let name = format!("acceptance/{}", sha256(&content));
        bubble.artifacts().put(&name, &content)?;
        Ok(AcceptanceFile { path: path.to_owned(), content: format!("artifact://{name}") })
    };
    read.into_iter().map(store).collect()
}

/// Returns the path of an acceptance test without a leading `./`, or why it cannot be one.
fn admit_path(given: &str) -> Result<&str, String> {
    let path = given.strip_prefix("./").unwrap_or(given);
    let part_ok = |part: &str| !matches!(part, "" | "." | "..");
    let own = |part: &str| [".git", ".pairflow"].iter().any(|name| part.eq_ignore_ascii_case(name));
    let why = match path {
        _ if path.len() > MAX_PATH => "it is too long",
        _ if path.starts_with('/') => "it has to be relative to the directory for acceptance tests",
        _ if path.chars().any(|c| c.is_control() || c == '\u{fffd}') => "it contains characters that no path may have",
        _ if !path.split('/').all(part_ok) => "it may not leave the directory for acceptance tests",
        _ if path.split('/').any(own) => "it belongs to git or to pairflow",
        _ => return Ok(path),
    };
    Err(format!("{given:?} cannot be the path of an acceptance test: {why}"))
}

/// Whether two paths are the same, or one is a directory of the other.
fn overlaps(one: &str, other: &str) -> bool {
    Path::new(one).starts_with(other) || Path::new(other).starts_with(one)
}

/// The paths that acceptance tests may not have: those of the base, of the newest snapshot, and of the files that were
/// copied into the worktree.
struct TakenPaths {
    files: BTreeSet<String>,
    dirs: BTreeSet<String>,
}

impl TakenPaths {
    fn of(bubble: &Bubble, state: &BubbleState) -> Result<Self, EngineError> {
        let git = Repo::discover(bubble.control.repo())?.git();
        let record = state.evidence.workspace.as_ref();
        let trees: BTreeSet<_> = record.map(|record| &record.base_tree).into_iter().chain(state.tree()).collect();
        let mut taken = Self { files: bubble.workspace(state)?.included.into_iter().collect(), dirs: BTreeSet::new() };
        for tree in trees {
            let listed = git.run(GitCall::new(["ls-tree", "-r", "-t", "-z", &tree.0]))?;
            for entry in listed.parts() {
                let Some(path) = path_in(entry) else { continue };
                let is_dir = entry.starts_with(b"040000 ");
                if is_dir {
                    taken.dirs.insert(path)
                } else {
                    taken.files.insert(path)
                };
            }
        }
        Ok(taken)
    }

    /// Returns the path of the repository that `path` would replace.
    fn in_the_way(&self, path: &str) -> Option<String> {
        let above = Path::new(path).ancestors().filter_map(Path::to_str);
        above.map(str::to_owned).find(|part| self.files.contains(part) || (part == path && self.dirs.contains(part)))
    }
}

/// Returns the path in a line of `ls-tree`.
fn path_in(entry: &[u8]) -> Option<String> {
    let at = entry.iter().position(|byte| *byte == b'\t')?;
    Some(String::from_utf8_lossy(&entry[at + 1..]).into_owned())
}
