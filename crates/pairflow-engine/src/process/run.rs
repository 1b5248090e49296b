//! Runs a job to its end, and says what came of it.

use std::io::{self, PipeReader};
use std::os::unix::process::ExitStatusExt;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::attend::{Output, attend};
use super::cancel::Cancel;
use super::capture::Capture;
use super::group::Group;
use super::job::Job;
use super::rolling::{LOG_LIMIT, RollingLog};
use super::tail::tail;

/// What came of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ran {
    /// The exit code, if the first process ended by itself.
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
pub struct Running {
    pid: i32,
    cancel: Cancel,
    attendant: JoinHandle<Ran>,
}

impl Running {
    /// Returns the id of the first process, which is that of its group.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Ends the whole group: asked first, then killed. Returns at once; `wait` says when it is done.
    pub fn kill(&self) {
        self.cancel.cancel();
    }

    /// Returns the handle that ends the group, for someone who does not wait for it.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Waits until nobody of the group is left.
    pub fn wait(self) -> Ran {
        let lost = |_| Ran { could_not_start: Some("the thread that attended it panicked".into()), ..Ran::default() };
        self.attendant.join().unwrap_or_else(lost)
    }
}

/// Runs `job` and returns when nobody of its group is left. `cancel` ends it early.
pub fn run(job: &Job, cancel: &Cancel) -> Ran {
    match Prepared::of(job) {
        Ok(prepared) => prepared.finish(cancel),
        Err(why) => Ran { could_not_start: Some(why), ..Ran::default() },
    }
}

/// Starts `job` and returns once it runs; a thread attends it. The error is a sentence.
pub fn start(job: &Job, cancel: &Cancel) -> Result<Running, String> {
    let prepared = Prepared::of(job)?;
    let pid = prepared.group.record.pid;
    let theirs = cancel.clone();
    let attendant = std::thread::Builder::new()
        .name(format!("attend-{pid}"))
        .spawn(move || prepared.finish(&theirs))
        .map_err(|error| format!("cannot attend `{}`: {error}", job.command))?;
    Ok(Running { pid, cancel: cancel.clone(), attendant })
}

struct Prepared {
    group: Group,
    reader: PipeReader,
    output: Output,
    timeout: Option<Duration>,
    began: Instant,
}

impl Prepared {
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
        let group = Group::start(job, writer)?;
        let output = Output { capture: Capture::new(job.max_output_bytes), log };
        Ok(Self { group, reader, output, timeout: job.timeout, began })
    }

    fn finish(self, cancel: &Cancel) -> Ran {
        let Self { group, reader, mut output, timeout, began } = self;
        let ended = attend(group, reader, &mut output, timeout, cancel);
        let output = output.capture.into_bytes();
        let exit = ended.status.and_then(|status| status.code());
        let by_itself = exit.filter(|_| !ended.timed_out && !ended.cancelled);
        Ran {
            exit,
            signal: ended.status.and_then(|status| status.signal()),
            timed_out: ended.timed_out,
            cancelled: ended.cancelled,
            could_not_start: by_itself.and_then(|code| not_started(code, &output)),
            output,
            duration: began.elapsed(),
        }
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
