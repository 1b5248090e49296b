//! Starts an agent's program in its pane, and finds out how it ended.

use std::path::Path;
use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command, Notice, Turn};
use pairflow_core::facts::Seat;
use pairflow_core::ids::AgentId;
use pairflow_core::time::Moment;

use super::notice::{self, BRIEFING};
use super::panes::tagged;
use super::session_loop::{SessionEvent, SessionLoop};
use super::session_state::{ProgramStatus, Prompted, StepResult, end_recorded, records_of, was_started};
use crate::driver::{Launch, LaunchFile, PaneStart, Session};
use crate::engine::{EngineError, interactive_environment};
use crate::process::{MARK, SelfRegistration, fresh_mark, when_gone};
use crate::tmux::{Pane, PaneId};
use crate::workspace::scratch_path;

/// How long tmux may take to learn how a program ended, and how often it is asked.
const EXIT_KNOWN_WITHIN: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// A program to start.
struct AgentStart<'a> {
    agent: &'a AgentId,
    seat: Seat,
    /// For which turn; 0 before the agent's first one.
    turn: u32,
    session: Session,
    prompt: String,
    /// The number of the notice in the prompt.
    notice: u64,
}

impl SessionLoop {
    /// Starts the program of the agent that has the turn, with the notice as its first prompt. Returns whether the
    /// program takes a prompt as an argument.
    pub(super) fn start_for(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice) -> StepResult<bool> {
        let prompt = self.notice_text(state, turn, notice);
        let session = match state.conversation_for(turn) {
            Some(id) => Session::Resume(id.clone()),
            None => Session::Fresh(uuid()?),
        };
        let (agent, number) = (&turn.agent, notice.number);
        let start = AgentStart { agent, seat: turn.seat, turn: turn.number, session, prompt, notice: number };
        self.start(state, &start)
    }

    /// Starts the agents whose first turn is still to come, each with a briefing.
    ///
    /// Spec: the start of a bubble briefs both panes.
    pub(super) fn start_waiting_agents(&mut self, state: &BubbleState, turn: &Turn) -> StepResult {
        let others = state.rules.agents.all().filter(|agent| **agent != turn.agent);
        let others: Vec<_> = others.filter(|agent| !state.presence.sessions.contains_key(*agent)).collect();
        for agent in others {
            let prompt = notice::standby(&self.bubble().id, &self.bubble().briefing(agent));
            let (session, notice) = (Session::Fresh(uuid()?), BRIEFING);
            self.start(state, &AgentStart { agent, seat: Seat::Reviewer, turn: 0, session, prompt, notice })?;
        }
        Ok(())
    }

    fn start(&mut self, state: &BubbleState, start: &AgentStart<'_>) -> StepResult<bool> {
        let bubble = self.bubble().clone();
        let (runtime, records) = (bubble.control.runtime(&bubble.id), records_of(&bubble, start.agent));
        end_recorded(&records)?;
        let mark = fresh_mark();
        let launch = self.launch(state, start, &mark)?;
        // From here on, hooks of the program before it are ignored.
        self.program(start.agent).saved.mark = Some(mark.clone());
        let file = runtime.join(format!("{}.launch", start.agent));
        let what = format!("{} as {}", start.agent, start.seat);
        // The program puts itself on record, so that none ever runs unknown to a later supervisor.
        let record = Some(SelfRegistration { dir: records, mark, what });
        let written = LaunchFile { record, ..LaunchFile::from(&launch) }.write(&file);
        written.map_err(|error| EngineError::io(format!("cannot write {}", file.display()), error))?;
        let placed = self.place(start, &launch, &file);
        if !matches!(placed, Ok(Some(_))) {
            // It holds secrets, and nothing will read it.
            let _ = std::fs::remove_file(&file);
        }
        let (Some(pane), Some(tmux)) = (placed?, &self.tmux) else { return Ok(true) };
        // For diagnosis only: nothing reads the copy to decide anything.
        if state.rules.capture_output
            && let Err(error) = tmux.pipe(&pane, Some(&runtime.join(format!("{}.pane.log", start.agent))))
        {
            self.log(&format!("the output of {} is not copied: {error}", start.agent));
        }
        let pid = tmux.panes()?.into_iter().find(|one| one.id == pane).map(|one| one.pid);
        let Some(pid) = pid else { return Ok(true) };
        self.on_started(start, &launch, pid, bubble.engine.clock.now());
        Ok(launch.prompted)
    }

    /// Runs the program in its agent's pane and returns the pane; `None` if there is none.
    fn place(&mut self, start: &AgentStart<'_>, launch: &Launch, file: &Path) -> StepResult<Option<PaneId>> {
        let Some(pane) = self.programs.get(start.agent).and_then(|program| program.pane.clone()) else {
            return Ok(None);
        };
        let argv = [self.setup.program.display().to_string(), "launch".to_owned(), file.display().to_string()];
        self.save_before_start(start, launch)?;
        let Some(tmux) = &self.tmux else { return Ok(None) };
        let history = tmux.history(&pane).ok();
        tmux.respawn(&pane, &argv, &launch.cwd)?;
        self.program(start.agent).history = history;
        Ok(Some(pane))
    }

    /// Saves what a later supervisor has to know of a program before it runs.
    fn save_before_start(&mut self, start: &AgentStart<'_>, launch: &Launch) -> Result<(), EngineError> {
        let saved = &mut self.program(start.agent).saved;
        saved.status = ProgramStatus::Starting;
        saved.hooks = launch.hooks;
        saved.dialogs.clone_from(&launch.dialogs);
        saved.composer.clone_from(&launch.composer);
        saved.sandboxed = launch.sandboxed;
        saved.transcript = None;
        saved.prompted = Prompted::Pairflow;
        saved.untyped = (!launch.prompted).then_some(start.notice);
        self.save()
    }

    fn on_started(&mut self, start: &AgentStart<'_>, launch: &Launch, pid: i32, now: Moment) {
        let agent = start.agent;
        self.setup.activity.note(agent, now);
        let program = self.program(agent);
        // Without hooks nothing ever reports that it has started.
        program.set_status(if launch.hooks { ProgramStatus::Starting } else { ProgramStatus::Unknown }, now.ts);
        (program.pid, program.started_pid) = (Some(pid), Some(pid));
        (program.delivery, program.waiting, program.last_hook, program.briefed) = (None, None, None, None);
        program.held_back = false;
        program.silent = launch.hooks;
        program.resumed = matches!(start.session, Session::Resume(_));
        self.watch_process(agent, pid);
        // An empty conversation cannot be resumed; with hooks, the first prompt names it.
        let session = match &start.session {
            Session::Resume(id) => Some(id.clone()),
            Session::Fresh(_) => launch.session.clone().filter(|_| !launch.hooks),
        };
        let seat = (start.turn > 0).then_some(start.seat);
        self.report(&Command::AgentSession { agent: agent.clone(), turn: start.turn, seat, session });
    }

    fn launch(&self, state: &BubbleState, start: &AgentStart<'_>, mark: &str) -> Result<Launch, EngineError> {
        let bubble = self.bubble();
        let mut env = interactive_environment(bubble, state, start.agent);
        env.push((MARK.to_owned(), mark.to_owned()));
        let workspace = bubble.workspace(state)?;
        workspace.connected()?;
        let writes_tests = state.phase.turn().is_some_and(|turn| turn.acceptance && turn.agent == *start.agent);
        let start = PaneStart {
            bubble_id: bubble.id.clone(),
            repo: bubble.control.repo().to_owned(),
            agent: start.agent.clone(),
            seat: start.seat,
            worktree: workspace.path,
            runtime_dir: bubble.control.runtime(&bubble.id),
            artifacts: bubble.dir().join("artifacts"),
            scratch: writes_tests.then(|| scratch_path(bubble.control.repo(), &bubble.id)),
            env,
            person: self.person_env.clone(),
            session: start.session.clone(),
            prompt: start.prompt.clone(),
            permissions: state.rules.permissions,
            allowed: state.rules.checks.iter().map(|check| check.command.clone()).collect(),
            program: self.setup.program.clone(),
            spec: state.rules.agents_custom.get(start.agent).cloned(),
        };
        self.setup.driver.launch(&start).map_err(|error| EngineError::Effect(error.to_string()))
    }

    /// Waits for the end of a program in the background.
    pub(super) fn watch_process(&self, agent: &AgentId, pid: i32) {
        let (events, agent) = (self.events.clone(), agent.clone());
        let exited = move || drop(events.send(SessionEvent::Exited(agent, pid)));
        if let Err(error) = when_gone(pid, exited) {
            self.log(&format!("cannot wait for process {pid}: {error}"));
        }
    }

    /// Notes that a program has ended; the next step sees what follows.
    pub(super) fn on_exit(&mut self, agent: &AgentId, pid: i32) {
        if self.programs.get(agent).is_none_or(|program| program.pid != Some(pid)) {
            // Another program has replaced it.
            return;
        }
        self.set_status(agent, ProgramStatus::Gone);
        let program = self.program(agent);
        program.pid = None;
        (program.delivery, program.waiting, program.held_back) = (None, None, false);
        if program.saved.hooks && std::mem::take(&mut program.resumed) {
            // Its conversation cannot be resumed; the next start begins a new one.
            let seat = self.state.as_ref().and_then(|state| state.presence.sessions.get(agent)?.seat);
            self.report(&Command::AgentSession { agent: agent.clone(), turn: 0, seat, session: None });
        }
    }

    /// Returns whether the program of the agent that has the turn ended in it, and asks a person then. A program that
    /// ended before its turn, or is going to be restarted, does not count.
    pub(super) fn has_died(&mut self, state: &BubbleState, turn: &Turn) -> bool {
        let agent = &turn.agent;
        let session = state.presence.sessions.get(agent).filter(|session| session.restarts == state.presence.restarts);
        let in_this_turn = match state.notice_for(agent) {
            None => true,
            Some(notice) => notice.attempts > 0 && session.is_some_and(|session| session.turn == turn.number),
        };
        if session.is_none() || !in_this_turn || self.live_pane(agent).is_some() {
            return false;
        }
        let how = self.exit_description(agent);
        if state.notice_for(agent).is_some() && self.gets_second_start(agent, turn.number) {
            self.log(&format!("{agent} ended {how} before any hook reported; pairflow starts it once more"));
            return false;
        }
        let history = self.program(agent).history;
        let output = self.last_pane(agent).and_then(|pane| self.tmux.as_ref()?.end_of_output(&pane.id, history).ok());
        self.report(&Command::AgentEnded { turn: turn.number, how, output: output.unwrap_or_default() });
        true
    }

    /// Whether a program that ended before any hook reported is restarted, once in a turn: Codex ends when another Codex
    /// is just creating the database of their shared home.
    fn gets_second_start(&mut self, agent: &AgentId, turn: u32) -> bool {
        let program = self.program(agent);
        let first = std::mem::take(&mut program.silent) && program.restarted_in != Some(turn);
        if first {
            program.restarted_in = Some(turn);
        }
        first
    }

    /// Describes how a program ended, as part of a sentence. tmux learns of the end a moment before it learns how.
    fn exit_description(&self, agent: &AgentId) -> String {
        let until = Instant::now() + EXIT_KNOWN_WITHIN;
        loop {
            match self.last_pane(agent) {
                Some(Pane { signal: Some(signal), .. }) => return format!("by signal {signal}"),
                Some(Pane { status: Some(code), .. }) => return format!("with exit code {code}"),
                Some(_) if Instant::now() < until => std::thread::sleep(PAUSE),
                _ => return "together with its pane".to_owned(),
            }
        }
    }

    /// Returns the pane in which the last program of `agent` ran. A new pane knows nothing of the one before.
    fn last_pane(&self, agent: &AgentId) -> Option<Pane> {
        let panes = self.tmux.as_ref()?.panes().ok()?;
        let pane = tagged(&panes, agent.as_str())?;
        let started = self.programs.get(agent).and_then(|program| program.started_pid);
        (started == Some(pane.pid) || was_started(self.bubble(), agent, pane.pid)).then(|| pane.clone())
    }
}

/// Returns a random UUID.
fn uuid() -> Result<String, EngineError> {
    let drawn = crate::engine::AgentToken::draw()?;
    let hex = drawn.reveal();
    let variant = ["8", "9", "a", "b"][usize::from(hex.as_bytes()[19] % 4)];
    Ok(format!("{}-{}-4{}-{variant}{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[16..19], &hex[20..32]))
}
