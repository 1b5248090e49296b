//! The same questions about a machine that is no bubble: processes that count are killed, and nothing they said is lost.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use pairflow_core::ids::BubbleId;
use pairflow_core::log::Event;
use pairflow_core::log::scan::End;
use pairflow_core::time::{Moment, Timestamp};
use pairflow_engine::store::{Log, LogFiles, RealDisk, Registry, Storage, StoreError};
use tempfile::TempDir;

use super::placed::{KILLED, MOST};
use super::random::{Aim, end};
use crate::disk::Rng;
use crate::home::temporary_dir;
use crate::sim::Witness;
use crate::store::{Counted, Counter};

/// How long a process waits for another one.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a process that is killed at random counts.
const STEPS: u64 = 12;

/// What kills of counting processes came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many processes were killed.
    pub kills: u64,
    /// How many of them had counted at least once by then.
    pub counted: u64,
    /// How many of them left the remains of an append.
    pub torn: u64,
}

/// Adds one to the counter below `root`, `steps` times, and says each new sum once it is recorded: what the process
/// that is killed does. The counter is made if there is none.
pub fn count(disk: Arc<dyn Storage>, root: &Path, steps: u64, out: &mut impl Write) -> Result<(), StoreError> {
    let log = log_on(disk, root);
    for _ in 0..steps {
        let seen = match log.load() {
            Ok(seen) => Some(seen),
            Err(StoreError::Missing { .. }) => None,
            Err(error) => return Err(error),
        };
        let (one, now) = ([Event::own(0, Counted::added(1, "one more"))], moment());
        let total = match seen {
            None => log.create(&one, now)?.0.into_loaded().state.total,
            Some(_) => {
                let mut locked = log.lock(PATIENCE)?;
                locked.append(&one, now)?;
                locked.into_loaded().state.total
            }
        };
        // The reader may be gone.
        let _ = writeln!(out, "{total}").and_then(|()| out.flush());
    }
    Ok(())
}

/// Kills `program`, which counts once, at every operation on the disk: with a log there, and while it is being made.
pub fn kill_counting_everywhere(program: &Path) -> Result<Counts, String> {
    let mut counts = Counts::default();
    for counted_before in [0, 2] {
        for at in 1.. {
            let mut place = Place::new(program)?;
            place.count(counted_before)?;
            let output = place.command(1).env("PF_FAULT", format!("kill@{at}")).output();
            let output = output.map_err(|error| error.to_string())?;
            let fault = format!("kill@{at} after {counted_before}");
            let code = crate::home::Ran::of(&output).code;
            let found = place.judge(&output.stdout).map_err(|why| format!("{fault}: {why}"))?;
            place.goes_on().map_err(|why| format!("{fault}: {why}"))?;
            match code {
                KILLED if at <= MOST => counts.add(found),
                0 => break,
                other => return Err(format!("{fault} ended with {other}")),
            }
        }
    }
    Ok(counts)
}

/// Kills `program`, which counts several times, at random moments until `kills` have landed.
pub fn kill_counting_at_random(program: &Path, kills: u64, seed: u64) -> Result<Counts, String> {
    let (mut counts, mut rng) = (Counts::default(), Rng::new(seed));
    let mut place = Place::new(program)?;
    let mut usual = None;
    while counts.kills < kills {
        let size = place.witness.len();
        let aim = Aim::draw(&mut rng, usual, &place.log.files().transcript(), size);
        let ending = end(place.command(STEPS), &aim).map_err(|error| error.to_string())?;
        let told = |why| format!("seed {seed}, kill {}: {why}", counts.kills + 1);
        let found = place.judge(&ending.answer).map_err(told)?;
        if ending.killed {
            counts.add(found);
        } else {
            usual = Some(ending.took);
        }
        if rng.once_in(4) {
            place.goes_on().map_err(|why| format!("seed {seed}, kill {}: {why}", counts.kills))?;
        }
        if place.witness.log.len() > 400 {
            place = Place::new(program)?;
        }
    }
    Ok(counts)
}

/// A directory with a counter, and what is known of it.
struct Place {
    dir: TempDir,
    program: PathBuf,
    log: Log<Counter>,
    witness: Witness<Counter>,
}

/// What a process left.
struct Found {
    counted: bool,
    torn: bool,
}

impl Place {
    fn new(program: &Path) -> Result<Self, String> {
        let dir = temporary_dir();
        let log = log_on(Arc::new(RealDisk), dir.path());
        Ok(Self { dir, program: program.to_owned(), log, witness: Witness::new(id()) })
    }

    fn command(&self, steps: u64) -> Command {
        let mut command = Command::new(&self.program);
        let args: [OsString; 2] = [self.dir.path().into(), steps.to_string().into()];
        command.args(args);
        command
    }

    /// Counts in this process.
    fn count(&mut self, steps: u64) -> Result<(), String> {
        let mut said = Vec::new();
        count(Arc::new(RealDisk), self.dir.path(), steps, &mut said).map_err(|error| error.to_string())?;
        self.judge(&said).map(drop)
    }

    /// Looks at the log: everything that was said is in it, and nothing that was in it is gone.
    fn judge(&mut self, said: &[u8]) -> Result<Found, String> {
        let path = self.log.files().transcript();
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && self.witness.is_empty() => Vec::new(),
            other => other.map_err(|error| format!("{}: {error}", path.display()))?,
        };
        let before = self.witness.state.total;
        let news = self.witness.look(&bytes)?;
        let text = String::from_utf8_lossy(said);
        // A last line without its end may be half a number.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let last = whole.lines().last().map(|line| line.parse::<u64>().map_err(|_| format!("it said {line:?}")));
        let (said, total) = (last.transpose()?.unwrap_or(before), self.witness.state.total);
        // The answer comes after the record, so one more may be recorded than was said.
        if total != said && total != said + 1 {
            return Err(format!("it said {said}, and the log says {total}"));
        }
        self.witness.make_firm();
        Ok(Found { counted: total > before, torn: matches!(news.end, End::Torn(_)) })
    }

    /// The next writer repairs the log; then the log, its cache and the witness agree.
    fn goes_on(&mut self) -> Result<(), String> {
        self.count(1)?;
        let (verified, loaded) = (self.log.verify(), self.log.load());
        let verified = verified.map_err(|error| error.to_string())?.state;
        let loaded = loaded.map_err(|error| error.to_string())?.state;
        let own = self.log.foreign().map_err(|error| error.to_string())?.is_none();
        if own && loaded == verified && verified == self.witness.state {
            return Ok(());
        }
        Err(format!("own: {own}, loaded {loaded}, verified {verified}, seen {}", self.witness.state))
    }
}

impl Counts {
    fn add(&mut self, found: Found) {
        self.kills += 1;
        self.counted += u64::from(found.counted);
        self.torn += u64::from(found.torn);
    }
}

fn id() -> BubbleId {
    "clicks".parse().expect("this is a valid name")
}

fn log_on(disk: Arc<dyn Storage>, root: &Path) -> Log<Counter> {
    let registry = Registry::new(Arc::clone(&disk), root.join("state"));
    Log::new(disk, LogFiles::of::<Counter>(&root.join("repo/.pairflow"), &id()), id()).owned(registry)
}

fn moment() -> Moment {
    Moment { ts: Timestamp::from_millis(1_794_000_000_000), up: 5_000 }
}
