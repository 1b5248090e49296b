//! One bubble and its world: what a command leads to is recorded here, as the engine would.

use std::collections::{BTreeMap, BTreeSet};

use pairflow_core::bubble::{BubbleState, Command, Decided, Refusal, adopt, create, earlier, evolve};
use pairflow_core::ids::{BubbleId, MsgId};
use pairflow_core::log::{Envelope, Event, Lifecycle};
use pairflow_core::respond::handle;
use pairflow_core::rules::{Check, Rules};

use super::invariants;
use super::render::stand;
use super::world::World;

/// A bubble that a script is played with.
#[derive(Debug, Clone)]
pub struct Play {
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

impl Play {
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

impl Default for Play {
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
