//! The one function through which every git process of pairflow runs.
//!
//! Directories are pinned, environment and configuration are cleared of everything that could run a program of the
//! repository's choice, and time and output are bounded. No other file may start git.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use pairflow_core::ids::{CommitId, TreeId};

use super::GitError;
use super::isolation::{self, GitSetting, IsolatedGitDir, special_file};
use crate::process::inherited;

const TIMEOUT: Duration = Duration::from_secs(120);
/// How long a call may take before it is checked whether a FIFO or device blocks git.
const LOOK_AFTER: Duration = Duration::from_secs(1);
const STDOUT_LIMIT: usize = 256 * 1024 * 1024;
const STDERR_LIMIT: usize = 64 * 1024;
const STDERR_SHOWN: usize = 2_000;
/// The exit code for an unknown option.
const UNKNOWN_OPTION: i32 = 129;

/// A repository, or one worktree of it, as git sees it.
#[derive(Debug)]
pub struct Git {
    pinned: Option<Pinned>,
    neutral: OnceLock<Vec<GitSetting>>,
}

#[derive(Debug)]
struct Pinned {
    git_dir: PathBuf,
    common_dir: PathBuf,
    work_tree: PathBuf,
    isolated: Option<IsolatedGitDir>,
}

/// One call of git, to be given to [`Git::run`].
#[derive(Debug, Clone, Default)]
pub struct GitCall {
    args: Vec<OsString>,
    input: Vec<u8>,
    env: Vec<(&'static str, OsString)>,
    settings: Vec<GitSetting>,
    unpinned: bool,
    bounded: bool,
    /// The exit codes that are answers, besides 0.
    accepted: &'static [i32],
    /// Where the output is cut; without it a long output is an error.
    cut_at: Option<usize>,
    timeout: Option<Duration>,
}

/// The output of a successful call.
#[derive(Debug)]
pub struct GitOutput {
    /// The exit code.
    pub code: i32,
    /// The standard output.
    pub stdout: Vec<u8>,
    /// Whether the standard output was cut at the limit.
    pub cut: bool,
    /// The beginning of the standard error output.
    pub stderr: String,
    args: String,
}

impl Git {
    /// Pins git to these three directories, regardless of the files in them.
    pub fn at(git_dir: &Path, common_dir: &Path, work_tree: &Path) -> Self {
        let (git_dir, common_dir, work_tree) = (git_dir.into(), common_dir.into(), work_tree.into());
        Self { pinned: Some(Pinned { git_dir, common_dir, work_tree, isolated: None }), neutral: OnceLock::new() }
    }

    /// Pins git to an isolated directory; without `work_tree` there are no files, and so no attributes.
    pub(super) fn isolated(isolated: IsolatedGitDir, work_tree: Option<&Path>) -> Self {
        let git_dir = isolated.path().to_owned();
        let work_tree = work_tree.unwrap_or(&git_dir).to_owned();
        let pinned = Pinned { common_dir: git_dir.clone(), git_dir, work_tree, isolated: Some(isolated) };
        Self { pinned: Some(pinned), neutral: OnceLock::from(Vec::new()) }
    }

    /// Returns git for the objects of this one, without any setting or attribute; `object` shows the hash format.
    pub(super) fn objects_only(&self, object: &str) -> Result<Self, GitError> {
        let common_dir = self.pinned.as_ref().map_or(Path::new("/"), |pinned| &pinned.common_dir);
        Ok(Self::isolated(IsolatedGitDir::make(&std::env::temp_dir(), common_dir, object)?, None))
    }

    /// Runs git outside of any repository, for `clone`.
    pub(crate) fn outside_repository() -> Self {
        Self { pinned: None, neutral: OnceLock::new() }
    }

    /// Runs one call, and returns its output if the exit code is accepted.
    pub fn run(&self, call: GitCall) -> Result<GitOutput, GitError> {
        let args = shown(&call.args);
        let command = self.command(&call)?;
        let (limit, timeout) = (call.cut_at.unwrap_or(STDOUT_LIMIT), call.timeout.unwrap_or(TIMEOUT));
        let done = GitProcess::start(command, call.input, limit)?.wait(&args, timeout, || self.special_file())?;
        if done.cut && call.cut_at.is_none() {
            return Err(GitError::TooMuchOutput { args, limit });
        }
        let code = done.code.or(done.cut.then_some(0));
        match code {
            Some(code) if done.cut || code == 0 || call.accepted.contains(&code) => {
                Ok(GitOutput { code, stdout: done.stdout, cut: done.cut, stderr: trimmed(&done.stderr), args })
            }
            // git may be too old for the option. `--version` itself has none.
            Some(UNKNOWN_OPTION) if args != "--version" => {
                let failed = GitError::Failed { args, code, stderr: trimmed(&done.stderr) };
                Err(insist_on_recent().err().filter(|why| matches!(why, GitError::TooOld { .. })).unwrap_or(failed))
            }
            code => Err(GitError::Failed { args, code, stderr: trimmed(&done.stderr) }),
        }
    }

    /// Returns a file that blocks git because it is not a regular one.
    fn special_file(&self) -> Option<PathBuf> {
        let pinned = self.pinned.as_ref()?;
        special_file(&[&pinned.git_dir, &pinned.common_dir], &pinned.work_tree)
    }

    fn command(&self, call: &GitCall) -> Result<Command, GitError> {
        let mut command = Command::new("git");
        command.args(&call.args).process_group(0);
        command.stdin(if call.input.is_empty() { Stdio::null() } else { Stdio::piped() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if call.bounded {
            command.env_clear().envs(inherited(std::env::vars_os()));
        }
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_")) {
            command.env_remove(name);
        }
        command.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_ATTR_NOSYSTEM", "1"), ("GIT_TERMINAL_PROMPT", "0")]);
        command.envs([("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_NO_REPLACE_OBJECTS", "1")]);
        command.envs([("GIT_ALLOW_PROTOCOL", "file"), ("GIT_LITERAL_PATHSPECS", "1"), ("LC_ALL", "C")]);
        match &self.pinned {
            Some(pinned) => {
                command.env("GIT_DIR", &pinned.git_dir).env("GIT_COMMON_DIR", &pinned.common_dir);
                command.env("GIT_WORK_TREE", &pinned.work_tree);
                if let Some(isolated) = &pinned.isolated {
                    command.env("GIT_OBJECT_DIRECTORY", &isolated.objects);
                    if !isolated.personal {
                        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
                    }
                }
                let there = [&pinned.work_tree, &pinned.common_dir].into_iter().find(|dir| dir.is_dir());
                // Starting in a directory that is gone would look like a missing git.
                command.current_dir(there.map_or(Path::new("/"), PathBuf::as_path));
            }
            None => drop(command.current_dir("/")),
        }
        self.configure(&mut command, call)?;
        command.envs(call.env.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// Passes settings by environment: unlike `-c`, that takes any name and any value.
    fn configure(&self, command: &mut Command, call: &GitCall) -> Result<(), GitError> {
        if call.unpinned {
            return Ok(());
        }
        let settings =
            isolation::fixed().chain(self.neutral(call)?.iter().cloned()).chain(call.settings.iter().cloned());
        let mut count = 0;
        for (key, value) in settings {
            command.env(format!("GIT_CONFIG_KEY_{count}"), key).env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        Ok(())
    }

    fn neutral(&self, call: &GitCall) -> Result<&[GitSetting], GitError> {
        if self.pinned.is_none() || !isolation::needed(&call.args) {
            return Ok(&[]);
        }
        if let Some(known) = self.neutral.get() {
            return Ok(known);
        }
        let listing = GitCall::new(["config", "--includes", "--show-scope", "-z", "--get-regexp", isolation::NAMED]);
        let listing = self.run(listing.unpinned_config().accept(&[0, 1]))?;
        Ok(self.neutral.get_or_init(|| isolation::neutralise(&listing.stdout)))
    }
}

impl GitCall {
    /// Starts a call with its arguments.
    pub fn new<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        Self { args, ..Self::default() }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Sets the standard input.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Uses another index than the worktree's own.
    pub fn index(self, path: &Path) -> Self {
        self.env("GIT_INDEX_FILE", path)
    }

    /// Sets one variable of git's environment.
    pub fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    /// Passes only the environment variables that checks get: for calls that run programs of the repository.
    pub(super) fn filtered_env(mut self) -> Self {
        self.bounded = true;
        self
    }

    /// Sets one setting, over the pinned ones.
    pub fn setting(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.settings.push((key.into(), value.as_ref().to_owned()));
        self
    }

    /// Makes what the call writes durable.
    pub fn durable(self) -> Self {
        isolation::DURABLE.iter().fold(self, |call, (key, value)| call.setting(key, value))
    }

    /// Ignores sparse checkouts: a bubble has all files.
    pub fn whole(self) -> Self {
        self.setting("core.sparseCheckout", "false")
    }

    /// Accepts these exit codes besides 0.
    pub fn accept(mut self, codes: &'static [i32]) -> Self {
        self.accepted = codes;
        self
    }

    /// Cuts the output after `limit` bytes.
    pub fn cut_at(mut self, limit: usize) -> Self {
        self.cut_at = Some(limit);
        self
    }

    /// Sets the timeout.
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Reads the configuration as it is written. For `git config` alone, which runs nothing.
    pub(super) fn unpinned_config(mut self) -> Self {
        self.unpinned = true;
        self
    }
}

impl GitOutput {
    /// Returns the output as one line of text.
    pub fn line(&self) -> Result<String, GitError> {
        let text = std::str::from_utf8(&self.stdout).map_err(|_| self.unexpected())?;
        let text = text.trim_end_matches('\n');
        if text.contains('\n') { Err(self.unexpected()) } else { Ok(text.to_owned()) }
    }

    /// Returns the parts of an output that is separated by NUL (`-z`).
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.stdout.split(|byte| *byte == 0).filter(|part| !part.is_empty())
    }

    /// Returns the output as a commit.
    pub fn commit(&self) -> Result<CommitId, GitError> {
        self.object().map(CommitId)
    }

    /// Returns the output as a tree.
    pub fn tree(&self) -> Result<TreeId, GitError> {
        self.object().map(TreeId)
    }

    /// Makes the error for an output of an unexpected form.
    pub fn unexpected(&self) -> GitError {
        let said = String::from_utf8_lossy(&self.stdout).chars().take(200).collect();
        GitError::Unexpected { args: self.args.clone(), said }
    }

    fn object(&self) -> Result<String, GitError> {
        let line = self.line()?;
        let hex = line.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hex && matches!(line.len(), 40 | 64) { Ok(line) } else { Err(self.unexpected()) }
    }
}

/// What was read from one of a process's outputs.
enum PipeContent {
    Out { bytes: Vec<u8>, over: bool },
    Err { bytes: Vec<u8> },
}

struct GitProcess {
    child: Child,
    pipes: Receiver<PipeContent>,
}

struct Finished {
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    cut: bool,
}

impl GitProcess {
    fn start(mut command: Command, input: Vec<u8>, limit: usize) -> Result<Self, GitError> {
        let mut child = command.spawn().map_err(|source| match source.kind() {
            ErrorKind::NotFound => GitError::Missing,
            _ => GitError::io("run", Path::new("git"))(source),
        })?;
        let (sender, pipes) = channel();
        if let Some(mut stdin) = child.stdin.take() {
            // If git closes its input early, its exit code says why.
            std::thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let stdout = child.stdout.take().expect("standard output was piped");
        read_pipe(stdout, limit, sender.clone(), |bytes, over| PipeContent::Out { bytes, over });
        let stderr = child.stderr.take().expect("standard error was piped");
        read_pipe(stderr, STDERR_LIMIT, sender, |bytes, _| PipeContent::Err { bytes });
        Ok(Self { child, pipes })
    }

    /// Waits for its end. If that takes long, checks once whether a file `blocks` it.
    fn wait(
        mut self,
        args: &str,
        timeout: Duration,
        blocks: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<Finished, GitError> {
        let deadline = Instant::now() + timeout;
        let mut done = Finished { code: None, stdout: Vec::new(), stderr: Vec::new(), cut: false };
        let (mut blocks, mut parts) = (Some(blocks), 0);
        while parts < 2 {
            let left = deadline.saturating_duration_since(Instant::now());
            let wait = if blocks.is_some() { left.min(LOOK_AFTER) } else { left };
            match self.pipes.recv_timeout(wait) {
                Ok(PipeContent::Out { bytes, over }) => {
                    (done.stdout, done.cut) = (bytes, over);
                    if over {
                        self.kill();
                    }
                }
                Ok(PipeContent::Err { bytes }) => done.stderr = bytes,
                Err(_) => {
                    let path = blocks.take().and_then(|blocks| blocks());
                    if path.is_none() && Instant::now() < deadline {
                        continue;
                    }
                    self.kill();
                    let args = args.to_owned();
                    let late = GitError::TimedOut { args: args.clone(), secs: timeout.as_secs() };
                    return Err(path.map_or(late, |path| GitError::Blocked { args, path }));
                }
            }
            parts += 1;
        }
        done.code = self.child.wait().ok().and_then(|status| status.code());
        Ok(done)
    }

    fn kill(&mut self) {
        // An error means that no process of the group is left.
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::KILL,
        );
        let _ = self.child.wait();
    }
}

fn read_pipe(
    mut pipe: impl Read + Send + 'static,
    limit: usize,
    sender: Sender<PipeContent>,
    content: fn(Vec<u8>, bool) -> PipeContent,
) {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let ask = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let _ = pipe.by_ref().take(ask).read_to_end(&mut bytes);
        let over = bytes.len() > limit;
        bytes.truncate(limit);
        let content = content(bytes, over);
        // The rest of a long standard error output is dropped, but git must not block on it.
        if matches!(content, PipeContent::Err { .. }) && over {
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        let _ = sender.send(content);
    });
}

fn shown(args: &[OsString]) -> String {
    args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn trimmed(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.trim().chars().take(STDERR_SHOWN).collect()
}

/// Returns what `git --version` says, without its first two words.
pub fn version() -> Result<String, GitError> {
    let line = Git::outside_repository().run(GitCall::new(["--version"]).unpinned_config())?.line()?;
    Ok(line.strip_prefix("git version ").unwrap_or(&line).to_owned())
}

/// Fails if git is too old. Called before a step that needs a recent one is recorded.
pub(crate) fn insist_on_recent() -> Result<(), GitError> {
    let found = version()?;
    if is_recent(&found) { Ok(()) } else { Err(GitError::TooOld(found)) }
}

/// The oldest git whose `merge-tree`, worktrees and settings by environment pairflow relies on.
pub const OLDEST_GIT: (u32, u32) = (2, 40);

/// Whether a version such as `2.43.0` or `2.39.5 (Apple Git-154)` is new enough; one that cannot be read is not.
pub fn is_recent(version: &str) -> bool {
    let mut numbers = version.split(['.', ' ', '-']).map(|part| part.parse::<u32>().ok());
    matches!((numbers.next(), numbers.next()), (Some(Some(major)), Some(Some(minor))) if (major, minor) >= OLDEST_GIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::OLDEST_GIT;

    #[test]
    fn the_git_of_this_machine_is_new_enough_for_these_tests() {
        let found = version().unwrap();
        assert!(is_recent(&found), "git {found} is too old; install {OLDEST_GIT:?} or newer");
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        for new in ["2.40.0", "2.40", "2.100.1.windows.1", "3.0.0-rc1", "2.47.1 (Apple Git-1)"] {
            assert!(is_recent(new), "{new}");
        }
        for old in ["2.39.5 (Apple Git-154)", "1.99", "2", "", "x.y"] {
            assert!(!is_recent(old), "{old}");
        }
    }
}
