//! Starts an agent's program in its pane.

use std::path::Path;
use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command, Notice, Turn};
use pairflow_core::facts::Seat;
use pairflow_core::ids::AgentId;
use pairflow_core::time::Moment;

use super::notice;
use super::notice_delivery::BRIEFING;
use super::session_loop::{SessionEvent, SessionLoop};
use super::session_state::{ProgramStatus, Prompted, SessionError, records_of, started};
use crate::driver::{Launch, LaunchFile, PaneStart, Session};
use crate::engine::{EngineError, interactive_environment};
use crate::process::{Enrolment, MARK, fresh_mark, reap, when_gone};
use crate::tmux::{Pane, PaneId};

/// A program that is to be started.
pub(super) struct AgentStart<'a> {
    pub agent: &'a AgentId,
    pub seat: Seat,
    /// For which turn; 0 before the agent's first one.
    pub turn: u32,
    pub session: Session,
    pub prompt: String,
    /// The number of the notice that the prompt is; 0 for a briefing.
    pub notice: u64,
}

impl SessionLoop {
    /// Starts the program of the agent that has the turn, with the notice as its first prompt. Says whether it takes one so.
    pub(super) fn start_for(
        &mut self,
        state: &BubbleState,
        turn: &Turn,
        notice: &Notice,
    ) -> Result<bool, SessionError> {
        let brief = self.bubble().brief(&turn.agent);
        let prompt = notice::text(notice, &self.bubble().id, (state.rounds.round, turn.seat), &brief);
        let session = match state.conversation_for(turn) {
            Some(id) => Session::Resume(id.clone()),
            None => Session::Fresh(uuid()?),
        };
        let notice = notice.number;
        self.start(
            state,
            &AgentStart { agent: &turn.agent, seat: turn.seat, turn: turn.number, session, prompt, notice },
        )
    }

    /// Starts the agents whose first turn is still to come, each with a briefing.
    ///
    /// Spec: the start of a bubble briefs both panes.
    pub(super) fn start_waiting_agents(&mut self, state: &BubbleState, turn: &Turn) -> Result<(), SessionError> {
        let others = state.rules.agents.all().filter(|agent| **agent != turn.agent);
        let others: Vec<_> = others.filter(|agent| !state.presence.sessions.contains_key(*agent)).cloned().collect();
        for agent in others {
            let prompt = notice::standby(&self.bubble().id, &self.bubble().briefing(&agent));
            let (session, notice) = (Session::Fresh(uuid()?), BRIEFING);
            self.start(state, &AgentStart { agent: &agent, seat: Seat::Reviewer, turn: 0, session, prompt, notice })?;
        }
        Ok(())
    }

    fn start(&mut self, state: &BubbleState, wanted: &AgentStart<'_>) -> Result<bool, SessionError> {
        let bubble = self.bubble().clone();
        let runtime = bubble.control.runtime(&bubble.id);
        let records = records_of(&runtime, wanted.agent);
        reap(&records).map_err(|error| SessionError::world("cannot end an agent")(std::io::Error::other(error)))?;
        let mark = fresh_mark();
        let launch = self.launch(state, wanted, &mark)?;
        // Whatever the program before it still says is heard after this.
        self.program(wanted.agent).saved.mark = Some(mark.clone());
        let file = runtime.join(format!("{}.launch", wanted.agent));
        let what = format!("{} as {}", wanted.agent, wanted.seat);
        // It puts itself on record, so that none ever runs which a later supervisor knows nothing of.
        let record = Some(Enrolment { dir: records, mark, what });
        let written = LaunchFile { record, ..LaunchFile::from(&launch) }.write(&file);
        written.map_err(SessionError::world(format!("cannot write {}", file.display())))?;
        let placed = self.place(wanted, &launch, &file);
        if !matches!(placed, Ok(Some(_))) {
            // It holds secrets, and nothing reads it any more. What is gone already need not be removed.
            let _ = std::fs::remove_file(&file);
        }
        let (Some(pane), Some(session)) = (placed?, &self.session) else { return Ok(true) };
        // For diagnosis only: nothing ever reads it to decide anything, and a program that is gone already has none.
        if state.rules.capture_output
            && let Err(error) = session.tmux.pipe(&pane, Some(&runtime.join(format!("{}.pane.log", wanted.agent))))
        {
            (self.setup.say)(&format!("{}: no copy of what {} shows: {error}", bubble.id, wanted.agent));
        }
        let pid = session.tmux.panes()?.into_iter().find(|one| one.id == pane).map(|one| one.pid);
        let Some(pid) = pid else { return Ok(true) };
        self.begun(wanted, &launch, pid, bubble.engine.clock.now());
        Ok(launch.prompted)
    }

    /// Puts the program into its agent's pane, and returns that; nothing if there is none.
    fn place(&mut self, wanted: &AgentStart<'_>, launch: &Launch, file: &Path) -> Result<Option<PaneId>, SessionError> {
        let Some(pane) = self.programs.get(wanted.agent).and_then(|program| program.pane.clone()) else {
            return Ok(None);
        };
        let argv = [self.setup.program.display().to_string(), "launch".to_owned(), file.display().to_string()];
        self.expect(wanted, launch)?;
        let Some(session) = &self.session else { return Ok(None) };
        let history = session.tmux.history(&pane).ok();
        session.tmux.respawn(&pane, &argv, &launch.cwd)?;
        self.program(wanted.agent).history = history;
        Ok(Some(pane))
    }

    /// Writes down what a later supervisor has to know of a program before there is one.
    fn expect(&mut self, wanted: &AgentStart<'_>, launch: &Launch) -> Result<(), SessionError> {
        let program = self.program(wanted.agent);
        program.saved.status = ProgramStatus::Starting;
        program.saved.hooks = launch.hooks;
        program.saved.dialogs.clone_from(&launch.dialogs);
        program.saved.composer.clone_from(&launch.composer);
        program.saved.sandboxed = launch.sandboxed;
        program.saved.transcript = None;
        program.saved.prompted = Prompted::Pairflow;
        program.saved.untyped = (!launch.prompted).then_some(wanted.notice);
        self.save().map_err(SessionError::world("cannot note what is to be typed"))
    }

    fn begun(&mut self, wanted: &AgentStart<'_>, launch: &Launch, pid: i32, now: Moment) {
        let agent = wanted.agent;
        self.setup.activity.note(agent, now);
        let program = self.program(agent);
        // Without hooks nothing ever tells that it has started.
        program.set_status(if launch.hooks { ProgramStatus::Starting } else { ProgramStatus::Unknown }, now.ts);
        (program.pid, program.begun) = (Some(pid), Some(pid));
        (program.delivery, program.waiting, program.heard, program.briefed) = (None, None, None, None);
        program.held_back = false;
        program.silent = launch.hooks;
        program.resumed = matches!(wanted.session, Session::Resume(_));
        self.watch_process(agent, pid);
        // A conversation in which nothing was said yet cannot be taken up again; with hooks its first prompt tells.
        let session = match &wanted.session {
            Session::Resume(id) => Some(id.clone()),
            Session::Fresh(_) => launch.session.clone().filter(|_| !launch.hooks),
        };
        let seat = (wanted.turn > 0).then_some(wanted.seat);
        self.report(&Command::AgentSession { agent: agent.clone(), turn: wanted.turn, seat, session });
    }

    fn launch(&self, state: &BubbleState, wanted: &AgentStart<'_>, mark: &str) -> Result<Launch, SessionError> {
        let bubble = self.bubble();
        let mut env = interactive_environment(bubble, state, wanted.agent);
        env.push((MARK.to_owned(), mark.to_owned()));
        let workspace = bubble.workspace(state)?;
        workspace.connected().map_err(EngineError::from)?;
        let start = PaneStart {
            bubble_id: bubble.id.clone(),
            repo: bubble.control.repo().to_owned(),
            agent: wanted.agent.clone(),
            seat: wanted.seat,
            worktree: workspace.path,
            runtime_dir: bubble.control.runtime(&bubble.id),
            artifacts: bubble.dir().join("artifacts"),
            env,
            person: self.person.clone(),
            session: wanted.session.clone(),
            prompt: wanted.prompt.clone(),
            permissions: state.rules.permissions,
            allowed: state.rules.checks.iter().map(|check| check.command.clone()).collect(),
            program: self.setup.program.clone(),
            spec: state.rules.agents_custom.get(wanted.agent).cloned(),
        };
        let launch = self.setup.driver.launch(&start);
        Ok(launch.map_err(|error| EngineError::Effect(error.to_string()))?)
    }

    /// Waits for the end of a program in the background.
    pub(super) fn watch_process(&self, agent: &AgentId, pid: i32) {
        let (events, agent) = (self.events.clone(), agent.clone());
        let deliver = move || drop(events.send(SessionEvent::Gone(agent, pid)));
        if let Err(error) = when_gone(pid, deliver) {
            (self.setup.say)(&format!("{}: cannot wait for process {pid}: {error}", self.bubble().id));
        }
    }
}

/// Draws a random UUID.
fn uuid() -> Result<String, SessionError> {
    let drawn = crate::engine::Token::draw()?;
    let hex = drawn.reveal();
    let variant = ["8", "9", "a", "b"][usize::from(hex.as_bytes()[19] % 4)];
    Ok(format!("{}-{}-4{}-{variant}{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[16..19], &hex[20..32]))
}

/// How long tmux may take to find out how a program has ended, and how often it is asked.
const TOLD_WITHIN: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

impl SessionLoop {
    /// A program is gone; the next step sees what that means.
    pub(super) fn on_exit(&mut self, agent: &AgentId, pid: i32) {
        if self.programs.get(agent).is_none_or(|program| program.pid != Some(pid)) {
            // Another one has taken its place.
            return;
        }
        let now = self.bubble().engine.clock.now().ts;
        let program = self.program(agent);
        program.pid = None;
        program.set_status(ProgramStatus::Gone, now);
        (program.delivery, program.waiting, program.held_back) = (None, None, false);
        if program.saved.hooks && std::mem::take(&mut program.resumed) {
            // Its earlier conversation cannot be taken up; the next start is a fresh one.
            let seat = self.state.as_ref().and_then(|state| state.presence.sessions.get(agent)?.seat);
            self.report(&Command::AgentSession { agent: agent.clone(), turn: 0, seat, session: None });
        }
    }

    /// Says whether the program of the agent that has the turn has ended in it, seen or not, and has a person
    /// asked then. One that ended before its turn, or is to be started again, has not.
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
        if state.notice_for(agent).is_some() && self.gets_a_second_start(agent, turn.number) {
            (self.setup.say)(&format!(
                "{}: {agent} ended {how} before it said anything; it is started once more",
                state.id
            ));
            return false;
        }
        let begun = self.program(agent).history;
        let output =
            self.last_pane(agent).and_then(|pane| self.session.as_ref()?.tmux.end_of_output(&pane.id, begun).ok());
        self.report(&Command::AgentEnded { turn: turn.number, how, output: output.unwrap_or_default() });
        true
    }

    /// A program that ended before it said anything is started once more in a turn: Codex ends when another one is just
    /// making the database of their common home.
    fn gets_a_second_start(&mut self, agent: &AgentId, turn: u32) -> bool {
        let program = self.program(agent);
        let first = std::mem::take(&mut program.silent) && program.once_more != Some(turn);
        if first {
            program.once_more = Some(turn);
        }
        first
    }

    /// How a program ended, as part of a sentence. tmux knows of the end a moment before it knows how.
    fn exit_description(&self, agent: &AgentId) -> String {
        let until = Instant::now() + TOLD_WITHIN;
        loop {
            match self.last_pane(agent) {
                Some(Pane { signal: Some(signal), .. }) => return format!("by signal {signal}"),
                Some(Pane { status: Some(code), .. }) => return format!("with exit code {code}"),
                Some(_) if Instant::now() < until => std::thread::sleep(PAUSE),
                _ => return "together with its pane".to_owned(),
            }
        }
    }

    /// The pane in which a program of `agent` ran; one that was made anew knows nothing of the one before.
    fn last_pane(&self, agent: &AgentId) -> Option<Pane> {
        let panes = self.session.as_ref()?.tmux.panes().ok()?;
        let pane = panes.into_iter().find(|pane| pane.tag.as_deref() == Some(agent.as_str()))?;
        let begun = self.programs.get(agent).and_then(|program| program.begun);
        (begun == Some(pane.pid) || started(self.bubble(), agent, pane.pid)).then_some(pane)
    }
}
