//! Tells of the end of a process that is not our child.

use std::io;

use rustix::process::Pid;

pub(crate) use watch::Process;

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
}
