//! The thread that looks after one bubble's session: it takes events, and after each one makes one step.

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

use super::session_state::{
    AgentProgram, PendingPermission, ProgramStatus, SavedProgram, SessionError, StepResult, close_session,
};
use super::status_files::{self, Activity, AgentRecord};
use crate::agent_socket::{AgentSocket, HookEvent};
use crate::driver::AgentDriver;
use crate::engine::{Bubble, EngineError, sentence};
use crate::limits::Limits;
use crate::process::environment;
use crate::store::StoreError;
use crate::tmux::{Tmux, TmuxError};

/// How long to wait after a failure.
const PAUSES: BackOff = BackOff::new(Duration::from_millis(500), Duration::from_secs(30));
/// How often a step fails before a person is asked.
const TRIES: u32 = 3;

/// What a session thread is told.
pub(super) enum SessionEvent {
    /// The log or the person's environment has changed.
    Look,
    /// A hook of an agent reports.
    Hook(Box<HookEvent>),
    /// The process of an agent has ended.
    Exited(AgentId, i32),
    /// The supervisor ends; the panes stay.
    Leave,
}

/// The person's newest environment, until the thread takes it. It is set before the fact by which an agent is started
/// is recorded; an event in the queue might come too late.
type PendingEnv = Arc<Mutex<Option<Vec<(String, String)>>>>;

/// What a session thread needs.
pub(crate) struct SessionSetup {
    pub bubble: Arc<Bubble>,
    pub driver: Arc<dyn AgentDriver>,
    /// The pairflow program.
    pub program: PathBuf,
    /// Writes a line to the supervisor's log.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
    pub activity: Activity,
    /// Is called when the thread ends, even by a panic.
    pub over: Box<dyn Fn() + Send>,
}

/// A running session thread.
pub(crate) struct SessionHandle {
    events: Sender<SessionEvent>,
    thread: JoinHandle<()>,
    pending_env: PendingEnv,
    over: Arc<AtomicBool>,
    begun: Instant,
}

/// Signals the end of a thread when dropped, so that a panic is signalled too.
struct EndSignal(Arc<AtomicBool>, Box<dyn Fn() + Send>);

impl Drop for EndSignal {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        (self.1)();
    }
}

impl SessionHandle {
    /// Starts the thread.
    pub(crate) fn begin(mut setup: SessionSetup) -> Result<Self, EngineError> {
        let (events, received) = channel();
        let (pending_env, over) = (PendingEnv::default(), Arc::new(AtomicBool::new(false)));
        let signal = EndSignal(over.clone(), std::mem::replace(&mut setup.over, Box::new(|| ())));
        let (own, env) = (events.clone(), pending_env.clone());
        let run = move || {
            let _signal = signal;
            SessionLoop::new(setup, own, env).run(&received);
        };
        let thread = std::thread::Builder::new().name("session".to_owned()).spawn(run);
        let thread = thread.map_err(|error| EngineError::io("cannot start a session thread", error))?;
        Ok(Self { events, thread, pending_env, over, begun: Instant::now() })
    }

    /// Whether the thread has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Returns how long ago the thread was started.
    pub(crate) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Tells the thread that the log has changed.
    pub(crate) fn look(&self) {
        // A thread that has ended needs no event.
        let _ = self.events.send(SessionEvent::Look);
    }

    /// Sets the environment in which agents are started from now on.
    pub(crate) fn set_environment(&self, env: Vec<(String, String)>) {
        *self.pending_env.lock().unwrap_or_else(PoisonError::into_inner) = Some(env);
        self.look();
    }

    /// Ends the thread without touching the panes; the result waits for its end.
    pub(crate) fn leave(self) -> JoinHandle<()> {
        let _ = self.events.send(SessionEvent::Leave);
        self.thread
    }
}

/// The state of a session thread.
pub(super) struct SessionLoop {
    pub setup: SessionSetup,
    pub events: Sender<SessionEvent>,
    /// The newest state of the bubble.
    pub state: Option<BubbleState>,
    pub tmux: Option<Tmux>,
    pub programs: BTreeMap<AgentId, AgentProgram>,
    sockets: BTreeMap<AgentId, AgentSocket>,
    /// Whether panes may have changed since the last step.
    panes_changed: bool,
    /// The environment in which agents are started.
    pub person_env: Vec<(String, String)>,
    pending_env: PendingEnv,
    /// The hooks that wait for a permission.
    pub pending: Vec<PendingPermission>,
    /// The records that the status files hold.
    written: Vec<AgentRecord>,
    /// What the file for a later supervisor holds.
    saved: Vec<u8>,
    retry: Option<Instant>,
    pauses: BackOff,
    /// Whether a person was asked about the failure.
    reported: bool,
    /// Whether a question was open at the last look.
    asked: bool,
    /// When the last step ended, and whether it got as far as delivering notices.
    stepped: (Instant, bool),
}

impl SessionLoop {
    fn new(setup: SessionSetup, events: Sender<SessionEvent>, pending_env: PendingEnv) -> Self {
        Self {
            setup,
            events,
            state: None,
            tmux: None,
            programs: BTreeMap::new(),
            sockets: BTreeMap::new(),
            panes_changed: true,
            person_env: environment(),
            pending_env,
            pending: Vec::new(),
            written: Vec::new(),
            saved: Vec::new(),
            retry: None,
            pauses: PAUSES,
            reported: false,
            asked: false,
            stepped: (Instant::now(), false),
        }
    }

    /// Runs until the bubble is over or the supervisor ends.
    fn run(mut self, events: &Receiver<SessionEvent>) {
        loop {
            let event = match self.due() {
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => events.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            // Hooks come in dozens, and they change no pane.
            self.panes_changed |= !matches!(event, Ok(SessionEvent::Hook(_)) | Err(RecvTimeoutError::Timeout));
            match event {
                Ok(SessionEvent::Look) => self.refresh(),
                Ok(SessionEvent::Hook(call)) => self.on_hook(*call),
                Ok(SessionEvent::Exited(agent, pid)) => self.on_exit(&agent, pid),
                Ok(SessionEvent::Leave) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.state.as_ref().is_some_and(|state| state.phase.is_final()) {
                return self.close();
            }
            self.try_step();
            self.check_permissions();
        }
    }

    /// Takes the newest environment of the person; tmux may have been missing in the old one.
    fn take_environment(&mut self) {
        let newest = self.pending_env.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(env) = newest.filter(|env| *env != self.person_env) {
            (self.person_env, self.tmux) = (env, None);
        }
    }

    /// Reads the state of the bubble. An unreadable log leaves it as it was; a foreign log counts as none.
    pub(super) fn refresh(&mut self) {
        match self.bubble().insist_own().and_then(|()| self.bubble().load()) {
            Ok(loaded) => self.state = Some(loaded.state),
            Err(EngineError::Store(StoreError::Foreign { .. })) => self.state = None,
            Err(_) => {}
        }
    }

    /// Makes a step. One that fails is tried again; after a few times a person is asked.
    fn try_step(&mut self) {
        let asked = self.state.as_ref().is_some_and(|state| matches!(state.phase, Phase::WaitingHuman(_)));
        if std::mem::replace(&mut self.asked, asked) && !asked {
            // A person has answered: from now on a failure is a new one.
            self.reset_failures();
        }
        if self.retry.is_some_and(|at| at > Instant::now()) {
            return;
        }
        self.stepped.1 = false;
        match self.step() {
            Ok(()) => self.reset_failures(),
            Err(error) => self.on_failure(&error),
        }
        self.stepped.0 = Instant::now();
        if let Err(error) = self.write_files() {
            self.log(&sentence(&error));
        }
    }

    fn on_failure(&mut self, error: &SessionError) {
        if matches!(error, SessionError::Tmux(TmuxError::NoServer { .. })) {
            // The next step makes a new session.
            self.on_server_gone();
        }
        self.panes_changed = true;
        self.retry = Some(Instant::now() + self.pauses.pause());
        let why = sentence(error);
        self.log(&format!("{why}; pairflow tries again"));
        if self.pauses.attempts() >= TRIES && !self.reported {
            let reason = format!("{why}. Fix it, then go on with 'pairflow resume {}'.", self.bubble().id);
            // While the work waits for approval nothing is asked; if the loop goes on, it is asked then.
            self.reported = self.report(&Command::Trouble { reason }).is_some();
        }
    }

    fn reset_failures(&mut self) {
        self.pauses.reset();
        (self.reported, self.retry) = (false, None);
    }

    /// Brings session, panes, agents and notices in line with the log.
    fn step(&mut self) -> StepResult {
        self.refresh();
        // After the log was read: a command announces its environment before it records what starts agents.
        self.take_environment();
        let Some(state) = self.state.clone() else { return Ok(()) };
        let begun = !matches!(state.phase, Phase::Created | Phase::Preparing) && state.evidence.workspace.is_some();
        if state.rules.driver != DriverKind::Tmux || !begun {
            return Ok(());
        }
        self.listen(&state)?;
        if self.panes_changed || self.tmux.is_none() {
            self.ensure_panes(&state)?;
            self.panes_changed = false;
        }
        if state.paused {
            return self.interrupt(&state);
        }
        self.programs.values_mut().for_each(|program| program.interrupted = 0);
        let Phase::Running(turn) = &state.phase else { return self.withdraw_dialog_questions(&state) };
        if state.presence.parked.is_some() || !turn.is_open() || self.has_died(&state, turn) {
            return Ok(());
        }
        self.stepped.1 = true;
        match state.notice_for(&turn.agent) {
            Some(notice) => self.deliver(&state, turn, notice)?,
            None => {
                self.clear_delivery(&turn.agent);
                self.look_for_failure(&state, &turn.agent);
            }
        }
        self.start_waiting_agents(&state, turn)?;
        self.deliver_briefings(&state, turn)
    }

    /// Opens the sockets of the agents.
    fn listen(&mut self, state: &BubbleState) -> StepResult {
        for agent in state.rules.agents.all() {
            if self.sockets.contains_key(agent) {
                continue;
            }
            let path = self.bubble().control.seat_socket(&self.bubble().id, agent);
            let events = self.events.clone();
            let forward = move |call| events.send(SessionEvent::Hook(Box::new(call))).is_ok();
            let opened = AgentSocket::open(self.setup.bubble.clone(), agent.clone(), path, forward);
            let failed = |error| EngineError::io(format!("cannot open the socket of {agent}"), error);
            self.sockets.insert(agent.clone(), opened.map_err(failed)?);
        }
        Ok(())
    }

    /// Returns when there is something to do without an event.
    fn due(&self) -> Option<Instant> {
        let (stepped, delivering) = self.stepped;
        // Nothing is delivered in a pause or while a question is open. What a step left unchanged waits for a while.
        let programs = self.programs.values().filter(|_| delivering);
        let due = programs.filter_map(|program| program.due(self.limits())).min();
        let due = due.map(|at| if at <= stepped { stepped + self.limits().screen_look } else { at });
        let due = match self.retry {
            Some(retry) => Some(due.map_or(retry, |at| at.max(retry))),
            None => due.into_iter().chain(self.dialog_check_due(stepped)).min(),
        };
        due.into_iter().chain(self.permissions_due()).min()
    }

    /// The bubble is over: ends its session and removes its files.
    fn close(mut self) {
        self.sockets.clear();
        let bubble = self.bubble().clone();
        if let Err(error) = close_session(&bubble) {
            self.log(&sentence(&error));
        }
        let _ = status_files::remove(&bubble.control, &bubble.id);
        let _ = std::fs::remove_file(self.saved_path());
        // A launch file that nobody read holds secrets; a killed supervisor may have left one.
        let left = std::fs::read_dir(bubble.control.runtime(&bubble.id)).into_iter().flatten().flatten();
        for entry in left.filter(|entry| entry.file_name().to_string_lossy().contains(".launch")) {
            let _ = std::fs::remove_file(entry.path());
        }
    }

    /// Records what was seen and returns the new state; `None` if nothing new was recorded. A refusal is no failure.
    pub(super) fn report(&mut self, command: &Command) -> Option<BubbleState> {
        match self.bubble().apply(command) {
            Ok(applied) => {
                self.state = Some(applied.state.clone());
                applied.id.map(|_| applied.state)
            }
            Err(EngineError::Refused { .. }) => None,
            Err(error) => {
                self.log(&format!("cannot record '{}': {error}", command.name()));
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

    pub(super) fn set_status(&mut self, agent: &AgentId, status: ProgramStatus) {
        let now = self.bubble().engine.clock.now().ts;
        self.program(agent).set_status(status, now);
    }

    /// Writes a line about this bubble to the supervisor's log.
    pub(super) fn log(&self, text: &str) {
        (self.setup.say)(&format!("{}: {text}", self.bubble().id));
    }

    /// Returns the file from which a later supervisor reads what this one knew of the programs. It may be deleted: then
    /// a notice that was still to be typed waits for the watchdog, and nothing else is lost.
    fn saved_path(&self) -> PathBuf {
        self.bubble().control.runtime(&self.bubble().id).join("stage.json")
    }

    /// Loads what an earlier supervisor knew of the programs.
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

    /// Saves what is known of the programs, if it has changed.
    pub(super) fn save(&mut self) -> Result<(), EngineError> {
        let saved: BTreeMap<_, _> = self.programs.iter().map(|(agent, program)| (agent, &program.saved)).collect();
        let json = serde_json::to_vec(&saved).expect("saved programs hold text and numbers only");
        if json != self.saved {
            let path = self.saved_path();
            let failed = |error| EngineError::io(format!("cannot write {}", path.display()), error);
            status_files::replace(&path, &json).map_err(failed)?;
            self.saved = json;
        }
        Ok(())
    }

    /// Writes the status files and the file for a later supervisor, where they have changed.
    fn write_files(&mut self) -> Result<(), EngineError> {
        if self.tmux.is_none() {
            return Ok(());
        }
        self.save()?;
        let Some(state) = &self.state else { return Ok(()) };
        let records: Vec<_> =
            self.programs.iter().map(|(agent, program)| self.record_of(state, agent, program)).collect();
        if records != self.written {
            let written = status_files::write(&self.bubble().control, &self.bubble().id, &records);
            written.map_err(|error| EngineError::io("cannot write the status files", error))?;
            self.written = records;
        }
        Ok(())
    }

    fn record_of(&self, state: &BubbleState, agent: &AgentId, program: &AgentProgram) -> AgentRecord {
        // Rounded: half a minute is enough for a count-down, and not every hook is worth a new file.
        let active = self.setup.activity.of(agent).map(|at| at.up / 30_000 * 30_000);
        AgentRecord {
            agent: agent.clone(),
            status: program.status,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_thread_is_told_also_when_it_panics() {
        let (over, (told, heard)) = (Arc::new(AtomicBool::new(false)), channel());
        let signal = EndSignal(over.clone(), Box::new(move || told.send(()).unwrap()));
        let thread = std::thread::spawn(move || {
            let _signal = signal;
            panic!("a test of what comes after a panic");
        });
        heard.recv().unwrap();
        assert!(over.load(Ordering::SeqCst), "a caller that is told sees that it is over");
        assert!(thread.join().is_err());
    }
}
