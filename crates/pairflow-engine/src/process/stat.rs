//! What the kernel says about a process, read from `/proc`. Where there is no `/proc` nothing is known, and callers
//! treat a process they know nothing of as a stranger.

use std::fs;
use std::io;
use std::path::Path;

use crate::regular::{read, read_text};

/// The few fields of `/proc/<pid>/stat` that tell a process from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) pid: i32,
    pub(super) dead: bool,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// Clock ticks between boot and the start of the process: together with the pid its name for this boot.
    pub(super) start: u64,
}

impl Stat {
    /// Whether both are the same process, at this or at another moment of its life.
    pub(super) fn is(&self, other: &Self) -> bool {
        (self.pid, self.start) == (other.pid, other.start)
    }
}

/// Returns what is known of process `pid`, if it exists.
pub(super) fn of(pid: i32) -> Option<Stat> {
    parse(&read_text(Path::new(&format!("/proc/{pid}/stat"))).ok()?)
}

/// Returns process `pid`, its parent, the parent of that, and so on.
pub(super) fn line(pid: i32) -> impl Iterator<Item = Stat> {
    // No process is older than its parent: a parent that is younger has taken over the number of another.
    std::iter::successors(of(pid), |stat| of(stat.parent).filter(|parent| parent.start <= stat.start))
}

/// Returns every process there is.
pub(super) fn all() -> impl Iterator<Item = Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(of)
}

/// Whether process `pid` was started with `line` (`NAME=value`) in its environment.
pub(super) fn has_variable(pid: i32, line: &str) -> bool {
    environ(pid).is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|one| one == line.as_bytes()))
}

/// Whether a process that is not the kernel's own has no environment: for a moment nobody has who starts a program.
pub(super) fn is_bare(stat: &Stat) -> bool {
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

/// Returns a name for the time since the machine was started; process ids mean nothing beyond it.
pub(crate) fn boot() -> String {
    read_text(Path::new("/proc/sys/kernel/random/boot_id")).map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Returns the environment with which process `pid` was started.
fn environ(pid: i32) -> io::Result<Vec<u8>> {
    read(Path::new(&format!("/proc/{pid}/environ")))
}

fn parse(text: &str) -> Option<Stat> {
    // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    let pid = text.split_once(' ')?.0.parse().ok()?;
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split_whitespace().collect();
    Some(Stat {
        pid,
        dead: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_spaces_and_parentheses_confuses_nobody() {
        let line = "42 (a ) Z 1) S 7 40 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 98765 0 0";
        let seen = parse(line).unwrap();
        assert_eq!(seen, Stat { pid: 42, dead: false, parent: 7, group: 40, start: 98765 });
    }

    #[test]
    fn a_cut_line_is_no_process() {
        assert_eq!(parse("42 (sh) S 7 40"), None);
        assert_eq!(parse(""), None);
    }
}
