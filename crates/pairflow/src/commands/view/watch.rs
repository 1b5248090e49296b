//! What is known of a bubble that is watched: its log, read on where it grew, and what the supervisor says of its agents.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pairflow_core::bubble::BubbleState;
use pairflow_core::log::scan::Head;
use pairflow_core::time::Moment;
use pairflow_core::view::ForeignNotice;
use pairflow_core::view::pane::{self, Alarm, Scene, SeatNow};
use pairflow_core::view::timeline::{TimelineRow, TimelineState};
use pairflow_engine::engine::{Bubble, EngineError, sentence};
use pairflow_engine::notify::bell;
use pairflow_engine::store::StoreError;
use pairflow_engine::store::storage::FileStat;
use pairflow_engine::supervisor_client::Client;

/// How many lines of the timeline are kept.
const KEPT: usize = 300;
/// How often the supervisor is asked for.
const ASK: Duration = Duration::from_secs(9);
/// At which look something is tried again that did not work.
const AGAIN: u64 = 10;
/// The longest file about the agents that is read, in bytes.
const SEATS_LIMIT: u64 = 256 * 1024;

/// A bubble that is watched.
pub(super) struct Watch {
    bubble: Bubble,
    story: TimelineState,
    rows: VecDeque<TimelineRow>,
    /// How far the log has been read.
    head: Head,
    /// The files as they were when they were last read.
    seen: (Option<FileStat>, Option<FileStat>),
    seats: Option<Vec<SeatNow>>,
    supervised: bool,
    asked: Option<Instant>,
    trouble: Option<Alarm>,
    foreign: Option<ForeignNotice>,
    alarms: Vec<Alarm>,
    looks: u64,
    pane: bool,
}

/// What a look has brought.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct News {
    /// Whether there is anything else to show than before.
    pub(super) changed: bool,
    /// Whether the person should look.
    pub(super) rings: bool,
}

impl Watch {
    /// Watches a bubble, in the session's own pane or elsewhere; nothing has been read yet.
    pub(super) fn new(bubble: Bubble, pane: bool) -> Self {
        let story = TimelineState::new(bubble.id.clone());
        Self {
            bubble,
            story,
            rows: VecDeque::new(),
            head: Head::default(),
            seen: (None, None),
            seats: None,
            supervised: true,
            asked: None,
            trouble: None,
            foreign: None,
            alarms: Vec::new(),
            looks: 0,
            pane,
        }
    }

    /// Looks whether the files have changed, and reads what is new. What cannot be read now is said, and what is known
    /// from before stays.
    pub(super) fn look(&mut self) -> News {
        let paths = (self.bubble.log().files().transcript(), self.seats_file());
        let stat = |path: &PathBuf| self.bubble.engine.disk.stat(path).ok().flatten();
        let (log, seats) = (stat(&paths.0), stat(&paths.1));
        let before = self.trouble.clone();
        let mut news = News::default();
        // A long log that cannot be read is not tried each second.
        self.looks += 1;
        let again = before.is_some() && (log.is_none() || self.looks.is_multiple_of(AGAIN));
        let was_foreign = self.foreign.is_some();
        // A bubble whose repository was moved is adopted without a new line in its log.
        if log != self.seen.0 || self.looks == 1 || (was_foreign && self.looks.is_multiple_of(AGAIN)) {
            self.foreign = self.bubble.foreign_notice().ok().flatten();
            news.changed = was_foreign != self.foreign.is_some();
        }
        if log != self.seen.0 || again || self.looks == 1 {
            news.rings = self.read_log() && self.foreign.is_none();
            news.changed |= log != self.seen.0 || before != self.trouble;
        }
        if seats != self.seen.1 {
            let small = seats.is_some_and(|stat| stat.len <= SEATS_LIMIT);
            let text = if small { pairflow_engine::regular::read_text(&paths.1).ok() } else { None };
            self.seats = text.as_deref().and_then(pane::seats);
            news.changed = true;
        }
        self.seen = (log, seats);
        self.alarms = self.alarms();
        news
    }

    /// Finds out whether a supervisor is there, unless that was asked a moment ago: asking wakes it.
    pub(super) fn ask_for_supervisor(&mut self) {
        if self.asked.is_some_and(|asked| asked.elapsed() < ASK) {
            return;
        }
        self.asked = Some(Instant::now());
        self.supervised = Client::new(&self.bubble.engine).is_there();
        self.alarms = self.alarms();
    }

    /// Returns what there is to show.
    pub(super) fn scene(&mut self, now: Moment) -> Scene<'_> {
        let story = &*self.rows.make_contiguous();
        Scene {
            state: self.story.state(),
            seats: self.seats.as_deref(),
            story,
            now,
            foreign: self.foreign.as_ref(),
            alarms: &self.alarms,
            supervised: self.supervised,
            pane: self.pane,
        }
    }

    fn seats_file(&self) -> PathBuf {
        self.bubble.control.runtime(&self.bubble.id).join("seats.json")
    }

    /// Reads what was added to the log; says whether that is worth a bell.
    fn read_log(&mut self) -> bool {
        let first = self.head == Head::default();
        let before = self.story.state().clone();
        self.trouble = match self.read_on() {
            Ok(()) => None,
            Err(error) => Some(self.told(error)),
        };
        !first && self.trouble.is_none() && bell(&before, self.story.state())
    }

    fn read_on(&mut self) -> Result<(), StoreError> {
        let (story, rows) = (&mut self.story, &mut self.rows);
        let mut each = |envelope| {
            rows.extend(story.step(&envelope));
            let surplus = rows.len().saturating_sub(KEPT);
            rows.drain(..surplus);
        };
        if let Some(head) = self.bubble.log().visit_after(&self.head, &mut each)? {
            self.head = head;
            return Ok(());
        }
        // Another log under the same name: a bubble that was deleted and made again, or one that was repaired.
        self.story = TimelineState::new(self.bubble.id.clone());
        self.rows.clear();
        self.head = Head::default();
        self.read_on()
    }

    fn told(&self, error: StoreError) -> Alarm {
        let id = &self.bubble.id;
        if matches!(error, StoreError::Missing { .. }) {
            let what = format!("Bubble {id} is deleted; this is how it stood last.");
            return Alarm { what, next: Some("pairflow list".to_owned()) };
        }
        let damaged = matches!(error, StoreError::Damaged { .. } | StoreError::Gone { .. });
        let what = format!("The log cannot be read: {}", sentence(&EngineError::from(error)));
        Alarm { what, next: damaged.then(|| "pairflow doctor".to_owned()) }
    }

    fn alarms(&self) -> Vec<Alarm> {
        let state: &BubbleState = self.story.state();
        let watched = self.foreign.is_none() && !state.phase.is_final();
        let alone = (watched && !self.supervised && self.trouble.is_none()).then(|| Alarm {
            what: "The supervisor is not running, so nothing moves by itself.".to_owned(),
            next: Some("pairflow supervise".to_owned()),
        });
        self.trouble.iter().cloned().chain(alone).collect()
    }
}
