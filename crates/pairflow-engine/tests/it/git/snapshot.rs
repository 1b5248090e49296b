//! Snapshots are exactly what lies in the worktree, whatever its index says; and differences are told as git tells them.

use std::os::unix::fs::PermissionsExt;

use pairflow_core::facts::FileChange;
use pairflow_core::ids::TreeId;
use pairflow_core::rules::WorkMode;
use pairflow_engine::git::{GitError, GitHead, Worktree, changes, diff_stat, diff_text, head, observe, take};

use crate::support::git::{World, git, git_ok, hermetic, write};

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
