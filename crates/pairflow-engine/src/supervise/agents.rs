//! The agents of supervised bubbles: one process for the open turn of a scripted agent, one session thread for the agents
//! in panes.

use std::path::Path;
use std::time::Duration;

use pairflow_core::bubble::{BubbleState, Command, Effect, Phase, Turn, owed};
use pairflow_core::ids::BubbleId;
use pairflow_core::rules::DriverKind;

use super::state::{AgentRun, Supervisor, SupervisorEvent};
use crate::driver::TurnStart;
use crate::engine::{Bubble, ControlDir, EngineError, environment};
use crate::perform::Settled;
use crate::process::{JobResult, tail};
use crate::session::{SessionHandle, SessionSetup, remove_dead};

/// How many lines and characters of an agent's output a person is shown.
const LAST: (usize, usize) = (20, 4000);

impl Supervisor {
    /// Starts the agent whose turn is open, and ends any other.
    pub(super) fn keep_agent(&mut self, key: &Path, settled: &Settled) -> Result<(), EngineError> {
        let wanted = agent_owed(&settled.left);
        let Some(entry) = self.entries.get_mut(key) else { return Ok(()) };
        let Some((number, nth)) = wanted else {
            // An agent that has handed over ends by itself; a pause or the end of the bubble ends it.
            if settled.state.paused || settled.state.phase.is_final() {
                entry.end_agent();
            }
            return Ok(());
        };
        if let Some(run) = &entry.agent {
            if run.turn != number || run.ended {
                // Two processes never share a worktree: once this one has ended, the bubble is looked at again.
                entry.end_agent();
            }
            return Ok(());
        }
        let bubble = entry.bubble.clone();
        // The state may have changed since the worker's look: an agent that ended meanwhile was reported and is not
        // restarted in that turn. Whatever changed the log brings the next look.
        let state = bubble.durable()?.state;
        let Phase::Running(turn) = &state.phase else { return Ok(()) };
        if agent_owed(&owed(&state)) != wanted {
            return Ok(());
        }
        match self.start(&bubble, &state, turn, nth) {
            Ok(run) => {
                if let Some(entry) = self.entries.get_mut(key) {
                    entry.agent = Some(run);
                }
                Ok(())
            }
            Err(error @ EngineError::Store(_)) => Err(error),
            Err(error) => report(&bubble, number, format!("before it began ({error})"), String::new()),
        }
    }

    fn start(&mut self, bubble: &Bubble, state: &BubbleState, turn: &Turn, nth: u32) -> Result<AgentRun, EngineError> {
        // After the answer of a person the brief may not have been written yet.
        bubble.write_brief(state)?;
        let (token, _) = bubble.mint(&turn.agent)?;
        let runtime_dir = bubble.control.runtime(&bubble.id);
        std::fs::create_dir_all(&runtime_dir)
            .map_err(|error| EngineError::io(format!("cannot make {}", runtime_dir.display()), error))?;
        let worktree = state.evidence.workspace.as_ref().map(|workspace| workspace.path.clone()).unwrap_or_default();
        let env = environment(bubble, state, &turn.agent, &token);
        let start = TurnStart {
            bubble_id: bubble.id.clone(),
            repo: bubble.control.repo().to_owned(),
            agent: turn.agent.clone(),
            seat: turn.seat,
            turn: turn.number,
            nth,
            worktree: worktree.into(),
            log: runtime_dir.join(format!("{}.log", turn.agent)),
            runtime_dir,
            env,
            script: state.rules.script.as_ref().map(Into::into),
        };
        let running = self.setup.driver.start(&start).map_err(|error| EngineError::Effect(error.to_string()))?;
        self.starts += 1;
        let (start, cancel) = (self.starts, running.cancel());
        let answered = state.answered_to(&turn.agent);
        let run = AgentRun { start, turn: turn.number, answered, cancel: cancel.clone(), ended: false };
        let (out, key) = (self.out.clone(), bubble.dir());
        let wait = move || {
            let ran = running.wait();
            // The loop may have ended; then the process ended with it.
            let _ = out.send(SupervisorEvent::AgentGone(key, start, Box::new(ran)));
        };
        std::thread::Builder::new().name("agent".to_owned()).spawn(wait).map_err(|error| {
            cancel.cancel();
            EngineError::io("cannot wait for an agent", error)
        })?;
        Ok(run)
    }

    /// An agent's process has ended. In its own open turn a person is asked, unless the agent asked a question that was
    /// answered meanwhile: then it is restarted to read the answer.
    pub(super) fn agent_gone(&mut self, key: &Path, start: u64, ran: &JobResult) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let Some(run) = entry.agent.take_if(|run| run.start == start) else { return };
        if entry.leaving {
            return self.leave(key);
        }
        let bubble = entry.bubble.clone();
        let state = match bubble.load() {
            Ok(loaded) => loaded.state,
            Err(error) => return self.set_back(key, &error),
        };
        let turn = run.turn;
        let stuck = matches!(&state.phase, Phase::Running(at)
            if at.number == turn && at.is_open() && state.answered_to(&at.agent) == run.answered);
        if stuck && !run.ended && !state.paused {
            let agent = state.phase.turn().map_or("", |at| at.agent.as_str());
            let output = bubble.control.runtime(&bubble.id).join(format!("{agent}.log"));
            let how = format!("{} (its output: {})", how(ran), output.display());
            if let Err(error) = report(&bubble, turn, how, tail(&ran.output, LAST.0, LAST.1)) {
                return self.set_back(key, &error);
            }
        }
        self.look(key);
    }

    /// Tells the session thread of a bubble to look, and starts one where there is none.
    pub(super) fn keep_session(&mut self, key: &Path, state: &BubbleState) -> Result<(), EngineError> {
        let Some(entry) = self.entries.get_mut(key) else { return Ok(()) };
        if state.rules.driver != DriverKind::Tmux || (entry.session.is_none() && state.evidence.workspace.is_none()) {
            return Ok(());
        }
        if entry.session.as_ref().is_some_and(|session| session.is_over() && !state.phase.is_final()) {
            // A session thread outlives its bubble; whatever ended this one may end the next one, too.
            if entry.session.as_ref().is_some_and(|session| session.age() < AGAIN) {
                return Err(EngineError::Effect("the session thread has ended too early".to_owned()));
            }
            entry.session = None;
        }
        if entry.session.is_none() {
            let log = entry.bubble.control.files(&entry.bubble.id).transcript();
            let out = self.out.clone();
            let session = SessionHandle::begin(SessionSetup {
                bubble: entry.bubble.clone(),
                driver: self.setup.driver.clone(),
                program: self.setup.program.clone(),
                say: self.setup.say.clone(),
                activity: entry.activity.clone(),
                // The loop may have ended; then nobody needs to know.
                over: Box::new(move || drop(out.send(SupervisorEvent::Touched(log.clone())))),
            })?;
            if let Some(env) = &entry.person {
                session.set_environment(env.clone());
            }
            entry.session = Some(session);
        }
        if let Some(session) = &entry.session {
            session.look();
        }
        Ok(())
    }

    /// Removes dead sessions from the lists of what runs.
    pub(super) fn forget_dead_sessions(&self) {
        for repo in self.setup.engine.repositories() {
            if let Err(error) = remove_dead(&ControlDir::of(&repo)) {
                (self.setup.say)(&format!("{}: {error}", repo.display()));
            }
        }
    }

    /// Keeps the environment of the person who works with a bubble.
    pub(super) fn set_environment(&mut self, repo: &Path, id: &BubbleId, env: &[(String, String)]) {
        let key = ControlDir::of(repo).files(id).dir;
        let Some(entry) = self.entries.get_mut(&key).filter(|_| !env.is_empty()) else { return };
        entry.person = Some(env.to_vec());
        if let Some(session) = &entry.session {
            session.set_environment(env.to_vec());
        }
    }
}

/// Returns the turn whose agent has to run, and the agent's own turn number.
fn agent_owed(effects: &[Effect]) -> Option<(u32, u32)> {
    effects.iter().find_map(|effect| match effect {
        Effect::RunAgent { turn, nth, .. } => Some((*turn, *nth)),
        _ => None,
    })
}

/// Records that an agent has ended. A refusal means that something else happened meanwhile.
fn report(bubble: &Bubble, turn: u32, how: String, output: String) -> Result<(), EngineError> {
    match bubble.apply(&Command::AgentEnded { turn, how, output }) {
        Ok(_) | Err(EngineError::Refused { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Describes how a process ended, as part of a sentence.
fn how(ran: &JobResult) -> String {
    match (&ran.could_not_start, ran.exit, ran.signal) {
        (Some(why), _, _) => format!("before it began ({why})"),
        (None, Some(code), _) => format!("with exit code {code}"),
        (None, None, Some(signal)) => format!("by signal {signal}"),
        (None, None, None) => "in an unknown way".to_owned(),
    }
}

/// How long a session thread has to have run before it is started again.
const AGAIN: Duration = Duration::from_secs(10);
