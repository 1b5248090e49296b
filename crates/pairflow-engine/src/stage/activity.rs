//! When each agent was last seen at work, as far as its hooks tell; shared between a stage and the clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_core::time::{Moment, Timestamp};

use super::overview::{self, Shown};
use crate::engine::ControlDir;

/// The newest sign of life of each agent of one bubble.
#[derive(Debug, Clone, Default)]
pub struct Activity(Arc<Mutex<BTreeMap<AgentId, Moment>>>);

impl Activity {
    /// Reads what a supervisor has shown of a bubble's agents.
    pub fn shown(control: &ControlDir, id: &BubbleId, now: Moment) -> Self {
        let known = Self::default();
        for Shown { agent, active, .. } in overview::read(control, id) {
            let ago = active.and_then(|up| now.up.checked_sub(up));
            let Some(millis) = ago.and_then(|ago| i64::try_from(ago).ok()) else { continue };
            let ts = Timestamp::from_millis(now.ts.millis() - millis);
            known.note(&agent, Moment { ts, up: active.unwrap_or_default() });
        }
        known
    }

    /// Notes a sign of life.
    pub fn note(&self, agent: &AgentId, at: Moment) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(agent.clone(), at);
    }

    /// Returns the newest sign of life of `agent`.
    pub fn of(&self, agent: &AgentId) -> Option<Moment> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(agent).copied()
    }
}
