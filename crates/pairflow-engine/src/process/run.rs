//! Runs a job to its end: keeps its output within limits, and ends the whole group when the job ends, times out or is
//! cancelled.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pairflow_core::safe::safe;
use pairflow_core::text::counted;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::group::ProcessGroup;
use super::registry::{GroupTermination, PAUSE};
use super::{Cancel, Job};

/// The result of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobResult {
    /// The exit code, unless a signal ended the first process.
    pub exit: Option<i32>,
    /// The signal that ended it, otherwise.
    pub signal: Option<i32>,
    /// Whether it was ended because its time was up.
    pub timed_out: bool,
    /// Whether it was ended because it was cancelled.
    pub cancelled: bool,
    /// Why the command did not run at all, as a sentence; also for a shell that could not find or execute it.
    pub could_not_start: Option<String>,
    /// Both outputs in the order they were written, the middle cut when there was too much.
    pub output: Vec<u8>,
    /// How long it took, the end of the group included.
    pub duration: Duration,
}

/// A job that runs on its own.
#[derive(Debug)]
pub struct RunningJob {
    pid: i32,
    cancel: Cancel,
    attendant: JoinHandle<JobResult>,
}

impl RunningJob {
    /// Returns the id of the first process, which is that of its group.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns the handle that ends the whole group: SIGTERM, then SIGKILL.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Waits until the whole group has ended.
    pub fn wait(self) -> JobResult {
        let lost = |_| JobResult {
            could_not_start: Some("the thread that watched it panicked".into()),
            ..JobResult::default()
        };
        self.attendant.join().unwrap_or_else(lost)
    }
}

/// Runs `job` and returns when its whole group has ended. `cancel` ends it early.
pub fn run(job: &Job, cancel: &Cancel) -> JobResult {
    match StartedJob::of(job) {
        Ok(prepared) => prepared.finish(cancel),
        Err(why) => JobResult { could_not_start: Some(why), ..JobResult::default() },
    }
}

/// Starts `job` and returns once it runs; a thread attends it. The error is a sentence.
pub fn start(job: &Job, cancel: &Cancel) -> Result<RunningJob, String> {
    let prepared = StartedJob::of(job)?;
    let pid = prepared.group.record.pid;
    let theirs = cancel.clone();
    let attendant = std::thread::Builder::new()
        .name(format!("attend-{pid}"))
        .spawn(move || prepared.finish(&theirs))
        .map_err(|error| format!("cannot watch `{}`: {error}", job.command))?;
    Ok(RunningJob { pid, cancel: cancel.clone(), attendant })
}

struct StartedJob {
    group: ProcessGroup,
    reader: PipeReader,
    output: JobOutput,
    timeout: Option<Duration>,
    began: Instant,
}

impl StartedJob {
    fn of(job: &Job) -> Result<Self, String> {
        let log = match &job.log {
            Some(path) => Some(
                RollingLog::open(path, LOG_LIMIT)
                    .map_err(|error| format!("cannot open the log {}: {error}", path.display()))?,
            ),
            None => None,
        };
        let (reader, writer) = io::pipe().map_err(|error| format!("cannot make a pipe: {error}"))?;
        let began = Instant::now();
        let group = ProcessGroup::start(job, writer)?;
        let output = JobOutput { capture: Capture::new(job.max_output_bytes), log };
        Ok(Self { group, reader, output, timeout: job.timeout, began })
    }

    fn finish(self, cancel: &Cancel) -> JobResult {
        let Self { group, reader, mut output, timeout, began } = self;
        let result = wait_for_end(group, reader, &mut output, timeout, cancel);
        let output = output.capture.into_bytes();
        let ended_itself = result.exit.filter(|_| !result.timed_out && !result.cancelled);
        let could_not_start = ended_itself.and_then(|code| not_started(code, &output));
        JobResult { could_not_start, output, duration: began.elapsed(), ..result }
    }
}

/// A shell ends with 126 or 127 when what it was to run cannot be executed or found.
fn not_started(code: i32, output: &[u8]) -> Option<String> {
    let what = match code {
        126 => "a command could not be executed",
        127 => "a command was not found",
        _ => return None,
    };
    Some(format!("{what} (exit code {code}): {}", tail(output, 1, 300)))
}

/// How much is still read after the group has ended: more than any pipe holds.
const DRAIN_LIMIT: usize = 2 * 1024 * 1024;

/// How long the notice of the first process's end may lag.
const EXIT_PATIENCE: Duration = Duration::from_secs(1);

/// Where output goes: some of it into memory, all of it into a log, if there is one.
pub(super) struct JobOutput {
    pub(super) capture: Capture,
    pub(super) log: Option<RollingLog>,
}

impl JobOutput {
    fn take(&mut self, bytes: &[u8]) {
        self.capture.take(bytes);
        // A full disk must neither block the job nor end it; that the log stops is said where it is looked for.
        if let Some(Err(error)) = self.log.as_mut().map(|log| log.write(bytes)) {
            self.capture.take(format!("\n[the log could not be written: {error}]\n").as_bytes());
            self.log = None;
        }
    }
}

/// Reads the output of `group` until all of it has ended.
pub(super) fn wait_for_end(
    group: ProcessGroup,
    reader: PipeReader,
    output: &mut JobOutput,
    timeout: Option<Duration>,
    cancel: &Cancel,
) -> JobResult {
    let deadline = timeout.and_then(|limit| Instant::now().checked_add(limit));
    let mut reader_state = OutputReader { output: Some(reader), exited: false, buffer: vec![0; 64 * 1024] };
    let (timed_out, cancelled) = loop {
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        match (reader_state.exited, cancel.is_cancelled(), left) {
            (true, _, _) => break (false, false),
            (_, true, _) => break (false, true),
            (_, _, Some(Duration::ZERO)) => break (true, false),
            _ => reader_state.poll_once(&group, output, left, Some(cancel)),
        }
    };
    let mut ending = GroupTermination::new(&group.record);
    while !ending.step(reader_state.exited) {
        let until = Instant::now() + PAUSE;
        while Instant::now() < until {
            reader_state.poll_once(&group, output, Some(until.saturating_duration_since(Instant::now())), None);
        }
    }
    reader_state.drain(&group, output);
    // A process that survives SIGKILL hangs in the kernel; waiting for it would hang us, too.
    let status = if reader_state.exited { group.finish() } else { None };
    let (exit, signal) = (status.and_then(|status| status.code()), status.and_then(|status| status.signal()));
    JobResult { exit, signal, timed_out, cancelled, ..JobResult::default() }
}

struct OutputReader {
    output: Option<PipeReader>,
    exited: bool,
    buffer: Vec<u8>,
}

impl OutputReader {
    /// Waits until something happens or `timeout` has passed, and takes in at most one piece of output. Returns early
    /// rather than late, so callers look at the clock themselves.
    fn poll_once(
        &mut self,
        group: &ProcessGroup,
        output: &mut JobOutput,
        timeout: Option<Duration>,
        cancel: Option<&Cancel>,
    ) {
        let mut polled = Vec::with_capacity(3);
        polled.extend(self.output.as_ref().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
        let speaks = polled.len();
        polled.extend(cancel.map(|it| PollFd::from_borrowed_fd(it.wake(), PollFlags::IN)));
        let exits = polled.len();
        if !self.exited {
            polled.push(PollFd::from_borrowed_fd(group.exit.as_fd(), PollFlags::IN));
        }
        let timeout = timeout.and_then(|it| Timespec::try_from(it).ok());
        if poll(&mut polled, timeout.as_ref()).is_err() {
            return;
        }
        let happened = |at: usize| polled.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let exited = happened(exits);
        if speaks == 1 && happened(0) {
            self.read(output);
        }
        self.exited |= exited;
    }

    /// Reads one piece and returns whether there was one.
    fn read(&mut self, output: &mut JobOutput) -> usize {
        let Some(pipe) = &mut self.output else { return 0 };
        match pipe.read(&mut self.buffer) {
            Ok(0) => self.output = None,
            Ok(count) => {
                output.take(&self.buffer[..count]);
                return count;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => self.output = None,
        }
        0
    }

    /// Takes in what is in the pipe already, without waiting for processes that may still hold it open.
    fn drain(&mut self, group: &ProcessGroup, output: &mut JobOutput) {
        let mut taken = 0;
        while taken < DRAIN_LIMIT {
            let Some(pipe) = &self.output else { break };
            let mut polled = [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)];
            let ready = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
            match ready {
                Ok(0) => break,
                Ok(_) => taken += self.read(output).max(1),
                Err(_) => taken += 1,
            }
        }
        let until = Instant::now() + EXIT_PATIENCE;
        while !self.exited && Instant::now() < until {
            self.poll_once(group, output, Some(until.saturating_duration_since(Instant::now())), None);
        }
    }
}

/// The head and the tail of what was written; the middle is only counted.
#[derive(Debug)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    dropped: u64,
}

impl Capture {
    /// Makes a capture that keeps at most `limit` bytes (and one line that says how much is missing).
    pub fn new(limit: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: limit / 2, dropped: 0 }
    }

    /// Takes the next bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        let room = self.half - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let (skipped, kept) = rest.split_at(rest.len().saturating_sub(self.half));
        let surplus = (self.tail.len() + kept.len()).saturating_sub(self.half);
        self.tail.drain(..surplus);
        self.tail.extend(kept);
        self.dropped += (skipped.len() + surplus) as u64;
    }

    /// Returns what was kept, with a note in place of what was not.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut all = self.head;
        if self.dropped > 0 {
            all.extend_from_slice(format!("\n[… {} left out …]\n", counted(self.dropped, "byte")).as_bytes());
        }
        all.extend(self.tail);
        all
    }
}

/// How much the log and its predecessor may hold together.
pub(super) const LOG_LIMIT: u64 = 10 * 1024 * 1024;

pub(super) struct RollingLog {
    path: PathBuf,
    file: File,
    size: u64,
    half: u64,
}

impl RollingLog {
    pub(super) fn open(path: &Path, limit: u64) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let file = crate::regular::append(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, size, half: limit / 2 })
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.size >= self.half {
                self.roll()?;
            }
            let room = usize::try_from(self.half - self.size).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.file.write_all(now)?;
            self.size += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    fn roll(&mut self) -> io::Result<()> {
        fs::rename(&self.path, older(&self.path))?;
        self.file = crate::regular::append(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

fn older(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Returns at most the last `lines` lines and `chars` characters of `output`, without escape sequences and
/// control characters.
pub fn tail(output: &[u8], lines: usize, chars: usize) -> String {
    // Escape sequences may be longer than what they colour, hence the generous window.
    let window = &output[output.len().saturating_sub(chars.saturating_mul(16))..];
    let text = safe(&String::from_utf8_lossy(window)).into_owned();
    let kept: Vec<&str> = text.trim_end().lines().rev().take(lines).collect();
    let joined = kept.into_iter().rev().collect::<Vec<_>>().join("\n");
    let surplus = joined.chars().count().saturating_sub(chars);
    joined.chars().skip(surplus).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(limit: usize, pieces: &[&str]) -> String {
        let mut capture = Capture::new(limit);
        pieces.iter().for_each(|piece| capture.take(piece.as_bytes()));
        String::from_utf8(capture.into_bytes()).unwrap()
    }

    #[test]
    fn output_within_the_limit_is_kept_whole() {
        assert_eq!(captured(10, &["abc", "defg", "hij"]), "abcdefghij");
        assert_eq!(captured(10, &[]), "");
    }

    #[test]
    fn the_middle_of_a_long_output_is_cut_with_a_note() {
        assert_eq!(captured(6, &["abcdefghij"]), "abc\n[… 4 bytes left out …]\nhij");
        assert_eq!(captured(6, &["a", "b", "c", "d", "e", "f", "g"]), "abc\n[… 1 byte left out …]\nefg");
    }

    #[test]
    fn every_way_to_cut_the_same_output_into_pieces_keeps_the_same() {
        let text: String = ('a'..='z').collect();
        let whole = captured(8, &[&text]);
        for size in 1..26 {
            let pieces: Vec<&str> = (0..26).step_by(size).map(|at| &text[at..(at + size).min(26)]).collect();
            assert_eq!(captured(8, &pieces), whole);
        }
    }

    #[test]
    fn the_log_keeps_the_newest_output_within_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logs/codex.log");
        let mut log = RollingLog::open(&path, 20).unwrap();
        log.write(b"0123456789").unwrap();
        log.write(b"abcdefghijABCDE").unwrap();
        drop(log);
        assert_eq!(fs::read_to_string(&path).unwrap(), "ABCDE");
        assert_eq!(fs::read_to_string(older(&path)).unwrap(), "abcdefghij");
        RollingLog::open(&path, 20).unwrap().write(b"FG").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ABCDEFG");
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let output = (1..=100).map(|n| format!("line {n}\n")).collect::<String>();
        assert_eq!(tail(output.as_bytes(), 2, 2000), "line 99\nline 100");
    }

    #[test]
    fn a_single_endless_line_is_cut_to_its_last_characters() {
        let output = format!("{}end", "ä".repeat(100_000));
        let kept = tail(output.as_bytes(), 20, 2000);
        assert_eq!(kept.chars().count(), 2000);
        assert!(kept.ends_with("ääend"));
    }

    #[test]
    fn escape_sequences_and_control_characters_vanish() {
        let nasty = "\u{1b}[31mred\u{1b}[0m \u{1b}]52;c;aGk=\u{7}\u{1b}]8;;http://x\u{1b}\\link\u{8}\u{0}\u{9b}2J\u{202e}x\r\n\u{1b}(Bok\tend";
        assert_eq!(tail(nasty.as_bytes(), 20, 2000), "red linkx\nok\tend");
    }

    #[test]
    fn an_unclosed_sequence_does_not_swallow_the_next_line() {
        assert_eq!(tail(b"a\x1b]0;title\nFAILED", 20, 2000), "a0;title\nFAILED");
        assert_eq!(tail(b"\xff\xfe", 20, 2000), "\u{fffd}\u{fffd}");
        assert_eq!(tail(b"", 20, 2000), "");
    }
}
