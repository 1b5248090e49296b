//! The server as a whole: how it is called, whether it runs, and how it is ended.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::client::CommandList;
use super::client::probe;
use super::client::{ClientOutput, run};
use super::error::TmuxError;
use super::error::{PaneId, exact};
use crate::process::Process;

/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a server may take to end, after each of several signals.
const END_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(5);
const STDERR_SHOWN: usize = 500;

/// What the server gets of the environment: enough to find programs and the person's configuration.
const VARIABLES: &str = "PATH HOME USER LOGNAME SHELL TERM COLORTERM LANG LANGUAGE TZ TMPDIR XDG_CONFIG_HOME";
const VARIABLE_PREFIX: &str = "LC_";

/// A tmux server with a socket of its own, which may or may not be running.
#[derive(Debug, Clone)]
pub struct Tmux {
    socket: PathBuf,
    program: PathBuf,
    env: Vec<(String, String)>,
    patience: Duration,
}

impl Tmux {
    /// Describes the server on `socket`, whose directory has to exist and be private. Of `env`, the person's environment,
    /// the server gets only paths, languages and the terminal, because everything in its panes could read it.
    pub fn new(socket: impl Into<PathBuf>, env: impl IntoIterator<Item = (String, String)>) -> Self {
        let known = |name: &str| VARIABLES.split(' ').any(|one| one == name) || name.starts_with(VARIABLE_PREFIX);
        let env = env.into_iter().filter(|(name, _)| known(name)).collect();
        Self { socket: socket.into(), program: "tmux".into(), env, patience: PATIENCE }
    }

    /// Uses another program than the `tmux` on the search path.
    pub fn with_program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// Waits longer, or less, than usual for an answer.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Returns the socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Whether a server is running.
    pub fn is_there(&self) -> bool {
        probe(&self.socket).is_ok_and(|listener| listener.is_some())
    }

    /// Ends the server and every pane, even if it does not answer. It is no error if there is none.
    pub fn kill_server(&self) -> Result<(), TmuxError> {
        let Some(listener) = probe(&self.socket)? else { return self.clean() };
        let process = listener.process();
        drop(listener);
        let asked = self.call_with(
            &CommandList::of(["kill-server"]),
            CallOptions { limit: Some(END_TIMEOUT), ..CallOptions::default() },
        );
        // A server that does not answer gets no time to end; for any other it counts whether it is gone.
        let listens = !matches!(asked, Err(TmuxError::TimedOut { .. }));
        for signal in [None, Some(Signal::TERM), Some(Signal::KILL)].into_iter().skip(usize::from(!listens)) {
            if let (Some((pid, _)), Some(signal)) = (&process, signal) {
                // An error means that it is gone already.
                let _ = rustix::process::kill_process(*pid, signal);
            }
            if self.is_gone_within(END_TIMEOUT, process.as_ref().map(|(_, process)| process))? {
                return self.clean();
            }
        }
        Err(TmuxError::TimedOut { call: "kill-server".into(), millis: END_TIMEOUT.as_millis() * 3 })
    }

    /// Returns the command that attaches to `session`. It works inside another tmux, too.
    pub fn attach_argv(&self, session: &str) -> Vec<OsString> {
        // tmux refuses to be started inside of tmux, which is what it takes us for when `$TMUX` is set.
        let mut words: Vec<OsString> = ["env", "-u", "TMUX", "-u", "TMUX_PANE"].map(OsString::from).to_vec();
        words.extend([self.program.clone().into(), "-N".into(), "-S".into(), self.socket.clone().into()]);
        words.extend(["attach-session", "-t", &exact(session)].map(OsString::from));
        words
    }

    /// Runs `commands` in a running server.
    pub(super) fn call(&self, commands: &CommandList) -> Result<String, TmuxError> {
        self.call_with(commands, CallOptions::default())
    }

    /// Runs one command about `pane` in a running server.
    pub(super) fn call_pane<W: AsRef<OsStr>>(
        &self,
        pane: &PaneId,
        command: impl IntoIterator<Item = W>,
    ) -> Result<String, TmuxError> {
        self.call_at(pane, &CommandList::of(command), CallOptions::default())
    }

    /// Runs `commands` about `pane` in a running server.
    pub(super) fn call_at(
        &self,
        pane: &PaneId,
        commands: &CommandList,
        options: CallOptions<'_>,
    ) -> Result<String, TmuxError> {
        let failed = match self.call_with(commands, options) {
            Err(failed @ TmuxError::Failed { .. }) => failed,
            answer => return answer,
        };
        let there = self.list()?.iter().any(|one| one.id == *pane);
        Err(if there { failed } else { TmuxError::NoPane { pane: pane.clone() } })
    }

    /// Returns the version that tmux reports.
    pub(super) fn version(&self) -> Result<String, TmuxError> {
        let said = self.run("-V", self.client(&["-V".into()]), &[], self.patience)?;
        Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
    }

    /// Runs `commands`, and starts a server if there is none.
    pub(super) fn call_starting(&self, commands: &CommandList, config: Option<&Path>) -> Result<String, TmuxError> {
        let mut words: Vec<OsString> = config.iter().flat_map(|file| ["-f".into(), file.into()]).collect();
        words.extend(commands.words().iter().cloned());
        // A configuration that starts plugins takes time.
        let said = self.run(&commands.call(), self.client(&words), &[], self.patience * 2)?;
        self.answer_of(commands, said)
    }

    /// Runs `commands` in a running server.
    pub(super) fn call_with(&self, commands: &CommandList, options: CallOptions<'_>) -> Result<String, TmuxError> {
        if probe(&self.socket)?.is_none() {
            return Err(self.no_server());
        }
        let mut words: Vec<OsString> = vec!["-N".into()];
        words.extend(commands.words().iter().cloned());
        let mut client = self.client(&words);
        if let Some(cwd) = options.cwd {
            // A client that cannot enter its directory looks like a missing tmux.
            std::fs::read_dir(cwd).map_err(|source| TmuxError::io("start a program in", cwd, source))?;
            client.current_dir(cwd);
        }
        let limit = options.limit.unwrap_or(self.patience);
        let said = self.run(&commands.call(), client, options.input, limit)?;
        self.answer_of(commands, said)
    }

    fn answer_of(&self, commands: &CommandList, said: ClientOutput) -> Result<String, TmuxError> {
        if said.status.success() {
            return Ok(String::from_utf8_lossy(&said.stdout).into_owned());
        }
        if probe(&self.socket)?.is_none() {
            return Err(self.no_server());
        }
        let stderr = String::from_utf8_lossy(&said.stderr).trim().chars().take(STDERR_SHOWN).collect();
        Err(TmuxError::Failed { call: commands.call(), code: said.status.code(), stderr })
    }

    fn run(&self, call: &str, command: Command, input: &[u8], limit: Duration) -> Result<ClientOutput, TmuxError> {
        match run(command, input, limit) {
            Ok(Some(said)) => Ok(said),
            Ok(None) => Err(TmuxError::TimedOut { call: call.to_owned(), millis: limit.as_millis() }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(TmuxError::NotInstalled),
            Err(source) => Err(TmuxError::io("run", &self.program, source)),
        }
    }

    fn client(&self, words: &[OsString]) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        if !self.env.iter().any(|(name, _)| name == "PATH") {
            // Without PATH, only a tmux in the system's own directories would be found.
            command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        }
        // Without `-u`, names and titles lose letters that the client's locale does not have.
        command.arg("-u").arg("-S").arg(&self.socket).args(words).current_dir("/");
        command
    }

    fn no_server(&self) -> TmuxError {
        TmuxError::NoServer { socket: self.socket.clone() }
    }

    fn is_gone_within(&self, limit: Duration, process: Option<&Process>) -> Result<bool, TmuxError> {
        let deadline = Instant::now() + limit;
        while probe(&self.socket)?.is_some() || process.is_some_and(|process| !process.is_gone()) {
            if Instant::now() >= deadline {
                return Ok(false);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(true)
    }

    /// Removes what a server leaves behind: its socket and its start-up lock.
    fn clean(&self) -> Result<(), TmuxError> {
        let mut lock = self.socket.clone().into_os_string();
        lock.push(".lock");
        for file in [&self.socket, Path::new(&lock)] {
            match std::fs::remove_file(file) {
                Err(source) if source.kind() != ErrorKind::NotFound => {
                    return Err(TmuxError::io("remove", file, source));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// What a call needs beside its commands.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct CallOptions<'a> {
    /// The client's input; less than a pipe holds.
    pub(super) input: &'a [u8],
    /// The working directory of the client, and so of a program that it starts.
    pub(super) cwd: Option<&'a Path>,
    /// How long to wait, if not as long as usual.
    pub(super) limit: Option<Duration>,
}
