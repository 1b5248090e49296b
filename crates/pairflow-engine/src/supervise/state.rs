//! What the supervisor's loop holds, and what reaches it. The loop itself is in `run`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pairflow_core::ids::BubbleId;
use pairflow_core::time::BackOff;

use super::entry::Entry;
use super::socket::Asker;
use super::watch::Watch;
use crate::driver::AgentDriver;
use crate::engine::{Engine, EngineError};
use crate::perform::{Care, Settled};
use crate::process::JobResult;
use crate::supervisor_client::Ask;

/// How long to wait before looking again for bubbles that could not be taken into care.
const SEARCHES: BackOff = BackOff::new(Duration::from_secs(5), Duration::from_secs(600));

/// What a supervisor is made of.
pub struct Setup {
    /// The engine.
    pub engine: Engine,
    /// How agents are run.
    pub driver: Arc<dyn AgentDriver>,
    /// The pairflow program, as which panes and agents call back.
    pub program: PathBuf,
    /// Where it tells what it does, a line at a time.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
    /// The version to report.
    pub version: String,
}

/// What reaches the loop.
pub(super) enum Message {
    /// A file of a bubble was touched.
    Touched(PathBuf),
    /// Someone asks, and waits for one line.
    Asked(Ask, Asker),
    /// The work for a bubble is done.
    Worked(PathBuf, Box<Result<Settled, EngineError>>),
    /// The agent's process of this start is gone.
    AgentGone(PathBuf, u64, Box<JobResult>),
    /// Another process has let go of a bubble.
    Freed((PathBuf, BubbleId), Box<Result<Care, EngineError>>),
}

/// The loop's own state; all of it can be lost at any moment.
pub(super) struct Supervisor {
    pub(super) setup: Setup,
    pub(super) entries: BTreeMap<PathBuf, Entry>,
    /// Those that another process has in care.
    pub(super) elsewhere: BTreeSet<PathBuf>,
    /// When to look for bubbles once more.
    pub(super) search: Option<Instant>,
    /// How long to wait for that, after several in a row.
    pub(super) searches: BackOff,
    pub(super) out: Sender<Message>,
    pub(super) watch: Watch,
    pub(super) waiting: VecDeque<PathBuf>,
    pub(super) workers: usize,
    pub(super) most_workers: usize,
    /// How many agents were started so far.
    pub(super) starts: u64,
    /// Sessions of bubbles that are over and are being closed.
    pub(super) closing: Vec<JoinHandle<()>>,
}

impl Supervisor {
    /// Begins with no bubble in care; what reaches the loop goes through `out`.
    pub(super) fn new(setup: Setup, out: Sender<Message>, watch: Watch) -> Self {
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
