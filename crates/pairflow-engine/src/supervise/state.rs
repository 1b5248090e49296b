//! The state of the supervisor's loop, the bubbles in it, and the events that reach it. The loop itself is in `run`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use pairflow_core::time::BackOff;

use super::socket::PendingReply;
use super::watch::LogWatcher;
use crate::driver::AgentDriver;
use crate::engine::{Bubble, Engine, EngineError};
use crate::notify::Notifier;
use crate::perform::{BubbleLock, Settled};
use crate::process::{Cancel, JobResult};
use crate::session::{Activity, SessionHandle};
use crate::supervisor_client::SupervisorRequest;

/// How long to wait before looking again for bubbles that could not be locked.
const SEARCHES: BackOff = BackOff::new(Duration::from_secs(5), Duration::from_secs(600));

/// What a supervisor needs.
pub struct Setup {
    /// The engine.
    pub engine: Engine,
    /// How agents are run.
    pub driver: Arc<dyn AgentDriver>,
    /// The pairflow program, as which panes and agents call back.
    pub program: PathBuf,
    /// Writes a line to its log.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
    /// The version to report.
    pub version: String,
}

/// What the loop is told.
pub(super) enum SupervisorEvent {
    /// A file of a bubble was touched.
    Touched(PathBuf),
    /// A caller asks, and waits for one line.
    Asked(SupervisorRequest, PendingReply),
    /// A worker is done with a bubble.
    Worked(PathBuf, Box<Result<Settled, EngineError>>),
    /// The agent's process of this start has ended.
    AgentGone(PathBuf, u64, Box<JobResult>),
    /// Another process has released a bubble.
    Freed((PathBuf, BubbleId), Box<Result<BubbleLock, EngineError>>),
}

/// The loop's own state; it may be lost at any moment.
pub(super) struct Supervisor {
    pub(super) setup: Setup,
    pub(super) entries: BTreeMap<PathBuf, SupervisedBubble>,
    /// The bubbles that another process has locked.
    pub(super) elsewhere: BTreeSet<PathBuf>,
    /// When to look for bubbles once more.
    pub(super) search: Option<Instant>,
    /// How long to wait before that, longer each time.
    pub(super) searches: BackOff,
    pub(super) out: Sender<SupervisorEvent>,
    pub(super) watch: LogWatcher,
    pub(super) waiting: VecDeque<PathBuf>,
    pub(super) workers: usize,
    pub(super) most_workers: usize,
    /// How many agents were started so far.
    pub(super) starts: u64,
    /// The session threads that are ending.
    pub(super) closing: Vec<JoinHandle<()>>,
}

impl Supervisor {
    /// Returns a supervisor without bubbles; events go through `out`.
    pub(super) fn new(setup: Setup, out: Sender<SupervisorEvent>, watch: LogWatcher) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            setup,
            entries: BTreeMap::new(),
            elsewhere: BTreeSet::new(),
            search: None,
            searches: SEARCHES,
            out,
            watch,
            waiting: VecDeque::new(),
            workers: 0,
            most_workers: (cores * 2).clamp(4, 16),
            starts: 0,
            closing: Vec::new(),
        }
    }
}

/// How long to wait after a failure.
const PAUSES: BackOff = BackOff::new(Duration::from_millis(250), Duration::from_secs(30));

/// A bubble, and what the supervisor does for it.
pub(super) struct SupervisedBubble {
    /// Which bubble.
    pub bubble: Arc<Bubble>,
    /// Whether an earlier supervisor may have left processes behind.
    pub fresh: bool,
    /// Cancels the worker that is busy with it.
    pub working: Option<Cancel>,
    /// Whether something happened since the work began.
    pub again: bool,
    /// Whether its deadline has passed.
    pub tick: bool,
    /// When the agent will have been silent for too long.
    pub deadline: Option<Instant>,
    /// When a failure is retried.
    pub retry: Option<Instant>,
    /// The process of the agent whose turn it is, or of one that is ending.
    pub agent: Option<AgentRun>,
    /// The session thread of its interactive agents.
    pub session: Option<SessionHandle>,
    /// The environment of the person who works with it.
    pub person: Option<Vec<(String, String)>>,
    /// When its agents were last active.
    pub activity: Activity,
    /// Whether it is released as soon as nothing runs for it.
    pub leaving: bool,
    /// What its person was told.
    notifier: Notifier,
    pauses: BackOff,
    failure: String,
    _lock: BubbleLock,
}

/// An agent's process.
pub(super) struct AgentRun {
    /// The number of the start: a turn can be started more than once.
    pub start: u64,
    /// For which turn it was started.
    pub turn: u32,
    /// How many of the agent's questions had been answered then.
    pub answered: u32,
    /// Ends it.
    pub cancel: Cancel,
    /// Whether it was ended on purpose.
    pub ended: bool,
}

impl SupervisedBubble {
    /// Adds a bubble that is locked.
    pub(super) fn new(bubble: Bubble, lock: BubbleLock) -> Self {
        Self {
            bubble: Arc::new(bubble),
            fresh: true,
            working: None,
            again: false,
            tick: false,
            deadline: None,
            retry: None,
            agent: None,
            session: None,
            person: None,
            activity: Activity::default(),
            leaving: false,
            notifier: Notifier::default(),
            pauses: PAUSES,
            failure: String::new(),
            _lock: lock,
        }
    }

    /// Returns the bubble's directory, which names it among all bubbles of all repositories.
    pub(super) fn key(&self) -> PathBuf {
        self.bubble.dir()
    }

    /// Ends the agent's process, if there is one.
    pub(super) fn end_agent(&mut self) {
        if let Some(run) = &mut self.agent {
            run.ended = true;
            run.cancel.cancel();
        }
    }

    /// Notifies the person of what is new in the bubble.
    pub(super) fn tell(&mut self, state: &BubbleState, say: &Arc<dyn Fn(&str) + Send + Sync>) {
        self.notifier.look(&self.bubble, state, self.person.as_deref(), say);
    }

    /// Whether nothing runs for the bubble.
    pub(super) fn is_idle(&self) -> bool {
        self.working.is_none() && self.agent.is_none()
    }

    /// Returns when the bubble has to be looked at.
    pub(super) fn due(&self) -> Option<Instant> {
        self.deadline.into_iter().chain(self.retry).min()
    }

    /// Notes a failure and when to retry, later each time. Returns whether the failure is a new one.
    pub(super) fn set_back(&mut self, failure: String) -> bool {
        self.retry = Some(Instant::now() + self.pauses.pause());
        let notifier = self.failure != failure;
        self.failure = failure;
        notifier
    }

    /// Notes a success.
    pub(super) fn recovered(&mut self) {
        self.pauses.reset();
        self.retry = None;
        self.failure.clear();
    }
}
