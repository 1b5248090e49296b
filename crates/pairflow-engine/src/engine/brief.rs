//! What agents read, as files of the bubble: the brief of the agent that has the turn, and what the others are told meanwhile.
//! They are derived: whatever changes the turn writes them again.

use std::path::PathBuf;

use pairflow_core::bubble::BubbleState;
use pairflow_core::ids::AgentId;
use pairflow_core::view::brief::{BriefMaterial, brief, standby};

use crate::engine::{Bubble, EngineError};

impl Bubble {
    /// Writes the brief of the present turn; nothing while no agent has one.
    ///
    /// Returns how many slices of the change its holder has to confirm.
    pub(crate) fn write_brief(&self, state: &BubbleState) -> Result<u32, EngineError> {
        let material = self.material(state)?;
        self.put_brief(state, &material)?;
        Ok(material.slices())
    }

    /// Writes the brief of a turn that is open already: what the person has said is in it, also where the repository
    /// cannot be read at the moment.
    pub(crate) fn renew_brief(&self, state: &BubbleState) -> Result<(), EngineError> {
        let there = state.evidence.workspace.as_ref().is_some_and(|record| std::path::Path::new(&record.path).is_dir());
        let material = if there { self.material(state).unwrap_or_default() } else { BriefMaterial::default() };
        self.put_brief(state, &material)
    }

    fn put_brief(&self, state: &BubbleState, material: &BriefMaterial) -> Result<(), EngineError> {
        if let (Some(text), Some(turn)) = (brief(state, material), state.phase.turn()) {
            self.log.project_artifact(&format!("brief-{}.md", turn.agent), text.as_bytes())?;
        }
        Ok(())
    }

    /// Writes what every agent without the turn is told.
    pub(crate) fn write_briefings(&self, state: &BubbleState) -> Result<(), EngineError> {
        let holder = state.phase.turn().map(|turn| &turn.agent);
        for agent in state.rules.agents.all().filter(|agent| Some(*agent) != holder) {
            if let Some(text) = standby(state, agent) {
                self.log.project_artifact(&format!("briefing-{agent}.md"), text.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Returns the file in which an agent without the turn finds what the bubble is about.
    pub fn briefing(&self, agent: &AgentId) -> PathBuf {
        self.dir().join(format!("artifacts/briefing-{agent}.md"))
    }
}
