//! A process by what it is: its number alone may belong to somebody else by now.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::gone::Process;
use super::stat;
use crate::regular::read;

/// A process of one boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// Its number.
    pub(crate) pid: i32,
    /// When it started, in clock ticks since boot.
    start: u64,
    /// Which boot that was.
    boot: String,
}

impl Identity {
    /// Returns what this process is; nothing where the system does not tell.
    pub(crate) fn own() -> Option<Self> {
        let own = stat::of(i32::try_from(std::process::id()).ok()?)?;
        Some(Self { pid: own.pid, start: own.start, boot: stat::boot() })
    }

    /// Ends the process by force, if it is still there, belongs to this user and was started with the argument
    /// `argument`. Says whether it was.
    pub(crate) fn kill(&self, argument: &str) -> bool {
        // Held first and looked at then: the number cannot be given away in between.
        let held = Pid::from_raw(self.pid).filter(|_| self.pid > 0).map(Process::find);
        let Some(Ok(Some(process))) = held else { return false };
        let place = format!("/proc/{}", self.pid);
        let same = self.boot == stat::boot() && stat::of(self.pid).is_some_and(|now| now.start == self.start);
        let ours = std::fs::metadata(&place).is_ok_and(|found| found.uid() == rustix::process::getuid().as_raw());
        let line = read(Path::new(&format!("{place}/cmdline"))).unwrap_or_default();
        let meant = line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes());
        if same && ours && meant {
            process.signal(Signal::KILL);
        }
        same && ours && meant
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn only_the_very_process_is_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        // For a moment after its start a process shows no arguments.
        let line = format!("/proc/{}/cmdline", child.id());
        while read(Path::new(&line)).unwrap().is_empty() {
            std::thread::yield_now();
        }
        let found = stat::of(i32::try_from(child.id()).unwrap()).unwrap();
        let meant = Identity { pid: found.pid, start: found.start, boot: stat::boot() };
        assert!(!Identity { start: found.start + 1, ..meant.clone() }.kill("60"), "a younger process of that number");
        assert!(!Identity { boot: "earlier".to_owned(), ..meant.clone() }.kill("60"));
        assert!(!meant.kill("supervise"), "another program");
        assert!(child.try_wait().unwrap().is_none());
        assert!(meant.kill("60"));
        assert!(!child.wait().unwrap().success());
        assert!(!meant.kill("60"), "it is gone");
    }
}
