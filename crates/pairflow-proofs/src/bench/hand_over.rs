//! P2, P2c and P2d: one durable hand-over, from the start of its process to its end; one append of the engine inside a
//! process, beside one insert into SQLite that is as durable; and how often a hand-over waits for the disk.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use pairflow_core::bubble::PassCommand;
use pairflow_core::log::{Body, Event, Warning};
use pairflow_engine::clock::{Clock, SystemClock};
use pairflow_engine::engine::Engine;
use pairflow_engine::perform::head_seen;
use pairflow_engine::store::storage::{FileStat, Guard, Handle, LockMode, Storage, StorageError};
use pairflow_engine::store::{KnownBubble, RealDisk};
use pairflow_testkit::fixture::Fixture;

use super::measure::{Asked, Outcome, Row, Setting, Times, in_turns, lifetime, timed};

/// How many envelopes a bubble has that has been at work for a while.
const WARM: u64 = 100;
/// As long as the line of a hand-over.
const LINE: [u8; 400] = [b'x'; 400];
/// How often a hand-over may wait for the disk.
const SYNCS: f64 = 1.0;

/// Hands over, starts an empty program, and appends a line with a sync, in turns.
pub(super) fn measure_pass(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let again = Again::new(setting.fixture("pass", WARM)?)?;
    let dir = again.fixture.worktree.as_path();
    let file = beside(&again.transcript())?;
    let mut pass = || {
        let took = lifetime(&mut again.pass(setting))?;
        again.put_back()?;
        Ok(took)
    };
    let mut empty = || lifetime(&mut setting.nothing(dir));
    let mut append = || appended(&file);
    let [pass, empty, append] = in_turns(asked.rounds, [&mut pass, &mut empty, &mut append])?;
    let result = Outcome::Ratio {
        measured: [pass.p50(), pass.min()],
        against: [sum(&empty, &append, Times::p50), sum(&empty, &append, Times::min)],
    };
    let against = "empty main + append and fdatasync";
    Ok(vec![Row { id: "P2", what: "pass".to_owned(), against, result, goal: 1.6 }])
}

/// Counts the syncs of one hand-over: as the kernel sees them, or else as the disk of the engine does.
pub(super) fn count_syncs(setting: &Setting, _: &Asked) -> anyhow::Result<Vec<Row>> {
    let again = Again::new(setting.fixture("syncs", WARM)?)?;
    let traced = Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    let (what, syncs) = if traced {
        ("syncs of one pass", traced_syncs(setting, &again)?)
    } else {
        ("syncs of one pass (counted by the engine, there is no strace)", engine_syncs(&again.fixture)?)
    };
    ensure!(syncs > 0, "the hand-over was not synced at all");
    Ok(vec![Row { id: "P2d", what: what.to_owned(), against: "", result: Outcome::Count(syncs), goal: SYNCS }])
}

fn traced_syncs(setting: &Setting, again: &Again) -> anyhow::Result<u32> {
    let trace = setting.path("syncs.trace");
    let pass = again.pass(setting);
    let mut strace = setting.start(Path::new("strace"), &again.fixture.worktree, &[]);
    strace.args(["-f", "-q", "-e", "trace=fsync,fdatasync,sync_file_range,syncfs", "-o"]).arg(&trace);
    strace.arg(pass.get_program()).args(pass.get_args());
    strace.envs(pass.get_envs().filter_map(|(name, value)| Some((name, value?))));
    lifetime(&mut strace)?;
    let text = std::fs::read_to_string(&trace).context("strace left no trace")?;
    Ok(u32::try_from(text.lines().filter(|line| line.contains("sync")).count())?)
}

fn engine_syncs(fixture: &Fixture) -> anyhow::Result<u32> {
    let disk = Counting::default();
    let engine = Engine { disk: Arc::new(disk.clone()), ..fixture.bubble.engine.clone() };
    let head = head_seen(&fixture.bubble, &fixture.state)?;
    let pass = PassCommand::new(fixture.agent.clone(), "moved the retry into one place", head);
    engine.bubble(&fixture.repo, &fixture.bubble.id)?.apply(&pairflow_core::bubble::Command::Pass(pass))?;
    Ok(disk.syncs())
}

/// A file in the directory of the log, so that both are written on the same disk.
fn beside(transcript: &Path) -> anyhow::Result<File> {
    let path = transcript.with_file_name("plain-append");
    Ok(OpenOptions::new().create(true).append(true).open(path)?)
}

fn appended(mut file: &File) -> anyhow::Result<Duration> {
    timed(|| {
        file.write_all(&LINE)?;
        Ok(file.sync_data()?)
    })
}

fn sum(one: &Times, other: &Times, of: fn(&Times) -> Duration) -> Duration {
    of(one) + of(other)
}

const WHAT: &str = "lock and append of the engine";
const AGAINST: &str = "insert into SQLite, WAL, FULL";

/// Appends and inserts in turns.
pub(super) fn measure_append(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let fixture = setting.fixture("append", WARM)?;
    let path = fixture.bubble.log().files().dir.join("plain.sqlite");
    let Some(insert) = sqlite::insert(&path)? else {
        let result = Outcome::NotMeasured("built without the feature bench-sqlite".to_owned());
        return Ok(vec![Row { id: "P2c", what: WHAT.to_owned(), against: AGAINST, result, goal: 1.0 }]);
    };
    let log = fixture.bubble.log();
    let mut number = 0;
    let mut append = || {
        number += 1;
        let event = [said(number)];
        timed(|| Ok(log.lock(Duration::from_secs(1))?.append(&event, SystemClock.now())?))
    };
    let mut insert = || insert(&text(1));
    let [append, insert] = in_turns(asked.rounds, [&mut append, &mut insert])?;
    Ok(vec![Row::ratio("P2c", WHAT, AGAINST, (&append, &insert), 1.0)])
}

fn said(number: u64) -> Event {
    let warning = Warning { command: "pass".to_owned(), reason: text(number), unmet: Vec::new() };
    Event::own(1, Body::ProtocolWarning(warning))
}

/// A text that makes a line as long as lines usually are.
fn text(number: u64) -> String {
    format!("attempt {number}: {}", "it is not the turn of this agent. ".repeat(7))
}

#[cfg(feature = "bench-sqlite")]
mod sqlite {
    use std::path::Path;
    use std::time::Duration;

    use super::timed;

    /// Opens a new database and returns what inserts one row durably.
    pub(super) fn insert(path: &Path) -> anyhow::Result<Option<impl Fn(&str) -> anyhow::Result<Duration>>> {
        let database = rusqlite::Connection::open(path)?;
        database.pragma_update(None, "journal_mode", "wal")?;
        database.pragma_update(None, "synchronous", "full")?;
        database.execute_batch("create table log (seq integer primary key, line text not null)")?;
        Ok(Some(move |text: &str| {
            timed(|| Ok(database.prepare_cached("insert into log (line) values (?1)")?.execute([text])?))
        }))
    }
}

#[cfg(not(feature = "bench-sqlite"))]
mod sqlite {
    use std::path::Path;
    use std::time::Duration;

    /// What inserts one row, if there were a database.
    type Insert = fn(&str) -> anyhow::Result<Duration>;

    /// There is no database in this build.
    pub(super) fn insert(_: &Path) -> anyhow::Result<Option<Insert>> {
        Ok(None)
    }
}

/// A bubble whose log is cut back to where it was.
pub(super) struct Again {
    pub(super) fixture: Fixture,
    len: u64,
    state: Vec<u8>,
    known: KnownBubble,
}

impl Again {
    /// Remembers how long the log is now, and what its cache says.
    pub(super) fn new(fixture: Fixture) -> anyhow::Result<Self> {
        let bubble = &fixture.bubble;
        let (head, state) = (bubble.load()?.head, std::fs::read(bubble.log().files().state())?);
        let known = bubble.engine.registry().find(&fixture.repo, &bubble.id)?.context("the bubble is not on record")?;
        Ok(Self { fixture, len: head.offset, state, known: KnownBubble { head: Some(head), ..known } })
    }

    /// Makes the bubble what it was: what is known of its end goes first, since it says what was acknowledged.
    pub(super) fn put_back(&self) -> anyhow::Result<()> {
        if let Some(head) = &self.known.head {
            self.fixture.bubble.engine.registry().note(&self.known.entry, head);
        }
        let state = self.fixture.bubble.log().files().state();
        std::fs::write(&state, &self.state).with_context(|| format!("cannot write {}", state.display()))?;
        OpenOptions::new().write(true).open(self.transcript())?.set_len(self.len)?;
        self.fixture.bubble.refresh()?;
        Ok(())
    }

    /// Returns `pass` as the agent whose turn is open calls it.
    pub(super) fn pass(&self, setting: &Setting) -> Command {
        let args = ["pass", "--summary", "moved the retry into one place and added three tests; all of them pass"];
        let mut command = setting.pairflow(&self.fixture.worktree, &args);
        command.envs(self.fixture.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Returns the path of the log.
    pub(super) fn transcript(&self) -> PathBuf {
        self.fixture.bubble.log().files().transcript()
    }
}

/// The disk of the machine, with a counter.
#[derive(Clone, Default)]
pub(super) struct Counting(Arc<AtomicU32>);

struct CountingFile(Arc<AtomicU32>, Box<dyn Handle>);

impl Counting {
    /// Returns how often something was made durable.
    pub(super) fn syncs(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn counted(&self, file: Option<Box<dyn Handle>>) -> Option<Box<dyn Handle>> {
        file.map(|file| Box::new(CountingFile(Arc::clone(&self.0), file)) as Box<dyn Handle>)
    }
}

impl Storage for Counting {
    fn open(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        RealDisk.open(path).map(|file| self.counted(file))
    }

    fn open_append(&self, path: &Path) -> Result<Option<Box<dyn Handle>>, StorageError> {
        RealDisk.open_append(path).map(|file| self.counted(file))
    }

    fn stat(&self, path: &Path) -> Result<Option<FileStat>, StorageError> {
        RealDisk.stat(path)
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
        RealDisk.read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        RealDisk.write(path, bytes)
    }

    fn renew(&self, path: &Path, spare: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        RealDisk.renew(path, spare, bytes)
    }

    fn sync_file(&self, path: &Path) -> Result<(), StorageError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        RealDisk.sync_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        RealDisk.remove(path)
    }

    fn create_dir(&self, path: &Path) -> Result<bool, StorageError> {
        RealDisk.create_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<(), StorageError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        RealDisk.sync_dir(path)
    }

    fn list_dir(&self, path: &Path) -> Result<Vec<String>, StorageError> {
        RealDisk.list_dir(path)
    }

    fn lock(&self, path: &Path, mode: LockMode, patience: Duration) -> Result<Option<Guard>, StorageError> {
        RealDisk.lock(path, mode, patience)
    }

    fn lock_holder(&self, path: &Path) -> Option<u32> {
        RealDisk.lock_holder(path)
    }
}

impl Handle for CountingFile {
    fn stat(&self) -> Result<FileStat, StorageError> {
        self.1.stat()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        self.1.read_at(offset, buffer)
    }

    fn append(&self, bytes: &[u8]) -> Result<(), StorageError> {
        self.1.append(bytes)
    }

    fn sync_data(&self) -> Result<(), StorageError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.1.sync_data()
    }

    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.1.truncate(len)
    }
}

#[cfg(test)]
mod tests {
    use pairflow_engine::clock::{Clock, SystemClock};
    use pairflow_testkit::fixture::{Wanted, make};

    use super::*;

    #[test]
    fn one_hand_over_waits_for_the_disk_once() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = Wanted {
            dir: &dir.path().join("repo"),
            envelopes: 20,
            files: 1,
            now: SystemClock.now(),
            state: &dir.path().join("state"),
        };
        assert_eq!(engine_syncs(&make(wanted).unwrap()).unwrap(), 1);
    }
}
