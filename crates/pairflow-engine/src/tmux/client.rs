//! Words for tmux: commands in a row, and the words of a program that must arrive as they are.

use std::ffi::{OsStr, OsString};
use std::io;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
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

/// Commands that tmux does one after the other, until one of them fails.
#[derive(Debug, Default)]
pub(super) struct CommandList {
    words: Vec<OsString>,
    names: Vec<String>,
}

impl CommandList {
    /// Begins with one command.
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

    /// Returns what is asked, for an error: the names of the commands alone.
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
        // A single word would be a line for the default shell, whatever that is.
        [word] => Ok(["/bin/sh", "-c", r#"exec "$0""#, word].map(String::from).to_vec()),
        words => Ok(words.to_vec()),
    }
}

/// A word that ends with a semicolon ends a command, unless a backslash stands before it; tmux drops that one.
fn literal(word: &OsStr) -> OsString {
    let mut bytes = word.as_bytes().to_vec();
    if bytes.last() == Some(&b';') {
        bytes.insert(bytes.len() - 1, b'\\');
    }
    OsString::from_vec(bytes)
}

/// How much of an output is kept: its end.
const KEPT: usize = 1024 * 1024;

/// What a client wrote, and how it ended.
#[derive(Debug)]
pub(super) struct ClientOutput {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// Runs `command` with `input`, which has to fit into a pipe. Returns nothing if it was killed because of `limit`.
pub(super) fn run(mut command: Command, input: &[u8], limit: Duration) -> io::Result<Option<ClientOutput>> {
    let deadline = Instant::now() + limit;
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    match attend(&mut child, input, deadline) {
        Ok(Some((stdout, stderr))) => Ok(Some(ClientOutput { status: child.wait()?, stdout, stderr })),
        other => {
            // It is ours and not waited for, so the id is still its own.
            let _ = child.kill();
            let _ = child.wait();
            other.map(|_| None)
        }
    }
}

type Outputs = (Vec<u8>, Vec<u8>);

/// Reads both outputs to their end, which comes with the end of the client.
fn attend(child: &mut Child, input: &[u8], deadline: Instant) -> io::Result<Option<Outputs>> {
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(input) {
            // A client that ends before it has read says why by its exit code.
            Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(error),
            _ => drop(stdin),
        }
    }
    let mut stdout = PipeReader { pipe: child.stdout.take(), heard: Vec::new() };
    let mut stderr = PipeReader { pipe: child.stderr.take(), heard: Vec::new() };
    while stdout.pipe.is_some() || stderr.pipe.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        let (out, err) = ready(&stdout, &stderr, left)?;
        if out {
            stdout.listen()?;
        }
        if err {
            stderr.listen()?;
        }
    }
    Ok(Some((stdout.heard, stderr.heard)))
}

/// Waits until one of the two can be read without waiting, and says which.
fn ready<A: AsFd, B: AsFd>(out: &PipeReader<A>, err: &PipeReader<B>, left: Duration) -> io::Result<(bool, bool)> {
    let mut polled = Vec::with_capacity(2);
    polled.extend(out.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    let first = polled.len();
    polled.extend(err.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    let left = Timespec::try_from(left).ok();
    match poll(&mut polled, left.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let happened = |at: usize| polled.get(at).is_some_and(|fd| !fd.revents().is_empty());
    Ok((first == 1 && happened(0), happened(first)))
}

struct PipeReader<P> {
    pipe: Option<P>,
    heard: Vec<u8>,
}

impl<P: Read> PipeReader<P> {
    fn listen(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let mut buffer = [0; 16 * 1024];
        match pipe.read(&mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(count) => self.heard.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        let surplus = self.heard.len().saturating_sub(KEPT);
        self.heard.drain(..surplus);
        Ok(())
    }
}

/// Somebody who listens.
#[derive(Debug)]
pub(super) struct ServerConnection {
    // Without a connection the kernel does not say who listens.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux tells who listens"))]
    connection: OwnedFd,
}

impl ServerConnection {
    /// Returns the process that listens and a hold on it, where the kernel tells.
    pub(super) fn process(&self) -> Option<(Pid, Process)> {
        #[cfg(target_os = "linux")]
        let pid = rustix::net::sockopt::socket_peercred(&self.connection).ok()?.pid;
        #[cfg(not(target_os = "linux"))]
        let pid = None?;
        Some((pid, Process::find(pid).ok()??))
    }
}

/// Connects to `socket` and returns who listens; nothing if nobody does. Never waits.
pub(super) fn probe(socket: &Path) -> Result<Option<ServerConnection>, TmuxError> {
    let failed = |errno: Errno| TmuxError::io("connect to", socket, errno);
    let address = SocketAddrUnix::new(socket).map_err(failed)?;
    let connection = open().map_err(failed)?;
    // A server that has hung for long has a full queue, and a caller that waits for a place in it hangs as well.
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
