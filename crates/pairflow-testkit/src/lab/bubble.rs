//! The bubble of a modelled task: the real core, with a worktree that is only a count of changes.

use pairflow_core::bubble::{BubbleState, Command, Effect, HeadSeen, PassCommand, Refusal, advance, create, owed};
use pairflow_core::facts::{CheckPlace, Explanation, FileChange, Outcome, Receipt, Snapshot};
use pairflow_core::ids::{AgentId, CommitId, FindingId, Party, TreeId};
use pairflow_core::log::{Body, Envelope, Event, Ground, Lifecycle, Pass, WorkspaceRecord};
use pairflow_core::respond::handle;
use pairflow_core::rules::{Agents, Check, ReviewDepth, Rules};
use pairflow_core::time::{Moment, Timestamp};

use super::agents::file_of;
use super::code::{Code, FILES, Model, PARTS};
use crate::script::broken;

/// No hand-over leaves more debts than this.
const ENOUGH: usize = 300;
const BRANCH: &str = "bubble/lab";
const SHOWS: &str = "./shows ";
const SHOWS_FIX: &str = "./shows-fix ";
/// The command that passes once nothing is left that acceptance tests show.
pub(super) const ACCEPTANCE: &str = "./acceptance";

/// One bubble and its log.
pub(super) struct Bubble {
    pub state: BubbleState,
    log: Vec<Envelope>,
    now: Moment,
}

impl Bubble {
    /// Creates and starts a bubble whose first turn is open.
    pub(super) fn start(code: &Code, depth: ReviewDepth, third: Option<AgentId>) -> Self {
        let agents = Agents { second_reviewer: third, ..Rules::default().agents };
        let rules = Rules {
            agents,
            review_depth: depth,
            base_branch: "main".to_owned(),
            bubble_branch: BRANCH.to_owned(),
            checks: vec![Check { name: "test".to_owned(), command: "./test".to_owned() }],
            ..Rules::default()
        };
        let created = Lifecycle::Created {
            repo: "/repo".to_owned(),
            task: "# A task of the lab".to_owned(),
            acceptance_criteria: Vec::new(),
            rules: Box::new(rules.clone()),
            confirmed: "explicit".to_owned(),
            identity: None,
        };
        let id = "lab".parse().expect("'lab' is a valid bubble id");
        let now = Moment { ts: Timestamp::from_millis(1_771_675_200_000), up: 1_000_000 };
        let mut bubble = Self { state: BubbleState::new(id), log: Vec::new(), now };
        bubble.append(create(created));
        bubble.send(&Command::Start { rules: Box::new(rules) }).expect("a new bubble can be started");
        bubble.settle(code, 0, || false);
        bubble
    }

    /// Sends a command, and records what it leads to.
    pub(super) fn send(&mut self, command: &Command) -> Result<(), Refusal> {
        self.now.up += 1000;
        self.now.ts = Timestamp::from_millis(self.now.ts.millis() + 1000);
        let decided = handle(&self.state, command, self.now)?;
        self.append(decided.events);
        Ok(())
    }

    /// Hands over as an agent does.
    pub(super) fn pass(&mut self, fill: impl FnOnce(PassCommand) -> PassCommand) {
        let by = self.state.phase.turn().expect("an agent passes in its turn").agent.clone();
        let said = || "said".to_owned();
        let explanation = Some(Explanation { what: said(), why: said(), risks: said(), test_plan: said() });
        let command = PassCommand::new(by, "handed over", HeadSeen::Branch(BRANCH.to_owned()));
        let command = PassCommand { explanation, ..command };
        let passed = self.send(&Command::Pass(fill(command)));
        passed.unwrap_or_else(|refusal| panic!("a model's hand-over was refused: {refusal}"));
    }

    /// Pays everything that is owed; `since` is how many changes there were before the turn.
    /// `flakes` says whether a check that would pass fails by chance.
    pub(super) fn settle(&mut self, code: &Code, since: u32, mut flakes: impl FnMut() -> bool) {
        for _ in 0..ENOUGH {
            let Some(effect) = owed(&self.state).into_iter().next() else { return };
            let command = self.perform(&effect, code, since, &mut flakes);
            self.send(&command).unwrap_or_else(|refusal| panic!("{effect:?} was owed, but refused: {refusal}"));
        }
        panic!("the bubble still owes something after {ENOUGH} effects: {:?}", owed(&self.state));
    }

    /// Returns the names that the findings of the last review were given.
    pub(super) fn last_names(&self) -> Vec<FindingId> {
        let last = self.log.iter().rev().find_map(|envelope| match &envelope.event.body {
            Body::Pass(Pass { findings: Some(findings), .. }) => Some(findings),
            _ => None,
        });
        last.into_iter().flatten().filter_map(|finding| finding.id).collect()
    }

    /// Returns every rule of the log that does not hold.
    pub(super) fn broken(&self) -> Vec<String> {
        broken(&self.state, &self.log)
    }

    fn append(&mut self, events: Vec<Event>) {
        let count = events.len();
        for (index, event) in events.into_iter().enumerate() {
            let seq = self.log.len() as u64 + 1;
            let id = Envelope::name(seq, self.now);
            let more = u32::try_from(count - index - 1).expect("a command brings a handful of facts");
            let envelope = Envelope { seq, id, at: self.now, bubble_id: self.state.id.clone(), more, event };
            advance(&mut self.state, &envelope);
            self.log.push(envelope);
        }
    }

    fn perform(&self, effect: &Effect, code: &Code, since: u32, flakes: &mut impl FnMut() -> bool) -> Command {
        let tree = tree(code.changes);
        match effect {
            Effect::PrepareWorkspace => Command::WorkspaceReady { workspace: workspace() },
            Effect::TakeSnapshot { author, .. } => {
                Command::SnapshotTaken { snapshot: snapshot(code, since, author.clone()) }
            }
            Effect::RunCheck { check, place } => {
                let passes = *place == CheckPlace::Base || (code.checks_pass() && !flakes());
                let receipt = receipt(&check.name, &check.command, tree, passes);
                Command::Checked { receipt: Receipt { place: *place, ..receipt } }
            }
            Effect::RunReproducer { finding, command } => {
                let accepted = command == ACCEPTANCE && code.changes > 0 && code.is_accepted();
                let gone = accepted || number_after(SHOWS, command).is_some_and(|at| !code.defects[at].alive);
                Command::Reproduced { finding: *finding, receipt: receipt(&finding.to_string(), command, tree, gone) }
            }
            Effect::TestFix(fix) => {
                let ran = |tree, passes| receipt(&fix.finding.to_string(), &fix.command, tree, passes);
                // A test that shows something else passes with any change.
                let fixed = number_after(SHOWS_FIX, &fix.command).is_none_or(|at| !code.defects[at].alive);
                let (before, after) = (ran(fix.before.clone(), false), Some(ran(tree, fixed)));
                Command::FixTested { finding: fix.finding, before, after }
            }
            Effect::OpenTurn { turn } => Command::TurnReady { turn: *turn, slices: 0 },
            other => unreachable!("{other:?} is not owed in the lab"),
        }
    }
}

/// The command that fails as long as a defect is there.
pub(super) fn reproducer(defect: usize) -> String {
    format!("{SHOWS}{defect}")
}

/// The command that fails without the fix of a defect and passes with it; a `wrong` one passes with any change.
pub(super) fn fix_test(defect: usize, wrong: bool) -> String {
    if wrong { format!("./shows-little {defect}") } else { format!("{SHOWS_FIX}{defect}") }
}

fn number_after(prefix: &str, command: &str) -> Option<usize> {
    command.strip_prefix(prefix)?.parse().ok()
}

/// The tree after so many changes; the base before the first.
pub(super) fn tree(changes: u32) -> TreeId {
    TreeId(format!("tree{changes}"))
}

/// The name of a model's agent.
pub(super) fn named(model: Model) -> AgentId {
    let name = match model {
        Model::Claude => "claude",
        Model::Codex => "codex",
        Model::Third => "gemini",
    };
    name.parse().expect("the names of the models are valid")
}

fn snapshot(code: &Code, since: u32, author: Option<Party>) -> Snapshot {
    let touched = |file: &usize| (0..PARTS).any(|part| code.versions[file * PARTS + part] > 1);
    let change = |file: usize| FileChange {
        path: file_of(file * PARTS),
        status: 'M',
        added: Some(code.size.lines()),
        removed: Some(0),
    };
    let changed: Vec<_> = (0..FILES).map(change).collect();
    let recent = (0..FILES).filter(|file| code.changes != since && touched(file)).map(change).collect();
    let tree = tree(code.changes);
    Snapshot {
        commit: CommitId(format!("snapshot-of-{tree}")),
        r#ref: format!("refs/pairflow/lab/{tree}"),
        author,
        since_last: recent,
        changed,
        out_of_scope: Vec::new(),
        agent_head: None,
        ignore_changes: Vec::new(),
        weakened: Vec::new(),
        whole: None,
        tree,
    }
}

fn receipt(check: &str, command: &str, tree: TreeId, passes: bool) -> Receipt {
    let outcome = if passes { Outcome::Passed } else { Outcome::Failed { exit: Some(1), timed_out: false } };
    let (check, command) = (check.to_owned(), command.to_owned());
    Receipt {
        check,
        command,
        tree,
        outcome,
        duration_ms: 10,
        output: None,
        tail: String::new(),
        place: CheckPlace::Checkout,
    }
}

fn workspace() -> WorkspaceRecord {
    WorkspaceRecord {
        path: "/work/lab".to_owned(),
        git_dir: "/repo/.git/worktrees/lab".to_owned(),
        common_dir: "/repo/.git".to_owned(),
        base: CommitId("base".to_owned()),
        base_tree: tree(0),
        port: 4000,
        ports: 10,
        setup: None,
        included: Vec::new(),
        ground: Ground::default(),
    }
}
