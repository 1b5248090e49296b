//! Interactive bubbles in the supervisor's care: each has a stage of its own.

use std::path::Path;
use std::time::Duration;

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::BubbleId;
use pairflow_core::rules::DriverKind;

use super::state::{Message, Supervisor};
use crate::engine::{ControlDir, EngineError};
use crate::stage::{Props, Stage, forget_dead};

/// How long after its beginning a stage that has ended is begun anew.
const AGAIN: Duration = Duration::from_secs(10);

impl Supervisor {
    /// Tells the stage of a bubble what its log says; one is begun where there is none.
    pub(super) fn keep_stage(&mut self, key: &Path, state: &BubbleState) -> Result<(), EngineError> {
        let Some(entry) = self.entries.get_mut(key) else { return Ok(()) };
        if state.rules.driver != DriverKind::Tmux || (entry.stage.is_none() && state.evidence.workspace.is_none()) {
            return Ok(());
        }
        if entry.stage.as_ref().is_some_and(|stage| stage.is_over() && !state.phase.is_final()) {
            // A stage does not end before its bubble; whatever ended this one may end the next one as well.
            if entry.stage.as_ref().is_some_and(|stage| stage.age() < AGAIN) {
                return Err(EngineError::Effect("what looks after the session has ended too early".to_owned()));
            }
            entry.stage = None;
        }
        if entry.stage.is_none() {
            let log = entry.bubble.control.files(&entry.bubble.id).transcript();
            let out = self.out.clone();
            let stage = Stage::begin(Props {
                bubble: entry.bubble.clone(),
                driver: self.setup.driver.clone(),
                program: self.setup.program.clone(),
                say: self.setup.say.clone(),
                activity: entry.activity.clone(),
                // The loop may have ended; then nobody needs to know.
                over: Box::new(move || drop(out.send(Message::Touched(log.clone())))),
            })?;
            if let Some(env) = &entry.person {
                stage.person(env.clone());
            }
            entry.stage = Some(stage);
        }
        if let Some(stage) = &entry.stage {
            stage.look();
        }
        Ok(())
    }

    /// Takes the sessions that did not outlive an earlier supervisor off the lists of what runs.
    pub(super) fn forget_dead_sessions(&self) {
        for repo in self.setup.engine.repositories() {
            if let Err(error) = forget_dead(&ControlDir::of(&repo)) {
                (self.setup.say)(&format!("{}: {error}", repo.display()));
            }
        }
    }

    /// Keeps the environment of the person who works with a bubble.
    pub(super) fn at_home(&mut self, repo: &Path, id: &BubbleId, env: &[(String, String)]) {
        let key = ControlDir::of(repo).files(id).dir;
        let Some(entry) = self.entries.get_mut(&key).filter(|_| !env.is_empty()) else { return };
        entry.person = Some(env.to_vec());
        if let Some(stage) = &entry.stage {
            stage.person(env.to_vec());
        }
    }
}
