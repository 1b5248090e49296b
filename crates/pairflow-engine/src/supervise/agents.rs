//! Agents in the supervisor's care: one process group for an open turn, none for any other.

use std::path::Path;

use pairflow_core::unit::{Command, Effect, Phase, Turn};

use super::entry::Playing;
use super::run::{Message, Supervisor};
use crate::driver::{Started, TurnStart};
use crate::engine::{Bubble, EngineError, environment};
use crate::perform::Settled;
use crate::process::Ran;

impl Supervisor {
    /// Starts the agent whose turn is open, and ends any other.
    pub(super) fn keep_agent(&mut self, key: &Path, settled: &Settled) {
        let wanted = settled.left.iter().find_map(|effect| match effect {
            Effect::RunAgent { turn, nth, .. } => Some((*turn, *nth)),
            _ => None,
        });
        let Some(entry) = self.entries.get_mut(key) else { return };
        let (Some((number, nth)), Phase::Running(turn)) = (wanted, &settled.unit.phase) else {
            // An agent that has just handed over ends by itself; one that is not wanted any more is ended.
            if settled.unit.paused || settled.unit.phase.is_final() {
                entry.end_agent();
            }
            return;
        };
        if entry.agent.as_ref().is_some_and(|playing| playing.turn == number && !playing.ended) {
            return;
        }
        entry.end_agent();
        entry.agent = None;
        let bubble = entry.bubble.clone();
        match self.start(&bubble, settled, turn, nth) {
            Ok(Some(playing)) => {
                if let Some(entry) = self.entries.get_mut(key) {
                    entry.agent = Some(playing);
                }
            }
            Ok(None) => {}
            Err(error) => {
                let how = format!("before it began ({error})");
                self.report(&bubble, number, how);
            }
        }
    }

    fn start(&self, bubble: &Bubble, settled: &Settled, turn: &Turn, nth: u32) -> Result<Option<Playing>, EngineError> {
        let unit = &settled.unit;
        let (token, _) = bubble.mint(&turn.agent)?;
        let runtime_dir = bubble.control.runtime(&bubble.id);
        std::fs::create_dir_all(&runtime_dir)
            .map_err(|error| EngineError::world(format!("cannot make {}", runtime_dir.display()), error))?;
        let worktree = unit.workspace.as_ref().map(|workspace| workspace.path.clone()).unwrap_or_default();
        let env = environment(bubble, unit, &turn.agent, &token);
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
            script: unit.rules.script.as_ref().map(Into::into),
        };
        let started = self.setup.driver.start(&start).map_err(|error| EngineError::Effect(error.to_string()))?;
        let Started::Runs(running) = started else { return Ok(None) };
        let playing = Playing { turn: turn.number, heard: turn.heard, cancel: running.cancel(), ended: false };
        let (out, key, number) = (self.out.clone(), bubble.dir(), turn.number);
        let wait = move || {
            let ran = running.wait();
            // The loop may have ended; then the process ended with it.
            let _ = out.send(Message::AgentGone(key, number, Box::new(ran)));
        };
        std::thread::Builder::new()
            .name("agent".to_owned())
            .spawn(wait)
            .map_err(|error| EngineError::world("cannot wait for an agent", error))?;
        Ok(Some(playing))
    }

    /// An agent's process is gone: in its own open turn and unheard, that is a question to a person.
    pub(super) fn agent_gone(&mut self, key: &Path, turn: u32, ran: &Ran) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let Some(playing) = entry.agent.take_if(|playing| playing.turn == turn) else { return };
        let bubble = entry.bubble.clone();
        let unit = match bubble.load() {
            Ok(loaded) => loaded.unit,
            Err(error) => return (self.setup.say)(&format!("{}: {error}", bubble.id)),
        };
        let silent =
            matches!(&unit.phase, Phase::Running(at) if at.number == turn && at.is_open() && at.heard == playing.heard);
        if silent && !playing.ended && !unit.paused {
            let agent = unit.phase.turn().map_or("", |at| at.agent.as_str());
            let output = bubble.control.runtime(&bubble.id).join(format!("{agent}.log"));
            self.report(&bubble, turn, format!("{} (its output: {})", how(ran), output.display()));
        }
        self.look(key);
    }

    fn report(&self, bubble: &Bubble, turn: u32, how: String) {
        match bubble.apply(&Command::AgentEnded { turn, how }) {
            Ok(_) | Err(EngineError::Refused { .. }) => {}
            Err(error) => (self.setup.say)(&format!("{}: {error}", bubble.id)),
        }
    }
}

/// How a process ended, as part of a sentence.
fn how(ran: &Ran) -> String {
    match (&ran.could_not_start, ran.exit, ran.signal) {
        (Some(why), _, _) => format!("before it began ({why})"),
        (None, Some(code), _) => format!("with exit code {code}"),
        (None, None, Some(signal)) => format!("by signal {signal}"),
        (None, None, None) => "in an unknown way".to_owned(),
    }
}
