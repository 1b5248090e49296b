//! Records of the process groups that were started, one file a group while it may live, and whose process a process is.
//!
//! A process is recognised by its id, its start time and its boot, so a reused id is never taken for ours. Every group
//! also has a mark in its environment, which children keep when they leave the group or lose their parent. A process
//! that drops the mark is still found below its parents: it cannot change those, so ancestry outweighs the mark.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::Process;
use super::identity::{self, ProcessStat};
use crate::regular;

/// The environment variable that marks a group.
pub const MARK: &str = "PF_PROCESS_MARK";

/// The most that a record may hold, in bytes.
const MAX_RECORD: u64 = 1024 * 1024;
/// How long a process may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);
/// How long to wait for the kernel after SIGKILL.
const LAST_WAIT: Duration = Duration::from_secs(2);
/// The pause between two looks for remaining processes.
pub(super) const PAUSE: Duration = Duration::from_millis(10);
/// How often to look again while a process may be in `exec`.
const LOOKS: u32 = 5;

/// A process group that was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// What the group is for.
    pub kind: JobKind,
    /// What runs, in words for a person.
    pub what: String,
    /// The first process, whose id is also that of the group.
    pub pid: i32,
    /// When it started, in clock ticks since boot.
    pub start: u64,
    /// Which boot that was.
    pub boot: String,
    /// The mark in the group's environment.
    pub mark: String,
}

/// What a group is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// An agent.
    Agent,
    /// A check or a setup command.
    Check,
    /// Something that tells a person that the bubble waits.
    Notification,
}

/// Where and as what a job is recorded while it runs.
#[derive(Debug, Clone)]
pub struct Registration {
    /// The directory of the records, `runtime/<id>/processes`.
    pub dir: PathBuf,
    /// What the group is for.
    pub kind: JobKind,
    /// What runs, in words for a person.
    pub what: String,
}

/// Why the records could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} the process record {}: {source}", .path.display())]
pub struct RegistryError {
    verb: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// Returns the records in `dir`; a missing directory has none, and damaged records are skipped.
pub fn records(dir: &Path) -> Result<Vec<ProcessRecord>, RegistryError> {
    Ok(read(&files(dir)?))
}

fn read(files: &[PathBuf]) -> Vec<ProcessRecord> {
    files.iter().filter_map(|path| serde_json::from_slice(&regular::read_up_to(path, MAX_RECORD).ok()?).ok()).collect()
}

/// Ends every group that is still recorded in `dir` and removes the records. Returns those that were still alive.
///
/// Only for the process that supervises the bubble: no other process may watch jobs recorded there.
pub fn reap(dir: &Path) -> Result<Vec<ProcessRecord>, RegistryError> {
    // Records that are written from here on stay.
    let files = files(dir)?;
    let left: Vec<ProcessRecord> = read(&files).into_iter().filter(is_alive).collect();
    let mut endings: Vec<GroupTermination<'_>> = left.iter().map(GroupTermination::new).collect();
    loop {
        endings.retain_mut(|one| !one.step(false));
        if endings.is_empty() {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    for path in files {
        remove(&path)?;
    }
    Ok(left)
}

/// Whether a process of the group of `record` is alive.
pub fn is_alive(record: &ProcessRecord) -> bool {
    !members(record, &[]).is_empty()
}

/// Writes `record` into `dir` and returns its file.
pub(super) fn write(dir: &Path, record: &ProcessRecord) -> Result<PathBuf, RegistryError> {
    let path = dir.join(format!("{}-{}.json", record.pid, record.start));
    let staged = path.with_extension("new");
    let json = serde_json::to_vec(record).expect("a record holds text and numbers only");
    let failed = |source| RegistryError { verb: "write", path: path.clone(), source };
    fs::create_dir_all(dir).and_then(|()| regular::write(&staged, json)).map_err(failed)?;
    fs::rename(&staged, &path).map_err(failed)?;
    Ok(path)
}

/// Removes a record; one that is gone already is fine.
pub(super) fn remove(path: &Path) -> Result<(), RegistryError> {
    regular::remove(path).map_err(|source| RegistryError { verb: "remove", path: path.to_owned(), source })
}

/// Ends a group step by step: SIGTERM first, SIGKILL when the time is up.
pub(super) struct GroupTermination<'a> {
    record: &'a ProcessRecord,
    /// The processes found so far: some cannot be found again once their parents are gone.
    known: Vec<ProcessStat>,
    asked: Option<Instant>,
    killed: Option<Instant>,
    /// How often no process was found.
    looks: u32,
}

impl<'a> GroupTermination<'a> {
    pub(super) fn new(record: &'a ProcessRecord) -> Self {
        Self { record, known: Vec::new(), asked: None, killed: None, looks: 0 }
    }

    /// Takes the next step, and returns whether the group is gone. `leader_gone` says that the first process has ended but
    /// not been waited for, so its id is still ours.
    pub(super) fn step(&mut self, leader_gone: bool) -> bool {
        let left = members(self.record, &self.known);
        self.known.clone_from(&left);
        match (self.asked, self.killed) {
            // Without /proc the processes cannot be counted; the rest of the group is killed at once.
            _ if !cfg!(target_os = "linux") && leader_gone => {
                self.signal(&left, Signal::KILL);
                true
            }
            _ if cfg!(target_os = "linux") && left.is_empty() => {
                self.looks += 1;
                // A process that becomes another program at this moment shows no environment.
                let execs = |stat: ProcessStat| {
                    !stat.dead && stat.start >= self.record.start && identity::has_no_environment(&stat)
                };
                self.looks >= LOOKS || !identity::all().any(execs)
            }
            (None, _) => {
                self.signal(&left, Signal::TERM);
                self.asked = Some(Instant::now());
                false
            }
            (Some(asked), None) if asked.elapsed() >= GRACE => {
                self.signal(&left, Signal::KILL);
                self.killed = Some(Instant::now());
                false
            }
            (_, Some(killed)) => {
                self.signal(&left, Signal::KILL);
                killed.elapsed() >= LAST_WAIT
            }
            _ => false,
        }
    }

    // A process that is gone in the meantime cannot be signalled, and need not be.
    fn signal(&self, left: &[ProcessStat], signal: Signal) {
        let group_is_ours = !cfg!(target_os = "linux") || leader(self.record).is_some();
        if let (true, Some(pid)) = (group_is_ours, Pid::from_raw(self.record.pid)) {
            let _ = rustix::process::kill_process_group(pid, signal);
        }
        for stat in left {
            // Take the handle first, then check: the id cannot be reused in between.
            let Some(pid) = Pid::from_raw(stat.pid) else { continue };
            let held = Process::find(pid);
            let same = identity::of(stat.pid).is_some_and(|now| now.is(stat));
            match held {
                Ok(Some(process)) if same => process.signal(signal),
                // Without a handle, the check and the signal are as close together as possible.
                Err(_) if same => drop(rustix::process::kill_process(pid, signal)),
                _ => {}
            }
        }
    }
}

/// Returns the living processes of the group of `record`, their descendants, and those of `known` that still exist.
fn members(record: &ProcessRecord, known: &[ProcessStat]) -> Vec<ProcessStat> {
    if record.boot != identity::boot() || record.start == 0 {
        return Vec::new();
    }
    // As long as the first process exists, dead or alive, the id of the group cannot be reused.
    let first = leader(record);
    let mark = format!("{MARK}={}", record.mark);
    let grouped = |stat: &ProcessStat| first.is_some() && (stat.pid == record.pid || stat.group == record.pid);
    let belongs = |stat: &ProcessStat| {
        grouped(stat) || known.iter().any(|one| one.is(stat)) || identity::has_variable(stat.pid, &mark)
    };
    // The process that ends a group, and its ancestors, are never ended.
    let own: Vec<i32> =
        identity::own().into_iter().flat_map(|own| identity::ancestry(own.pid)).map(|stat| stat.pid).collect();
    let others = identity::all().filter(|stat| !stat.dead && stat.start >= record.start && !own.contains(&stat.pid));
    let (mut found, mut rest): (Vec<ProcessStat>, Vec<ProcessStat>) = others.partition(belongs);
    let mut looked = 0;
    while let Some(parent) = found.get(looked).copied() {
        let (children, others) = rest.into_iter().partition(|stat| stat.parent == parent.pid);
        rest = others;
        found.extend::<Vec<ProcessStat>>(children);
        looked += 1;
    }
    found
}

fn leader(record: &ProcessRecord) -> Option<ProcessStat> {
    identity::of(record.pid).filter(|stat| stat.start == record.start)
}

fn files(dir: &Path) -> Result<Vec<PathBuf>, RegistryError> {
    let failed = |source| RegistryError { verb: "list", path: dir.to_owned(), source };
    let Some(entries) = regular::optional(fs::read_dir(dir)).map_err(failed)? else { return Ok(Vec::new()) };
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|it| it == "json")).collect())
}

/// How an agent's process records itself before it becomes the program: we may die before we could record it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfRegistration {
    /// The directory of the records.
    pub dir: PathBuf,
    /// The mark that its environment is going to have.
    pub mark: String,
    /// What runs, in words for a person.
    pub what: String,
}

impl SelfRegistration {
    /// Records this process, and makes it the parent of every orphan below it.
    ///
    /// Both survive `exec`. Where there is no `/proc`, nothing is recorded.
    pub fn enrol(&self) -> Result<(), RegistryError> {
        keep_orphans();
        let Some(seen) = identity::own() else { return Ok(()) };
        let record = ProcessRecord {
            kind: JobKind::Agent,
            what: self.what.clone(),
            pid: seen.pid,
            start: seen.start,
            boot: identity::boot(),
            mark: self.mark.clone(),
        };
        write(&self.dir, &record).map(drop)
    }
}

#[cfg(target_os = "linux")]
fn keep_orphans() {
    // A kernel that cannot do it leaves the group and the mark to find them by.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
fn keep_orphans() {}

/// A process and its ancestors, at one moment.
#[derive(Debug)]
pub enum ProcessAncestry {
    /// They are known.
    Known {
        /// The process itself, then its parent, and so on.
        line: Vec<ProcessStat>,
        /// Which boot it was.
        boot: String,
    },
    /// The process does not exist.
    Gone,
    /// The system does not say.
    Untold,
}

impl ProcessAncestry {
    /// Looks at process `pid`.
    pub fn of(pid: i32) -> Self {
        let line: Vec<ProcessStat> = identity::ancestry(pid).collect();
        if !line.is_empty() {
            return Self::Known { line, boot: identity::boot() };
        }
        // Without /proc no parents are known; the process may still be alive.
        match Pid::from_raw(pid).filter(|_| pid > 0).map(Process::find) {
            Some(Ok(None)) => Self::Gone,
            _ => Self::Untold,
        }
    }

    /// Looks at this process.
    pub fn own() -> Self {
        i32::try_from(std::process::id()).map_or(Self::Untold, Self::of)
    }

    /// Returns the ancestors without the process itself.
    pub fn parents(self) -> Self {
        match self {
            Self::Known { mut line, boot } => {
                line.remove(0);
                Self::Known { line, boot }
            }
            other => other,
        }
    }

    /// Returns the values that these variables had when the process, or the nearest of its ancestors that has the first
    /// of them, was started.
    pub fn variables<const N: usize>(&self, names: [&str; N]) -> Option<[Option<String>; N]> {
        let Self::Known { line, .. } = self else { return None };
        let has = |stat: &&ProcessStat| names.first().is_some_and(|name| identity::variable(stat.pid, name).is_some());
        let found = line.iter().find(has)?;
        Some(names.map(|name| identity::variable(found.pid, name)))
    }

    /// Returns the one of `records` to which the process or the nearest of its ancestors belongs.
    pub fn descends_from<'a, T>(&self, records: &'a [(T, ProcessRecord)]) -> Option<&'a (T, ProcessRecord)> {
        let Self::Known { line, boot } = self else { return None };
        let first = |stat: &ProcessStat, one: &ProcessRecord| {
            one.boot == *boot && (one.pid, one.start) == (stat.pid, stat.start)
        };
        line.iter().find_map(|stat| records.iter().find(|(_, one)| first(stat, one)))
    }

    /// Returns the one of `records` whose mark the process or the nearest of its ancestors has.
    pub fn marked_by<'a, T>(&self, records: &'a [(T, ProcessRecord)]) -> Option<&'a (T, ProcessRecord)> {
        let Self::Known { line, boot } = self else { return None };
        let marks = line.iter().filter_map(|stat| identity::variable(stat.pid, MARK));
        let mut known = marks.filter_map(|mark| records.iter().find(|(_, one)| one.boot == *boot && one.mark == mark));
        known.next()
    }
}
