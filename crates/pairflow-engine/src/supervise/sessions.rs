//! Interactive bubbles in the supervisor's care: each has a stage of its own.

use std::path::Path;

use pairflow_core::ids::BubbleId;
use pairflow_core::rules::DriverKind;
use pairflow_core::unit::Unit;

use super::run::Supervisor;
use crate::engine::{Control, EngineError};
use crate::stage::{Props, Stage};

impl Supervisor {
    /// Tells the stage of a bubble what its log says; one is begun where there is none.
    pub(super) fn keep_stage(&mut self, key: &Path, unit: &Unit) -> Result<(), EngineError> {
        let Some(entry) = self.entries.get_mut(key) else { return Ok(()) };
        if unit.rules.driver != DriverKind::Tmux || (entry.stage.is_none() && unit.workspace.is_none()) {
            return Ok(());
        }
        if entry.stage.is_none() {
            let stage = Stage::begin(Props {
                bubble: entry.bubble.clone(),
                driver: self.setup.driver.clone(),
                program: self.setup.program.clone(),
                say: self.setup.say.clone(),
                activity: entry.activity.clone(),
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

    /// Keeps the environment of the person who works with a bubble.
    pub(super) fn at_home(&mut self, repo: &Path, id: &BubbleId, env: &[(String, String)]) {
        let key = Control::of(repo).files(id).dir;
        let Some(entry) = self.entries.get_mut(&key).filter(|_| !env.is_empty()) else { return };
        entry.person = Some(env.to_vec());
        if let Some(stage) = &entry.stage {
            stage.person(env.to_vec());
        }
    }
}
