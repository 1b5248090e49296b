//! What of a bubble can be shown: its panes to a person, its brief to the agent that has the turn.

use crate::bubble::{BubbleState, Phase, StateName, Turn};
use crate::facts::Seat;
use crate::ids::{AgentId, BubbleId};
use crate::rules::DriverKind;

/// Why there is nothing to show. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// The bubble's agents work without panes.
    #[error("bubble {id} has no panes: its driver is {driver}")]
    NoPanes {
        /// Which bubble.
        id: BubbleId,
        /// What drives it.
        driver: &'static str,
    },
    /// The bubble has not begun.
    #[error("bubble {id} is CREATED; its session begins with its start")]
    NotStarted {
        /// Which bubble.
        id: BubbleId,
    },
    /// The bubble is over.
    #[error("bubble {id} is {state}; its session was closed")]
    Over {
        /// Which bubble.
        id: BubbleId,
        /// How it ended.
        state: StateName,
    },
    /// The session should be there, and is not.
    #[error("bubble {id} has no session now")]
    NoSession {
        /// Which bubble.
        id: BubbleId,
        /// Whether an agent has the turn.
        at_work: bool,
    },
    /// Nobody has the turn.
    #[error("nobody has the turn in bubble {id}, so there is no brief")]
    NobodysTurn {
        /// Which bubble.
        id: BubbleId,
    },
    /// Another agent has the turn.
    #[error("it is not your turn in bubble {id}: {holder} has it, as {seat}")]
    AnothersTurn {
        /// Which bubble.
        id: BubbleId,
        /// Who has the turn.
        holder: AgentId,
        /// In which seat.
        seat: Seat,
    },
}

impl Unseen {
    /// Returns the command that goes on from here.
    pub fn next(&self) -> String {
        match self {
            Self::NotStarted { id } => format!("pairflow start {id}"),
            Self::NoPanes { id, .. } => format!("pairflow view {id}"),
            Self::NoSession { id, at_work: true } => format!("pairflow resume {id}"),
            Self::NoSession { at_work: false, .. } => "pairflow supervise".to_owned(),
            Self::Over { id, .. } | Self::NobodysTurn { id } | Self::AnothersTurn { id, .. } => {
                format!("pairflow status {id}")
            }
        }
    }
}

impl BubbleState {
    /// Returns the line with which an agent joins by itself, from any shell: nothing that it does elsewhere counts.
    pub fn joining(&self, agent: &AgentId) -> String {
        let join = format!("eval \"$(pairflow env {} --agent {agent})\"", self.id);
        match &self.evidence.workspace {
            Some(workspace) => format!("cd '{}' && {join}", workspace.path.replace('\'', "'\\''")),
            None => join,
        }
    }

    /// Insists that the bubble is in a state in which it has a session.
    pub fn has_panes(&self) -> Result<(), Unseen> {
        let id = self.id.clone();
        match self.phase {
            _ if self.rules.driver != DriverKind::Tmux => Err(Unseen::NoPanes { id, driver: self.rules.driver.name() }),
            Phase::Created => Err(Unseen::NotStarted { id }),
            _ if self.phase.is_final() => Err(Unseen::Over { id, state: self.phase.name() }),
            _ => Ok(()),
        }
    }

    /// Says that a session that should be there is not.
    pub fn no_session(&self) -> Unseen {
        Unseen::NoSession { id: self.id.clone(), at_work: self.phase.turn().is_some() }
    }

    /// Returns the turn whose brief `reader` may read: an agent only its own, a person any.
    pub fn turn_to_read(&self, reader: Option<&str>) -> Result<&Turn, Unseen> {
        let id = self.id.clone();
        match self.phase.turn() {
            None => Err(Unseen::NobodysTurn { id }),
            Some(turn) if reader.is_some_and(|agent| agent != turn.agent.as_str()) => {
                Err(Unseen::AnothersTurn { id, holder: turn.agent.clone(), seat: turn.seat })
            }
            Some(turn) => Ok(turn),
        }
    }
}
