//! A job, and starting it as the first process of its own group, with a filtered environment and a way to cancel it.
//!
//! We may die between the start of a process and the record of it. So what is started is a shell that waits for one
//! line; it runs the job only after the group is on record, and ends with us if that line never comes.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions};

use super::{JobKind, MARK, ProcessRecord, Registration, identity, registry};

const SHELL: &str = "/bin/sh";
const GATE: &str = r#"read -r gate && exec "$@" </dev/null"#;

/// A started process group, and the pipe that closes when its first process has ended.
pub(super) struct ProcessGroup {
    child: Child,
    pub(super) record: ProcessRecord,
    file: Option<PathBuf>,
    pub(super) exit: PipeReader,
}

impl ProcessGroup {
    /// Starts `job` with both of its outputs going into `output`.
    pub(super) fn start(job: &Job, output: PipeWriter) -> Result<Self, String> {
        let mark = fresh_mark();
        let mut command = gated(job, &mark, output).map_err(|error| cannot(job, &error))?;
        let mut child = command.spawn().map_err(|error| cannot(job, &error))?;
        // Our copies of the output's writing end live in `command`; the reader waits for their end.
        drop(command);
        let record = record_of(job, &child, mark);
        match register_and_release(job, &mut child, &record) {
            Ok((exit, file)) => Ok(Self { child, record, file, exit }),
            Err(why) => {
                // The gate was not opened, so nothing but the waiting shell has run; `wait` closes its input first.
                let _ = child.wait();
                Err(why)
            }
        }
    }

    /// Waits for the first process, which has ended, and takes the group off the record.
    pub(super) fn finish(mut self) -> Option<ExitStatus> {
        let status = self.child.wait().ok();
        if let Some(file) = &self.file {
            // A record that stays behind names a process that is gone, so the next reap drops it.
            let _ = registry::remove(file);
        }
        status
    }
}

/// Puts the waiting shell on record and lets it go on.
fn register_and_release(
    job: &Job,
    child: &mut Child,
    record: &ProcessRecord,
) -> Result<(PipeReader, Option<PathBuf>), String> {
    let exit = watch(child.id()).map_err(|error| cannot(job, &error))?;
    let file = match &job.registry {
        Some(registration) => Some(registry::write(&registration.dir, record).map_err(|error| error.to_string())?),
        None => None,
    };
    let mut gate = child.stdin.take().expect("the gate is piped and opened once");
    gate.write_all(b"go\n").map_err(|error| cannot(job, &error))?;
    Ok((exit, file))
}

fn gated(job: &Job, mark: &str, output: PipeWriter) -> io::Result<Command> {
    let mut command = Command::new(SHELL);
    command.args(["-c", GATE, "sh"]);
    match &job.command {
        JobCommand::Shell(line) => command.args([SHELL, "-c", line]),
        JobCommand::Argv(words) => command.args(words),
    };
    command.current_dir(&job.cwd);
    command.env_clear().envs(inherited(std::env::vars_os()));
    command.envs(job.env.iter().map(|(name, value)| (name, value))).env(MARK, mark);
    command.stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output).process_group(0);
    Ok(command)
}

/// Returns a pipe that is closed when process `id` has ended. The process is left for us to wait for, so that its id
/// stays ours until we have dealt with the rest of its group.
fn watch(id: u32) -> io::Result<PipeReader> {
    let (exit, alive) = io::pipe()?;
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a child's id is a positive number that fits the kernel's type");
    std::thread::Builder::new().name(format!("wait-{id}")).spawn(move || {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(rustix::process::waitid(WaitId::Pid(pid), ended), Err(Errno::INTR)) {}
        drop(alive);
    })?;
    Ok(exit)
}

fn record_of(job: &Job, child: &Child, mark: String) -> ProcessRecord {
    let pid = i32::try_from(child.id()).unwrap_or_default();
    let start = identity::of(pid).map(|stat| stat.start).unwrap_or_default();
    let (kind, what) = match &job.registry {
        Some(registration) => (registration.kind, registration.what.clone()),
        None => (JobKind::Check, job.command.to_string()),
    };
    ProcessRecord { kind, what, pid, start, boot: identity::boot(), mark }
}

/// Returns a mark that no other group of this boot has.
pub fn fresh_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let start = identity::own().map(|stat| stat.start).unwrap_or_default();
    format!("{}.{start}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn cannot(job: &Job, error: &io::Error) -> String {
    format!("cannot start `{}` in {}: {error}", job.command, job.cwd.display())
}

/// What is run, and within which limits.
#[derive(Debug, Clone)]
pub struct Job {
    /// What is run.
    pub command: JobCommand,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Variables on top of the few that are inherited.
    pub env: Vec<(String, String)>,
    /// How long it may run; nothing means without limit.
    pub timeout: Option<Duration>,
    /// How much of its output is kept in memory.
    pub max_output_bytes: usize,
    /// A file that gets the output as well, at most 10 MiB of it together with its predecessor.
    pub log: Option<PathBuf>,
    /// Where the group is recorded while it runs.
    pub registry: Option<Registration>,
}

/// What a job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobCommand {
    /// A line for `sh -c`, such as `cd web && npm test`.
    Shell(String),
    /// A program and its arguments.
    Argv(Vec<String>),
}

impl fmt::Display for JobCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(line) => f.write_str(line),
            Self::Argv(words) => f.write_str(&words.join(" ")),
        }
    }
}

/// Ends every job that was given a clone of it, at once. It cannot be taken back.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    // Closing the only writer makes the reader readable for every poller, for ever: one wake-up for any number of jobs.
    writer: Mutex<Option<PipeWriter>>,
    reader: PipeReader,
}

impl Cancel {
    /// Makes a flag that is not raised.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self(Arc::new(Inner { writer: Mutex::new(Some(writer)), reader })))
    }

    /// Raises the flag and wakes every job that waits for it.
    pub fn cancel(&self) {
        self.writer().take();
    }

    /// Whether the flag is raised.
    pub fn is_cancelled(&self) -> bool {
        self.writer().is_none()
    }

    fn writer(&self) -> MutexGuard<'_, Option<PipeWriter>> {
        self.0.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wake(&self) -> BorrowedFd<'_> {
        self.0.reader.as_fd()
    }
}

/// Who and where.
const PERSON: &str = "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM COLORTERM NO_COLOR TMPDIR TZ CI";

/// Where tools look for their files. The directory of sockets and the one of states are not among them.
const DIRECTORIES: &str = "XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME";

/// Where toolchains and their caches live: without them a check would use another compiler than the person does.
const TOOLS: &str = "CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTC_WRAPPER \
    NVM_DIR NVM_BIN PNPM_HOME VOLTA_HOME FNM_DIR FNM_MULTISHELL_PATH COREPACK_HOME BUN_INSTALL DENO_DIR \
    GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOTOOLCHAIN \
    PYENV_ROOT PYENV_VERSION VIRTUAL_ENV CONDA_PREFIX UV_CACHE_DIR POETRY_HOME \
    JAVA_HOME GRADLE_USER_HOME MAVEN_HOME SDKMAN_DIR RBENV_ROOT GEM_HOME GEM_PATH \
    ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR HOMEBREW_PREFIX NIX_PATH NIX_PROFILES";

/// How to reach a package registry.
const NETWORK: &str = "SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE NO_PROXY no_proxy";

/// How to reach it through a proxy; names and passwords in them are left out.
const PROXIES: &str = "HTTP_PROXY HTTPS_PROXY http_proxy https_proxy";

const PREFIXES: &[&str] = &["LC_"];

/// Whether a job may see the variable `name` of our own environment.
pub fn may_inherit(name: &str) -> bool {
    let lists = [PERSON, DIRECTORIES, TOOLS, NETWORK, PROXIES];
    lists.iter().any(|list| lists_name(list, name)) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns those of `ours` that a job may see.
pub fn inherited(ours: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let seen = |(name, value): (OsString, OsString)| {
        let text = name.to_str().filter(|name| may_inherit(name))?;
        // A proxy that is no text may hold a password as well.
        let value = if lists_name(PROXIES, text) { without_password(value.to_str()?).into() } else { value };
        Some((name, value))
    };
    ours.filter_map(seen).collect()
}

fn lists_name(list: &str, name: &str) -> bool {
    list.split(' ').any(|one| one == name)
}

/// Returns the address of a proxy without the name and the password that it may hold.
fn without_password(proxy: &str) -> String {
    let (scheme, rest) = proxy.split_once("://").map_or(("", proxy), |(scheme, rest)| (scheme, rest));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
}

/// Returns our own environment; variables that are not UTF-8 are left out.
pub(crate) fn environment() -> Vec<(String, String)> {
    as_text(std::env::vars_os())
}

fn as_text(ours: impl Iterator<Item = (OsString, OsString)>) -> Vec<(String, String)> {
    ours.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_runs_when_the_starter_dies_before_the_group_is_on_record() {
        let dir = tempfile::tempdir().unwrap();
        let mut shell = Command::new(SHELL);
        shell.args(["-c", GATE, "sh", "touch", "ran"]).current_dir(dir.path()).stdin(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        // What the kernel does to our end of the gate when we die.
        drop(child.stdin.take());
        assert!(!child.wait().unwrap().success());
        assert!(!dir.path().join("ran").exists());
    }

    #[test]
    fn a_variable_that_is_no_text_is_left_out() {
        use std::os::unix::ffi::OsStringExt;
        let odd = || OsString::from_vec(vec![b'a', 0xff]);
        let ours = [("A".into(), "b".into()), ("C".into(), odd()), (odd(), "d".into())];
        assert_eq!(as_text(ours.into_iter()), [("A".to_owned(), "b".to_owned())]);
    }

    #[test]
    fn a_job_sees_where_its_tools_are_and_nothing_secret() {
        for name in [
            "PATH",
            "HOME",
            "LC_ALL",
            "XDG_CACHE_HOME",
            "https_proxy",
            "CARGO_HOME",
            "PNPM_HOME",
            "GOPATH",
            "PYENV_ROOT",
        ] {
            assert!(may_inherit(name), "{name}");
        }
        for name in
            ["PAIRFLOW_TOKEN", "GIT_DIR", "LD_PRELOAD", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"]
        {
            assert!(!may_inherit(name), "{name}");
        }
    }

    #[test]
    fn a_proxy_is_handed_on_without_its_password() {
        for (proxy, expected) in [
            ("http://ada:secret@proxy:3128", "http://proxy:3128"),
            ("ada:se@cret@proxy:3128", "proxy:3128"),
            ("http://ada:a/b@proxy/", "http://proxy/"),
            ("http://proxy:3128/", "http://proxy:3128/"),
        ] {
            let ours = [("https_proxy".into(), proxy.into())];
            assert_eq!(inherited(ours.into_iter()), [("https_proxy".into(), OsString::from(expected))]);
        }
    }
}
