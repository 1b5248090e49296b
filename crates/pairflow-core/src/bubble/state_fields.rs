//! The fields of `state.json`, as the protocol names them.

use serde::{Deserialize, Serialize};

use crate::bubble::{BubbleState, StateName};
use crate::facts::RoundRoles;
use crate::facts::Seat;
use crate::ids::{AgentId, BubbleId};
use crate::time::Timestamp;

/// What `state.json` and `status --json` say of a bubble's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFields {
    /// The bubble.
    pub bubble_id: BubbleId,
    /// One of the ten states.
    pub state: StateName,
    /// The present round.
    pub round: u32,
    /// Whose turn it is; null when no turn is given out.
    pub active_agent: Option<AgentId>,
    /// Since when it is this agent's turn.
    pub active_since: Option<Timestamp>,
    /// In which seat.
    pub active_role: Option<Seat>,
    /// Whether the agent may act already.
    pub turn_state: Option<TurnState>,
    /// Whether a person paused the loop.
    pub paused: bool,
    /// Who sat where, round by round.
    pub round_role_history: Vec<RoundRoles>,
    /// When a command was last accepted.
    pub last_command_at: Timestamp,
}

/// Whether an agent may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// Something is owed before it may.
    Opening,
    /// It may.
    Open,
}

impl StateFields {
    /// Reads the fields off a state.
    pub fn of(state: &BubbleState) -> Self {
        let turn = state.phase.turn();
        let open = |open: bool| if open { TurnState::Open } else { TurnState::Opening };
        Self {
            bubble_id: state.id.clone(),
            state: state.phase.name(),
            round: state.rounds.round,
            active_agent: turn.map(|turn| turn.agent.clone()),
            active_since: turn.map(|turn| turn.since.ts),
            active_role: turn.map(|turn| turn.seat),
            turn_state: turn.map(|turn| open(turn.is_open())),
            paused: state.paused,
            round_role_history: state.rounds.history.clone(),
            last_command_at: state.last_command_at,
        }
    }
}
