//! Repositories are found and refused, workspaces made, found again, removed and archived: with a real git.

use pairflow_core::ids::TreeId;
use pairflow_core::rules::WorkMode;
use pairflow_core::time::Timestamp;
use pairflow_engine::git::{GitError, GitHead, Repo, head, observe, take};
use pairflow_engine::workspace::{
    Archived, DeleteRequest, Scratch, WorkspaceError, WorkspaceRequest, delete, prepare, remove, restore,
};

use crate::support::git::{World, git, git_ok, hermetic, read, write};

fn mark_path(world: &World, id: &str) -> std::path::PathBuf {
    world.root().join(".pairflow/runtime").join(id).join("workspace.json")
}

fn unfinished(world: &World, id: &str) {
    let text = read(mark_path(world, id)).replace("\"ready\":true", "\"ready\":false");
    std::fs::write(mark_path(world, id), text).unwrap();
}

fn archive(world: &World, id: &str, workspace: &pairflow_engine::git::Worktree) -> Result<Archived, WorkspaceError> {
    let branch = &format!("bubble/{id}");
    let now = Timestamp::from_millis(1_771_677_296_000);
    let id = &id.parse().unwrap();
    delete(&DeleteRequest { repo: &world.repo, id, workspace: Some(workspace), branch, now })
}

hermetic! {
    fn a_directory_without_repository_is_refused_with_git_init() {
        let dir = tempfile::tempdir().unwrap();
        let error = Repo::discover(dir.path()).unwrap_err();
        assert!(matches!(error, GitError::NotARepository { .. }));
        assert!(error.to_string().contains("git init"), "{error}");
    }

    fn a_bare_repository_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet", "--bare"]);
        assert!(matches!(Repo::discover(dir.path()), Err(GitError::Bare { .. })));
        let other = tempfile::tempdir().unwrap();
        git(other.path(), &["init", "--quiet"]);
        git(other.path(), &["config", "core.bare", "true"]);
        assert!(matches!(Repo::discover(other.path()), Err(GitError::Bare { .. })));
    }

    fn an_empty_repository_is_refused_with_the_first_commit() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet"]);
        let error = Repo::discover(dir.path()).unwrap_err();
        assert!(matches!(error, GitError::Empty { .. }));
        assert!(error.to_string().contains("git commit --allow-empty"), "{error}");
    }

    fn a_repository_is_found_from_below_and_from_a_bubble() {
        let world = World::new();
        write(world.root().join("deep/er/file"), "x");
        let below = Repo::discover(&world.root().join("deep/er")).unwrap();
        assert_eq!((&below.root, &below.name[..]), (&world.repo.root, "project"));
        let bubble = world.bubble("b1");
        let inside = Repo::discover(&bubble.path).unwrap();
        assert_eq!((&inside.root, &inside.common_dir), (&world.repo.root, &world.repo.common_dir));
        assert_eq!(inside.current_branch().as_deref(), Some("bubble/b1"));
        assert_eq!(world.repo.current_branch().as_deref(), Some("main"));
    }

    fn a_submodule_is_a_repository_of_its_own() {
        let (world, other) = (World::new(), World::new());
        let url = other.root().to_str().unwrap();
        git(world.root(), &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
        let sub = Repo::discover(&world.root().join("sub")).unwrap();
        assert_eq!(sub.root, world.root().join("sub"));
        assert_eq!(sub.resolve_branch("main").unwrap(), other.repo.resolve_branch("main").unwrap());
    }

    fn an_unknown_branch_is_refused_with_similar_names() {
        let world = World::new();
        world.git(&["branch", "maintenance"]);
        let error = world.repo.resolve_branch("mian").unwrap_err();
        assert_eq!(error.to_string(), "there is no branch mian; there is main, maintenance");
        assert_eq!(world.repo.resolve_branch("main").unwrap().0, world.git(&["rev-parse", "main"]));
    }

    fn pairflows_files_are_excluded_once_and_other_lines_stay() {
        let world = World::new();
        let file = world.repo.common_dir.join("info/exclude");
        std::fs::write(&file, "*.tmp").unwrap();
        world.repo.exclude().unwrap();
        world.repo.exclude().unwrap();
        assert_eq!(read(&file), "*.tmp\n.pairflow/\n");
        write(world.root().join(".pairflow/x"), "x");
        assert_eq!(world.git(&["status", "--porcelain"]), "");
    }

    fn a_worktree_lies_where_its_id_says_on_a_branch_cut_from_the_base() {
        let world = World::new();
        let made = world.try_prepare("b1", WorkMode::Worktree).unwrap();
        assert_eq!(made.path, world.expected_path("b1"));
        assert_eq!(made.git_dir, world.repo.common_dir.join("worktrees/b1"));
        assert_eq!(made.common_dir, world.repo.common_dir);
        assert_eq!(made.base.0, world.git(&["rev-parse", "main"]));
        assert_eq!(made.base_tree, TreeId(world.git(&["rev-parse", "main^{tree}"])));
        assert_eq!(head(&made.git_dir), GitHead::Branch("bubble/b1".into()));
        assert_eq!(read(made.path.join("a.txt")), read(world.root().join("a.txt")));
        assert!(!git_ok(world.root(), &["config", "--get-regexp", "^branch\\.bubble"]), "nothing is tracked");
    }

    fn asking_again_gives_the_same_workspace() {
        let world = World::new();
        let first = world.try_prepare("b1", WorkMode::Worktree).unwrap();
        write(first.path.join("work"), "kept");
        world.commit("later", "the base moves on");
        assert_eq!(world.try_prepare("b1", WorkMode::Worktree).unwrap(), first);
        assert_eq!(read(first.path.join("work")), "kept");
    }

    fn eight_bubbles_can_be_made_at_once() {
        let world = World::new();
        std::thread::scope(|scope| {
            let made: Vec<_> = (0..8)
                .map(|n| scope.spawn({ let world = &world; move || world.try_prepare(&format!("b{n}"), WorkMode::Worktree) }))
                .collect();
            made.into_iter().for_each(|one| drop(one.join().unwrap().unwrap()));
        });
        assert_eq!(world.worktrees(), 9);
        assert!((0..8).all(|n| world.has_branch(&format!("bubble/b{n}"))));
    }

    fn a_branch_of_somebody_else_is_refused_and_left_alone() {
        let world = World::new();
        world.git(&["branch", "bubble/b1"]);
        let error = world.try_prepare("b1", WorkMode::Worktree).unwrap_err();
        assert!(matches!(error, WorkspaceError::BranchExists { .. }));
        assert!(error.to_string().contains("git branch -D bubble/b1"), "{error}");
        assert!(world.has_branch("bubble/b1") && !world.expected_path("b1").exists());
        world.git(&["branch", "team"]);
        let id = "b2".parse().unwrap();
        let request = WorkspaceRequest { repo: &world.repo, id: &id, mode: WorkMode::Worktree, base_branch: "main", continues: None, bubble_branch: "team/b2" };
        assert!(matches!(prepare(&request), Err(WorkspaceError::BranchBlocked { other, .. }) if other == "team"));
        let request = WorkspaceRequest { bubble_branch: "bad..name", ..request };
        assert!(matches!(prepare(&request), Err(WorkspaceError::BadBranchName { .. })));
    }

    fn a_directory_of_somebody_else_is_refused_and_left_alone() {
        let world = World::new();
        write(world.expected_path("b1").join("theirs"), "x");
        assert!(matches!(world.try_prepare("b1", WorkMode::Worktree), Err(WorkspaceError::PathTaken { .. })));
        assert!(world.expected_path("b1").join("theirs").exists() && !world.has_branch("bubble/b1"));
    }

    fn a_failed_start_leaves_no_branch_no_directory_and_no_worktree() {
        let world = World::new();
        // The list names a file that cannot be copied, which fails after the worktree was made.
        write(world.root().join(".worktreeinclude"), "secret\n");
        write(world.root().join("secret"), "x");
        write(world.root().join(".git/info/attributes"), "* filter=gone\n");
        git(world.root(), &["config", "--global", "filter.gone.smudge", "false"]);
        git(world.root(), &["config", "--global", "filter.gone.required", "true"]);
        assert!(world.try_prepare("b1", WorkMode::Worktree).is_err());
        assert_eq!(world.worktrees(), 1);
        assert!(!world.has_branch("bubble/b1") && !world.expected_path("b1").exists());
        assert!(!world.repo.common_dir.join("worktrees/b1").exists() && !mark_path(&world, "b1").exists());
        git(world.root(), &["config", "--global", "--unset", "filter.gone.required"]);
        git(world.root(), &["config", "--global", "--unset", "filter.gone.smudge"]);
        assert!(world.try_prepare("b1", WorkMode::Worktree).is_ok(), "and it can be started again");
    }

    fn leftovers_of_a_crash_are_made_anew() {
        let world = World::new();
        let first = world.bubble("b1");
        // Killed in the middle of the checkout: files missing, git's own lock on the worktree still there.
        unfinished(&world, "b1");
        std::fs::remove_file(first.path.join("a.txt")).unwrap();
        std::fs::remove_file(first.path.join(".git")).unwrap();
        std::fs::write(first.git_dir.join("locked"), "initializing").unwrap();
        let base = world.commit("new", "x");
        let second = world.bubble("b1");
        assert_eq!(second.base, base, "a workspace nobody has used is cut from the present base");
        assert!(second.path.join("a.txt").exists() && second.path.join("new").exists());
        assert_eq!(world.worktrees(), 2);
    }

    fn a_crash_after_the_branch_was_made_is_healed() {
        let world = World::new();
        let made = world.bubble("b1");
        unfinished(&world, "b1");
        std::fs::remove_dir_all(&made.path).unwrap();
        std::fs::remove_dir_all(&made.git_dir).unwrap();
        assert!(world.has_branch("bubble/b1"));
        assert_eq!(world.bubble("b1").path, made.path);
    }

    fn a_worktree_removed_by_hand_is_said_and_can_be_restored() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("work/new.txt"), "precious");
        std::fs::remove_file(bubble.path.join("a.txt")).unwrap();
        let taken = take(&bubble, 1).unwrap();
        std::fs::remove_dir_all(&bubble.path).unwrap();
        let error = observe(&bubble).unwrap_err();
        assert!(matches!(error, GitError::WorktreeGone { .. }), "{error}");
        let again = restore(&bubble, "bubble/b1", &taken.tree).unwrap();
        assert_eq!(again, bubble);
        assert_eq!(read(again.path.join("work/new.txt")), "precious");
        assert_eq!(observe(&again).unwrap(), taken.tree);
        assert_eq!(git(&again.path, &["status", "--porcelain"]), " D a.txt\n?? work/");
    }

    fn a_clone_is_whole_and_cannot_push() {
        let world = World::new();
        let made = world.try_prepare("c1", WorkMode::Clone).unwrap();
        assert_eq!(made.git_dir, made.common_dir);
        assert!(!made.git_dir.join("objects/info/alternates").exists());
        assert_eq!(head(&made.git_dir), GitHead::Branch("bubble/c1".into()));
        assert_eq!(git(&made.path, &["remote", "get-url", "origin"]), world.root().to_str().unwrap());
        assert!(!git_ok(&made.path, &["push", "--quiet", "origin", "bubble/c1"]));
        assert!(!world.has_branch("bubble/c1"));
        assert_eq!(world.try_prepare("c1", WorkMode::Clone).unwrap(), made);
        unfinished(&world, "c1");
        std::fs::remove_dir_all(made.path.join(".git/refs")).unwrap();
        assert_eq!(world.try_prepare("c1", WorkMode::Clone).unwrap(), made);
    }

    fn a_clone_removed_by_hand_is_restored_from_the_repository() {
        let world = World::new();
        let clone = world.workspace("c1", WorkMode::Clone);
        write(clone.path.join("new.txt"), "precious");
        let taken = take(&clone, 1).unwrap();
        std::fs::remove_dir_all(&clone.path).unwrap();
        let again = restore(&clone, "bubble/c1", &taken.tree).unwrap();
        assert_eq!(read(again.path.join("new.txt")), "precious");
    }

    fn files_named_in_worktreeinclude_are_copied_and_nothing_else() {
        let world = World::new();
        let root = world.root();
        write(root.join(".worktreeinclude"), "# local settings\n.env*\nconfig/**/*.local\n!.env.prod\nlink-*\nnested/\n.pairflow/\n");
        for file in [".env", ".env.prod", "config/x/y.local", "config/x/y.shared", "other.log", ".pairflow/secret", "nested/.git/x"] {
            write(root.join(file), file);
        }
        std::os::unix::fs::symlink(".env", root.join("link-in")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("link-out")).unwrap();
        let made = world.try_prepare("b1", WorkMode::Worktree).unwrap();
        assert_eq!(made.included, [".env", "config/x/y.local", "link-in"]);
        assert_eq!(read(made.path.join("link-in")), ".env");
        assert!(!made.path.join(".env.prod").exists() && !made.path.join(".pairflow").exists());
        let bubble = made.workspace(&world.repo, &"b1".parse().unwrap());
        assert_eq!(observe(&bubble).unwrap(), made.base_tree, "copied files are nobody's work");
    }

    fn deleting_archives_transcript_tip_and_uncommitted_files_first() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(world.root().join(".pairflow/bubbles/b1/transcript.ndjson"), "{}\n");
        write(world.root().join(".pairflow/bubbles/b1/artifacts/x.md"), "x");
        write(bubble.path.join("committed"), "1");
        git(&bubble.path, &["add", "-A"]);
        git(&bubble.path, &["commit", "--quiet", "-m", "agent"]);
        write(bubble.path.join("uncommitted"), "2");
        take(&bubble, 7).unwrap();
        let done = archive(&world, "b1", &bubble).unwrap();
        assert_eq!(done.dir, world.root().join(".pairflow/archive/b1-20260221T123456Z"));
        assert_eq!(read(done.dir.join("transcript.ndjson")), "{}\n");
        assert_eq!(read(done.dir.join("artifacts/x.md")), "x");
        let kept = done.r#ref.unwrap();
        assert_eq!(kept, "refs/pairflow/archive/b1/1771677296");
        assert_eq!(world.git(&["show", &format!("{kept}:uncommitted")]), "2");
        assert_eq!(world.git(&["log", "-1", "--format=%s", &format!("{kept}^")]), "agent");
        assert!(git_ok(world.root(), &["rev-parse", "--verify", &format!("{kept}.7")]), "snapshots are kept");
        assert!(!world.has_branch("bubble/b1") && !bubble.path.exists() && world.worktrees() == 1);
        assert!(!world.root().join(".pairflow/bubbles/b1").exists());
        assert!(world.try_prepare("b1", WorkMode::Worktree).is_ok(), "the id is free again");
    }

    fn nothing_is_deleted_when_archiving_fails() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(world.root().join(".pairflow/bubbles/b1/transcript.ndjson"), "{}\n");
        write(world.root().join(".pairflow/archive"), "a file where a directory should be");
        assert!(archive(&world, "b1", &bubble).is_err());
        assert!(world.has_branch("bubble/b1") && bubble.path.join("a.txt").exists());
        assert!(world.root().join(".pairflow/bubbles/b1/transcript.ndjson").exists());
    }

    fn a_branch_that_the_person_has_checked_out_outlives_its_bubble() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(world.root().join(".pairflow/bubbles/b1/transcript.ndjson"), "{}\n");
        std::fs::remove_dir_all(&bubble.path).unwrap();
        world.git(&["worktree", "prune"]);
        world.git(&["switch", "--quiet", "bubble/b1"]);
        assert_eq!(archive(&world, "b1", &bubble).unwrap().branch_kept.as_deref(), Some(world.root()));
        assert!(world.has_branch("bubble/b1"));
    }

    fn a_deleted_clone_leaves_its_work_in_the_repository() {
        let world = World::new();
        let clone = world.workspace("c1", WorkMode::Clone);
        write(world.root().join(".pairflow/bubbles/c1/transcript.ndjson"), "{}\n");
        write(clone.path.join("new"), "kept");
        let done = archive(&world, "c1", &clone).unwrap();
        assert!(!clone.path.exists());
        assert_eq!(world.git(&["show", &format!("{}:new", done.r#ref.unwrap())]), "kept");
    }

    fn removing_a_worktree_leaves_branch_and_other_worktrees() {
        let world = World::new();
        let (one, two) = (world.bubble("b1"), world.bubble("b2"));
        // Another tool's worktree that git would prune is none of our business.
        std::fs::remove_dir_all(&two.path).unwrap();
        std::fs::remove_file(one.path.join(".git")).unwrap();
        remove(&world.repo, &one).unwrap();
        assert!(world.has_branch("bubble/b1") && !one.path.exists() && !one.git_dir.exists());
        assert!(two.git_dir.exists());
    }

    fn a_scratch_worktree_shows_a_commit_and_goes_away() {
        let world = World::new();
        let commit = world.commit("b.txt", "b");
        let scratch = Scratch::new(&world.repo, &commit).unwrap();
        let path = scratch.path().to_owned();
        assert_eq!(read(path.join("b.txt")), "b");
        drop(scratch);
        assert!(!path.exists() && world.worktrees() == 1);
        // The id of a process that cannot exist stands for one that was killed.
        let dead = path.with_file_name(".scratch-2000000000-0");
        world.git(&["worktree", "add", "--quiet", "--detach", dead.to_str().unwrap()]);
        drop(Scratch::new(&world.repo, &commit).unwrap());
        assert!(!dead.exists() && world.worktrees() == 1);
    }
}
