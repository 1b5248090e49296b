//! Keeps a repository from steering git: settings that run programs, its own configuration, files that block.
//!
//! Fixed settings come first. Filters, merge drivers and signing programs have names of their own, so those that the
//! repository's configuration defines are looked up and set to the person's global value, or off. Where that is not
//! enough, git runs in a directory of our own over the objects of the repository, in which it finds no configuration,
//! attributes or excludes at all. A FIFO or a device in place of a file that git reads would block it, so a call that
//! takes long is checked for that.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::GitError;

/// One setting: key and value.
pub(super) type GitSetting = (OsString, OsString);

/// Settings that hold for every call.
const FIXED: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.askPass", ""),
    ("core.editor", "false"),
    ("core.pager", "cat"),
    ("core.alternateRefsCommand", "true"),
    ("credential.helper", ""),
    ("protocol.ext.allow", "never"),
    ("diff.external", ""),
    ("commit.gpgSign", "false"),
    ("i18n.commitEncoding", "UTF-8"),
    ("tag.gpgSign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("user.useConfigOnly", "true"),
    // These decide whether git notices a change. Those who change files must not also decide that.
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.ignoreStat", "false"),
    ("add.ignoreErrors", "false"),
];

/// Settings that make what a call writes survive a power cut.
pub(super) const DURABLE: &[(&str, &str)] = &[("core.fsync", "committed,reference"), ("core.fsyncMethod", "batch")];

/// The expression that finds the settings with names of their own.
pub(super) const NAMED: &str =
    r"^((filter|merge|gpg|hook)\.|core\.(excludesfile|attributesfile|autocrlf|eol|safecrlf)$)";

/// A custom merge driver that git would not know: git's own text merge, and a conflict if that is impossible.
const PLAIN_MERGE: &str = "git merge-file -q %A %O %B || exit 1";

/// The commands that run no program and read no content of a worktree, whatever the configuration says.
const HARMLESS: &str = "--version cat-file check-ref-format for-each-ref ls-files ls-tree merge-base rev-list \
    rev-parse update-ref write-tree";

/// Whether a call with these arguments must be kept from settings with names of their own.
pub(super) fn needed(args: &[OsString]) -> bool {
    let harmless = args.first().is_some_and(|verb| HARMLESS.split(' ').any(|harmless| verb == harmless));
    let reads = |arg: &OsString| ["--modified", "--filters", "--textconv"].iter().any(|option| arg == option);
    !harmless || args.iter().any(reads)
}

/// Returns the fixed settings.
pub(super) fn fixed() -> impl Iterator<Item = GitSetting> {
    FIXED.iter().map(|(key, value)| (key.into(), value.into()))
}

/// Returns what switches off the named settings of a repository, from the output of
/// `git config --includes --show-scope -z --get-regexp`.
pub(super) fn neutralise(listing: &[u8]) -> Vec<GitSetting> {
    let mut global: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
    let mut local: Vec<&[u8]> = Vec::new();
    for (scope, key, value) in entries(listing) {
        if scope == b"global" {
            global.insert(key, value);
        } else if off(key).is_some() && !local.contains(&key) {
            local.push(key);
        }
    }
    let setting = |key: &&[u8]| {
        let person = global.get(key).map(|value| OsString::from_vec(value.to_vec()));
        Some((OsStr::from_bytes(key).to_owned(), person.or_else(|| off(key))?))
    };
    local.iter().filter_map(setting).collect()
}

/// Returns scope, key and value of each setting, from the output of `git config --show-scope -z --get-regexp`.
pub(super) fn entries(listing: &[u8]) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
    let mut words = listing.split(|byte| *byte == 0);
    std::iter::from_fn(move || {
        let (scope, entry) = (words.next()?, words.next()?);
        // A key without a value has no line break; git reads it as true.
        Some(match entry.iter().position(|byte| *byte == b'\n') {
            Some(at) => (scope, &entry[..at], &entry[at + 1..]),
            None => (scope, entry, &b"true"[..]),
        })
    })
}

/// Returns where git looks for the person's file `name` (`ignore`, `attributes`) if no setting names another one.
pub(super) fn usual(name: &str) -> OsString {
    let absolute = |dir: &OsString| Path::new(dir).is_absolute();
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(absolute).map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME").filter(absolute)?).join(".config"));
    config.or_else(home).map_or_else(|| "/dev/null".into(), |dir| dir.join("git").join(name).into_os_string())
}

/// Returns the harmless value of a setting that is not for a repository to make; nothing for any other.
fn off(key: &[u8]) -> Option<OsString> {
    Some(match key {
        b"core.excludesfile" => usual("ignore"),
        b"core.attributesfile" => usual("attributes"),
        _ => plain(key)?.into(),
    })
}

fn plain(key: &[u8]) -> Option<&'static str> {
    let last = key.rsplit(|byte| *byte == b'.').next()?;
    match (key.split(|byte| *byte == b'.').next()?, last) {
        (b"core", b"autocrlf") => Some("false"),
        (b"core", b"eol") => Some("native"),
        (b"core", b"safecrlf") => Some("warn"),
        (b"filter", b"clean" | b"smudge" | b"process") => Some(""),
        (b"filter", b"required") => Some("false"),
        (b"merge", b"driver") => Some(PLAIN_MERGE),
        (b"gpg", b"defaultkeycommand") => Some("false"),
        // Newer versions of git run hooks that the configuration names.
        (b"hook", b"command") => Some("true"),
        (b"gpg", b"program") => Some(match key {
            b"gpg.ssh.program" => "ssh-keygen",
            b"gpg.x509.program" => "gpgsm",
            _ => "gpg",
        }),
        _ => None,
    }
}

/// The directory; it is removed when this is dropped.
#[derive(Debug)]
pub(super) struct IsolatedGitDir {
    dir: TempDir,
    /// Where the objects are.
    pub(super) objects: PathBuf,
    /// Whether the person's own configuration counts.
    pub(super) personal: bool,
}

impl IsolatedGitDir {
    /// Makes a directory in `place` for objects that have names like `object`.
    pub(super) fn make(place: &Path, common_dir: &Path, object: &str) -> Result<Self, GitError> {
        let failed = GitError::io("make a directory in", place);
        let dir = tempfile::Builder::new().prefix("pairflow-git-").tempdir_in(place).map_err(failed)?;
        let isolated = Self { dir, objects: common_dir.join("objects"), personal: false };
        for name in ["objects", "refs", "info"] {
            let path = isolated.path().join(name);
            std::fs::create_dir(&path).map_err(GitError::io("create", &path))?;
        }
        isolated.write("HEAD", "ref: refs/heads/none\n")?;
        // A file system that gives every file the same permissions says nothing about them.
        let odd = isolated.path().join("HEAD").metadata().is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
        let format = if object.len() == 64 {
            "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
        } else {
            "\trepositoryformatversion = 0\n"
        };
        isolated.write("config", format!("[core]\n\tbare = false\n\tfilemode = {}\n{format}", !odd))?;
        Ok(isolated)
    }

    /// Lets the person's own configuration, these patterns of ignored files and these attributes count.
    pub(super) fn with(mut self, excludes: &str, attributes: &[u8]) -> Result<Self, GitError> {
        self.personal = true;
        self.write("info/exclude", excludes)?;
        self.write("info/attributes", attributes)?;
        Ok(self)
    }

    /// Returns where it is.
    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<(), GitError> {
        let path = self.path().join(name);
        crate::regular::write(&path, content).map_err(GitError::io("write", &path))
    }
}

/// The files that git reads in any directory of a worktree.
const IN_WORKTREE: [&str; 3] = [".gitattributes", ".gitignore", ".gitmodules"];

/// The files that git reads in a git directory.
const IN_GIT_DIR: [&str; 8] =
    ["HEAD", "index", "config", "config.worktree", "commondir", "packed-refs", "info/exclude", "info/attributes"];

/// How many names of a worktree are looked at.
const MOST_NAMES: usize = 200_000;

/// Returns a file that git would read and that is neither a regular file nor a link or a directory.
pub(super) fn special_file(git_dirs: &[&Path], work_tree: &Path) -> Option<PathBuf> {
    let own = git_dirs.iter().flat_map(|dir| IN_GIT_DIR.iter().map(|name| dir.join(name)));
    own.into_iter().find(|path| is_special(path)).or_else(|| in_worktree(work_tree))
}

fn in_worktree(root: &Path) -> Option<PathBuf> {
    let mut dirs = vec![root.to_owned()];
    let mut names = 0;
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            names += 1;
            if names > MOST_NAMES {
                return None;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let read = IN_WORKTREE.iter().any(|name| entry.file_name() == *name);
            if read && is_special(&entry.path()) {
                return Some(entry.path());
            }
            if kind.is_dir() && entry.file_name() != ".git" {
                dirs.push(entry.path());
            }
        }
    }
    None
}

/// Follows links: git does so, too, where it reads at all.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn shown(listing: &[u8]) -> Vec<String> {
        let line = |(key, value): GitSetting| format!("{}={}", key.to_string_lossy(), value.to_string_lossy());
        neutralise(listing).into_iter().map(line).collect()
    }

    #[test]
    fn a_filter_of_the_repository_is_off_unless_the_person_has_it_too() {
        let listing =
            b"global\0filter.lfs.clean\ngit-lfs clean\0local\0filter.lfs.clean\nevil\0local\0filter.x.smudge\nevil\0";
        assert_eq!(shown(listing), ["filter.lfs.clean=git-lfs clean", "filter.x.smudge="]);
        assert_eq!(shown(b"local\0hook.x.command\nevil\0local\0hook.x.event\npre-commit\0"), ["hook.x.command=true"]);
    }

    #[test]
    fn line_ends_and_excludes_are_the_persons_own() {
        let listing = b"global\0core.eol\nlf\0local\0core.eol\ncrlf\0local\0core.autocrlf\ntrue\0worktree\0core.excludesfile\n/x\0";
        let shown = shown(listing);
        assert_eq!(shown[..2], ["core.eol=lf", "core.autocrlf=false"]);
        assert!(shown[2].starts_with("core.excludesfile=/") && !shown[2].ends_with("=/x"), "{shown:?}");
    }

    #[test]
    fn a_key_without_value_and_an_odd_name_are_seen() {
        let listing = b"worktree\0filter.a=b.c.required\0local\0filter.\xff.process\nevil\0";
        assert_eq!(shown(listing), ["filter.a=b.c.required=false", "filter.\u{fffd}.process="]);
    }

    #[test]
    fn the_persons_own_settings_are_left_alone() {
        assert!(neutralise(b"global\0filter.lfs.clean\ngit-lfs clean\0local\0merge.ff\nonly\0").is_empty());
    }

    #[test]
    fn a_pipe_is_found_wherever_git_would_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let (git, tree) = (dir.path().join("git"), dir.path().join("tree"));
        for name in ["git/info", "tree/a/b", "tree/.git"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        std::fs::write(tree.join(".gitignore"), "x").unwrap();
        let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        pipe(&tree.join("a/other"));
        assert_eq!(special_file(&[&git], &tree), None);
        pipe(&tree.join("a/b/.gitattributes"));
        assert_eq!(special_file(&[&git], &tree), Some(tree.join("a/b/.gitattributes")));
        pipe(&git.join("info/exclude"));
        assert_eq!(special_file(&[&git], &tree), Some(git.join("info/exclude")));
    }
}
