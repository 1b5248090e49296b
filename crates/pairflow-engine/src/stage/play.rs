//! The thread of a stage: cues in, one step after each, and after a while without any.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command, Phase};
use pairflow_core::ids::AgentId;
use pairflow_core::rules::DriverKind;
use pairflow_core::time::BackOff;

use super::activity::Activity;
use super::error::StageError;
use super::held::Held;
use super::overview::{self, Shown};
use super::room::Room;
use super::seat::{SeatNow, Status};
use crate::driver::AgentDriver;
use crate::engine::{Bubble, EngineError};
use crate::limits::Limits;
use crate::process::environment;
use crate::seat::{SeatCall, SeatSocket};
use crate::store::StoreError;
use crate::tmux::TmuxError;

/// How long to wait after a failure.
const PAUSES: BackOff = BackOff::new(Duration::from_millis(500), Duration::from_secs(30));
/// How often the same failure is met before a person is asked.
const TRIES: u32 = 3;

/// What reaches a stage.
pub(super) enum Cue {
    /// The log has changed.
    Look,
    /// A person works with the bubble in another environment.
    Person,
    /// A hook of an agent.
    Call(Box<SeatCall>),
    /// The process of an agent is gone.
    Gone(AgentId, i32),
    /// The supervisor ends; the panes stay.
    Leave,
}

/// The environment that came last and was not taken over yet. It is there before anything is recorded that an agent is
/// started by, which a cue in a queue is not.
pub(super) type Arrived = Arc<Mutex<Option<Vec<(String, String)>>>>;

/// What a stage is made of.
pub(crate) struct Props {
    /// The bubble.
    pub bubble: Arc<Bubble>,
    /// How agents are started.
    pub driver: Arc<dyn AgentDriver>,
    /// The pairflow program.
    pub program: PathBuf,
    /// Where it tells what it does.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
    /// Where signs of life are noted.
    pub activity: Activity,
    /// Is called at the end of its thread, however that comes.
    pub over: Box<dyn Fn() + Send>,
}

/// One stage.
pub(super) struct Play {
    pub props: Props,
    pub cues: Sender<Cue>,
    /// What the log said last.
    pub state: Option<BubbleState>,
    pub room: Option<Room>,
    pub seats: BTreeMap<AgentId, SeatNow>,
    pub sockets: BTreeMap<AgentId, SeatSocket>,
    /// Whether anything happened that panes may have changed by.
    stirred: bool,
    /// The environment in which agents are started.
    pub person: Vec<(String, String)>,
    arrived: Arrived,
    /// The hooks that wait for a permission.
    pub held: Vec<Held>,
    shown: Vec<Shown>,
    /// What the file for a later supervisor holds.
    pub kept: Vec<u8>,
    retry: Option<Instant>,
    pauses: BackOff,
    /// Whether a person was asked about them.
    complained: bool,
    /// Whether a person was asked something when it was last looked.
    asked: bool,
    /// When the last step ended, and whether it came as far as telling anybody anything.
    stepped: (Instant, bool),
}

impl Play {
    /// A stage that has not looked at anything yet.
    pub(super) fn new(props: Props, cues: Sender<Cue>, arrived: Arrived) -> Self {
        let person = environment();
        Self {
            props,
            cues,
            state: None,
            room: None,
            seats: BTreeMap::new(),
            sockets: BTreeMap::new(),
            stirred: true,
            person,
            arrived,
            held: Vec::new(),
            shown: Vec::new(),
            kept: Vec::new(),
            retry: None,
            pauses: PAUSES,
            complained: false,
            asked: false,
            stepped: (Instant::now(), false),
        }
    }

    /// Runs until the bubble is over or the supervisor ends.
    pub(super) fn run(mut self, cues: &Receiver<Cue>) {
        loop {
            let cue = match self.due() {
                None => cues.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => cues.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            // Hooks come in dozens, and no pane changes by them.
            self.stirred |= !matches!(cue, Ok(Cue::Call(_)) | Err(RecvTimeoutError::Timeout));
            match cue {
                Ok(Cue::Look) => self.refresh(),
                // Every step takes over who has come.
                Ok(Cue::Person) => {}
                Ok(Cue::Call(call)) => self.heard(*call),
                Ok(Cue::Gone(agent, pid)) => self.gone(&agent, pid),
                Ok(Cue::Leave) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.state.as_ref().is_some_and(|state| state.phase.is_final()) {
                return self.close();
            }
            self.bring_in_line();
            self.hold();
        }
    }

    /// Takes over the environment of a person who goes on; tmux may have been missing in the one before.
    fn welcome(&mut self) {
        let arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(env) = arrived.filter(|env| *env != self.person) {
            (self.person, self.room) = (env, None);
        }
    }

    /// Reads what the log says now. What cannot be read just now is as it was; what somebody else wrote says nothing.
    pub(super) fn refresh(&mut self) {
        match self.bubble().insist_own().and_then(|()| self.bubble().load()) {
            Ok(loaded) => self.state = Some(loaded.state),
            Err(EngineError::Store(StoreError::Foreign { .. })) => self.state = None,
            Err(_) => {}
        }
    }

    /// Does what is to be done now; what fails is tried again, and then a person is asked.
    fn bring_in_line(&mut self) {
        let asked = self.state.as_ref().is_some_and(|state| matches!(state.phase, Phase::WaitingHuman(_)));
        if std::mem::replace(&mut self.asked, asked) && !asked {
            // A person says that all is well now: whatever fails from here on is asked about anew.
            self.recovered();
        }
        if self.retry.is_some_and(|at| at > Instant::now()) {
            return;
        }
        self.stepped.1 = false;
        match self.step() {
            Ok(()) => self.recovered(),
            Err(error) => self.set_back(&error),
        }
        self.stepped.0 = Instant::now();
        if let Err(error) = self.show() {
            (self.props.say)(&format!("{}: {error}", self.bubble().id));
        }
    }

    fn set_back(&mut self, error: &StageError) {
        if matches!(error, StageError::Tmux(TmuxError::NoServer { .. })) {
            // The next step makes a new session.
            self.lost();
        }
        self.stirred = true;
        self.retry = Some(Instant::now() + self.pauses.pause());
        (self.props.say)(&format!("{}: {error}; it is tried again", self.bubble().id));
        if self.pauses.attempts() >= TRIES && !self.complained {
            let id = &self.bubble().id;
            let reason = format!("{error}. Fix it, then go on with 'pairflow resume {id}'.");
            // While the work is up for approval nothing is asked; if it goes on after that, it is asked then.
            self.complained = self.report(&Command::Trouble { reason }).is_some();
        }
    }

    /// Whatever fails from here on is met for the first time.
    fn recovered(&mut self) {
        self.pauses.reset();
        (self.complained, self.retry) = (false, None);
    }

    /// Brings session, panes, agents and notices in line with the log.
    fn step(&mut self) -> Result<(), StageError> {
        self.refresh();
        // After the log was read: a command that has agents started comes before that is recorded.
        self.welcome();
        let Some(state) = self.state.clone() else { return Ok(()) };
        let begun = !matches!(state.phase, Phase::Created | Phase::Preparing) && state.evidence.workspace.is_some();
        if state.rules.driver != DriverKind::Tmux || !begun {
            return Ok(());
        }
        self.listen(&state)?;
        if self.stirred || self.room.is_none() {
            self.enter(&state)?;
            self.stirred = false;
        }
        if state.paused {
            return self.interrupt(&state);
        }
        self.goes_on();
        let Phase::Running(turn) = &state.phase else { return self.keep_vigil(&state) };
        if state.presence.parked.is_some() || !turn.is_open() {
            return Ok(());
        }
        if self.has_died(&state, turn) {
            return Ok(());
        }
        self.stepped.1 = true;
        match state.notice_for(&turn.agent) {
            Some(notice) => self.tell(&state, turn, notice)?,
            None => {
                self.told(&turn.agent);
                self.look_for_failure(&state, &turn.agent);
            }
        }
        self.stand_by(&state, turn)?;
        self.brief(&state, turn)
    }

    /// Opens the sockets through which the agents speak.
    fn listen(&mut self, state: &BubbleState) -> Result<(), StageError> {
        for agent in state.rules.agents.all() {
            if self.sockets.contains_key(agent) {
                continue;
            }
            let path = self.bubble().control.seat_socket(&self.bubble().id, agent);
            let (heard, calls) = std::sync::mpsc::channel::<SeatCall>();
            let cues = self.cues.clone();
            let opened = SeatSocket::open(self.props.bubble.clone(), agent.clone(), path, heard);
            let socket = opened.map_err(StageError::world(format!("cannot open the socket of {agent}")))?;
            let forward = move || {
                for call in calls {
                    if cues.send(Cue::Call(Box::new(call))).is_err() {
                        return;
                    }
                }
            };
            let thread = std::thread::Builder::new().name("hooks".to_owned()).spawn(forward);
            thread.map_err(StageError::world("cannot listen to hooks"))?;
            self.sockets.insert(agent.clone(), socket);
        }
        Ok(())
    }

    /// When there is something to do without a cue.
    fn due(&self) -> Option<Instant> {
        let (stepped, told) = self.stepped;
        // Nothing is told in a pause or while a person is asked; and what a step has left as it was waits for a while.
        let seats = self.seats.values().filter(|_| told).filter_map(|seat| seat.due(self.limits())).min();
        let seats = seats.map(|at| if at <= stepped { stepped + self.limits().screen_look } else { at });
        let due = match self.retry {
            Some(retry) => Some(seats.map_or(retry, |at| at.max(retry))),
            None => seats.into_iter().chain(self.vigil_due(stepped)).min(),
        };
        due.into_iter().chain(self.hold_due()).min()
    }

    /// The bubble is over: nothing of its session stays.
    fn close(mut self) {
        self.sockets.clear();
        let bubble = self.bubble().clone();
        if let Err(error) = Room::close(&bubble) {
            (self.props.say)(&format!("{}: {error}", bubble.id));
        }
        let _ = overview::forget(&bubble.control, &bubble.id);
        let _ = std::fs::remove_file(self.kept_path());
        // What nobody has read holds secrets; a killed supervisor may have left a part of one.
        let left = std::fs::read_dir(bubble.control.runtime(&bubble.id)).into_iter().flatten().flatten();
        for entry in left.filter(|entry| entry.file_name().to_string_lossy().contains(".launch")) {
            let _ = std::fs::remove_file(entry.path());
        }
    }

    /// Records what was seen; what the log does not want to know any more is no failure.
    pub(super) fn report(&mut self, command: &Command) -> Option<BubbleState> {
        match self.bubble().apply(command) {
            Ok(applied) => {
                self.state = Some(applied.state.clone());
                applied.id.map(|_| applied.state)
            }
            Err(EngineError::Refused { .. }) => None,
            Err(error) => {
                (self.props.say)(&format!("{}: cannot record '{}': {error}", self.bubble().id, command.name()));
                None
            }
        }
    }

    pub(super) fn bubble(&self) -> &Arc<Bubble> {
        &self.props.bubble
    }

    pub(super) fn limits(&self) -> Limits {
        self.bubble().engine.limits
    }

    pub(super) fn seat(&mut self, agent: &AgentId) -> &mut SeatNow {
        self.seats.entry(agent.clone()).or_default()
    }

    /// Writes the files for onlookers and for a later supervisor, if they would say anything new.
    fn show(&mut self) -> std::io::Result<()> {
        if self.room.is_some() {
            self.keep()?;
        }
        let Some(state) = self.state.as_ref().filter(|_| self.room.is_some()) else { return Ok(()) };
        let shown: Vec<_> = self.seats.iter().map(|(agent, seat)| self.shown_of(state, agent, seat)).collect();
        if shown == self.shown {
            return Ok(());
        }
        overview::show(&self.bubble().control, &self.bubble().id, &shown)?;
        self.shown = shown;
        Ok(())
    }

    fn shown_of(&self, state: &BubbleState, agent: &AgentId, seat: &SeatNow) -> Shown {
        let status = match seat.status {
            Status::Unknown => "unknown",
            Status::Starting => "starting",
            Status::Ready => "ready",
            Status::Busy => "busy",
            Status::Permission => "permission",
            Status::Dialog => "dialog",
            Status::Gone => "gone",
        };
        // Minutes are enough for a count-down, and not every hook is worth a new file.
        let active = self.props.activity.of(agent).map(|at| at.up / 30_000 * 30_000);
        Shown {
            agent: agent.clone(),
            status: status.to_owned(),
            since: seat.since,
            session: state.presence.sessions.get(agent).and_then(|session| session.id.clone()),
            pane: seat.pane.as_ref().map(ToString::to_string),
            pid: seat.pid,
            notice: state.notice_for(agent).map(|notice| notice.number),
            held_back: seat.held_back,
            active,
        }
    }
}
