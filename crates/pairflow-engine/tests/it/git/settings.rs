//! No setting of git, and no file that a repository brings along, changes what a snapshot contains or a difference shows.
//!
//! The settings are those that git itself lists (`git help --config`), so that a newer git brings its new ones along.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use pairflow_core::facts::FileChange;
use pairflow_core::ids::TreeId;
use pairflow_engine::git::{Worktree, changes, diff_text, observe};

use crate::support::git::{World, git, hermetic, write};

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
