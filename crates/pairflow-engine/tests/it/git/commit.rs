//! Snapshots, commits, merges and updates with a real git: a commit is exactly the approved tree, merges move only branches
//! that are not checked out, and updates lose no edit.

use std::os::unix::fs::PermissionsExt;

use pairflow_core::facts::FileChange;
use pairflow_core::ids::{BubbleId, CommitId, TreeId};
use pairflow_core::log::{CommitIdentity, Signing};
use pairflow_core::rules::WorkMode;
use pairflow_engine::git::{
    BubbleCommit, CommitRequest, GitError, GitHead, MergeKind, MergeOutcome, MergeRequest, Worktree, changes, commit,
    commit_identity, diff_stat, diff_text, head, merge, observe, plan_merge, take,
};

use crate::support::{World, git, git_ok, hermetic, read, update, write, write_program};

fn request<'a>(bubble: &'a Worktree, tree: &'a TreeId, branch: &'a str) -> CommitRequest<'a> {
    CommitRequest { workspace: bubble, tree, branch, message: "add new\n\nbecause", hooks: false, identity: None }
}

fn commit_all(bubble: &Worktree) -> BubbleCommit {
    let taken = take(bubble, 1).unwrap();
    commit(&request(bubble, &taken.tree, &format!("bubble/{}", bubble.id))).unwrap()
}

fn hook(world: &World, name: &str, script: &str) {
    write_program(&world.repo.common_dir.join("hooks").join(name), script);
}

struct Merging {
    id: BubbleId,
    commit: CommitId,
}

impl Merging {
    fn of(bubble: &Worktree) -> Self {
        Self { id: bubble.id.clone(), commit: commit_all(bubble).commit }
    }

    fn request<'a>(&'a self, world: &'a World) -> MergeRequest<'a> {
        MergeRequest {
            repo: &world.repo,
            id: &self.id,
            base_branch: "main",
            bubble_branch: "bubble/b1",
            commit: &self.commit,
            identity: None,
        }
    }
}

hermetic! {
    fn a_commit_is_exactly_the_approved_tree_and_later_edits_stay() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "approved");
        let taken = take(&bubble, 1).unwrap();
        write(bubble.path.join("new"), "edited later");
        write(bubble.path.join("later"), "x");
        let done = commit(&request(&bubble, &taken.tree, "bubble/b1")).unwrap();
        let shown = world.git(&["log", "-1", "--format=%an <%ae>|%cn|%T|%P|%B", "bubble/b1"]);
        assert_eq!(shown, format!("Pat Person <pat@example.com>|Pat Person|{}|{}|add new\n\nbecause", taken.tree, bubble.base));
        assert_eq!((done.old_tip, done.index_refreshed), (None, true));
        assert_eq!(read(bubble.path.join("new")), "edited later");
        assert_eq!(git(&bubble.path, &["status", "--porcelain"]), " M new\n?? later");
    }

    fn commits_of_agents_are_kept_aside_and_are_not_the_product() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "1");
        git(&bubble.path, &["add", "-A"]);
        git(&bubble.path, &["commit", "--quiet", "-m", "agent's own"]);
        let agents = CommitId(git(&bubble.path, &["rev-parse", "HEAD"]));
        let done = commit_all(&bubble);
        assert_eq!(done.old_tip, Some(agents.clone()));
        assert_eq!(world.git(&["rev-parse", "refs/pairflow/b1/old-tip"]), agents.0);
        assert_eq!(world.git(&["rev-list", "--count", &format!("{}..bubble/b1", bubble.base)]), "1");
        assert_eq!(git(&bubble.path, &["status", "--porcelain"]), "");
    }

    fn committing_twice_makes_one_commit() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "1");
        let first = commit_all(&bubble);
        // As after a crash before the index was brought along.
        git(&bubble.path, &["read-tree", &bubble.base.0]);
        assert_eq!(commit_all(&bubble), first);
        assert_eq!(git(&bubble.path, &["status", "--porcelain"]), "");
    }

    fn a_deleted_branch_is_made_again_by_the_commit() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "1");
        let taken = take(&bubble, 1).unwrap();
        world.git(&["update-ref", "-d", "refs/heads/bubble/b1"]);
        let done = commit(&request(&bubble, &taken.tree, "bubble/b1")).unwrap();
        assert_eq!(world.git(&["rev-parse", "bubble/b1"]), done.commit.0);
    }

    fn without_a_name_the_commit_says_how_to_give_one() {
        let world = World::new();
        let bubble = world.bubble("b1");
        git(world.root(), &["config", "--global", "--remove-section", "user"]);
        let error = commit(&request(&bubble, &observe(&bubble).unwrap(), "bubble/b1")).unwrap_err();
        assert!(error.to_string().contains("git config --global user.name"), "{error}");
        assert_eq!(world.git(&["rev-parse", "bubble/b1"]), bubble.base.0);
    }

    fn an_empty_message_is_refused() {
        let world = World::new();
        let bubble = world.bubble("b1");
        let tree = observe(&bubble).unwrap();
        let wanted = CommitRequest { message: " \n", ..request(&bubble, &tree, "bubble/b1") };
        assert!(matches!(commit(&wanted), Err(GitError::EmptyMessage)));
    }

    fn hooks_run_only_when_asked_for() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "bad");
        hook(&world, "pre-commit", "git diff --cached --name-only HEAD; git show :new | grep -q good || { echo 'no good' >&2; exit 1; }");
        hook(&world, "commit-msg", "echo 'Change-Id: 1' >>\"$1\"");
        let tree = observe(&bubble).unwrap();
        let asked = CommitRequest { hooks: true, ..request(&bubble, &tree, "bubble/b1") };
        let error = commit(&asked).unwrap_err();
        assert!(matches!(&error, GitError::HookRefused { hook: "pre-commit", output } if output.contains("no good")), "{error}");
        assert_eq!(world.git(&["rev-parse", "bubble/b1"]), bubble.base.0);
        assert!(commit(&CommitRequest { hooks: false, ..asked.clone() }).is_ok());
        write(bubble.path.join("new"), "good");
        let tree = observe(&bubble).unwrap();
        let asked = CommitRequest { tree: &tree, ..asked };
        let done = commit(&asked).unwrap();
        assert!(world.git(&["log", "-1", "--format=%B", "bubble/b1"]).contains("Change-Id: 1"));
        assert_eq!(commit(&asked).unwrap().commit, done.commit, "also with a message that the hook changed");
    }

    fn a_hook_that_changes_the_approved_tree_stops_the_commit() {
        let world = World::new();
        let bubble = world.bubble("b1");
        hook(&world, "pre-commit", "echo formatted >a.txt; git add a.txt");
        let tree = observe(&bubble).unwrap();
        let asked = CommitRequest { hooks: true, ..request(&bubble, &tree, "bubble/b1") };
        assert!(matches!(commit(&asked), Err(GitError::HookChangedTree)));
        assert_eq!(world.git(&["rev-parse", "bubble/b1"]), bubble.base.0);
    }

    fn commits_are_signed_if_the_person_signs_and_with_the_persons_program() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "1");
        let signer = world.dir.path().join("signer");
        write_program(&signer, "cat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED x\\n' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\nfake\\n-----END PGP SIGNATURE-----\\n'");
        git(world.root(), &["update-index", "--refresh"]);
        git(world.root(), &["config", "--global", "gpg.program", signer.to_str().unwrap()]);
        git(world.root(), &["config", "--global", "commit.gpgsign", "true"]);
        git(world.root(), &["config", "gpg.program", "false"]);
        let done = commit_all(&bubble);
        assert!(world.git(&["cat-file", "commit", &done.commit.0]).contains("gpgsig -----BEGIN PGP SIGNATURE-----"));
    }

    fn a_recorded_signature_is_made_with_the_recorded_program_and_key() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "1");
        let (signer, asked) = (world.dir.path().join("signer"), world.dir.path().join("asked"));
        write_program(&signer, &format!("echo \"$*\" >{}\nfor file; do :; done\necho '-----BEGIN SSH SIGNATURE-----' >\"$file.sig\"", asked.display()));
        write(world.dir.path().join("key.pub"), "ssh-ed25519 AAAA ada");
        let key = world.dir.path().join("key.pub");
        for (name, value) in [("gpg.format", "ssh"), ("gpg.ssh.program", signer.to_str().unwrap()), ("commit.gpgSign", "true"), ("user.signingKey", key.to_str().unwrap())] {
            git(world.root(), &["config", "--global", name, value]);
        }
        let identity = commit_identity(&world.repo).unwrap();
        for (name, value) in [("gpg.format", "openpgp"), ("gpg.ssh.program", "false"), ("commit.gpgSign", "false"), ("user.signingKey", "evil")] {
            git(world.root(), &["config", "--global", name, value]);
            git(world.root(), &["config", name, value]);
        }
        let tree = observe(&bubble).unwrap();
        let asked_for = CommitRequest { identity: Some(&identity), ..request(&bubble, &tree, "bubble/b1") };
        let done = commit(&asked_for).unwrap();
        assert!(world.git(&["cat-file", "commit", &done.commit.0]).contains("gpgsig -----BEGIN SSH SIGNATURE-----"));
        assert!(read(&asked).contains(key.to_str().unwrap()), "{}", read(&asked));
        assert_eq!(commit(&asked_for).unwrap().commit, done.commit, "asked again it is the same commit");
        let without_key = Signing { key: None, ..identity.signing.clone().unwrap() };
        let unkeyed = CommitIdentity { signing: Some(without_key), ..identity.clone() };
        let error = commit(&CommitRequest { identity: Some(&unkeyed), message: "another", ..asked_for }).unwrap_err();
        assert!(error.to_string().contains("user.signingKey was set after"), "{error}");
    }

    fn the_commit_of_a_clone_arrives_in_the_repository() {
        let world = World::new();
        let clone = world.workspace("c1", WorkMode::Clone);
        write(clone.path.join("new"), "1");
        let done = commit_all(&clone);
        assert_eq!(world.git(&["rev-parse", "bubble/c1"]), done.commit.0);
        assert_eq!(commit_all(&clone).commit, done.commit);
        let other = world.workspace("c2", WorkMode::Clone);
        world.git(&["branch", "bubble/c2"]);
        write(other.path.join("new"), "2");
        let taken = take(&other, 1).unwrap();
        assert!(matches!(commit(&request(&other, &taken.tree, "bubble/c2")), Err(GitError::BranchTaken { .. })));
        assert_eq!(world.git(&["rev-parse", "bubble/c2"]), world.git(&["rev-parse", "main"]));
    }

    fn a_checked_out_base_is_left_alone_and_the_line_is_given() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "1");
        let merging = Merging::of(&bubble);
        let plan = plan_merge(&merging.request(&world)).unwrap();
        assert_eq!(plan.how, MergeKind::FastForward(merging.commit.clone()));
        let before = world.git(&["rev-parse", "main"]);
        let line = "git merge --ff-only bubble/b1".to_owned();
        assert_eq!(merge(&merging.request(&world), &plan, None).unwrap(), MergeOutcome::CheckedOut { at: world.root().into(), line });
        assert_eq!(world.git(&["rev-parse", "main"]), before);
        world.git(&["merge", "--quiet", "--ff-only", "bubble/b1"]);
        assert_eq!(plan_merge(&merging.request(&world)).unwrap().how, MergeKind::AlreadyIn);
    }

    fn a_base_that_nobody_has_checked_out_is_moved_unless_it_moved_itself() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "1");
        let merging = Merging::of(&bubble);
        let plan = plan_merge(&merging.request(&world)).unwrap();
        world.commit("other", "2");
        world.git(&["switch", "--quiet", "-c", "side"]);
        let error = merge(&merging.request(&world), &plan, None).unwrap_err();
        assert!(matches!(error, GitError::BranchMoved { .. }), "{error}");
        let plan = plan_merge(&merging.request(&world)).unwrap();
        let MergeKind::Join(joined) = &plan.how else { panic!("{plan:?}") };
        assert_eq!(merge(&merging.request(&world), &plan, None).unwrap(), MergeOutcome::Moved(joined.clone()));
        assert_eq!(world.git(&["ls-tree", "--name-only", "main"]), ".gitignore\na.txt\nnew\nother");
        assert_eq!(world.git(&["log", "-1", "--format=%an|%P", "main"]), format!("Pat Person|{} {}", plan.tip, merging.commit));
        assert!(!world.root().join("new").exists(), "no file of the person was touched");
    }

    fn a_conflict_is_found_before_anything_moves() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("a.txt"), "theirs\n");
        let merging = Merging::of(&bubble);
        world.commit("a.txt", "ours\n");
        let plan = plan_merge(&merging.request(&world)).unwrap();
        assert_eq!(plan.how, MergeKind::Conflict(vec!["a.txt".into()]));
        let error = merge(&merging.request(&world), &plan, None).unwrap_err();
        assert!(error.to_string().contains("pairflow bubble update"), "{error}");
    }

    fn here_merges_in_a_clean_checkout_only() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "1");
        let merging = Merging::of(&bubble);
        let plan = plan_merge(&merging.request(&world)).unwrap();
        write(world.root().join("a.txt"), "edited");
        let error = merge(&merging.request(&world), &plan, Some(world.root())).unwrap_err();
        assert!(matches!(&error, GitError::Dirty { files, .. } if files == &["a.txt"]), "{error}");
        world.git(&["checkout", "--quiet", "a.txt"]);
        let wrong = merge(&merging.request(&world), &plan, Some(&bubble.path)).unwrap_err();
        assert!(matches!(wrong, GitError::NotOnBranch { .. }), "{wrong}");
        merge(&merging.request(&world), &plan, Some(world.root())).unwrap();
        assert_eq!((read(world.root().join("new")), world.git(&["status", "--porcelain"])), ("1".into(), String::new()));
    }

    fn a_branch_in_the_middle_of_a_rebase_counts_as_checked_out() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "1");
        let merging = Merging::of(&bubble);
        let plan = plan_merge(&merging.request(&world)).unwrap();
        world.git(&["checkout", "--quiet", "--detach"]);
        write(world.repo.common_dir.join("rebase-merge/head-name"), "refs/heads/main\n");
        assert!(matches!(merge(&merging.request(&world), &plan, None).unwrap(), MergeOutcome::CheckedOut { .. }));
    }

    fn an_update_brings_the_base_in_and_keeps_every_edit() {
        let world = World::new();
        let mut bubble = world.bubble("b1");
        write(bubble.path.join("a.txt"), "one\ntwo\nthree\nfour\nFIVE\n");
        write(bubble.path.join("mine"), "untracked");
        let base = world.commit("a.txt", "ONE\ntwo\nthree\nfour\nfive\n");
        let done = update(&bubble, "main").unwrap();
        assert_eq!((&done.base, done.moved), (&base, true));
        assert_eq!(read(bubble.path.join("a.txt")), "ONE\ntwo\nthree\nfour\nFIVE\n");
        assert_eq!(read(bubble.path.join("mine")), "untracked");
        assert_eq!(done.base_tree.0, world.git(&["rev-parse", "main^{tree}"]));
        assert_eq!(git(&bubble.path, &["status", "--porcelain"]), " M a.txt\n?? mine");
        // A crash before the new base was recorded: the same again changes nothing.
        let again = update(&bubble, "main").unwrap();
        assert_eq!(again.tree, done.tree);
        bubble.base = done.base;
        assert_eq!(observe(&bubble).unwrap(), done.tree);
        assert!(!update(&bubble, "main").unwrap().moved);
        assert_eq!(commit_all(&bubble).old_tip, None);
        assert_eq!(world.git(&["rev-parse", "bubble/b1^"]), base.0);
    }

    fn an_update_that_conflicts_changes_nothing() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("a.txt"), "mine\n");
        write(world.root().join("z"), "1");
        world.git(&["add", "z"]);
        world.commit("a.txt", "theirs\n");
        let error = update(&bubble, "main").unwrap_err();
        assert!(matches!(&error, GitError::UpdateConflict { files, .. } if files == &["a.txt"]), "{error}");
        assert_eq!(read(bubble.path.join("a.txt")), "mine\n");
        assert!(!bubble.path.join("z").exists());
        assert_eq!(world.git(&["rev-parse", "bubble/b1"]), bubble.base.0);
    }

    fn an_update_does_not_write_over_an_ignored_file() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("x.log"), "mine");
        write(world.root().join("x.log"), "theirs");
        world.git(&["add", "-f", "x.log"]);
        world.commit("other", "1");
        let error = update(&bubble, "main").unwrap_err();
        assert!(matches!(&error, GitError::WouldOverwrite(files) if files == &["x.log"]), "{error}");
        assert_eq!(read(bubble.path.join("x.log")), "mine");
        assert!(!bubble.path.join("other").exists(), "nothing was written at all");
    }

    fn an_update_leaves_commits_of_agents_on_the_branch() {
        let world = World::new();
        let mut bubble = world.bubble("b1");
        write(bubble.path.join("new"), "1");
        git(&bubble.path, &["add", "-A"]);
        git(&bubble.path, &["commit", "--quiet", "-m", "agent's own"]);
        let tip = git(&bubble.path, &["rev-parse", "HEAD"]);
        world.commit("other", "2");
        bubble.base = update(&bubble, "main").unwrap().base;
        assert_eq!(git(&bubble.path, &["rev-parse", "HEAD"]), tip);
        assert_eq!(commit_all(&bubble).old_tip, Some(CommitId(tip)));
        assert_eq!(world.git(&["ls-tree", "--name-only", "bubble/b1"]), ".gitignore\na.txt\nnew\nother");
    }

    fn a_clone_is_updated_from_the_repository() {
        let world = World::new();
        let clone = world.workspace("c1", WorkMode::Clone);
        write(clone.path.join("mine"), "1");
        world.commit("other", "2");
        update(&clone, "main").unwrap();
        assert_eq!(read(clone.path.join("other")), "2");
        assert!(git_ok(&clone.path, &["merge-base", "--is-ancestor", "origin/main", "HEAD"]));
    }
}

fn base_tree(bubble: &Worktree) -> TreeId {
    TreeId(git(&bubble.path, &["rev-parse", &format!("{}^{{tree}}", bubble.base)]))
}

/// Returns what a tree has that the base has not, as `status path` lines.
fn changed(bubble: &Worktree) -> Vec<String> {
    let tree = observe(bubble).unwrap();
    let found = changes(&bubble.git(), &base_tree(bubble), &tree).unwrap();
    found.into_iter().map(|change| format!("{} {}", change.status, change.path)).collect()
}

fn change(path: &str, status: char, counts: Option<(u64, u64)>) -> FileChange {
    let (added, removed) = (counts.map(|it| it.0), counts.map(|it| it.1));
    FileChange { path: path.into(), status, added, removed }
}

hermetic! {
    fn an_untouched_worktree_is_its_base() {
        let world = World::new();
        let bubble = world.bubble("b1");
        assert_eq!(observe(&bubble).unwrap(), base_tree(&bubble));
        assert_eq!(changed(&bubble), Vec::<String>::new());
    }

    fn untracked_executable_linked_and_binary_files_enter_and_ignored_ones_do_not() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("dir/new.txt"), "1\n2\n");
        write(bubble.path.join("noise.log"), "ignored");
        write(bubble.path.join("blob"), [0_u8, 159, 146, 150].repeat(50_000));
        write(bubble.path.join("run.sh"), "#!/bin/sh\n");
        std::fs::set_permissions(bubble.path.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("/nowhere", bubble.path.join("link")).unwrap();
        write(bubble.path.join("a.txt"), "one\ntwo\n");
        let tree = observe(&bubble).unwrap();
        let found = changes(&bubble.git(), &base_tree(&bubble), &tree).unwrap();
        assert_eq!(found, [
            change("a.txt", 'M', Some((0, 3))),
            change("blob", 'A', None),
            change("dir/new.txt", 'A', Some((2, 0))),
            change("link", 'A', Some((1, 0))),
            change("run.sh", 'A', Some((1, 0))),
        ]);
        let modes = git(&bubble.path, &["ls-tree", "--format=%(objectmode) %(path)", &tree.0, "run.sh", "link"]);
        assert_eq!(modes, "120000 link\n100755 run.sh");
    }

    fn looking_never_touches_the_worktrees_own_index() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("staged"), "1");
        git(&bubble.path, &["add", "staged"]);
        write(bubble.path.join("staged"), "2");
        write(bubble.path.join("new"), "3");
        let before = std::fs::read(bubble.git_dir.join("index")).unwrap();
        assert_eq!(changed(&bubble), ["A new", "A staged"]);
        assert_eq!(std::fs::read(bubble.git_dir.join("index")).unwrap(), before);
        assert_eq!(git(&bubble.path, &["status", "--porcelain"]), "AM staged\n?? new");
    }

    fn a_change_is_seen_however_fast_it_came() {
        let world = World::new();
        let bubble = world.bubble("b1");
        let mut seen = std::collections::BTreeSet::new();
        // Same length, same moment: only the content tells them apart.
        for n in 10..40 {
            write(bubble.path.join("a.txt"), format!("{n}"));
            assert!(seen.insert(observe(&bubble).unwrap()), "change {n} was not seen");
        }
    }

    fn flags_in_the_index_hide_nothing() {
        let world = World::new();
        let bubble = world.bubble("b1");
        git(&bubble.path, &["update-index", "--assume-unchanged", "a.txt"]);
        git(&bubble.path, &["update-index", "--skip-worktree", ".gitignore"]);
        write(bubble.path.join("a.txt"), "hidden\n");
        write(bubble.path.join(".gitignore"), "");
        assert_eq!(git(&bubble.path, &["status", "--porcelain"]), "", "git itself is fooled");
        assert_eq!(changed(&bubble), ["M .gitignore", "M a.txt"]);
    }

    fn what_is_tracked_is_what_the_worktree_tracks() {
        let world = World::new();
        write(world.root().join("kept.log"), "tracked although ignored");
        world.git(&["add", "-f", "kept.log"]);
        world.git(&["commit", "--quiet", "-m", "log"]);
        let bubble = world.bubble("b1");
        assert_eq!(changed(&bubble), Vec::<String>::new());
        write(bubble.path.join("kept.log"), "changed");
        write(bubble.path.join("forced.log"), "added on purpose");
        git(&bubble.path, &["add", "-f", "forced.log"]);
        assert_eq!(changed(&bubble), ["A forced.log", "M kept.log"]);
        git(&bubble.path, &["rm", "--quiet", "--cached", "kept.log"]);
        assert_eq!(changed(&bubble), ["A forced.log", "D kept.log"]);
        std::fs::remove_file(bubble.git_dir.join("index")).unwrap();
        assert!(observe(&bubble).is_ok(), "a missing index is no obstacle");
    }

    fn pairflows_own_files_never_enter() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join(".pairflow/x"), "1");
        write(bubble.path.join(".gitignore"), "!.pairflow\n!.pairflow/\n");
        git(&bubble.path, &["add", "-f", "-A"]);
        git(&bubble.path, &["commit", "--quiet", "-m", "agent"]);
        assert_eq!(changed(&bubble), ["M .gitignore"]);
    }

    fn pairflows_files_that_the_base_tracks_stay_as_they_are() {
        let world = World::new();
        write(world.root().join(".pairflow/old"), "committed long ago");
        world.git(&["add", "-f", ".pairflow/old"]);
        world.git(&["commit", "--quiet", "-m", "old"]);
        let bubble = world.bubble("b1");
        write(bubble.path.join(".pairflow/old"), "changed");
        assert_eq!(changed(&bubble), Vec::<String>::new());
    }

    fn a_repository_inside_the_worktree_is_an_error_that_names_it() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("vendor/lib/file"), "x");
        git(&bubble.path.join("vendor/lib"), &["init", "--quiet"]);
        let named = |error: GitError| matches!(error, GitError::NestedRepository(path) if path.ends_with("vendor/lib") || path.ends_with("vendor/lib/"));
        assert!(named(observe(&bubble).unwrap_err()), "without a commit");
        git(&bubble.path.join("vendor/lib"), &["add", "-A"]);
        git(&bubble.path.join("vendor/lib"), &["commit", "--quiet", "-m", "x"]);
        assert!(named(observe(&bubble).unwrap_err()), "with one");
        write(bubble.path.join(".gitignore"), "vendor/\n");
        assert_eq!(changed(&bubble), ["M .gitignore"]);
    }

    fn a_submodule_of_the_base_stays() {
        let (world, other) = (World::new(), World::new());
        let url = other.root().to_str().unwrap();
        git(world.root(), &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
        world.git(&["commit", "--quiet", "-m", "sub"]);
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "x");
        assert_eq!(changed(&bubble), ["A new"]);
    }

    fn a_damaged_cache_costs_time_and_nothing_else() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "x");
        let tree = observe(&bubble).unwrap();
        let cache = bubble.runtime_dir().join(format!("index-{}-b1", bubble.base.short()));
        std::fs::write(&cache, "DIRCgarbage").unwrap();
        assert_eq!(observe(&bubble).unwrap(), tree);
        std::fs::remove_dir_all(bubble.runtime_dir()).unwrap();
        assert_eq!(observe(&bubble).unwrap(), tree);
        let left: Vec<_> = std::fs::read_dir(bubble.runtime_dir()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "no temporary file stays: {left:?}");
    }

    fn a_snapshot_is_kept_on_a_private_ref_under_pairflows_name() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("new"), "x");
        let taken = take(&bubble, 3).unwrap();
        assert_eq!(taken.r#ref, "refs/pairflow/b1/3");
        assert_eq!(world.git(&["rev-parse", &taken.r#ref]), taken.tree.0);
        assert_eq!(world.git(&["rev-parse", "refs/pairflow/b1/newest"]), taken.commit.0);
        assert_eq!(world.git(&["log", "-1", "--format=%an <%ae> %T %P", "refs/pairflow/b1/newest"]),
            format!("pairflow <pairflow@localhost> {} {}", taken.tree, bubble.base));
        assert_eq!(take(&bubble, 4).unwrap().commit, taken.commit, "the same tree is the same commit");
        assert_eq!(git(&bubble.path, &["rev-parse", "HEAD"]), bubble.base.0, "the branch did not move");
    }

    fn snapshots_are_kept_by_git_and_do_not_fill_its_log() {
        let world = World::new();
        let bubble = world.bubble("b1");
        let before = world.git(&["log", "--all", "--format=%H"]).lines().count();
        let taken: Vec<_> = (1..=5).map(|number| {
            write(bubble.path.join("new"), format!("version {number}"));
            take(&bubble, number).unwrap()
        }).collect();
        assert_eq!(world.git(&["log", "--all", "--format=%H"]).lines().count(), before + 1, "the newest one alone");
        world.git(&["reflog", "expire", "--expire=now", "--all"]);
        world.git(&["gc", "--quiet", "--prune=now"]);
        for one in &taken {
            assert!(git_ok(world.root(), &["cat-file", "-e", &format!("{}:new", one.r#ref)]), "{}", one.r#ref);
        }
    }

    fn snapshots_of_a_clone_are_in_the_repository_too() {
        let world = World::new();
        let clone = world.workspace("c1", WorkMode::Clone);
        write(clone.path.join("new"), "x");
        let taken = take(&clone, 1).unwrap();
        assert_eq!(world.git(&["rev-parse", "refs/pairflow/c1/1"]), taken.tree.0);
        assert_eq!(world.git(&["rev-parse", "refs/pairflow/c1/newest"]), taken.commit.0);
        assert!(git_ok(world.root(), &["cat-file", "-e", &format!("{}:new", taken.commit)]));
    }

    fn a_difference_is_a_patch_and_a_long_one_is_cut_with_a_note() {
        let world = World::new();
        let bubble = world.bubble("b1");
        write(bubble.path.join("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
        write(bubble.path.join("long"), "line\n".repeat(5_000));
        let (from, to) = (base_tree(&bubble), observe(&bubble).unwrap());
        let whole = String::from_utf8(diff_text(&bubble.git(), &from, &to, 1 << 20).unwrap()).unwrap();
        assert!(whole.contains("--- a/a.txt\n+++ b/a.txt\n") && whole.contains("-two\n+TWO\n"), "{whole}");
        let cut = String::from_utf8(diff_text(&bubble.git(), &from, &to, 1_003).unwrap()).unwrap();
        assert!(cut.len() < 1_100 && cut.ends_with("\n+line\n[the rest was left out: the difference is longer than 1003 bytes]\n"), "{cut}");
        let stat = diff_stat(&bubble.git(), &from, &to).unwrap();
        assert!(stat.contains("2 files changed, 5001 insertions(+), 1 deletion(-)"), "{stat}");
    }

    fn odd_names_renames_and_changes_of_type_are_told() {
        let world = World::new();
        let bubble = world.bubble("b1");
        std::fs::rename(bubble.path.join("a.txt"), bubble.path.join("tab\there \"é\".txt")).unwrap();
        std::fs::remove_file(bubble.path.join(".gitignore")).unwrap();
        std::os::unix::fs::symlink("x", bubble.path.join(".gitignore")).unwrap();
        assert_eq!(changed(&bubble), ["T .gitignore", "D a.txt", "A tab\there \"é\".txt"]);
    }

    fn the_head_of_a_worktree_is_read_from_its_file() {
        let world = World::new();
        let bubble = world.bubble("b1");
        git(&bubble.path, &["switch", "--quiet", "-c", "elsewhere"]);
        assert_eq!(head(&bubble.git_dir), GitHead::Branch("elsewhere".into()));
        git(&bubble.path, &["checkout", "--quiet", "--detach"]);
        assert_eq!(head(&bubble.git_dir), GitHead::Detached(bubble.base.clone()));
        assert_eq!(head(world.root()), GitHead::Missing);
    }
}
