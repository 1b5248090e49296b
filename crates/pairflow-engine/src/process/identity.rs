//! One process: what the kernel says about it in `/proc`, and a handle that a reused process id cannot deceive.
//!
//! Where there is no `/proc` nothing is known, and callers treat such a process as a stranger.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use crate::regular::{read, read_text};

pub(crate) use watch::Process;

/// A process of one boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessIdentity {
    /// Its number.
    pub(crate) pid: i32,
    /// When it started, in clock ticks since boot.
    start: u64,
    /// Which boot that was.
    boot: String,
}

impl ProcessIdentity {
    /// Returns what this process is; nothing where the system does not tell.
    pub(crate) fn own() -> Option<Self> {
        let own = own()?;
        Some(Self { pid: own.pid, start: own.start, boot: boot() })
    }

    /// Kills the process if it still exists, belongs to this user and was started with the argument `argument`. Returns
    /// whether it did.
    pub(crate) fn kill(&self, argument: &str) -> bool {
        // Take the handle first, then check: the id cannot be reused in between.
        let held = Pid::from_raw(self.pid).filter(|_| self.pid > 0).map(Process::find);
        let Some(Ok(Some(process))) = held else { return false };
        let place = format!("/proc/{}", self.pid);
        let same = self.boot == boot() && of(self.pid).is_some_and(|now| now.start == self.start);
        let ours = std::fs::metadata(&place).is_ok_and(|found| found.uid() == rustix::process::getuid().as_raw());
        let line = read(Path::new(&format!("{place}/cmdline"))).unwrap_or_default();
        let meant = line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes());
        if same && ours && meant {
            process.signal(Signal::KILL);
        }
        same && ours && meant
    }
}

/// The few fields of `/proc/<pid>/stat` that tell a process from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    pub(super) pid: i32,
    pub(super) dead: bool,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// Clock ticks between boot and the start of the process: together with the pid its name for this boot.
    pub(super) start: u64,
}

impl ProcessStat {
    /// Whether both are the same process, at this or at another moment of its life.
    pub(super) fn is(&self, other: &Self) -> bool {
        (self.pid, self.start) == (other.pid, other.start)
    }
}

/// Returns what is known of process `pid`, if it exists.
pub(super) fn of(pid: i32) -> Option<ProcessStat> {
    parse(&read_text(Path::new(&format!("/proc/{pid}/stat"))).ok()?)
}

/// Returns what is known of this process.
pub(super) fn own() -> Option<ProcessStat> {
    of(i32::try_from(std::process::id()).ok()?)
}

/// Returns process `pid`, its parent, the parent of that, and so on.
pub(super) fn ancestry(pid: i32) -> impl Iterator<Item = ProcessStat> {
    // No process is older than its parent: a younger parent has a reused id.
    std::iter::successors(of(pid), |stat| of(stat.parent).filter(|parent| parent.start <= stat.start))
}

/// Returns every process there is.
pub(super) fn all() -> impl Iterator<Item = ProcessStat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(of)
}

/// Whether process `pid` was started with `line` (`NAME=value`) in its environment.
pub(super) fn has_variable(pid: i32, line: &str) -> bool {
    environ(pid).is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|one| one == line.as_bytes()))
}

/// Whether a process has no environment, as for a moment during `exec`; kernel threads do not count.
pub(super) fn has_no_environment(stat: &ProcessStat) -> bool {
    const KERNEL: i32 = 2;
    let empty = || environ(stat.pid).is_ok_and(|bytes| bytes.is_empty());
    stat.parent != KERNEL && stat.pid != KERNEL && empty()
}

/// Returns the value that the variable `name` had when process `pid` was started.
pub(super) fn variable(pid: i32, name: &str) -> Option<String> {
    let bytes = environ(pid).ok()?;
    let value = |one: &[u8]| one.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
    bytes.split(|byte| *byte == 0).find_map(value).and_then(|value| String::from_utf8(value).ok())
}

/// Returns the id of this boot; process ids are only valid within it.
pub(crate) fn boot() -> String {
    read_text(Path::new("/proc/sys/kernel/random/boot_id")).map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Returns the environment with which process `pid` was started.
fn environ(pid: i32) -> io::Result<Vec<u8>> {
    read(Path::new(&format!("/proc/{pid}/environ")))
}

fn parse(text: &str) -> Option<ProcessStat> {
    // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    let pid = text.split_once(' ')?.0.parse().ok()?;
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split_whitespace().collect();
    Some(ProcessStat {
        pid,
        dead: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}

/// Calls `then` once, in a thread of its own, as soon as process `pid` has ended; at once if there is no such process.
///
/// On Linux the process is held by what it is and not by its number, so a later process of the same number changes
/// nothing. Elsewhere it is looked for each second.
pub fn when_gone(pid: i32, then: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let refused = || io::Error::new(io::ErrorKind::InvalidInput, "the id of one process is above zero");
    let known = if pid > 0 { Pid::from_raw(pid) } else { None };
    let process = Process::find(known.ok_or_else(refused)?)?;
    std::thread::Builder::new().name(format!("gone-{pid}")).spawn(move || {
        if let Some(process) = process {
            process.wait();
        }
        then();
    })?;
    Ok(())
}

#[cfg(target_os = "linux")]
mod watch {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    /// A process that was there when it was looked for.
    #[derive(Debug)]
    pub(crate) struct Process(OwnedFd);

    impl Process {
        /// Takes hold of process `pid`, if there is one.
        pub(crate) fn find(pid: Pid) -> io::Result<Option<Self>> {
            match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(fd) => Ok(Some(Self(fd))),
                Err(Errno::SRCH) => Ok(None),
                Err(errno) => Err(errno.into()),
            }
        }

        /// Waits until it has ended, whether or not its parent has taken notice.
        pub(crate) fn wait(&self) {
            let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
            while matches!(poll(&mut polled, None), Err(Errno::INTR)) {}
        }

        /// Whether it has ended.
        pub(crate) fn is_gone(&self) -> bool {
            let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
            matches!(poll(&mut polled, Some(&Timespec::default())), Ok(1..))
        }

        /// Sends it a signal; one that has ended needs none.
        pub(crate) fn signal(&self, signal: Signal) {
            let _ = pidfd_send_signal(&self.0, signal);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod watch {
    use std::io;
    use std::time::Duration;

    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, kill_process, test_kill_process};

    const PAUSE: Duration = Duration::from_secs(1);

    /// A process that was there when it was looked for.
    #[derive(Debug)]
    pub(crate) struct Process(Pid);

    impl Process {
        /// Takes hold of process `pid`, if there is one.
        pub(crate) fn find(pid: Pid) -> io::Result<Option<Self>> {
            Ok(Some(Self(pid)).filter(|process| !process.is_gone()))
        }

        /// Waits until it has ended.
        pub(crate) fn wait(&self) {
            while !self.is_gone() {
                std::thread::sleep(PAUSE);
            }
        }

        /// Whether it has ended.
        pub(crate) fn is_gone(&self) -> bool {
            matches!(test_kill_process(self.0), Err(Errno::SRCH))
        }

        /// Sends it a signal; one that has ended needs none.
        pub(crate) fn signal(&self, signal: Signal) {
            let _ = kill_process(self.0, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_program_name_with_spaces_and_parentheses_confuses_nobody() {
        let line = "42 (a ) Z 1) S 7 40 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 98765 0 0";
        let seen = parse(line).unwrap();
        assert_eq!(seen, ProcessStat { pid: 42, dead: false, parent: 7, group: 40, start: 98765 });
    }

    #[test]
    fn a_cut_line_is_no_process() {
        assert_eq!(parse("42 (sh) S 7 40"), None);
        assert_eq!(parse(""), None);
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn the_end_of_a_process_is_told_once() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let (say, heard) = channel();
        when_gone(i32::try_from(child.id()).unwrap(), move || say.send("gone").unwrap()).unwrap();
        assert_eq!(heard.recv_timeout(Duration::from_millis(50)), Err(RecvTimeoutError::Timeout));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(heard.recv_timeout(LONG), Ok("gone"));
        assert_eq!(heard.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
    }

    #[test]
    fn a_process_that_is_gone_already_is_told_of_at_once() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        child.wait().unwrap();
        let (say, heard) = channel();
        when_gone(pid, move || say.send(()).unwrap()).unwrap();
        assert_eq!(heard.recv_timeout(LONG), Ok(()));
    }

    #[test]
    fn numbers_that_mean_many_processes_are_refused() {
        for pid in [0, -1, i32::MIN] {
            let refused = when_gone(pid, move || panic!("there is nothing to tell of {pid}")).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_the_very_process_is_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        // For a moment after its start a process shows no arguments.
        let line = format!("/proc/{}/cmdline", child.id());
        while read(Path::new(&line)).unwrap().is_empty() {
            std::thread::yield_now();
        }
        let found = of(i32::try_from(child.id()).unwrap()).unwrap();
        let meant = ProcessIdentity { pid: found.pid, start: found.start, boot: boot() };
        assert!(
            !ProcessIdentity { start: found.start + 1, ..meant.clone() }.kill("60"),
            "a younger process of that number"
        );
        assert!(!ProcessIdentity { boot: "earlier".to_owned(), ..meant.clone() }.kill("60"));
        assert!(!meant.kill("supervise"), "another program");
        assert!(child.try_wait().unwrap().is_none());
        assert!(meant.kill("60"));
        assert!(!child.wait().unwrap().success());
        assert!(!meant.kill("60"), "it is gone");
    }
}
