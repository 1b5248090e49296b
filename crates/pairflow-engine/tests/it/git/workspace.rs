//! Repositories are found and refused; workspaces are made, found again, removed and archived; and no setting of git
//! changes what is seen.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use pairflow_core::facts::FileChange;
use pairflow_core::ids::TreeId;
use pairflow_core::rules::WorkMode;
use pairflow_core::time::Timestamp;
use pairflow_engine::git::{GitError, GitHead, Repo, Worktree, changes, diff_text, head, observe, take};
use pairflow_engine::workspace::{
    Archived, DeleteRequest, Scratch, WorkspaceError, WorkspaceRequest, delete, prepare, remove, restore,
};

use crate::support::{World, git, git_ok, hermetic, read, write};

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

/// The families of settings that have to do with how files are read or differences are shown.
const FAMILIES: [&str; 15] = [
    "add",
    "apply",
    "attr",
    "color",
    "core",
    "diff",
    "feature",
    "filter",
    "i18n",
    "index",
    "interactive",
    "log",
    "merge",
    "status",
    "submodule",
];
/// Settings without which git does not find the repository at all.
const PLACE: [&str; 3] = ["core.bare", "core.repositoryformatversion", "core.worktree"];
/// What a setting is tried with, if nothing else is known about it.
const ANY: [&str; 3] = ["true", "false", "1"];

/// The values that are worth trying for settings that do not take just any.
const VALUES: &[(&str, &[&str])] = &[
    ("apply.ignorewhitespace", &["change"]),
    ("apply.whitespace", &["fix"]),
    ("attr.tree", &["HEAD"]),
    ("core.abbrev", &["4", "40"]),
    ("core.attributesfile", &["ATTRIBUTES"]),
    ("core.autocrlf", &["true", "input"]),
    ("core.bigfilethreshold", &["1"]),
    ("core.checkroundtripencoding", &["UTF-8"]),
    ("core.checkstat", &["minimal"]),
    ("core.commentchar", &["+"]),
    ("core.commentstring", &["+"]),
    ("core.compression", &["0"]),
    ("core.createobject", &["rename"]),
    ("core.eol", &["crlf", "lf"]),
    ("core.excludesfile", &["EXCLUDES"]),
    ("core.filemode", &["false"]),
    ("core.fsync", &["none"]),
    ("core.fsyncmethod", &["batch"]),
    ("core.hookspath", &["/nowhere"]),
    ("core.ignorecase", &["true"]),
    ("core.notesref", &["refs/notes/x"]),
    ("core.precomposeunicode", &["true"]),
    ("core.quotepath", &["false"]),
    ("core.safecrlf", &["warn"]),
    ("core.sharedrepository", &["group"]),
    ("core.symlinks", &["false"]),
    ("core.whitespace", &["cr-at-eol,blank-at-eol"]),
    ("diff.<driver>.algorithm", &["minimal"]),
    ("diff.<driver>.binary", &["true"]),
    ("diff.<driver>.command", &["true"]),
    ("diff.<driver>.textconv", &["true"]),
    ("diff.<driver>.wordregex", &["."]),
    ("diff.<driver>.xfuncname", &["^.*$"]),
    ("diff.algorithm", &["minimal", "patience"]),
    ("diff.colormoved", &["zebra"]),
    ("diff.colormovedws", &["ignore-all-space"]),
    ("diff.context", &["0", "20"]),
    ("diff.dirstat", &["files"]),
    ("diff.dstprefix", &["x/"]),
    ("diff.external", &["true"]),
    ("diff.ignoresubmodules", &["all", "dirty"]),
    ("diff.interhunkcontext", &["20"]),
    ("diff.orderfile", &["ORDER"]),
    ("diff.renames", &["copies"]),
    ("diff.srcprefix", &["x/"]),
    ("diff.submodule", &["log", "diff"]),
    ("diff.wordregex", &["."]),
    ("diff.wserrorhighlight", &["all"]),
    ("filter.<driver>.clean", &["true"]),
    ("filter.<driver>.smudge", &["true"]),
    ("i18n.commitencoding", &["ISO-8859-1"]),
    ("i18n.logoutputencoding", &["ISO-8859-1"]),
    ("index.version", &["2", "4"]),
    ("interactive.difffilter", &["true"]),
    ("log.diffmerges", &["off"]),
    ("status.showuntrackedfiles", &["no"]),
    ("submodule.<name>.active", &["false"]),
    ("submodule.<name>.ignore", &["all"]),
    ("submodule.<name>.update", &["none"]),
    ("submodule.active", &["nothing"]),
    ("submodule.recurse", &["true"]),
];

/// What is seen of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    tree: TreeId,
    files: Vec<FileChange>,
    patch: String,
}

fn look(bubble: &Worktree, base: &TreeId) -> Result<Seen, String> {
    let said = |error: pairflow_engine::git::GitError| error.to_string();
    let tree = observe(bubble).map_err(said)?;
    let files = changes(&bubble.git(), base, &tree).map_err(said)?;
    let patch = diff_text(&bubble.git(), base, &tree, 1 << 20).map_err(said)?;
    Ok(Seen { tree, files, patch: String::from_utf8_lossy(&patch).into_owned() })
}

/// Work of every kind that a setting could hide: text, line ends, modes, links, renames, large and binary files, a moved
/// submodule and a new one's files.
fn work() -> (World, World, Worktree, TreeId) {
    let (world, other) = (World::new(), World::new());
    let url = other.root().to_str().unwrap();
    git(world.root(), &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
    write(world.root().join("crlf.txt"), "one\r\ntwo\r\n");
    write(world.root().join("run.sh"), "#!/bin/sh\n");
    write(world.root().join("moved.txt"), "a line\n".repeat(50));
    write(world.root().join(".gitattributes"), "*.hid diff=hide filter=hide\n");
    write(world.root().join("x.hid"), "before\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "--quiet", "-m", "second"]);
    let bubble = world.bubble("b1");
    let at = |name: &str| bubble.path.join(name);
    write(at("a.txt"), "one\n\n  two  \nthree\nfour\nfive\nsix\n");
    write(at("crlf.txt"), "one\ntwo\r\n");
    write(at("x.hid"), "after\n");
    write(at("\u{fc}ber.txt"), "x\n");
    write(at("big.txt"), "a long line of text\n".repeat(5000));
    write(at("blob"), [0_u8, 159, 146, 150].repeat(500));
    std::fs::rename(at("moved.txt"), at("there.txt")).unwrap();
    std::fs::set_permissions(at("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("a.txt", at("link")).unwrap();
    git(&bubble.path, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "lib"]);
    write(at("lib/more.txt"), "more\n");
    git(&at("lib"), &["add", "-A"]);
    git(&at("lib"), &["-c", "user.name=x", "-c", "user.email=x@y", "commit", "--quiet", "-m", "moved"]);
    let base = TreeId(world.git(&["rev-parse", "main^{tree}"]));
    (world, other, bubble, base)
}

/// Every setting of the families that git lists, in small letters.
fn settings() -> Vec<String> {
    let listed = Command::new("git").args(["help", "--config"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap().to_lowercase();
    let ours = |line: &&str| FAMILIES.iter().any(|family| line.starts_with(&format!("{family}.")));
    let mut found: Vec<_> = listed.lines().map(str::trim).filter(ours).map(str::to_owned).collect();
    found.extend(VALUES.iter().map(|(key, _)| (*key).to_owned()));
    // Those for colours take colours; the two that switch them on are tried.
    found.retain(|key| {
        !key.contains('*') && (!key.starts_with("color.") || ["color.ui", "color.diff"].contains(&key.as_str()))
    });
    found.sort();
    found.dedup();
    found
}

fn values(world: &World, key: &str) -> Vec<String> {
    let known = VALUES.iter().find(|(one, _)| *one == key).map(|(_, values)| *values);
    let place = |value: &str| match value {
        "ATTRIBUTES" => named(world, "attributes", "* -text -diff\n"),
        "EXCLUDES" => named(world, "excludes", "*\n"),
        "ORDER" => named(world, "order", "x.hid\n"),
        other => other.to_owned(),
    };
    known.unwrap_or(&ANY).iter().map(|value| place(value)).collect()
}

fn named(world: &World, name: &str, text: &str) -> String {
    let path = world.dir.path().join(name);
    write(&path, text);
    path.display().to_string()
}

/// Tries settings in a configuration file. One that git cannot read is told as an error, never as something else.
fn hides_nothing((bubble, base): (&Worktree, &TreeId), config: &Path, seen: &Seen, text: &str) -> Result<bool, String> {
    let before = std::fs::read(config).unwrap_or_default();
    let mut all = before.clone();
    all.extend_from_slice(text.as_bytes());
    std::fs::write(config, all).unwrap();
    let now = look(bubble, base);
    std::fs::write(config, before).unwrap();
    match now {
        Ok(now) if now == *seen => Ok(true),
        Ok(now) => Err(format!("{text}: {now:?}\ninstead of {seen:?}")),
        Err(_) => Ok(false),
    }
}

fn section(key: &str, value: &str) -> String {
    let (table, name) = key.rsplit_once('.').unwrap();
    let table = match table.split_once('.') {
        Some((table, _)) if table == "submodule" => format!("[{table} \"lib\"]"),
        Some((table, _)) => format!("[{table} \"hide\"]"),
        None => format!("[{table}]"),
    };
    format!("{table}\n\t{name} = \"{value}\"\n")
}

hermetic! {
    fn no_setting_of_a_repository_changes_what_is_seen() {
        let (world, _other, bubble, base) = work();
        let seen = look(&bubble, &base).unwrap();
        let paths: Vec<_> = seen.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a.txt", "big.txt", "blob", "crlf.txt", "lib", "link", "moved.txt", "run.sh", "there.txt", "x.hid", "\u{fc}ber.txt"]);
        let config = world.root().join(".git/config");
        let keys = settings();
        assert!(keys.len() > 120, "git lists its settings: {keys:?}");
        let (mut tried, mut unreadable) = (0, Vec::new());
        for key in keys.iter().filter(|key| !PLACE.contains(&key.as_str())) {
            let sections: Vec<_> = values(&world, key).iter().map(|value| section(key, value)).collect();
            // All values at once only where each is fine by itself: the last one counts.
            let works = sections.iter().filter(|text| hides_nothing((&bubble, &base), &config, &seen, text).unwrap()).count();
            tried += works;
            if works == 0 {
                unreadable.push(key.clone());
            }
        }
        assert!(tried > 250 && unreadable.len() < 10, "{tried} tried, not one value of these can be read: {unreadable:?}");
    }

    fn no_file_in_the_tree_hides_another_one() {
        let (_world, _other, bubble, base) = work();
        let seen = look(&bubble, &base).unwrap();
        let patch_of = |seen: &Seen, path: &str| seen.files.iter().find(|file| file.path == path).cloned();
        write(bubble.path.join(".gitattributes"), "* -diff\n*.txt binary\n*.hid diff=hide filter=hide -text\n");
        let text = std::fs::read_to_string(bubble.path.join(".gitmodules")).unwrap();
        write(bubble.path.join(".gitmodules"), format!("{text}\tignore = all\n"));
        let now = look(&bubble, &base).unwrap();
        for path in ["a.txt", "big.txt", "lib", "there.txt", "x.hid", "run.sh"] {
            assert_eq!(patch_of(&now, path), patch_of(&seen, path), "{path}");
        }
        for path in [".gitattributes", ".gitmodules"] {
            assert!(patch_of(&now, path).is_some(), "{path}");
        }
        assert!(now.patch.contains("+six") && !now.patch.contains("Binary files a/a.txt"), "{}", now.patch);
    }

    fn no_setting_of_the_person_changes_a_difference() {
        let (world, _other, bubble, base) = work();
        let seen = look(&bubble, &base).unwrap();
        let home = std::path::PathBuf::from(std::env::var_os("HOME").unwrap()).join(".gitconfig");
        for key in settings().iter().filter(|key| key.starts_with("diff.") || key.starts_with("submodule.")) {
            for value in values(&world, key) {
                hides_nothing((&bubble, &base), &home, &seen, &section(key, &value)).unwrap();
            }
        }
    }
}
