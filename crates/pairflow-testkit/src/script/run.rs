//! A script that runs: one bubble and its world. What a command leads to is recorded here, as the engine would, and what
//! the bubble owes is paid, as a supervisor would.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pairflow_core::bubble::{
    BubbleState, Command, Decided, Effect, Notice, Phase, Refusal, Stage, adopt, create, earlier, evolve, found_author,
    owed,
};
use pairflow_core::facts::RowState;
use pairflow_core::findings::Row;
use pairflow_core::ids::{BubbleId, CommitId, MsgId, Party};
use pairflow_core::log::{Envelope, Event, Lifecycle};
use pairflow_core::progress::CheckState;
use pairflow_core::respond::handle;
use pairflow_core::rules::{Check, Rules};

use super::invariants;
use super::world::World;

/// A bubble that a script is played with.
#[derive(Debug, Clone)]
pub struct ScriptRun {
    /// Its state.
    pub state: BubbleState,
    /// Its log.
    pub log: Vec<Envelope>,
    /// The files beneath `artifacts/` that the log points to.
    pub artifacts: BTreeMap<String, String>,
    /// What came of each line of the script.
    pub lines: Vec<String>,
    /// Every change of state so far.
    pub moves: BTreeSet<Move>,
    pub(super) rules: Rules,
    pub(super) task: String,
    pub(super) criteria: Vec<String>,
    pub(super) world: World,
    pub(super) steps: u32,
    pub(super) recorded_in: BTreeMap<MsgId, u32>,
}

/// A change of state: from where, by which command, to where.
pub type Move = (&'static str, &'static str, &'static str);

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// It was recorded under this name.
    Recorded(MsgId),
    /// There was nothing to record.
    Nothing,
    /// An earlier attempt had recorded it.
    Again(MsgId),
    /// It was refused.
    Refused(Refusal),
}

impl ScriptRun {
    /// A repository with one check, and a bubble that has not been created yet.
    pub fn new() -> Self {
        let rules = Rules {
            base_branch: "main".to_owned(),
            bubble_branch: "bubble/demo".to_owned(),
            checks: vec![check_named("test")],
            ..Rules::default()
        };
        Self {
            state: BubbleState::new(demo()),
            log: Vec::new(),
            artifacts: BTreeMap::new(),
            lines: Vec::new(),
            moves: BTreeSet::new(),
            rules,
            task: "# Fix the login race\n\nTwo logins at once share a token.".to_owned(),
            criteria: Vec::new(),
            world: World::new(),
            steps: 0,
            recorded_in: BTreeMap::new(),
        }
    }

    /// Creates the bubble, unless that has happened.
    pub(super) fn create(&mut self) {
        if self.log.is_empty() {
            let created = Lifecycle::Created {
                repo: "/repo".to_owned(),
                task: self.task.clone(),
                acceptance_criteria: self.criteria.clone(),
                rules: Box::new(self.rules.clone()),
                confirmed: "explicit".to_owned(),
                identity: None,
            };
            self.append(&create(created));
        }
    }

    /// Has another person adopt the bubble.
    pub(super) fn adopted(&mut self) -> Sent {
        self.world.pass_time(1000);
        let reason = "it is a copy of the bubble in /elsewhere".to_owned();
        let events = adopt(&self.state, "/repo".to_owned(), reason, None);
        self.record(&Decided { events, artifacts: Vec::new() })
    }

    /// Sends a command a second after the last one, and records what it leads to.
    pub fn send(&mut self, command: &Command) -> Sent {
        self.world.pass_time(1000);
        if let Some(id) = earlier(&self.state, command) {
            return Sent::Again(id);
        }
        let from = self.state.phase.name();
        let sent = match handle(&self.state, command, self.world.now) {
            Ok(decided) => self.record(&decided),
            Err(refusal) => Sent::Refused(refusal),
        };
        let to = self.state.phase.name();
        if from != to {
            self.moves.insert((from.as_str(), command.name(), to.as_str()));
        }
        sent
    }

    /// Says what came of a line.
    pub(super) fn render(&mut self, sent: &Sent) -> String {
        match sent {
            Sent::Recorded(id) => {
                self.steps += 1;
                self.recorded_in.insert(id.clone(), self.steps);
                format!("#{} {}", self.steps, stand(&self.state))
            }
            Sent::Nothing => "nothing happens".to_owned(),
            Sent::Again(id) => match self.recorded_in.get(id) {
                Some(step) => format!("same record as #{step}"),
                None => format!("same record as {id}"),
            },
            Sent::Refused(refusal) => format!("refused: {refusal}"),
        }
    }

    fn record(&mut self, decided: &Decided) -> Sent {
        for artifact in &decided.artifacts {
            let text = String::from_utf8(artifact.bytes.clone()).expect("every artifact of the core is text");
            self.artifacts.insert(artifact.name.clone(), text);
        }
        let first = self.log.len();
        self.append(&decided.events);
        let broken = invariants::broken(&self.state, &self.log);
        assert!(broken.is_empty(), "{broken:#?}\nin {}", stand(&self.state));
        self.log.get(first).map_or(Sent::Nothing, |envelope| Sent::Recorded(envelope.id.clone()))
    }

    /// Writes facts down and takes them into the state.
    pub(super) fn append(&mut self, events: &[Event]) {
        for (index, event) in events.iter().enumerate() {
            let seq = self.log.len() as u64 + 1;
            let envelope = Envelope {
                seq,
                id: Envelope::name(seq, self.world.now),
                at: self.world.now,
                bubble_id: self.state.id.clone(),
                more: u32::try_from(events.len() - index - 1).expect("a command brings a handful of facts"),
                event: event.clone(),
            };
            self.state = evolve(self.state.clone(), &envelope);
            self.log.push(envelope);
        }
    }

    /// Returns the state that the log alone gives.
    pub fn refold(&self) -> BubbleState {
        self.log.iter().fold(BubbleState::new(demo()), evolve)
    }

    /// Returns the approval package.
    pub fn package(&self) -> &str {
        &self.artifacts["done-package.md"]
    }
}

impl Default for ScriptRun {
    fn default() -> Self {
        Self::new()
    }
}

/// A check whose command is its name with `./` before it.
pub(super) fn check_named(name: &str) -> Check {
    Check { name: name.to_owned(), command: format!("./{name}") }
}

fn demo() -> BubbleId {
    "demo".parse().expect("'demo' is a valid bubble id")
}

/// Plays a script.
pub fn play(script: &str) -> ScriptRun {
    let mut play = ScriptRun::new();
    for line in script.lines() {
        play.line(line);
    }
    play
}

/// Plays a script and compares what came of each line with `expected`; runs of spaces count as one.
#[track_caller]
pub fn check(script: &str, expected: &str) {
    let play = play(script);
    assert_eq!(play.refold(), play.state, "the log alone must give the same state");
    let json = serde_json::to_string(&play.state).expect("a state is always writable as JSON");
    assert_eq!(serde_json::from_str(&json).ok(), Some(play.state.clone()), "the state cache must give the same state");
    let wanted: Vec<_> = expected.lines().map(squeeze).filter(|line| !line.is_empty()).collect();
    let got: Vec<_> = play.lines.iter().map(|line| squeeze(line)).collect();
    assert!(
        got == wanted,
        "the script came to something else:\n{}\nin full:\n{}\n",
        diff(&wanted, &got),
        got.join("\n")
    );
}

/// Compares a generated document with the file at `path`; with `UPDATE_DOCS=1` the file is rewritten instead.
#[track_caller]
pub fn compare_document(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        return;
    }
    let stored =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let (wanted, got): (Vec<_>, Vec<_>) =
        (stored.lines().map(str::to_owned).collect(), text.lines().map(str::to_owned).collect());
    let same = stored == text;
    assert!(same, "{} is out of date; rewrite it with UPDATE_DOCS=1:\n{}", path.display(), diff(&wanted, &got));
}

fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Shows the lines that differ, place by place.
fn diff(wanted: &[String], got: &[String]) -> String {
    let length = wanted.len().max(got.len());
    let differing = (0..length).filter(|at| wanted.get(*at) != got.get(*at));
    let show = |at: usize| {
        let of = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "(nothing)".to_owned());
        format!("  line {}\n    expected: {}\n    came:     {}", at + 1, of(wanted), of(got))
    };
    differing.take(20).map(show).collect::<Vec<_>>().join("\n")
}

/// Where the bubble stands: state, whose turn, and whatever else a reader must know.
pub(super) fn stand(state: &BubbleState) -> String {
    let mut parts = vec![state.phase.name().to_string()];
    match &state.phase {
        Phase::Running(turn) | Phase::WaitingHuman(turn) => {
            parts.push(format!("{} {} round {}", turn.agent, turn.seat, state.rounds.round));
            parts.extend(stage(&turn.stage).map(str::to_owned));
        }
        Phase::ReadyForApproval(request) => parts.push(format!("round {} {}", state.rounds.round, request.tree)),
        Phase::Approved(approval) => {
            parts.push(approval.request.tree.to_string());
            parts.extend(approval.commit.as_ref().map(|_| "committing".to_owned()));
            parts.extend(approval.failed.as_ref().map(|why| format!("failed: {why}")));
        }
        Phase::Committed(at) | Phase::Done(at) => parts.push(format!("{} {}", at.commit, at.tree)),
        Phase::Failed { reason } => parts.push(reason.clone()),
        Phase::Created | Phase::Preparing | Phase::Cancelled => {}
    }
    parts.extend(state.paused.then(|| "paused".to_owned()));
    parts.extend(state.gate.updating.then(|| "updating".to_owned()));
    parts.extend(state.presence.parked.as_ref().map(|parked| format!("waits for {}", parked.agent)));
    let out = |notice: &Notice| format!("notice {} to {} sent {}", notice.number, notice.agent, notice.attempts);
    parts.extend(state.presence.outbox.iter().map(out));
    if state.phase.turn().is_some() {
        parts.extend(evidence(state));
    }
    parts.join("  ")
}

fn stage(stage: &Stage) -> Option<&'static str> {
    match stage {
        Stage::Closing(_) => Some("closing"),
        Stage::Opening => Some("opening"),
        Stage::Settled => Some("settled"),
        Stage::Accepted => Some("accepted"),
        Stage::Certified => Some("certified"),
        Stage::Open => None,
    }
}

/// A row of the ledger, with its state if it is more than open.
fn open_row(row: &Row) -> String {
    if row.state == RowState::Open { row.short() } else { format!("{} [{}]", row.short(), row.state) }
}

/// Clean reviews, checks that did not pass, open findings, open questions: each only if there are some.
fn evidence(state: &BubbleState) -> Vec<String> {
    let clean = state.rounds.streak.iter().map(|review| review.agent.to_string());
    let checks = state.rules.checks.iter().map(|check| check.name.clone());
    let is = |name: &str, stand: fn(&CheckState<'_>) -> bool| {
        state.evidence.snapshot.is_some() && !state.is_untouched() && stand(&state.check(name))
    };
    let failing = checks.clone().filter(|name| is(name, |stand| matches!(stand, CheckState::Failed(_))));
    let given_up = checks.clone().filter(|name| is(name, |stand| *stand == CheckState::NotAvailable));
    let waived = checks.clone().filter(|name| is(name, |stand| matches!(stand, CheckState::Waived(_))));
    let missing = checks.clone().filter(|name| is(name, |stand| *stand == CheckState::Missing));
    let open = state.ledger.open().map(open_row);
    let said = |question: &str| question.lines().next().unwrap_or_default().to_owned();
    let asks = state.gate.questions.iter().map(|open| format!("{}: {}", open.by, said(&open.question)));
    [
        ("clean", clean.collect::<Vec<_>>()),
        ("failing", failing.collect()),
        ("unchecked", missing.collect()),
        ("not available", given_up.collect()),
        ("waived", waived.collect()),
        ("open", open.collect()),
        ("asks", asks.collect()),
    ]
    .into_iter()
    .filter(|(_, entries)| !entries.is_empty())
    .map(|(name, entries)| format!("{name}: {}", entries.join(", ")))
    .collect()
}

/// No act leaves more debts than this.
const ENOUGH: usize = 100;

impl ScriptRun {
    /// Pays everything that is owed but the agents' own work.
    pub fn settle(&mut self) {
        for _ in 0..ENOUGH {
            if self.pay_one() == Sent::Nothing {
                return;
            }
        }
        panic!("the bubble still owes something after {ENOUGH} effects: {:?}", owed(&self.state));
    }

    /// Pays the most urgent debt.
    pub fn pay_one(&mut self) -> Sent {
        let debt = owed(&self.state).into_iter().find(|one| !one.lasts());
        let Some(effect) = debt else { return Sent::Nothing };
        let command = self.perform(&effect);
        let sent = self.send(&command);
        assert!(matches!(sent, Sent::Recorded(_)), "{effect:?} was owed, but its result came to {sent:?}");
        sent
    }

    fn perform(&mut self, effect: &Effect) -> Command {
        match effect {
            Effect::PrepareWorkspace => match self.world.start_fails.take() {
                Some(reason) => Command::StartFailed { reason },
                None => Command::WorkspaceReady { workspace: self.world.workspace() },
            },
            Effect::TakeSnapshot { author, .. } => self.take_snapshot(author.clone()),
            Effect::RunCheck { check, place } => {
                let tree = self.state.tree().expect("checks are owed for a snapshot or for the base");
                Command::Checked { receipt: self.world.run(check, tree, *place) }
            }
            Effect::RunReproducer { finding, command } => {
                let tree = self.state.tree().expect("reproducers are owed for a snapshot").clone();
                Command::Reproduced { finding: *finding, receipt: self.world.reproduce(*finding, command, tree) }
            }
            Effect::TestFix(fix) => {
                let tree = self.state.tree().expect("the test of a fix is owed for a snapshot").clone();
                let (before, after) = self.world.test_fix(fix, tree);
                Command::FixTested { finding: fix.finding, before, after }
            }
            Effect::OpenTurn { turn } => {
                let tree = self.world.tree();
                match self.state.tree() == Some(&tree) {
                    true => Command::TurnReady { turn: *turn, slices: 0 },
                    false => self.take_snapshot(found_author(&self.state, &tree)),
                }
            }
            Effect::Update => match self.world.update_fails.clone() {
                Some(reason) => Command::UpdateFailed { reason, conflict: None },
                None => self.update(),
            },
            Effect::Commit(_) => match self.world.commit_fails.clone() {
                Some(reason) => Command::CommitFailed { reason },
                None => Command::CommitMade { commit: self.world.commit(), old_tip: None },
            },
            Effect::RecordDone => Command::RecordDone,
            Effect::RunAgent { .. } | Effect::Deliver { .. } => unreachable!("the script itself plays the agents"),
        }
    }

    fn take_snapshot(&mut self, author: Option<Party>) -> Command {
        let snapshot = self.world.snapshot(author, self.state.tree(), &self.state.rules.scope);
        Command::SnapshotTaken { snapshot }
    }

    /// Merges the base; what an agent had not handed over yet is recorded before it.
    pub(super) fn update(&mut self) -> Command {
        let before = self.state.tree().cloned();
        let mut snapshots = Vec::new();
        if before.as_ref() != Some(&self.world.tree()) {
            let author = match self.state.phase.turn().map(|turn| (&turn.stage, turn)) {
                Some((Stage::Closing(handover), _)) => handover.author(),
                Some((Stage::Open, turn)) => turn.author(),
                _ => Some(Party::Human),
            };
            snapshots.push(self.world.snapshot(author, before.as_ref(), &self.state.rules.scope));
        }
        let left = self.world.tree();
        let same_patch = self.world.merge_base();
        snapshots.push(self.world.snapshot(Some(Party::Human), Some(&left), &self.state.rules.scope));
        let base_tree = self.world.base_tree();
        Command::UpdateMade { base: CommitId(format!("base-{base_tree}")), base_tree, snapshots, same_patch }
    }
}
