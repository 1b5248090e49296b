//! Nothing that a repository or an agent can write makes our git run a program: a canary tells.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::ids::TreeId;
use pairflow_core::rules::WorkMode;
use pairflow_engine::git::{
    CommitRequest, Git, GitCall, GitError, MergeRequest, Worktree, changes, commit, diff_text, merge, observe,
    plan_merge, take,
};
use pairflow_engine::workspace::Scratch;

use crate::support::git::{World, git, git_ok, hermetic, update, write, write_program};

/// A program that leaves a trace, and the place to look for it.
struct Canary {
    program: PathBuf,
    trace: PathBuf,
}

impl Canary {
    fn new(world: &World) -> Self {
        let (program, trace) = (world.dir.path().join("canary"), world.dir.path().join("it-ran"));
        write_program(&program, &format!("echo \"$0 $*\" >>{}\ncat", trace.display()));
        Self { program, trace }
    }

    fn text(&self) -> &str {
        self.program.to_str().unwrap()
    }

    fn assert_silent(&self, after: &str) {
        let said = std::fs::read_to_string(&self.trace).unwrap_or_default();
        assert!(said.is_empty(), "{after}: {said}");
    }

    /// Shows that the trap works: a plain git falls into it.
    fn assert_bites(&self, dir: &Path, args: &[&str]) {
        git_ok(dir, args);
        assert!(self.trace.exists(), "git {args:?} did not fall into the trap");
        std::fs::remove_file(&self.trace).unwrap();
    }
}

/// Sets every setting that names a program, in a form that takes effect.
fn poison(dir: &Path, scope: &str, canary: &Canary) {
    let program = canary.text();
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.gitProxy",
        "diff.external",
        "core.alternateRefsCommand",
        "credential.helper",
        "gpg.program",
        "gpg.ssh.program",
        "gpg.ssh.defaultKeyCommand",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "filter.a=b.clean",
        "diff.evil.command",
        "diff.evil.textconv",
        "merge.evil.driver",
        "uploadpack.packObjectsHook",
        "interactive.diffFilter",
        "sequence.editor",
    ] {
        git(dir, &["config", scope, key, program]);
    }
    git(dir, &["config", scope, "filter.evil.required", "true"]);
    git(dir, &["config", scope, "commit.gpgsign", "false"]);
    let hooks = canary.program.with_file_name("hooks");
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-checkout",
        "reference-transaction",
        "post-merge",
        "post-index-change",
        "pre-auto-gc",
    ] {
        write(hooks.join(hook), std::fs::read(&canary.program).unwrap());
        assert!(std::process::Command::new("chmod").arg("755").arg(hooks.join(hook)).status().unwrap().success());
    }
    git(dir, &["config", scope, "core.hooksPath", hooks.to_str().unwrap()]);
}

fn attributes(path: &Path) {
    write(path.join(".gitattributes"), "* filter=evil diff=evil merge=evil\n*.odd filter=a=b\n");
}

/// Everything that pairflow does with a workspace.
fn live_a_whole_life(world: &World, bubble: &Worktree, canary: &Canary) {
    let base = TreeId(
        bubble.git().run(GitCall::new(["rev-parse", &format!("{}^{{tree}}", bubble.base)])).unwrap().line().unwrap(),
    );
    write(bubble.path.join("a.txt"), "one\ntwo\nthree\nfour\nFIVE\n");
    write(bubble.path.join("x.odd"), "odd");
    observe(bubble).unwrap();
    canary.assert_silent("observe");
    let taken = take(bubble, 1).unwrap();
    canary.assert_silent("take");
    changes(&bubble.git(), &base, &taken.tree).unwrap();
    diff_text(&bubble.git(), &base, &taken.tree, 1 << 20).unwrap();
    canary.assert_silent("diff");
    let tree = update(bubble, "main").unwrap().tree;
    canary.assert_silent("update");
    let branch = format!("bubble/{}", bubble.id);
    let wanted =
        CommitRequest { workspace: bubble, tree: &tree, branch: &branch, message: "m", hooks: false, identity: None };
    let done = commit(&wanted).unwrap();
    canary.assert_silent("commit");
    let request = MergeRequest {
        repo: &world.repo,
        id: &bubble.id,
        base_branch: "main",
        bubble_branch: &branch,
        commit: &done.commit,
        identity: None,
    };
    let plan = plan_merge(&request).unwrap();
    merge(&request, &plan, Some(world.root())).unwrap();
    canary.assert_silent("merge");
    drop(Scratch::new(&world.repo, &done.commit).unwrap());
    canary.assert_silent("scratch");
}

hermetic! {
    fn a_poisoned_repository_runs_nothing_of_its_own() {
        let world = World::new();
        attributes(world.root());
        world.git(&["add", "-A"]);
        world.git(&["commit", "--quiet", "-m", "attributes"]);
        let canary = Canary::new(&world);
        let (bubble, clone) = {
            let bubble = world.bubble("b1");
            world.commit("a.txt", "ONE\ntwo\nthree\nfour\nfive\n");
            poison(world.root(), "--local", &canary);
            (bubble, world.workspace("c1", WorkMode::Clone))
        };
        canary.assert_silent("prepare");
        write(world.root().join("a.txt"), "ONE\ntwo\nthree\nfour\nfive\n");
        canary.assert_bites(world.root(), &["status"]);
        live_a_whole_life(&world, &bubble, &canary);
        attributes(&clone.path);
        poison(&clone.path, "--local", &canary);
        take(&clone, 1).unwrap();
        canary.assert_silent("take in a clone");
        std::fs::write(clone.git_dir.join("commondir"), world.repo.common_dir.to_str().unwrap()).unwrap();
        assert!(matches!(take(&clone, 2), Err(GitError::Redirected { .. })));
        world.bubble("b2");
        canary.assert_silent("prepare of a worktree");
    }

    fn settings_that_come_in_by_an_include_or_for_one_worktree_are_off_too() {
        let world = World::new();
        let bubble = world.bubble("b1");
        let canary = Canary::new(&world);
        attributes(&bubble.path);
        write(bubble.path.join("included"), format!("[filter \"evil\"]\n\tclean = {}\n", canary.text()));
        world.git(&["config", "include.path", bubble.path.join("included").to_str().unwrap()]);
        canary.assert_bites(&bubble.path, &["add", "-A"]);
        observe(&bubble).unwrap();
        canary.assert_silent("include");
        world.git(&["config", "--unset", "include.path"]);
        world.git(&["config", "extensions.worktreeConfig", "true"]);
        poison(&bubble.path, "--worktree", &canary);
        write(bubble.path.join("more"), "x");
        canary.assert_bites(&bubble.path, &["add", "-A"]);
        write(bubble.path.join("more"), "y");
        observe(&bubble).unwrap();
        canary.assert_silent("config.worktree");
    }

    fn a_swapped_git_directory_is_never_looked_at() {
        let world = World::new();
        let bubble = world.bubble("b1");
        let canary = Canary::new(&world);
        std::fs::remove_file(bubble.path.join(".git")).unwrap();
        git(&bubble.path, &["init", "--quiet"]);
        attributes(&bubble.path);
        poison(&bubble.path, "--local", &canary);
        canary.assert_bites(&bubble.path, &["status"]);
        for refused in [observe(&bubble).map(drop), take(&bubble, 1).map(drop)] {
            assert!(matches!(refused, Err(GitError::NotOurs { .. })), "{refused:?}");
        }
        canary.assert_silent("another repository in the place of the worktree");
    }

    fn a_rewritten_commondir_is_never_followed() {
        let world = World::new();
        let bubble = world.bubble("b1");
        let canary = Canary::new(&world);
        let trap = world.dir.path().join("trap");
        std::fs::create_dir(&trap).unwrap();
        git(&trap, &["init", "--quiet"]);
        poison(&trap, "--local", &canary);
        attributes(&bubble.path);
        std::fs::write(bubble.git_dir.join("commondir"), trap.join(".git").to_str().unwrap()).unwrap();
        write(bubble.path.join("new"), "x");
        canary.assert_bites(&bubble.path, &["add", "-A"]);
        let taken = take(&bubble, 1).unwrap();
        canary.assert_silent("commondir");
        assert_eq!(world.git(&["rev-parse", "refs/pairflow/b1/1"]), taken.tree.0);
    }

    fn a_filter_of_the_persons_own_runs_as_the_person_wrote_it() {
        let world = World::new();
        let bubble = world.bubble("b1");
        let canary = Canary::new(&world);
        write(bubble.path.join(".gitattributes"), "*.up filter=up\n");
        write(bubble.path.join("x.up"), "quiet");
        git(world.root(), &["config", "--global", "filter.up.clean", "tr a-z A-Z"]);
        git(world.root(), &["config", "--local", "filter.up.clean", canary.text()]);
        let tree = observe(&bubble).unwrap();
        canary.assert_silent("the repository's filter of the same name");
        assert_eq!(world.git(&["cat-file", "blob", &format!("{tree}:x.up")]), "QUIET");
    }

    fn replaced_objects_and_variables_of_ours_change_nothing() {
        let world = World::new();
        let bubble = world.bubble("b1");
        let blob = git(&bubble.path, &["rev-parse", "HEAD:a.txt"]);
        write(bubble.path.join("fake"), "fake\n");
        let fake = git(&bubble.path, &["hash-object", "-w", "fake"]);
        git(&bubble.path, &["replace", &blob, &fake]);
        let shown = bubble.git().run(GitCall::new(["cat-file", "blob", &blob])).unwrap();
        assert!(shown.stdout.starts_with(b"one\n"));
    }

    fn a_call_that_hangs_is_stopped_with_everything_it_started() {
        let world = World::new();
        let started = world.dir.path().join("pid");
        git(world.root(), &["config", "--global", "filter.slow.clean", &format!("echo $$ >{}; exec sleep 600", started.display())]);
        write(world.root().join(".gitattributes"), "* filter=slow\n");
        let error = world.repo.git().run(GitCall::new(["add", "-A"]).within(Duration::from_secs(5))).unwrap_err();
        assert!(matches!(error, GitError::TimedOut { secs: 5, .. }), "{error}");
        let pid = crate::support::git::read(&started).trim().to_owned();
        // A process that nobody has waited for yet is a zombie, which runs no more.
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let ended = || state().is_empty() || state().contains(") Z ");
        pairflow_testkit::wait::eventually_or("the end of what git started", state, || ended().then_some(()));
    }

    fn a_failed_call_names_its_arguments_and_what_git_said() {
        let world = World::new();
        let error = world.repo.git().run(GitCall::new(["rev-parse", "--no-such-thing", "x", "--verify"])).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("git rev-parse --no-such-thing x --verify failed with 128: fatal:"), "{said}");
        let nowhere = world.dir.path().join("gone");
        let lost = Git::at(&nowhere, &nowhere, &nowhere).run(GitCall::new(["status"])).unwrap_err();
        assert!(!matches!(lost, GitError::Missing), "a missing directory is not a missing git: {lost}");
    }
}

#[test]
fn a_missing_git_is_an_error_with_a_sentence() {
    if !crate::support::git::inside() {
        return crate::support::git::run_inside_with(
            "git::evil::a_missing_git_is_an_error_with_a_sentence",
            "/nonexistent",
        );
    }
    let dir = std::env::temp_dir();
    let error = Git::at(&dir, &dir, &dir).run(GitCall::new(["status"])).unwrap_err();
    assert!(matches!(error, GitError::Missing), "{error}");
    assert!(error.to_string().contains("install git"), "{error}");
}
