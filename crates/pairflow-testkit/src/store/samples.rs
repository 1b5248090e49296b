//! A bubble's log on a simulated disk, and what should be in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pairflow_core::ids::BubbleId;
use pairflow_core::log::{Body, Envelope, Event, Question, QuestionKind, Reply, Warning};
use pairflow_core::time::{Moment, Timestamp};
use pairflow_core::unit::{Unit, evolve};
use pairflow_engine::store::{BubbleFiles, Log, Storage, StoreError};

use crate::disk::{Rng, SimDisk};

/// No time to wait: in these tests nothing else may hold the lock.
pub const NOW: Duration = Duration::ZERO;

/// Returns the name of the bubble.
pub fn bubble() -> BubbleId {
    "login-race".parse().unwrap()
}

/// Returns where its files lie.
pub fn files() -> BubbleFiles {
    BubbleFiles::new(Path::new("/repo/.pairflow"), &bubble())
}

/// Returns where its log lies.
pub fn transcript() -> PathBuf {
    files().transcript()
}

/// Returns its log on a disk.
pub fn log_on(disk: impl Storage + 'static) -> Log {
    Log::new(Arc::new(disk), files(), bubble())
}

/// Returns the `n`th second of the time in which everything here happens.
pub fn moment(n: u64) -> Moment {
    Moment { ts: Timestamp::from_millis(1_794_000_000_000 + n as i64 * 1_000), up: 5_000 + n }
}

/// Returns a question as an event.
pub fn question(text: &str) -> Event {
    Event::own(1, Body::HumanQuestion(Question::new(QuestionKind::Question, text.to_owned())))
}

/// Returns one to four events, some of them long enough to fill sectors.
pub fn some_events(rng: &mut Rng) -> Vec<Event> {
    (0..=rng.below(3)).map(|_| some_event(rng)).collect()
}

fn some_event(rng: &mut Rng) -> Event {
    let len = if rng.once_in(4) { rng.below(1500) } else { rng.below(60) };
    let text = "what shall I do? ".repeat(len / 16);
    match rng.below(3) {
        0 => question(&text),
        1 => Event::own(1, Body::HumanReply(Reply { message: text, decision: None })),
        _ => Event::own(2, Body::ProtocolWarning(Warning { command: "pass".into(), reason: text, unmet: vec![] })),
    }
}

/// Returns a disk with a bubble whose log has a few appends; returns what was acknowledged.
pub fn prepared(appends: usize) -> (SimDisk, Vec<Envelope>) {
    let disk = SimDisk::new();
    let (mut locked, mut acked) = log_on(disk.clone()).create(&[question("first")], moment(0)).unwrap();
    let mut rng = Rng::new(7);
    for n in 0..appends {
        acked.extend(locked.append(&some_events(&mut rng), moment(n as u64 + 1)).unwrap());
    }
    (disk, acked)
}

/// Returns the state that these records tell.
pub fn fold(envelopes: &[Envelope]) -> Unit {
    envelopes.iter().fold(Unit::new(bubble()), evolve)
}

/// Reads everything in every way there is, and says that all of them agree; returns what the log holds.
pub fn agree(log: &Log) -> Result<Vec<Envelope>, StoreError> {
    let loaded = log.load()?;
    let envelopes = log.envelopes()?;
    assert_eq!(loaded.head.seq, envelopes.len() as u64);
    assert_eq!(loaded.unit, fold(&envelopes));
    Ok(envelopes)
}

/// Takes the lock, appends once more, and checks that the log is sound and tells all of it.
pub fn goes_on(log: &Log, before: &[Envelope]) {
    let mut locked = log.lock(NOW).unwrap();
    let added = locked.append(&[question("and now?"), question("and then?")], moment(99)).unwrap();
    drop(locked);
    let all = [before, &added].concat();
    assert_eq!(agree(log).unwrap(), all);
    let verified = log.verify().unwrap();
    assert_eq!((verified.envelopes, verified.unit), (all.len() as u64, fold(&all)));
}
