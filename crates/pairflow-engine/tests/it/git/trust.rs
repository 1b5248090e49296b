//! What counts as the tree is decided by the person and the tree alone, and a merged base is never taken for work.

use pairflow_core::log::Conflict;
use pairflow_core::rules::WorkMode;
use pairflow_engine::git::{GitError, UpdateRequest, changes, ignore_changes, observe};
use pairflow_engine::workspace::{WorkspaceRequest, prepare, restore};

use crate::support::git::{World, git, hermetic, read, update, write};

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
