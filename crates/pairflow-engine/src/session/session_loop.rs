//! The thread of a stage: cues in, one step after each, and after a while without any.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command, Phase};
use pairflow_core::ids::AgentId;
use pairflow_core::rules::DriverKind;
use pairflow_core::time::BackOff;

use super::session_state::PendingPermission;
use super::session_state::SessionError;
use super::session_state::TmuxSession;
use super::session_state::{AgentProgram, ProgramStatus, SavedProgram};
use super::status_files;
use super::status_files::Activity;
use super::status_files::AgentRecord;
use crate::agent_socket::{AgentSocket, HookEvent};
use crate::driver::AgentDriver;
use crate::engine::{Bubble, EngineError};
use crate::limits::Limits;
use crate::process::environment;
use crate::store::StoreError;
use crate::tmux::TmuxError;

/// How long to wait after a failure.
const PAUSES: BackOff = BackOff::new(Duration::from_millis(500), Duration::from_secs(30));
/// How often the same failure is met before a person is asked.
const TRIES: u32 = 3;

/// What reaches a stage.
pub(super) enum SessionEvent {
    /// The log has changed.
    Look,
    /// A person works with the bubble in another environment.
    Person,
    /// A hook of an agent.
    Call(Box<HookEvent>),
    /// The process of an agent is gone.
    Gone(AgentId, i32),
    /// The supervisor ends; the panes stay.
    Leave,
}

/// The environment that came last and was not taken over yet. It is there before anything is recorded that an agent is
/// started by, which a cue in a queue is not.
pub(super) type PendingEnv = Arc<Mutex<Option<Vec<(String, String)>>>>;

/// What a stage is made of.
pub(crate) struct SessionSetup {
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
pub(super) struct SessionLoop {
    pub setup: SessionSetup,
    pub events: Sender<SessionEvent>,
    /// What the log said last.
    pub state: Option<BubbleState>,
    pub session: Option<TmuxSession>,
    pub programs: BTreeMap<AgentId, AgentProgram>,
    pub sockets: BTreeMap<AgentId, AgentSocket>,
    /// Whether anything happened that panes may have changed by.
    panes_changed: bool,
    /// The environment in which agents are started.
    pub person: Vec<(String, String)>,
    pending_env: PendingEnv,
    /// The hooks that wait for a permission.
    pub pending: Vec<PendingPermission>,
    shown: Vec<AgentRecord>,
    /// What the file for a later supervisor holds.
    pub saved: Vec<u8>,
    retry: Option<Instant>,
    pauses: BackOff,
    /// Whether a person was asked about them.
    asked_person: bool,
    /// Whether a person was asked something when it was last looked.
    asked: bool,
    /// When the last step ended, and whether it came as far as telling anybody anything.
    stepped: (Instant, bool),
}

impl SessionLoop {
    /// A stage that has not looked at anything yet.
    pub(super) fn new(setup: SessionSetup, events: Sender<SessionEvent>, pending_env: PendingEnv) -> Self {
        let person = environment();
        Self {
            setup,
            events,
            state: None,
            session: None,
            programs: BTreeMap::new(),
            sockets: BTreeMap::new(),
            panes_changed: true,
            person,
            pending_env,
            pending: Vec::new(),
            shown: Vec::new(),
            saved: Vec::new(),
            retry: None,
            pauses: PAUSES,
            asked_person: false,
            asked: false,
            stepped: (Instant::now(), false),
        }
    }

    /// Runs until the bubble is over or the supervisor ends.
    pub(super) fn run(mut self, events: &Receiver<SessionEvent>) {
        loop {
            let cue = match self.due() {
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => events.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            // Hooks come in dozens, and no pane changes by them.
            self.panes_changed |= !matches!(cue, Ok(SessionEvent::Call(_)) | Err(RecvTimeoutError::Timeout));
            match cue {
                Ok(SessionEvent::Look) => self.refresh(),
                // Every step takes over who has come.
                Ok(SessionEvent::Person) => {}
                Ok(SessionEvent::Call(call)) => self.on_hook(*call),
                Ok(SessionEvent::Gone(agent, pid)) => self.on_exit(&agent, pid),
                Ok(SessionEvent::Leave) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.state.as_ref().is_some_and(|state| state.phase.is_final()) {
                return self.close();
            }
            self.bring_in_line();
            self.check_permissions();
        }
    }

    /// Takes over the environment of a person who goes on; tmux may have been missing in the one before.
    fn take_environment(&mut self) {
        let pending_env = self.pending_env.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(env) = pending_env.filter(|env| *env != self.person) {
            (self.person, self.session) = (env, None);
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
            Err(error) => self.on_failure(&error),
        }
        self.stepped.0 = Instant::now();
        if let Err(error) = self.show() {
            (self.setup.say)(&format!("{}: {error}", self.bubble().id));
        }
    }

    fn on_failure(&mut self, error: &SessionError) {
        if matches!(error, SessionError::Tmux(TmuxError::NoServer { .. })) {
            // The next step makes a new session.
            self.on_server_gone();
        }
        self.panes_changed = true;
        self.retry = Some(Instant::now() + self.pauses.pause());
        (self.setup.say)(&format!("{}: {error}; it is tried again", self.bubble().id));
        if self.pauses.attempts() >= TRIES && !self.asked_person {
            let id = &self.bubble().id;
            let reason = format!("{error}. Fix it, then go on with 'pairflow resume {id}'.");
            // While the work is up for approval nothing is asked; if it goes on after that, it is asked then.
            self.asked_person = self.report(&Command::Trouble { reason }).is_some();
        }
    }

    /// Whatever fails from here on is met for the first time.
    fn recovered(&mut self) {
        self.pauses.reset();
        (self.asked_person, self.retry) = (false, None);
    }

    /// Brings session, panes, agents and notices in line with the log.
    fn step(&mut self) -> Result<(), SessionError> {
        self.refresh();
        // After the log was read: a command that has agents started comes before that is recorded.
        self.take_environment();
        let Some(state) = self.state.clone() else { return Ok(()) };
        let begun = !matches!(state.phase, Phase::Created | Phase::Preparing) && state.evidence.workspace.is_some();
        if state.rules.driver != DriverKind::Tmux || !begun {
            return Ok(());
        }
        self.listen(&state)?;
        if self.panes_changed || self.session.is_none() {
            self.enter(&state)?;
            self.panes_changed = false;
        }
        if state.paused {
            return self.interrupt(&state);
        }
        self.reset_interrupts();
        let Phase::Running(turn) = &state.phase else { return self.withdraw_dialog_questions(&state) };
        if state.presence.parked.is_some() || !turn.is_open() {
            return Ok(());
        }
        if self.has_died(&state, turn) {
            return Ok(());
        }
        self.stepped.1 = true;
        match state.notice_for(&turn.agent) {
            Some(notice) => self.deliver(&state, turn, notice)?,
            None => {
                self.delivered(&turn.agent);
                self.look_for_failure(&state, &turn.agent);
            }
        }
        self.start_waiting_agents(&state, turn)?;
        self.brief(&state, turn)
    }

    /// Opens the sockets through which the agents speak.
    fn listen(&mut self, state: &BubbleState) -> Result<(), SessionError> {
        for agent in state.rules.agents.all() {
            if self.sockets.contains_key(agent) {
                continue;
            }
            let path = self.bubble().control.seat_socket(&self.bubble().id, agent);
            let (heard, calls) = std::sync::mpsc::channel::<HookEvent>();
            let events = self.events.clone();
            let opened = AgentSocket::open(self.setup.bubble.clone(), agent.clone(), path, heard);
            let socket = opened.map_err(SessionError::world(format!("cannot open the socket of {agent}")))?;
            let forward = move || {
                for call in calls {
                    if events.send(SessionEvent::Call(Box::new(call))).is_err() {
                        return;
                    }
                }
            };
            let thread = std::thread::Builder::new().name("hooks".to_owned()).spawn(forward);
            thread.map_err(SessionError::world("cannot listen to hooks"))?;
            self.sockets.insert(agent.clone(), socket);
        }
        Ok(())
    }

    /// When there is something to do without a cue.
    fn due(&self) -> Option<Instant> {
        let (stepped, delivered) = self.stepped;
        // Nothing is told in a pause or while a person is asked; and what a step has left as it was waits for a while.
        let seats = self.programs.values().filter(|_| delivered).filter_map(|program| program.due(self.limits())).min();
        let seats = seats.map(|at| if at <= stepped { stepped + self.limits().screen_look } else { at });
        let due = match self.retry {
            Some(retry) => Some(seats.map_or(retry, |at| at.max(retry))),
            None => seats.into_iter().chain(self.dialog_check_due(stepped)).min(),
        };
        due.into_iter().chain(self.permissions_due()).min()
    }

    /// The bubble is over: nothing of its session stays.
    fn close(mut self) {
        self.sockets.clear();
        let bubble = self.bubble().clone();
        if let Err(error) = TmuxSession::close(&bubble) {
            (self.setup.say)(&format!("{}: {error}", bubble.id));
        }
        let _ = status_files::forget(&bubble.control, &bubble.id);
        let _ = std::fs::remove_file(self.saved_path());
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
                (self.setup.say)(&format!("{}: cannot record '{}': {error}", self.bubble().id, command.name()));
                None
            }
        }
    }

    pub(super) fn bubble(&self) -> &Arc<Bubble> {
        &self.setup.bubble
    }

    pub(super) fn limits(&self) -> Limits {
        self.bubble().engine.limits
    }

    pub(super) fn program(&mut self, agent: &AgentId) -> &mut AgentProgram {
        self.programs.entry(agent.clone()).or_default()
    }

    /// Writes the files for onlookers and for a later supervisor, if they would say anything new.
    fn show(&mut self) -> std::io::Result<()> {
        if self.session.is_some() {
            self.save()?;
        }
        let Some(state) = self.state.as_ref().filter(|_| self.session.is_some()) else { return Ok(()) };
        let shown: Vec<_> =
            self.programs.iter().map(|(agent, program)| self.record_of(state, agent, program)).collect();
        if shown == self.shown {
            return Ok(());
        }
        status_files::show(&self.bubble().control, &self.bubble().id, &shown)?;
        self.shown = shown;
        Ok(())
    }

    fn record_of(&self, state: &BubbleState, agent: &AgentId, program: &AgentProgram) -> AgentRecord {
        let status = match program.status {
            ProgramStatus::Unknown => "unknown",
            ProgramStatus::Starting => "starting",
            ProgramStatus::Ready => "ready",
            ProgramStatus::Busy => "busy",
            ProgramStatus::Permission => "permission",
            ProgramStatus::Dialog => "dialog",
            ProgramStatus::Gone => "gone",
        };
        // Minutes are enough for a count-down, and not every hook is worth a new file.
        let active = self.setup.activity.of(agent).map(|at| at.up / 30_000 * 30_000);
        AgentRecord {
            agent: agent.clone(),
            status: status.to_owned(),
            since: program.since,
            session: state.presence.sessions.get(agent).and_then(|session| session.id.clone()),
            pane: program.pane.as_ref().map(ToString::to_string),
            pid: program.pid,
            notice: state.notice_for(agent).map(|notice| notice.number),
            held_back: program.held_back,
            active,
        }
    }
}

/// A bubble's session in the care of this process.
pub(crate) struct SessionHandle {
    events: Sender<SessionEvent>,
    thread: JoinHandle<()>,
    pending_env: PendingEnv,
    over: Arc<AtomicBool>,
    begun: Instant,
}

/// Says at the end of a thread that it is over, also when a panic ends it.
struct EndSignal(Arc<AtomicBool>, Box<dyn Fn() + Send>);

impl Drop for EndSignal {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        (self.1)();
    }
}

impl SessionHandle {
    /// Begins to look after the session of a bubble.
    pub(crate) fn begin(mut setup: SessionSetup) -> Result<Self, EngineError> {
        let (events, heard) = channel();
        let own = events.clone();
        let pending_env = PendingEnv::default();
        let seen = pending_env.clone();
        let over = Arc::new(AtomicBool::new(false));
        let last = EndSignal(over.clone(), std::mem::replace(&mut setup.over, Box::new(|| ())));
        let play = move || {
            let _last = last;
            SessionLoop::new(setup, own, seen).run(&heard);
        };
        let thread = std::thread::Builder::new().name("stage".to_owned()).spawn(play);
        let thread = thread.map_err(|error| EngineError::world("cannot look after a session", error))?;
        Ok(Self { events, thread, pending_env, over, begun: Instant::now() })
    }

    /// Whether its thread has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// How long ago it began.
    pub(crate) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Tells it that the log has changed. A stage that has ended needs no telling.
    pub(crate) fn look(&self) {
        let _ = self.events.send(SessionEvent::Look);
    }

    /// Tells it in which environment agents are to be started from here on.
    pub(crate) fn person(&self, env: Vec<(String, String)>) {
        *self.pending_env.lock().unwrap_or_else(PoisonError::into_inner) = Some(env);
        let _ = self.events.send(SessionEvent::Person);
    }

    /// Ends it, leaves the panes as they are, and returns how to wait for its end.
    pub(crate) fn leave(self) -> JoinHandle<()> {
        let _ = self.events.send(SessionEvent::Leave);
        self.thread
    }
}

impl SessionLoop {
    /// Where a later supervisor finds what this one knew of the programs.
    pub(super) fn saved_path(&self) -> PathBuf {
        self.bubble().control.runtime(&self.bubble().id).join("stage.json")
    }

    /// Takes over what an earlier supervisor knew.
    pub(super) fn load_saved(&mut self) {
        let Ok(text) = crate::regular::read_text(&self.saved_path()) else { return };
        let Ok(saved) = serde_json::from_str::<BTreeMap<AgentId, SavedProgram>>(&text) else { return };
        for (agent, saved) in saved {
            let program = self.program(&agent);
            if program.status == ProgramStatus::Unknown {
                (program.status, program.saved) = (saved.status, saved);
            }
        }
    }

    /// Writes down what is known now, if it is anything new.
    pub(super) fn save(&mut self) -> std::io::Result<()> {
        let saved: BTreeMap<_, _> = self.programs.iter().map(|(agent, program)| (agent, &program.saved)).collect();
        let json = serde_json::to_vec(&saved).expect("what is kept holds text and numbers only");
        if json != self.saved {
            status_files::replace(&self.saved_path(), &json)?;
            self.saved = json;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_thread_is_told_also_when_it_panics() {
        let (over, (delivered, heard)) = (Arc::new(AtomicBool::new(false)), channel());
        let last = EndSignal(over.clone(), Box::new(move || delivered.send(()).unwrap()));
        let thread = std::thread::spawn(move || {
            let _last = last;
            panic!("a test of what comes after a panic");
        });
        heard.recv().unwrap();
        assert!(over.load(Ordering::SeqCst), "a caller that is told sees that it is over");
        assert!(thread.join().is_err());
    }
}
