//! Finds the agent CLIs in the cache of this machine, or installs them there with npm.
//!
//! The native binaries are used as they are, without node in between, so that pids and signals are the real ones. No
//! script of a package runs. A [`Slot`] limits how many tests of one program use real agents at the same time; with
//! cargo-nextest every test is a program of its own, and .config/nextest.toml has the same limit.

use std::ffi::OsString;
use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Condvar, Mutex, PoisonError};

/// The version of Claude Code that the tests run.
pub const CLAUDE_VERSION: &str = "2.1.325";
/// The version of Codex that the tests run.
pub const CODEX_VERSION: &str = "0.166.0";

/// The agent CLIs of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clis {
    /// The binary of Claude Code.
    pub claude: PathBuf,
    /// The binary of Codex.
    pub codex: PathBuf,
    /// A directory for `PATH` with `claude` and `codex` in it, and nothing else.
    pub bin: PathBuf,
}

/// Returns the agent CLIs in their pinned versions, and installs them if this machine does not have them yet.
///
/// They lie in `$PAIRFLOW_TEST_CACHE`, else in `pairflow-test` of the user's cache directory. Any number of processes
/// may ask at once: one installs and the others wait for it.
pub fn agent_clis() -> Result<Clis, String> {
    let cache = cache(|name| std::env::var_os(name).filter(|value| !value.is_empty()))?;
    find_or_install(&cache, &Platform::here()?, npm)
}

fn cache(var: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, String> {
    let own = var("PAIRFLOW_TEST_CACHE").map(PathBuf::from);
    let shared = || var("XDG_CACHE_HOME").map(|dir| Path::new(&dir).join("pairflow-test"));
    let home = || var("HOME").map(|dir| Path::new(&dir).join(".cache/pairflow-test"));
    let cache = own
        .or_else(shared)
        .or_else(home)
        .ok_or("there is no place for the agent CLIs: set PAIRFLOW_TEST_CACHE to a directory with 2 GB to spare")?;
    std::path::absolute(&cache).map_err(|error| format!("{}: {error}", cache.display()))
}

/// The names that the packages have for this machine.
struct Platform {
    /// As in the names of the platform packages.
    package: &'static str,
    /// As in the directory of Codex's binary.
    triple: &'static str,
}

impl Platform {
    fn here() -> Result<Self, String> {
        let (package, triple) = match (std::env::consts::OS, std::env::consts::ARCH) {
            ("linux", "x86_64") => ("linux-x64", "x86_64-unknown-linux-musl"),
            ("linux", "aarch64") => ("linux-arm64", "aarch64-unknown-linux-musl"),
            ("macos", "x86_64") => ("darwin-x64", "x86_64-apple-darwin"),
            ("macos", "aarch64") => ("darwin-arm64", "aarch64-apple-darwin"),
            (os, arch) => return Err(format!("there are no binaries of the agent CLIs for {os} on {arch}")),
        };
        Ok(Self { package, triple })
    }

    fn directory(&self) -> String {
        format!("claude-{CLAUDE_VERSION}_codex-{CODEX_VERSION}_{}", self.package)
    }

    fn claude(&self) -> String {
        format!("node_modules/@anthropic-ai/claude-code-{}/claude", self.package)
    }

    fn codex(&self) -> String {
        format!("node_modules/@openai/codex-{}/vendor/{}/bin/codex", self.package, self.triple)
    }
}

fn find_or_install(
    cache: &Path,
    platform: &Platform,
    fetch: impl Fn(&Path) -> Result<(), String>,
) -> Result<Clis, String> {
    let place = cache.join(platform.directory());
    let found = || {
        let clis =
            Clis { claude: place.join(platform.claude()), codex: place.join(platform.codex()), bin: place.join("bin") };
        place.is_dir().then_some(clis)
    };
    if let Some(clis) = found() {
        return Ok(clis);
    }
    let failed = |error: std::io::Error| format!("cannot install the agent CLIs in {}: {error}", cache.display());
    fs::create_dir_all(cache).map_err(failed)?;
    let lock = File::create(cache.join("install.lock")).map_err(failed)?;
    // The kernel frees it if we die; whatever we leave under the temporary name is removed by the next one.
    lock.lock().map_err(failed)?;
    if let Some(clis) = found() {
        return Ok(clis);
    }
    let unfinished = cache.join("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(failed)?;
    }
    fs::create_dir(&unfinished).map_err(failed)?;
    fetch(&unfinished)?;
    complete(&unfinished, platform)?;
    fs::rename(&unfinished, &place).map_err(failed)?;
    found().ok_or_else(|| format!("{} is gone again; run the tests once more", place.display()))
}

/// Makes the directory for `PATH`, and has both binaries say their versions: nothing half becomes the cache.
fn complete(root: &Path, platform: &Platform) -> Result<(), String> {
    let bin = root.join("bin");
    let failed = |error: std::io::Error| format!("cannot make {}: {error}", bin.display());
    fs::create_dir(&bin).map_err(failed)?;
    let all = [("claude", platform.claude(), CLAUDE_VERSION), ("codex", platform.codex(), CODEX_VERSION)];
    for (name, path, version) in all {
        std::os::unix::fs::symlink(Path::new("..").join(path), bin.join(name)).map_err(failed)?;
        let binary = bin.join(name);
        let said = Command::new(&binary).arg("--version").env_clear().env("HOME", root).output();
        let said = said.map_err(|error| format!("npm brought no {} that runs: {error}", binary.display()))?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        if !said.split_whitespace().any(|word| word == version) {
            return Err(format!("{} should be {version}, but says {said:?}", binary.display()));
        }
    }
    Ok(())
}

/// Has npm put both packages into `root`.
fn npm(root: &Path) -> Result<(), String> {
    let mut command = Command::new("npm");
    command.args(["install", "--no-audit", "--no-fund", "--no-save", "--no-package-lock", "--ignore-scripts"]);
    command.arg("--prefix").arg(root).current_dir(root);
    command.arg(format!("@anthropic-ai/claude-code@{CLAUDE_VERSION}"));
    command.arg(format!("@openai/codex@{CODEX_VERSION}"));
    let output = command.output().map_err(|error| {
        format!(
            "cannot install the agent CLIs: npm does not start ({error}); install Node.js with npm, or set \
                 PAIRFLOW_TEST_CACHE to a cache that has them"
        )
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("npm could not install the agent CLIs ({}); it needs a registry that has them:\n{said}", output.status))
}

/// How many at a time.
const SLOTS: usize = 2;

static TAKEN: Mutex<usize> = Mutex::new(0);
static FREED: Condvar = Condvar::new();

/// The right to use real agents, until it is dropped.
#[derive(Debug)]
pub struct Slot(());

impl Slot {
    /// Waits until fewer than two others have one.
    pub fn take() -> Self {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = FREED.wait_while(taken, |taken| *taken >= SLOTS).unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        Self(())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        FREED.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::home::write_program;

    const HERE: Platform = Platform { package: "linux-x64", triple: "x86_64-unknown-linux-musl" };

    /// Does what npm would do, with scripts that say a version.
    fn pretend(root: &Path) -> Result<(), String> {
        for (path, version) in [(HERE.claude(), CLAUDE_VERSION), (HERE.codex(), CODEX_VERSION)] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_program(&path, &format!("#!/bin/sh\necho name {version}\n"));
        }
        Ok(())
    }

    #[test]
    fn many_at_once_install_once() {
        let cache = tempfile::tempdir().unwrap();
        let fetched = AtomicUsize::new(0);
        let fetch = |root: &Path| {
            fetched.fetch_add(1, Ordering::SeqCst);
            pretend(root)
        };
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| find_or_install(cache.path(), &HERE, fetch))).collect();
            for one in all {
                let clis = one.join().unwrap().unwrap();
                assert!(clis.claude.is_file() && clis.codex.is_file() && clis.bin.join("codex").is_file());
            }
        });
        assert_eq!(fetched.into_inner(), 1);
    }

    #[test]
    fn what_a_dead_installer_left_is_not_taken_for_the_clis() {
        let cache = tempfile::tempdir().unwrap();
        fs::create_dir_all(cache.path().join("unfinished/bin")).unwrap();
        assert!(find_or_install(cache.path(), &HERE, pretend).unwrap().claude.is_file());
        assert!(!cache.path().join("unfinished").exists());
    }

    #[test]
    fn another_version_than_the_pinned_one_is_refused_and_not_kept() {
        let cache = tempfile::tempdir().unwrap();
        let other = |root: &Path| {
            pretend(root)?;
            write_program(&root.join(HERE.codex()), "#!/bin/sh\necho codex 0.1.0\n");
            Ok(())
        };
        let error = find_or_install(cache.path(), &HERE, other).unwrap_err();
        assert!(error.ends_with("should be 0.166.0, but says \"codex 0.1.0\\n\""), "{error}");
        assert!(!cache.path().join(HERE.directory()).exists());
    }

    #[test]
    fn the_cache_is_the_first_place_that_is_named() {
        let all = [("PAIRFLOW_TEST_CACHE", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")];
        let places: Vec<_> = (0..4)
            .map(|from| cache(|name| all[from..].iter().find(|(one, _)| *one == name).map(|(_, dir)| dir.into())))
            .collect();
        assert_eq!(places[0].as_deref(), Ok(Path::new("/a")));
        assert_eq!(places[1].as_deref(), Ok(Path::new("/b/pairflow-test")));
        assert_eq!(places[2].as_deref(), Ok(Path::new("/c/.cache/pairflow-test")));
        assert!(places[3].as_ref().unwrap_err().contains("PAIRFLOW_TEST_CACHE"));
    }
}
