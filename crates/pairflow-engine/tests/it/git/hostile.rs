//! Nothing that a repository or an agent can write makes our git run a program; each test has a canary that would tell.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pairflow_core::ids::TreeId;
use pairflow_core::log::Conflict;
use pairflow_core::rules::WorkMode;
use pairflow_engine::git::{
    CommitRequest, Git, GitCall, GitError, MergeRequest, UpdateRequest, Worktree, changes, commit, diff_text,
    ignore_changes, merge, observe, plan_merge, take,
};
use pairflow_engine::workspace::{Scratch, WorkspaceRequest, prepare, restore};

use crate::support::{World, git, git_ok, hermetic, read, update, write, write_program};

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
        let pid = crate::support::read(&started).trim().to_owned();
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
    if !crate::support::inside() {
        return crate::support::run_inside_with(
            "git::hostile::a_missing_git_is_an_error_with_a_sentence",
            "/nonexistent",
        );
    }
    let dir = std::env::temp_dir();
    let error = Git::at(&dir, &dir, &dir).run(GitCall::new(["status"])).unwrap_err();
    assert!(matches!(error, GitError::Missing), "{error}");
    assert!(error.to_string().contains("install git"), "{error}");
}

hermetic! {
    fn an_exclude_file_that_an_agent_changes_hides_nothing() {
        let world = World::new();
        write(world.repo.common_dir.join("info/exclude"), "# mine\n*.tmp\n");
        let bubble = world.bubble("b1");
        write(bubble.path.join("needed.txt"), "1");
        write(bubble.path.join("x.tmp"), "1");
        let seen = observe(&bubble).unwrap();
        write(world.repo.common_dir.join("info/exclude"), "needed.txt\n");
        assert_eq!(observe(&bubble).unwrap(), seen, "the patterns of the start are in force");
        assert_eq!(world.git(&["ls-tree", "--name-only", &seen.0]), ".gitignore\na.txt\nneeded.txt");
        assert!(ignore_changes(&bubble, &[]).iter().any(|name| name.contains("info/exclude")));
    }

    fn excludes_of_the_repositorys_configuration_hide_nothing() {
        let world = World::new();
        let bubble = world.bubble("b1");
        let list = world.dir.path().join("list");
        write(&list, "needed.txt\n");
        git(&bubble.path, &["config", "core.excludesFile", list.to_str().unwrap()]);
        write(bubble.path.join("needed.txt"), "1");
        let seen = observe(&bubble).unwrap();
        assert_eq!(world.git(&["ls-tree", "--name-only", &seen.0]), ".gitignore\na.txt\nneeded.txt");
        git(&bubble.path, &["config", "--global", "core.excludesFile", list.to_str().unwrap()]);
        let seen = observe(&bubble).unwrap();
        assert_eq!(world.git(&["ls-tree", "--name-only", &seen.0]), ".gitignore\na.txt", "the person's own count");
    }

    fn line_ends_are_not_for_the_repositorys_configuration_to_change() {
        let world = World::new();
        let bubble = world.bubble("b1");
        let list = world.dir.path().join("attributes");
        write(&list, "*.txt text eol=crlf\n");
        for (key, value) in [("core.autocrlf", "true"), ("core.eol", "crlf"), ("core.attributesFile", list.to_str().unwrap())] {
            git(&bubble.path, &["config", key, value]);
        }
        write(bubble.path.join("crlf.txt"), "1\r\n");
        let seen = observe(&bubble).unwrap();
        assert_eq!(world.git(&["cat-file", "-s", &format!("{}:crlf.txt", seen.0)]), "3", "the bytes are the file's own");
    }

    fn ignore_files_among_the_changes_are_named() {
        let world = World::new();
        let bubble = world.bubble("b1");
        let before = observe(&bubble).unwrap();
        write(bubble.path.join(".gitignore"), "needed.txt\n");
        write(bubble.path.join("b.txt"), "1");
        let changed = changes(&bubble.git(), &before, &observe(&bubble).unwrap()).unwrap();
        assert_eq!(ignore_changes(&bubble, &changed), [".gitignore"]);
    }

    fn an_update_that_was_interrupted_still_knows_what_was_there_before() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("mine"), "agent's");
        let before = observe(&bubble).unwrap();
        world.commit("theirs", "base's");
        let done = update(&bubble, "main").unwrap();
        assert_eq!(done.before, before);
        // A crash: the files have the base's changes, and nobody has recorded the new base.
        let again = update(&bubble, "main").unwrap();
        assert_eq!((&again.before, &again.tree), (&before, &done.tree));
        assert!(world.git(&["ls-tree", "--name-only", &again.before.0]).lines().all(|name| name != "theirs"));
    }

    fn a_resolved_conflict_keeps_the_persons_files_and_merges_all_others() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("a.txt"), "mine\n");
        let before = observe(&bubble).unwrap();
        write(world.root().join("other"), "base's");
        world.git(&["add", "other"]);
        let base = world.commit("a.txt", "theirs\n");
        let error = update(&bubble, "main").unwrap_err();
        let GitError::UpdateConflict { base: met, files } = error else { panic!("{error}") };
        assert_eq!((&met, files.as_slice()), (&base, ["a.txt".to_owned()].as_slice()));
        write(bubble.path.join("a.txt"), "mine and theirs\n");
        world.commit("later", "not resolved against");
        let conflict = Conflict { base: met, files };
        let wanted = UpdateRequest { base_branch: "main", resolved: Some(&conflict), number: 1 };
        let done = pairflow_engine::git::update(&bubble, &wanted).unwrap();
        assert_eq!((&done.base, &done.before), (&base, &before), "the base that was resolved, the work before that");
        assert_eq!((read(bubble.path.join("a.txt")), read(bubble.path.join("other"))), ("mine and theirs\n".into(), "base's".into()));
        assert!(!bubble.path.join("later").exists());
    }

    fn a_conflict_that_nobody_resolved_stops_a_resolved_update_too() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("a.txt"), "mine\n");
        let base = world.commit("a.txt", "theirs\n");
        let conflict = Conflict { base, files: vec!["b.txt".into()] };
        let wanted = UpdateRequest { base_branch: "main", resolved: Some(&conflict), number: 1 };
        let error = pairflow_engine::git::update(&bubble, &wanted).unwrap_err();
        assert!(matches!(&error, GitError::UpdateConflict { files, .. } if files == &["a.txt"]), "{error}");
        assert_eq!(read(bubble.path.join("a.txt")), "mine\n");
    }

    fn earlier_work_goes_on_merged_with_the_base() {
        for mode in [WorkMode::Worktree, WorkMode::Clone] {
            let world = World::new();
            world.git(&["switch", "--quiet", "-c", "earlier"]);
            let earlier = world.commit("work", "earlier work");
            world.git(&["switch", "--quiet", "main"]);
            let base = world.commit("theirs", "base's");
            let id = "b2".parse().unwrap();
            let request = WorkspaceRequest {
                repo: &world.repo,
                id: &id,
                mode,
                base_branch: "main",
                continues: Some(&earlier),
                bubble_branch: "bubble/b2",
            };
            let made = prepare(&request).unwrap();
            assert_eq!((&made.base, &made.ground.conflicts), (&base, &Vec::new()));
            assert_eq!(read(made.path.join("work")), "earlier work");
            assert_eq!(read(made.path.join("theirs")), "base's");
            let bubble = made.workspace(&world.repo, &id);
            assert_eq!(Some(observe(&bubble).unwrap()), made.ground.tree);
            assert_eq!(git(&made.path, &["status", "--porcelain"]), "?? work");
            assert_eq!(prepare(&request).unwrap(), made, "asked again it is the same");
        }
    }

    fn earlier_work_that_does_not_fit_the_base_begins_with_markers() {
        let world = World::new();
        world.git(&["switch", "--quiet", "-c", "earlier"]);
        let earlier = world.commit("a.txt", "mine\n");
        world.git(&["switch", "--quiet", "main"]);
        world.commit("a.txt", "theirs\n");
        let id = "b2".parse().unwrap();
        let request = WorkspaceRequest {
            repo: &world.repo,
            id: &id,
            mode: WorkMode::Worktree,
            base_branch: "main",
            continues: Some(&earlier),
            bubble_branch: "bubble/b2",
        };
        let made = prepare(&request).unwrap();
        assert_eq!(made.ground.conflicts, ["a.txt"]);
        let text = read(made.path.join("a.txt"));
        assert!(text.contains("<<<<<<<") && text.contains("mine") && text.contains("theirs"), "{text}");
    }

    fn a_restored_worktree_has_the_files_that_were_copied_in() {
        let world = World::new();
        write(world.root().join(".worktreeinclude"), ".env\n");
        write(world.root().join(".env"), "secret");
        let bubble = world.bubble("b1");
        let tree = observe(&bubble).unwrap();
        std::fs::remove_dir_all(&bubble.path).unwrap();
        restore(&bubble, "bubble/b1", &tree).unwrap();
        assert_eq!(read(bubble.path.join(".env")), "secret");
    }
}
