//! What follows from a state alone: what is owed to the world, when time is up, what the policy is told, what a review would come
//! to, and what of a bubble can be shown.

use crate::bubble::{BubbleState, CHECK_TRIES, CommitOrder, Notice, Phase, Refusal, Stage, StateName, Turn};
use crate::facts::{Answers, CheckPlace, CleanReview, Explanation, Seat};
use crate::findings::{Ledger, Review};
use crate::ids::{AgentId, BubbleId, FindingId, Party};
use crate::log::{Pass, Reason};
use crate::policy;
use crate::policy::{Facts, FixToTest, Policy, Unmet};
use crate::progress::{CheckState, Returned};
use crate::rules::{BubbleKind, Check, ChecksIn, DriverKind};
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
        place: CheckPlace,
    },
    /// Run the reproducer of a finding on the newest snapshot.
    RunReproducer {
        /// Which finding.
        finding: FindingId,
        /// The command line.
        command: String,
    },
    /// Run the test of a fix on the tree before the fix, with the changed test files laid over it, then on the newest one.
    TestFix(FixToTest),
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

/// Returns the fixes whose tests have to be run before a reviewer looks at them.
pub fn fixes_to_test(state: &BubbleState) -> Vec<FixToTest> {
    let next = state.phase.turn().is_some_and(|turn| turn.seat == Seat::Reviewer && turn.stage == Stage::Opening);
    if !next || !state.policy().tests_fixes() {
        return Vec::new();
    }
    state.facts().fixes_to_test().collect()
}

/// Returns what is owed, the most urgent first.
pub fn owed(state: &BubbleState) -> Vec<Effect> {
    if !policy::knows(&state.rules) {
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
pub fn missing_checks(state: &BubbleState) -> Vec<(&Check, CheckPlace)> {
    let place = |check| missing(state, check).map(|place| (check, place));
    state.rules.checks.iter().filter_map(place).collect()
}

/// Where a check has to be run, if it has.
fn missing(state: &BubbleState, check: &Check) -> Option<CheckPlace> {
    let here = if state.rules.checks_in == ChecksIn::Worktree { CheckPlace::Worktree } else { CheckPlace::Checkout };
    let settled = if state.rounds.streak.is_empty() || check.is_own() || here == CheckPlace::Worktree {
        here
    } else {
        CheckPlace::Fresh
    };
    if state.evidence.snapshot.is_none() || state.is_untouched() {
        return state.wants_baseline(check).then_some(CheckPlace::Base);
    }
    match state.check(&check.name) {
        CheckState::Missing => Some(settled),
        CheckState::Passed(receipt) if settled == CheckPlace::Fresh && receipt.place != settled => Some(settled),
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

    /// Whether a check could not be run as often as it is tried.
    pub(super) fn has_given_up(&self, check: &str) -> bool {
        self.evidence.could_not.get(check).is_some_and(|tries| *tries >= CHECK_TRIES)
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
            let missing = missing_checks(state);
            let reproducers = state
                .facts()
                .to_reproduce()
                .map(|(finding, command)| Effect::RunReproducer { finding, command: command.to_owned() });
            let reproducers: Vec<_> = reproducers.collect();
            let fixes: Vec<_> = fixes_to_test(state).into_iter().map(Effect::TestFix).collect();
            let open = missing.is_empty() && reproducers.is_empty() && fixes.is_empty() && going;
            let run = |(check, place): (&Check, CheckPlace)| Effect::RunCheck { check: check.clone(), place };
            let mut effects: Vec<_> =
                missing.into_iter().filter(|(check, _)| !state.has_given_up(&check.name)).map(run).collect();
            effects.extend(reproducers);
            effects.extend(fixes);
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

impl BubbleState {
    /// Returns the rules of its loop.
    pub fn policy(&self) -> &'static dyn Policy {
        policy::known(&self.rules.policy)
    }

    /// Returns what its policy is told.
    pub fn facts(&self) -> Facts<'_> {
        Facts {
            id: &self.id,
            rules: &self.rules,
            rounds: &self.rounds,
            streak: &self.rounds.streak,
            ledger: &self.ledger,
            evidence: &self.evidence,
            explanation: &self.gate.explanation,
            understood: self.is_understood(),
            questions: self.gate.questions.len(),
            last_said: self.gate.summaries.back(),
            looks: self.rounds.looks,
        }
    }

    /// Returns every criterion of acceptance that does not hold yet.
    pub fn unmet(&self) -> Vec<Unmet> {
        self.policy().unmet(self.facts())
    }

    /// Whether nobody has to say any more that the document is understood.
    fn is_understood(&self) -> bool {
        let understood = &self.gate.understood;
        self.rules.kind != BubbleKind::Document || (understood.is_some() && understood.as_ref() == self.tree())
    }
}

impl BubbleState {
    /// Returns what pairflow ran itself and keeps the newest tree from being accepted, each as the end of a sentence.
    pub fn failing(&self) -> Vec<String> {
        policy::told(&self.facts().failing())
    }

    /// Returns the hand-over of `agent` that came back and still would, as long as the agent is not known to know that.
    pub fn returned_to(&self, agent: &AgentId) -> Option<&Returned> {
        let holds = self.phase.turn().is_some_and(|turn| turn.agent == *agent);
        let fix = |reason: &Reason| matches!(reason, Reason::FixNotShown { .. } | Reason::FixFails { .. });
        let still = || !self.facts().failing().is_empty() || self.unshown_fixes().any(fix);
        self.rounds.returned.as_ref().filter(|_| holds && still())
    }

    /// Returns why the newest tree went back that no check and no reproducer shows: fixes, and what the person decided.
    fn unshown_fixes(&self) -> impl Iterator<Item = &Reason> {
        let here = self.rounds.went_back.iter().filter(|last| Some(&last.tree) == self.tree());
        here.flat_map(|last| &last.why).filter(|reason| {
            matches!(reason, Reason::FixNotShown { .. } | Reason::FixFails { .. } | Reason::DecidedByPerson { .. })
        })
    }

    /// Returns why the work came back to `agent`, if it is its turn for that reason.
    pub fn came_back_to(&self, agent: &AgentId) -> Vec<String> {
        let implementer = |turn: &Turn| turn.agent == *agent && turn.seat == Seat::Implementer;
        let back = self.rounds.sent_back > 0 && self.phase.turn().is_some_and(implementer);
        if !back {
            return Vec::new();
        }
        let fixes: Vec<_> = self.unshown_fixes().cloned().collect();
        self.failing().into_iter().chain(policy::told(&fixes)).collect()
    }
}

/// By what a claim of convergence is judged: the facts as if the clean review of its sender were recorded.
pub(super) struct Claimed {
    ledger: Ledger,
    streak: Vec<CleanReview>,
    explanation: Explanation,
}

impl Claimed {
    pub(super) fn of(state: &BubbleState, by: &AgentId, explanation: Option<&Explanation>) -> Self {
        let (round, nothing) = (state.rounds.round, Answers::default());
        let review = Review { by, round, findings: &[], answers: &nothing, discuss: false };
        let mut streak = state.rounds.streak.clone();
        streak.push(state.facts().review_by(by, round));
        let mut told = state.gate.explanation.clone();
        explanation.into_iter().for_each(|newer| told.take_over(newer));
        Self { ledger: state.ledger.reviewed(&review), streak, explanation: told }
    }

    pub(super) fn facts<'a>(&'a self, state: &'a BubbleState) -> Facts<'a> {
        let Self { ledger, streak, explanation } = self;
        let facts = state.facts();
        Facts { ledger, streak, explanation, looks: facts.looks + 1, ..facts }
    }
}

/// Refuses the review that would complete the acceptance while the person has not been told what they decide on.
pub(super) fn explained(state: &BubbleState, by: &AgentId, pass: &Pass) -> Result<(), Refusal> {
    let claimed = Claimed::of(state, by, pass.explanation.as_ref());
    let (policy, facts) = (state.policy(), claimed.facts(state));
    let missing = policy.unmet(facts).into_iter().find(|criterion| matches!(criterion, Unmet::Explanation(_)));
    match missing {
        Some(missing) if policy.reviews_suffice(facts) && would_be_clean(state, by, pass) => {
            Err(Refusal::NotConverged { unmet: vec![missing] })
        }
        _ => Ok(()),
    }
}

/// Whether a review would be clean if no file changes before its snapshot.
pub(super) fn would_be_clean(state: &BubbleState, by: &AgentId, pass: &Pass) -> bool {
    let Some(findings) = &pass.findings else { return false };
    let (answers, discuss) = (&pass.answers, pass.discuss);
    let ledger = state.ledger.reviewed(&Review { by, round: state.rounds.round, findings, answers, discuss });
    let facts = state.facts();
    let after = Facts { ledger: &ledger, looks: facts.looks + 1, ..facts };
    !discuss && state.policy().objections(after, &[]).is_empty()
}

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
    #[error("no agent has the turn in bubble {id}, so there is no brief")]
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
