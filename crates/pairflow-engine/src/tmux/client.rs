//! One tmux client: its command line, its run within a time limit and with bounded output, and a probe of the socket.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use rustix::process::Pid;

use super::error::TmuxError;
use crate::process::Process;

/// Commands that tmux runs one after the other, until one fails.
#[derive(Debug, Default)]
pub(super) struct CommandList {
    words: Vec<OsString>,
    names: Vec<String>,
}

impl CommandList {
    /// Starts with one command.
    pub(super) fn of<W: AsRef<OsStr>>(command: impl IntoIterator<Item = W>) -> Self {
        Self::default().then(command)
    }

    /// Adds a command.
    pub(super) fn then<W: AsRef<OsStr>>(mut self, command: impl IntoIterator<Item = W>) -> Self {
        if !self.words.is_empty() {
            self.words.push(";".into());
        }
        let begins = self.words.len();
        self.words.extend(command.into_iter().map(|word| literal(word.as_ref())));
        self.names.extend(self.words.get(begins).map(|word| word.to_string_lossy().into_owned()));
        self
    }

    /// Returns the words for the command line of a client.
    pub(super) fn words(&self) -> &[OsString] {
        &self.words
    }

    /// Returns the names of the commands, for an error.
    pub(super) fn call(&self) -> String {
        let mut names = self.names.clone();
        names.dedup();
        names.join(", ")
    }
}

/// Returns the words with which tmux starts `argv` without a shell.
pub(super) fn program(argv: &[String]) -> Result<Vec<String>, TmuxError> {
    match argv {
        [] => Err(TmuxError::refused("a program without a name")),
        words if words.iter().any(|word| word.contains('\0')) => Err(TmuxError::refused("a word with a zero byte")),
        // tmux passes a single word to the default shell.
        [word] => Ok(["/bin/sh", "-c", r#"exec "$0""#, word].map(String::from).to_vec()),
        words => Ok(words.to_vec()),
    }
}

/// Escapes a final semicolon, which would end the command; tmux drops the backslash.
fn literal(word: &OsStr) -> OsString {
    let mut bytes = word.as_bytes().to_vec();
    if bytes.last() == Some(&b';') {
        bytes.insert(bytes.len() - 1, b'\\');
    }
    OsString::from_vec(bytes)
}

/// How much of the end of an output is kept.
const KEPT: usize = 1024 * 1024;

/// The output of a client, and how it ended.
#[derive(Debug)]
pub(super) struct ClientOutput {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// Runs `command` with `input`, which has to fit into a pipe. Returns `None` if it was killed after `limit`.
pub(super) fn run(mut command: Command, input: &[u8], limit: Duration) -> io::Result<Option<ClientOutput>> {
    let deadline = Instant::now() + limit;
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    match read_outputs(&mut child, input, deadline) {
        Ok(Some([stdout, stderr])) => Ok(Some(ClientOutput { status: child.wait()?, stdout, stderr })),
        other => {
            // It was not waited for, so the process id is still its own.
            let _ = child.kill();
            let _ = child.wait();
            other.map(|_| None)
        }
    }
}

/// Reads stdout and stderr to their end, which comes with the end of the client; `None` if that takes too long.
fn read_outputs(child: &mut Child, input: &[u8], deadline: Instant) -> io::Result<Option<[Vec<u8>; 2]>> {
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(input) {
            // A client that ends before it has read says why by its exit code.
            Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(error),
            _ => drop(stdin),
        }
    }
    let mut pipes = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
    let mut outputs = [Vec::new(), Vec::new()];
    while pipes.iter().any(Option::is_some) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        for at in readable(&pipes, left)? {
            if read_some(&mut pipes[at], &mut outputs[at])? == 0 {
                pipes[at] = None;
            }
        }
    }
    Ok(Some(outputs))
}

/// Waits until a pipe can be read without blocking, and returns which.
fn readable(pipes: &[Option<OwnedFd>; 2], limit: Duration) -> io::Result<Vec<usize>> {
    let open = || pipes.iter().enumerate().filter_map(|(at, pipe)| pipe.as_ref().map(|pipe| (at, pipe)));
    let mut polled: Vec<_> = open().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN)).collect();
    match poll(&mut polled, Timespec::try_from(limit).ok().as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let ready = open().zip(&polled).filter(|(_, polled)| !polled.revents().is_empty());
    Ok(ready.map(|((at, _), _)| at).collect())
}

/// Reads what a pipe has, keeps the end of it all, and returns how much was read.
fn read_some(pipe: &mut Option<OwnedFd>, output: &mut Vec<u8>) -> io::Result<usize> {
    let Some(pipe) = pipe else { return Ok(0) };
    let mut buffer = [0; 16 * 1024];
    let count = match rustix::io::read(pipe, &mut buffer) {
        Err(Errno::INTR) => return Ok(1),
        read => read?,
    };
    output.extend_from_slice(&buffer[..count]);
    output.drain(..output.len().saturating_sub(KEPT));
    Ok(count)
}

/// A connection to a server that listens.
#[derive(Debug)]
pub(super) struct ServerConnection {
    // The kernel names the listener of a connection only.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux tells who listens"))]
    connection: OwnedFd,
}

impl ServerConnection {
    /// Returns the process that listens, where the kernel tells.
    pub(super) fn process(&self) -> Option<(Pid, Process)> {
        #[cfg(target_os = "linux")]
        let pid = rustix::net::sockopt::socket_peercred(&self.connection).ok()?.pid;
        #[cfg(not(target_os = "linux"))]
        let pid = None?;
        Some((pid, Process::find(pid).ok()??))
    }
}

/// Connects to `socket` without asking tmux; `None` if no server listens. Never waits.
pub(super) fn probe(socket: &Path) -> Result<Option<ServerConnection>, TmuxError> {
    let failed = |errno: Errno| TmuxError::io("connect to", socket, errno);
    let address = SocketAddrUnix::new(socket).map_err(failed)?;
    let connection = open().map_err(failed)?;
    // A server that hangs has a full queue; a caller that waits for a place in it would hang, too.
    rustix::io::ioctl_fionbio(&connection, true).map_err(failed)?;
    match rustix::net::connect(&connection, &address) {
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS) => Ok(Some(ServerConnection { connection })),
        Err(Errno::NOENT | Errno::CONNREFUSED) => Ok(None),
        Err(errno) => Err(failed(errno)),
    }
}

/// Returns a socket that no program we start inherits.
fn open() -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    return rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, rustix::net::SocketFlags::CLOEXEC, None);
    #[cfg(not(target_os = "linux"))]
    {
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
        Ok(socket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_parted_by_semicolons_and_words_are_not() {
        let commands = CommandList::of(["set", "a;", ";", r"\;", "b;c"]).then(["list-panes"]);
        assert_eq!(commands.words(), ["set", r"a\;", r"\;", r"\\;", "b;c", ";", "list-panes"]);
        assert_eq!(commands.call(), "set, list-panes");
    }

    #[test]
    fn one_word_is_not_left_to_the_default_shell() {
        let words = |argv: &[&str]| program(&argv.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&["a b; c"]).unwrap(), ["/bin/sh", "-c", r#"exec "$0""#, "a b; c"]);
        assert_eq!(words(&["a", "b"]).unwrap(), ["a", "b"]);
        assert!(matches!(words(&[]), Err(TmuxError::Refused { .. })));
        assert!(matches!(words(&["a", "b\0"]), Err(TmuxError::Refused { .. })));
    }

    fn shell(line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]);
        command
    }

    #[test]
    fn both_outputs_and_the_exit_code_are_heard() {
        let said = run(shell("cat; echo no >&2; exit 3"), b"yes", Duration::from_secs(20)).unwrap().unwrap();
        assert_eq!((said.stdout.as_slice(), said.stderr.as_slice()), (&b"yes"[..], &b"no\n"[..]));
        assert_eq!(said.status.code(), Some(3));
    }

    #[test]
    fn who_takes_too_long_is_killed() {
        let began = Instant::now();
        assert!(run(shell("exec cat /dev/zero"), b"", Duration::from_millis(100)).unwrap().is_none());
        assert!(run(shell("exec sleep 60"), b"", Duration::from_millis(100)).unwrap().is_none());
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn of_a_flood_the_end_is_kept() {
        let line = "head -c 3000000 /dev/zero; echo end";
        let said = run(shell(line), b"", Duration::from_secs(20)).unwrap().unwrap();
        assert_eq!(said.stdout.len(), KEPT);
        assert!(said.stdout.ends_with(b"\0end\n"));
    }
}
