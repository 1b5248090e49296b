//! Runs one tmux client, within a time limit and with bounded output.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How much of an output is kept: its end.
const KEPT: usize = 1024 * 1024;

/// What a client wrote, and how it ended.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// Runs `command` with `input`, which has to fit into a pipe. Returns nothing if it was killed because of `limit`.
pub(super) fn run(mut command: Command, input: &[u8], limit: Duration) -> io::Result<Option<Said>> {
    let deadline = Instant::now() + limit;
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    match attend(&mut child, input, deadline) {
        Ok(Some((stdout, stderr))) => Ok(Some(Said { status: child.wait()?, stdout, stderr })),
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
    let mut stdout = Ear { pipe: child.stdout.take(), heard: Vec::new() };
    let mut stderr = Ear { pipe: child.stderr.take(), heard: Vec::new() };
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
fn ready<A: AsFd, B: AsFd>(out: &Ear<A>, err: &Ear<B>, left: Duration) -> io::Result<(bool, bool)> {
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

struct Ear<P> {
    pipe: Option<P>,
    heard: Vec<u8>,
}

impl<P: Read> Ear<P> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
