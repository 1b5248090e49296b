//! What a restart must do, and when: both follow from the state alone.

use crate::bubble::{BubbleState, CHECK_TRIES, CommitOrder, Notice, Phase, Stage, Turn};
use crate::facts::Place;
use crate::ids::{AgentId, FindingId, Party};
use crate::policy;
use crate::progress::CheckState;
use crate::rules::{Check, ChecksIn, DriverKind};
use crate::time::Moment;

/// A debt to the world. It is owed until its result is in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Make branch and worktree.
    PrepareWorkspace,
    /// Record the tree that a turn left.
    TakeSnapshot {
        /// Whose changes it has, if that is known.
        author: Option<Party>,
        /// The number of the snapshot.
        number: u64,
    },
    /// Run a check on the newest snapshot, or on the base before there is one.
    RunCheck {
        /// Which check.
        check: Check,
        /// Where.
        place: Place,
    },
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
        /// The number of this turn among those of the agent, from 1.
        nth: u32,
    },
    /// Have an agent know that there is something to read.
    Deliver {
        /// The number of the notice.
        notice: u64,
        /// Which agent.
        agent: AgentId,
        /// The number of the turn.
        turn: u32,
    },
    /// Merge the base branch into the worktree.
    Update,
    /// Commit the approved tree.
    Commit(CommitOrder),
    /// Record the done package.
    RecordDone,
}

/// Returns what is owed, the most urgent first.
pub fn owed(state: &BubbleState) -> Vec<Effect> {
    if policy::named(&state.rules.policy).is_none() {
        // What became of it could not be judged.
        return Vec::new();
    }
    // The tree that a hand-over left is recorded before anything is merged into it.
    let closing = state.phase.turn().is_some_and(|turn| matches!(turn.stage, Stage::Closing(_)));
    if state.gate.updating && !closing && !state.phase.is_final() {
        return vec![Effect::Update];
    }
    match &state.phase {
        Phase::Preparing => vec![Effect::PrepareWorkspace],
        Phase::Running(turn) => in_turn(state, turn, !state.paused),
        Phase::WaitingHuman(turn) => in_turn(state, turn, false),
        Phase::Approved(approval) => approval.commit.iter().cloned().map(Effect::Commit).collect(),
        Phase::Committed(_) => vec![Effect::RecordDone],
        _ => Vec::new(),
    }
}

/// Returns the checks that have to be run before the next turn may open, and where.
///
/// Before the first hand-over that is the base: what fails there is no agent's fault. Once a review of a tree was clean,
/// what passed in a checkout with caches has to pass in a fresh one.
pub fn missing_checks(state: &BubbleState) -> Vec<(&Check, Place)> {
    let place = |check| missing(state, check).map(|place| (check, place));
    state.rules.checks.iter().filter_map(place).collect()
}

/// Where a check has to be run, if it has.
fn missing(state: &BubbleState, check: &Check) -> Option<Place> {
    let here = if state.rules.checks_in == ChecksIn::Worktree { Place::Worktree } else { Place::Checkout };
    let settled =
        if state.rounds.streak.is_empty() || check.is_own() || here == Place::Worktree { here } else { Place::Fresh };
    if state.evidence.snapshot.is_none() || state.is_untouched() {
        return state.wants_baseline(check).then_some(Place::Base);
    }
    match state.check(&check.name) {
        CheckState::Missing => Some(settled),
        CheckState::Passed(receipt) if settled == Place::Fresh && receipt.place != settled => Some(settled),
        _ => None,
    }
}

/// Returns in how many milliseconds, counted from the moment beside it, a [`crate::bubble::Command::Tick`] is due, if the
/// agent whose turn it is was last `active` then.
pub fn next_deadline(state: &BubbleState, active: Option<Moment>) -> Option<(Moment, u64)> {
    if let Some(parked) = state.presence.parked.as_ref().filter(|_| state.is_at_work()) {
        return Some((parked.since, parked.lasts()));
    }
    let (heard, silence) = state.silence_ends(active)?;
    let Some((since, turn)) = state.turn_ends() else { return Some((heard, silence)) };
    // Both are counted from different moments: whichever is due first.
    let ahead = heard.since(since);
    if turn <= ahead.saturating_add(silence) { Some((since, turn)) } else { Some((heard, silence)) }
}

impl BubbleState {
    /// Returns when the agent whose turn it is will have been silent for too long, if it was last `active` then.
    pub fn silence_ends(&self, active: Option<Moment>) -> Option<(Moment, u64)> {
        let turn = self.watched()?;
        let heard = later(turn.heard, active);
        Some((heard, u64::from(self.rules.watchdog_timeout_minutes) * 60_000))
    }

    /// Returns when the present turn will have taken too long; nothing if a person knows that already.
    pub fn turn_ends(&self) -> Option<(Moment, u64)> {
        let turn = self.watched().filter(|turn| !turn.overdue)?;
        Some((turn.uninterrupted, u64::from(self.rules.max_turn_minutes) * 60_000))
    }

    /// Whether an agent has an open turn that nobody has interrupted.
    pub(crate) fn is_at_work(&self) -> bool {
        matches!(&self.phase, Phase::Running(turn) if turn.is_open()) && !self.paused
    }

    /// Returns the turn whose holder is expected to be heard of.
    pub(super) fn watched(&self) -> Option<&Turn> {
        self.phase.turn().filter(|_| self.is_at_work() && self.presence.parked.is_none())
    }
}

fn later(heard: Moment, active: Option<Moment>) -> Moment {
    match active {
        // Of two uptimes the larger one is later, unless the machine was started again in between.
        Some(active) if active.since(heard) > 0 && heard.since(active) == 0 => active,
        _ => heard,
    }
}

fn in_turn(state: &BubbleState, turn: &Turn, going: bool) -> Vec<Effect> {
    match &turn.stage {
        Stage::Closing(handover) => {
            vec![Effect::TakeSnapshot { author: handover.author(), number: state.evidence.snapshots + 1 }]
        }
        Stage::Opening if state.paused => Vec::new(),
        Stage::Opening => {
            let tried = |check: &Check| state.evidence.could_not.get(&check.name).copied().unwrap_or(0) < CHECK_TRIES;
            let missing = missing_checks(state);
            let reproducers = state
                .facts()
                .to_reproduce()
                .map(|(finding, command)| Effect::RunReproducer { finding, command: command.to_owned() });
            let reproducers: Vec<_> = reproducers.collect();
            let open = missing.is_empty() && reproducers.is_empty() && going;
            let run = |(check, place): (&Check, Place)| Effect::RunCheck { check: check.clone(), place };
            let mut effects: Vec<_> = missing.into_iter().filter(|(check, _)| tried(check)).map(run).collect();
            effects.extend(reproducers);
            effects.extend(open.then_some(Effect::OpenTurn { turn: turn.number }));
            effects
        }
        Stage::Open if going && state.rules.driver == DriverKind::Script => {
            let nth = state.rounds.held.get(&turn.agent).map_or(1, |held| held.count);
            vec![Effect::RunAgent { turn: turn.number, agent: turn.agent.clone(), nth }]
        }
        Stage::Open if going && state.presence.parked.is_none() => {
            let here = state.presence.outbox.iter().filter(|notice| notice.turn == turn.number);
            let deliver = |it: &Notice| Effect::Deliver { notice: it.number, agent: it.agent.clone(), turn: it.turn };
            here.map(deliver).collect()
        }
        Stage::Open | Stage::Settled | Stage::Accepted | Stage::Certified => Vec::new(),
    }
}

impl Effect {
    /// Whether it is a programme to keep up rather than a debt that can be paid at once.
    pub fn lasts(&self) -> bool {
        matches!(self, Self::RunAgent { .. } | Self::Deliver { .. })
    }
}
