//! A machine's log on a simulated disk, and what should be in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use pairflow_core::log::{Body, Envelope, Event, Lifecycle, Machine, Question, QuestionKind, Reply, Warning};
use pairflow_core::time::{Moment, Timestamp};
use pairflow_engine::store::{Log, LogFiles, Storage, StoreError};

use super::counter::{Counted, Counter, TakenOver};
use crate::disk::{Rng, SimDisk};

/// No time to wait: in these tests nothing else may hold the lock.
pub const NOW: Duration = Duration::ZERO;

/// A machine for whose log the proofs of the store can make lines.
pub trait Sample: Machine<Body: Send + Sync> + Send + Sync {
    /// Returns an event with this text.
    fn event(text: &str) -> Event<Self::Body>;

    /// Returns any event, with this text if it has one.
    fn any_event(rng: &mut Rng, text: &str) -> Event<Self::Body>;

    /// Returns the event that makes the log in the repository `repo` another user's.
    fn adoption(repo: &str) -> Event<Self::Body>;
}

impl Sample for BubbleState {
    fn event(text: &str) -> Event {
        question(text)
    }

    fn any_event(rng: &mut Rng, text: &str) -> Event {
        let text = text.to_owned();
        match rng.below(3) {
            0 => question(&text),
            1 => Event::own(1, Body::HumanReply(Reply { message: text, decision: None })),
            _ => Event::own(2, Body::ProtocolWarning(Warning { command: "pass".into(), reason: text, unmet: vec![] })),
        }
    }

    fn adoption(repo: &str) -> Event {
        let adopted = Lifecycle::Adopted { repo: repo.to_owned(), reason: "it was foreign".to_owned() };
        Event::own(0, Body::Lifecycle(adopted))
    }
}

impl Sample for Counter {
    fn event(text: &str) -> Event<Counted> {
        Event::own(0, Counted::added(1, text))
    }

    fn any_event(rng: &mut Rng, text: &str) -> Event<Counted> {
        Event::own(0, Counted::added(rng.below(1000) as u64, text))
    }

    fn adoption(repo: &str) -> Event<Counted> {
        Event::own(0, Counted::TakenOver(TakenOver { repo: repo.to_owned() }))
    }
}

/// Returns the name of the log.
pub fn bubble() -> BubbleId {
    "login-race".parse().unwrap()
}

/// Returns where its files lie.
pub fn files<M: Machine>() -> LogFiles {
    LogFiles::of::<M>(Path::new("/repo/.pairflow"), &bubble())
}

/// Returns where its log lies.
pub fn transcript<M: Machine>() -> PathBuf {
    files::<M>().transcript()
}

/// Returns its log on a disk.
pub fn log_on<M: Machine>(disk: impl Storage + 'static) -> Log<M> {
    Log::new(Arc::new(disk), files::<M>(), bubble())
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
pub fn some_events<M: Sample>(rng: &mut Rng) -> Vec<Event<M::Body>> {
    (0..=rng.below(3)).map(|_| some_event::<M>(rng)).collect()
}

fn some_event<M: Sample>(rng: &mut Rng) -> Event<M::Body> {
    let len = if rng.once_in(4) { rng.below(1500) } else { rng.below(60) };
    M::any_event(rng, &"what shall I do? ".repeat(len / 16))
}

/// Returns a disk with a log that has a few appends, and what was acknowledged.
pub fn prepared<M: Sample>(appends: usize) -> (SimDisk, Vec<Envelope<M::Body>>) {
    let disk = SimDisk::new();
    let (mut locked, mut acked) = log_on::<M>(disk.clone()).create(&[M::event("first")], moment(0)).unwrap();
    let mut rng = Rng::new(7);
    for n in 0..appends {
        acked.extend(locked.append(&some_events::<M>(&mut rng), moment(n as u64 + 1)).unwrap());
    }
    (disk, acked)
}

/// Returns the state that these records tell.
pub fn fold<M: Machine>(envelopes: &[Envelope<M::Body>]) -> M {
    let mut state = M::new(bubble());
    envelopes.iter().for_each(|envelope| state.advance(envelope));
    state
}

/// Reads everything in every way there is, and says that all of them agree; returns what the log holds.
pub fn agree<M: Machine>(log: &Log<M>) -> Result<Vec<Envelope<M::Body>>, StoreError> {
    let loaded = log.load()?;
    let envelopes = log.envelopes()?;
    assert_eq!(loaded.head.seq, envelopes.len() as u64);
    assert_eq!(loaded.state, fold(&envelopes));
    Ok(envelopes)
}

/// Takes the lock, appends once more, and checks that the log is sound and tells all of it.
pub fn goes_on<M: Sample>(log: &Log<M>, before: &[Envelope<M::Body>]) {
    let mut locked = log.lock(NOW).unwrap();
    let added = locked.append(&[M::event("and now?"), M::event("and then?")], moment(99)).unwrap();
    drop(locked);
    let all = [before, &added].concat();
    assert_eq!(agree(log).unwrap(), all);
    let verified = log.verify().unwrap();
    assert_eq!((verified.envelopes, verified.state), (all.len() as u64, fold(&all)));
}
