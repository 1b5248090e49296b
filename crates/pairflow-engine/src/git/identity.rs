//! Who makes a commit, and which hooks run for it: as git and the person's environment say at one moment.
//!
//! The repository's own settings count, except for the signing program: the person or the machine chooses that.
//! Hooks that are files of the repository are taken from the base, so that the work under review does not judge itself.
//! Hooks elsewhere lie where agents can write, so they run only as they were recorded, from a private copy of the bytes
//! that were checked.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use pairflow_core::hash::sha256;
use pairflow_core::ids::TreeId;
use pairflow_core::log::{CommitIdentity, HookFile, Hooks, Person, Signing};
use tempfile::TempDir;

use super::isolation::entries;
use super::repo::find_object;
use super::{Git, GitCall, GitError, Repo, Worktree, changes, tree_of};

/// The settings that say who commits, how the commit is signed and where hooks are.
const SETTINGS: &str = r"^((user|author|committer|commit|gpg)\.|core\.hookspath$)";

/// Characters that git removes from both ends of a name or an address.
const CRUD: &[char] = &['.', ',', ':', ';', '<', '>', '"', '\\', '\''];

/// Returns who commits in `repo` now, how the commit is signed, and which hooks there are.
pub fn commit_identity(repo: &Repo) -> Result<CommitIdentity, GitError> {
    let call = GitCall::new(["config", "--includes", "--show-scope", "-z", "--get-regexp", SETTINGS]);
    let listing = repo.git().run(with_system(call.unpinned_config().accept(&[0, 1])))?;
    let settings = Settings::parse(&listing.stdout);
    let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Ok(CommitIdentity {
        author: settings.person("author", &env),
        committer: settings.person("committer", &env),
        signing: settings.signing(),
        hooks: hooks(repo, settings.get("core.hookspath").is_some())?,
    })
}

/// Reads the machine's configuration, too, as the person's own git does. Nothing of it is run here.
fn with_system(call: GitCall) -> GitCall {
    let person = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let call = call.env("GIT_CONFIG_NOSYSTEM", person("GIT_CONFIG_NOSYSTEM").unwrap_or_else(|| "0".into()));
    match person("GIT_CONFIG_SYSTEM") {
        Some(path) => call.env("GIT_CONFIG_SYSTEM", path),
        None => call,
    }
}

/// Settings in the order in which git reads them.
struct Settings(Vec<ScopedSetting>);

struct ScopedSetting {
    /// Whether the person's own file has it, or that of the machine.
    trusted: bool,
    key: String,
    value: String,
}

impl Settings {
    fn parse(listing: &[u8]) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let setting = |(scope, key, value): (&[u8], &[u8], &[u8])| ScopedSetting {
            trusted: matches!(scope, b"global" | b"system"),
            key: text(key),
            value: text(value),
        };
        Self(entries(listing).map(setting).collect())
    }

    /// Returns the value in force.
    fn get(&self, key: &str) -> Option<String> {
        let last = self.0.iter().rev().find(|setting| setting.key == key)?;
        Some(last.value.clone()).filter(|value| !value.is_empty())
    }

    /// Returns the person of a role, in git's order: the environment, the role's settings, the general ones.
    fn person(&self, role: &str, env: &dyn Fn(&str) -> Option<String>) -> Option<Person> {
        let part = |what: &str| {
            let named = env(&format!("GIT_{}_{}", role.to_uppercase(), what.to_uppercase()));
            named.or_else(|| self.get(&format!("{role}.{what}"))).or_else(|| self.get(&format!("user.{what}")))
        };
        let name = clean(&part("name")?);
        let email = clean(&part("email").or_else(|| env("EMAIL"))?);
        if name.is_empty() { None } else { Some(Person { name, email }) }
    }

    fn signing(&self) -> Option<Signing> {
        let signs = self.get("commit.gpgsign")?.to_lowercase();
        if matches!(signs.as_str(), "false" | "no" | "off" | "0") {
            return None;
        }
        let format = self.get("gpg.format").unwrap_or_else(|| "openpgp".to_owned());
        let own = format!("gpg.{format}.program");
        let names = |key: &str| key == own || format == "openpgp" && key == "gpg.program";
        let chosen = self.0.iter().rev().find(|setting| setting.trusted && names(&setting.key));
        let usual = match format.as_str() {
            "ssh" => "ssh-keygen",
            "x509" => "gpgsm",
            _ => "gpg",
        };
        let program = chosen.map_or_else(|| usual.to_owned(), |setting| setting.value.clone());
        Some(Signing { format, program, key: self.get("user.signingkey") })
    }
}

/// Returns a name or an address as git writes it into a commit.
fn clean(text: &str) -> String {
    let ends = |c: char| c <= ' ' || CRUD.contains(&c);
    text.trim_matches(ends).chars().filter(|c| !matches!(c, '<' | '>' | '\n')).collect()
}

/// The hooks that have a say in a commit, in the order in which they run.
pub(super) const COMMIT_HOOKS: [&str; 2] = ["pre-commit", "commit-msg"];
/// The most files that a directory of hooks may have.
const MOST_FILES: usize = 200;
/// The most bytes that they may have in all.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// How deep directories among them may lie.
const DEEPEST: usize = 4;

/// Returns the hooks of a repository as they are now; nothing if there are too many files to look at. They lie in the
/// usual place unless a setting says so (`elsewhere`).
pub(super) fn hooks(repo: &Repo, elsewhere: bool) -> Result<Option<Hooks>, GitError> {
    let dir = if elsewhere { hooks_dir(repo)? } else { repo.common_dir.join("hooks") };
    if !dir.starts_with(&repo.common_dir)
        && let Ok(inside) = dir.strip_prefix(&repo.root)
    {
        return Ok(Some(Hooks::Base { path: inside.to_string_lossy().into_owned() }));
    }
    // Seen from the root it stays the same when the repository is moved.
    let path = dir.strip_prefix(&repo.root).unwrap_or(&dir).to_string_lossy().into_owned();
    Ok(HookScan::below(&dir, None)?.map(|files| Hooks::Directory { path, files }))
}

/// Returns the hooks that have a say in a commit and lie in a bubble's worktree or repository.
pub fn commit_hooks(workspace: &Worktree) -> Result<Vec<&'static str>, GitError> {
    let repo = workspace.repo()?;
    let dir = hooks_dir(&repo)?;
    let inside = dir.strip_prefix(&repo.root).ok().filter(|_| !dir.starts_with(&repo.common_dir));
    let dir = inside.map_or_else(|| dir.clone(), |inside| workspace.path.join(inside));
    Ok(executable(&dir))
}

/// Names the hooks that the work changes; those of the base are run nevertheless.
pub fn hooks_changed_by_work(workspace: &Worktree, hooks: &Hooks, tree: &TreeId) -> Result<Vec<String>, GitError> {
    let Hooks::Base { path } = hooks else { return Ok(Vec::new()) };
    let git = workspace.git();
    let base = tree_of(&git, &workspace.base)?;
    let changed = changes(&git, &base, tree)?.into_iter().map(|change| change.path);
    Ok(changed.filter(|name| Path::new(name).starts_with(path)).collect())
}

/// A private directory with hooks that may run. It is removed with this value.
pub(super) struct RunnableHooks(TempDir);

impl RunnableHooks {
    /// Makes the recorded hooks ready to run, or says why they do not run.
    pub(super) fn of(workspace: &Worktree, recorded: Option<&Hooks>) -> Result<Self, GitError> {
        let Some(recorded) = recorded else {
            return Err(GitError::HooksUnknown(workspace.id.clone()));
        };
        let made = Self(workspace.private_dir("hooks-")?);
        match recorded {
            Hooks::Base { path } => made.check_out_base(workspace, path)?,
            Hooks::Directory { path, .. } => made.copy_unchanged(workspace, path, recorded)?,
        }
        Ok(made)
    }

    /// Returns the directory.
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Copies the hooks of a directory, and fails unless each copied file is as recorded.
    fn copy_unchanged(&self, workspace: &Worktree, path: &str, recorded: &Hooks) -> Result<(), GitError> {
        let dir = workspace.root.join(path);
        // The copies are compared, not the files: those can be replaced between the comparison and the run.
        let files = HookScan::below(&dir, Some(self.path()))?;
        let now = files.map(|files| Hooks::Directory { path: path.to_owned(), files });
        let changed = now.as_ref().map_or_else(Vec::new, |now| recorded.changed(now));
        if now.is_some() && changed.is_empty() {
            return Ok(());
        }
        Err(GitError::HooksChanged { id: workspace.id.clone(), dir, files: changed })
    }

    /// Checks the hooks of the base out.
    fn check_out_base(&self, workspace: &Worktree, path: &str) -> Result<(), GitError> {
        let git = workspace.git();
        if let Some(tree) = find_object(&git, &format!("{}:{path}", workspace.base))? {
            check_out(&git, &tree.tree()?, self.path())?;
        }
        let runs = executable(self.path());
        let missing: Vec<_> =
            executable(&workspace.path.join(path)).into_iter().filter(|hook| !runs.contains(hook)).collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(GitError::HooksNotOnBase { path: path.to_owned(), hooks: missing })
        }
    }
}

/// Writes the files of a tree below `dir`.
fn check_out(git: &Git, tree: &TreeId, dir: &Path) -> Result<(), GitError> {
    if git.run(GitCall::new(["cat-file", "-t", &tree.0]))?.line()? != "tree" {
        return Ok(());
    }
    let index = dir.with_extension("index");
    let mut prefix = std::ffi::OsString::from("--prefix=");
    prefix.push(dir);
    prefix.push("/");
    let read = git.run(GitCall::new(["read-tree", &tree.0]).index(&index).whole());
    let wrote =
        read.and_then(|_| git.run(GitCall::new(["checkout-index", "--all", "--quiet"]).arg(prefix).index(&index)));
    let _ = std::fs::remove_file(index);
    wrote.map(drop)
}

/// Returns where the hooks of a repository lie. A relative path is one inside of the main checkout.
fn hooks_dir(repo: &Repo) -> Result<PathBuf, GitError> {
    let call = GitCall::new(["config", "--type=path", "--get", "core.hooksPath"]).unpinned_config().accept(&[0, 1]);
    let configured = repo.git().run(call)?.line()?;
    if configured.is_empty() {
        return Ok(repo.common_dir.join("hooks"));
    }
    let mut dir = PathBuf::new();
    for part in repo.root.join(configured).components() {
        match part {
            Component::ParentDir => drop(dir.pop()),
            Component::CurDir => {}
            other => dir.push(other),
        }
    }
    Ok(dir)
}

fn executable(dir: &Path) -> Vec<&'static str> {
    let runs = |hook: &&str| {
        let found = dir.join(hook).metadata();
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    COMMIT_HOOKS.into_iter().filter(runs).collect()
}

/// The files of a directory of hooks, found and copied so far.
struct HookScan<'a> {
    files: BTreeMap<String, HookFile>,
    bytes: u64,
    copy: Option<&'a Path>,
}

impl<'a> HookScan<'a> {
    /// Returns the files below `dir`, copied to `copy` if that is given; nothing if not all of them can be read.
    ///
    /// A directory without any hook for commits counts as empty.
    fn below(dir: &Path, copy: Option<&'a Path>) -> Result<Option<BTreeMap<String, HookFile>>, GitError> {
        let mut found = Self { files: BTreeMap::new(), bytes: 0, copy };
        let there = COMMIT_HOOKS.iter().any(|hook| dir.join(hook).exists());
        Ok((!there || found.look(dir, "", 0)?).then_some(found.files))
    }

    /// Adds the files below `dir`. Returns whether all of them could be read.
    fn look(&mut self, dir: &Path, below: &str, depth: usize) -> Result<bool, GitError> {
        let Ok(entries) = std::fs::read_dir(dir) else { return Ok(false) };
        if depth >= DEEPEST {
            return Ok(false);
        }
        for entry in entries {
            let Ok(entry) = entry else { return Ok(false) };
            if !self.add(&entry, below, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn add(&mut self, entry: &std::fs::DirEntry, below: &str, depth: usize) -> Result<bool, GitError> {
        let Ok(name) = entry.file_name().into_string() else { return Ok(false) };
        if name.ends_with(".sample") {
            return Ok(true);
        }
        let name = if below.is_empty() { name } else { format!("{below}/{name}") };
        let Ok(known) = entry.path().metadata() else { return Ok(false) };
        if known.is_dir() {
            self.put(&name, |path| DirBuilder::new().mode(0o700).create(path))?;
            return self.look(&entry.path(), &name, depth + 1);
        }
        if self.files.len() >= MOST_FILES {
            return Ok(false);
        }
        let Ok(content) = crate::regular::read_up_to(&entry.path(), MOST_BYTES - self.bytes) else { return Ok(false) };
        self.bytes += content.len() as u64;
        let executable = known.permissions().mode() & 0o111 != 0;
        let mode = if executable { 0o700 } else { 0o600 };
        self.put(&name, |path| crate::regular::create_new(path, mode)?.write_all(&content))?;
        self.files.insert(name, HookFile { sha256: sha256(&content), executable });
        Ok(true)
    }

    /// Makes the copy of `name`, if copies are made.
    fn put(&self, name: &str, make: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), GitError> {
        let Some(path) = self.copy.map(|copy| copy.join(name)) else { return Ok(()) };
        make(&path).map_err(GitError::io("create", &path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(settings: &[(&str, &str, &str)]) -> Settings {
        let text: String = settings.iter().map(|(scope, key, value)| format!("{scope}\0{key}\n{value}\0")).collect();
        Settings::parse(text.as_bytes())
    }

    fn nothing(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn the_environment_goes_before_the_role_and_the_role_before_the_user() {
        let settings = listing(&[
            ("global", "user.name", "Ada"),
            ("global", "user.email", "ada@example.org"),
            ("local", "author.name", " Ada, at work. "),
        ]);
        let person = |role, env: &dyn Fn(&str) -> Option<String>| settings.person(role, env).unwrap().to_string();
        assert_eq!(person("author", &nothing), "Ada, at work <ada@example.org>");
        assert_eq!(person("committer", &nothing), "Ada <ada@example.org>");
        let env = |name: &str| (name == "GIT_COMMITTER_EMAIL").then(|| "bot@example.org".to_owned());
        assert_eq!(person("committer", &env), "Ada <bot@example.org>");
    }

    #[test]
    fn without_a_name_or_an_address_nobody_is_known() {
        assert_eq!(listing(&[("global", "user.name", "Ada")]).person("author", &nothing), None);
        assert_eq!(
            listing(&[("global", "user.name", " . "), ("global", "user.email", "a")]).person("author", &nothing),
            None
        );
    }

    #[test]
    fn the_repository_may_choose_the_key_but_not_the_program() {
        let settings = listing(&[
            ("global", "commit.gpgsign", "true"),
            ("system", "gpg.program", "/opt/gpg"),
            ("global", "gpg.program", "/usr/bin/gpg2"),
            ("local", "gpg.program", "evil"),
            ("local", "gpg.openpgp.program", "evil"),
            ("local", "user.signingkey", "ABCD"),
        ]);
        assert_eq!(settings.signing().unwrap().to_string(), "openpgp by /usr/bin/gpg2 (key ABCD)");
        let ssh = listing(&[
            ("local", "commit.gpgsign", "on"),
            ("local", "gpg.format", "ssh"),
            ("local", "gpg.ssh.program", "evil"),
        ]);
        assert_eq!(ssh.signing().unwrap().program, "ssh-keygen");
        assert_eq!(listing(&[("global", "commit.gpgsign", "true"), ("local", "commit.gpgsign", "no")]).signing(), None);
        assert!(Settings::parse(b"global\0commit.gpgsign\0").signing().is_some(), "a key without a value is true");
    }
}
