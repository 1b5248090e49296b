//! One bubble in the supervisor's care.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pairflow_core::bubble::BubbleState;
use pairflow_core::time::BackOff;

use crate::engine::Bubble;
use crate::notify::News;
use crate::perform::Care;
use crate::process::Cancel;
use crate::stage::{Activity, Stage};

/// How long to wait after a failure.
const PAUSES: BackOff = BackOff::new(Duration::from_millis(250), Duration::from_secs(30));

/// A bubble, and what the supervisor is doing for it.
pub(super) struct Entry {
    /// Which bubble.
    pub bubble: Arc<Bubble>,
    /// Whether an earlier supervisor may have left processes behind.
    pub fresh: bool,
    /// Ends the work that is going on for it.
    pub working: Option<Cancel>,
    /// Whether something happened since the work began.
    pub again: bool,
    /// Whether its silence has to be looked at.
    pub tick: bool,
    /// When the agent will have been silent for too long.
    pub deadline: Option<Instant>,
    /// When what failed is tried again.
    pub retry: Option<Instant>,
    /// The process of the agent whose turn it is, or of one that is ending.
    pub agent: Option<Playing>,
    /// The session of its interactive agents.
    pub stage: Option<Stage>,
    /// The environment of the person who works with it.
    pub person: Option<Vec<(String, String)>>,
    /// When its agents were last seen at work.
    pub activity: Activity,
    /// Whether it goes out of care as soon as nothing runs for it.
    pub leaving: bool,
    /// What its person was told.
    news: News,
    pauses: BackOff,
    failure: String,
    _care: Care,
}

/// An agent's process.
pub(super) struct Playing {
    /// Which of all starts it was: a turn can be started more than once.
    pub start: u64,
    /// For which turn it was started.
    pub turn: u32,
    /// How many of the agent's questions had been answered by then.
    pub answered: u32,
    /// Ends it.
    pub cancel: Cancel,
    /// Whether it was ended on purpose.
    pub ended: bool,
}

impl Entry {
    /// Puts a bubble on the list of those in care.
    pub(super) fn new(bubble: Bubble, care: Care) -> Self {
        Self {
            bubble: Arc::new(bubble),
            fresh: true,
            working: None,
            again: false,
            tick: false,
            deadline: None,
            retry: None,
            agent: None,
            stage: None,
            person: None,
            activity: Activity::default(),
            leaving: false,
            news: News::default(),
            pauses: PAUSES,
            failure: String::new(),
            _care: care,
        }
    }

    /// Returns the bubble's directory, which names it among all bubbles of all repositories.
    pub(super) fn key(&self) -> PathBuf {
        self.bubble.dir()
    }

    /// Ends the agent's process, if there is one.
    pub(super) fn end_agent(&mut self) {
        if let Some(playing) = &mut self.agent {
            playing.ended = true;
            playing.cancel.cancel();
        }
    }

    /// Tells the person what is new in the bubble.
    pub(super) fn tell(&mut self, state: &BubbleState, say: &Arc<dyn Fn(&str) + Send + Sync>) {
        self.news.look(&self.bubble, state, self.person.as_deref(), say);
    }

    /// Whether nothing runs for the bubble.
    pub(super) fn is_idle(&self) -> bool {
        self.working.is_none() && self.agent.is_none()
    }

    /// When the clock has something to say about the bubble.
    pub(super) fn due(&self) -> Option<Instant> {
        self.deadline.into_iter().chain(self.retry).min()
    }

    /// Notes a failure and when to try again, later after each one. Returns whether this is news.
    pub(super) fn set_back(&mut self, failure: String) -> bool {
        self.retry = Some(Instant::now() + self.pauses.pause());
        let news = self.failure != failure;
        self.failure = failure;
        news
    }

    /// Notes that all is well again.
    pub(super) fn recovered(&mut self) {
        self.pauses.reset();
        self.retry = None;
        self.failure.clear();
    }
}
