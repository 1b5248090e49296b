//! What a restart must do, and when: both follow from the state alone.

use crate::ids::{AgentId, FindingId, Party};
use crate::rules::{Check, DriverKind};
use crate::unit::{CHECK_TRIES, CheckState, CommitOrder, Phase, Stage, Turn, Unit};

/// A debt to the world. It is owed until its result is in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Make branch and worktree.
    PrepareWorkspace,
    /// Record the tree that a turn left.
    TakeSnapshot {
        /// Whose turn left it.
        author: Party,
        /// The number of the snapshot.
        number: u64,
    },
    /// Run a check on the newest snapshot.
    RunCheck(Check),
    /// Run the reproducer of a finding on the newest snapshot.
    RunReproducer {
        /// Which finding.
        finding: FindingId,
        /// The command line.
        command: String,
    },
    /// Write the files that the turn's holder reads, make sure that the tree is the expected one, open the turn.
    OpenTurn {
        /// The number of the turn.
        turn: u32,
    },
    /// Keep the agent's process running while its turn is open.
    RunAgent {
        /// The number of the turn.
        turn: u32,
        /// Which agent.
        agent: AgentId,
        /// The how-manieth turn of this agent it is, from 1.
        nth: u32,
    },
    /// Merge the base branch into the worktree.
    Update,
    /// Commit the approved tree.
    Commit(CommitOrder),
    /// Record the done package.
    RecordDone,
}

/// Returns what is owed, the most urgent first.
pub fn owed(unit: &Unit) -> Vec<Effect> {
    // The tree that a hand-over left is recorded before anything is merged into it.
    let closing = unit.phase.turn().is_some_and(|turn| matches!(turn.stage, Stage::Closing(_)));
    if unit.updating && !closing && !unit.phase.is_final() {
        return vec![Effect::Update];
    }
    match &unit.phase {
        Phase::Preparing => vec![Effect::PrepareWorkspace],
        Phase::Running(turn) => in_turn(unit, turn, !unit.paused),
        Phase::WaitingHuman(turn) => in_turn(unit, turn, false),
        Phase::Approved(approval) => approval.commit.iter().cloned().map(Effect::Commit).collect(),
        Phase::Committed(_) => vec![Effect::RecordDone],
        _ => Vec::new(),
    }
}

/// Returns the checks that have to be run before the next turn may open.
///
/// The tree that a bubble starts from is nobody's work, so nothing is checked before the first hand-over.
pub fn missing_checks(unit: &Unit) -> Vec<&Check> {
    if unit.snapshot.is_none() {
        return Vec::new();
    }
    unit.rules.checks.iter().filter(|check| unit.check(&check.name) == CheckState::Missing).collect()
}

/// Returns in how many milliseconds, counted from the moment beside it, a [`crate::unit::Command::Tick`] is due.
pub fn next_deadline(unit: &Unit) -> Option<(crate::time::Moment, u64)> {
    unit.silence_ends()
}

fn in_turn(unit: &Unit, turn: &Turn, going: bool) -> Vec<Effect> {
    match &turn.stage {
        Stage::Closing(handover) => {
            let author = Party::Agent(handover.by.clone());
            vec![Effect::TakeSnapshot { author, number: unit.snapshots + 1 }]
        }
        Stage::Opening if unit.paused => Vec::new(),
        Stage::Opening => {
            let tried = |check: &&Check| unit.could_not.get(&check.name).copied().unwrap_or(0) < CHECK_TRIES;
            let missing = missing_checks(unit);
            let reproducers = unit
                .to_reproduce()
                .map(|(finding, command)| Effect::RunReproducer { finding, command: command.to_owned() });
            let reproducers: Vec<_> = reproducers.collect();
            let open = missing.is_empty() && reproducers.is_empty() && going;
            let mut effects: Vec<_> = missing.into_iter().filter(tried).cloned().map(Effect::RunCheck).collect();
            effects.extend(reproducers);
            effects.extend(open.then_some(Effect::OpenTurn { turn: turn.number }));
            effects
        }
        Stage::Open if going && unit.rules.driver == DriverKind::Script => {
            let nth = unit.held.get(&turn.agent).map_or(1, |held| held.count);
            vec![Effect::RunAgent { turn: turn.number, agent: turn.agent.clone(), nth }]
        }
        Stage::Open | Stage::Settled => Vec::new(),
    }
}
