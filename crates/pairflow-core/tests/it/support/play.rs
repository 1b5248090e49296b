//! A bubble that is played through command by command, with a clock of its own: what views are shown of.

use pairflow_core::bubble::{
    BubbleState, Command, Effect, HeadSeen, PassCommand, Phase, Refusal, create, evolve, missing_checks, owed,
};
use pairflow_core::facts::{Answers, CheckPlace, Explanation, Finding, FixTest};
use pairflow_core::facts::{FileChange, Outcome, Receipt, Snapshot};
use pairflow_core::ids::{CommitId, TreeId};
use pairflow_core::log::{Decision, Envelope, Event, Ground, Lifecycle, WorkspaceRecord};
use pairflow_core::respond::handle;
use pairflow_core::rules::{Check, DriverKind, Rules};
use pairflow_core::time::{Moment, Timestamp};
use pairflow_core::view::timeline::{TimelineRow, TimelineState};

/// A bubble that is played through, some seconds for each envelope.
#[derive(Clone)]
pub(crate) struct Play {
    pub(crate) state: BubbleState,
    pub(crate) log: Vec<Envelope>,
    pub(crate) rows: Vec<TimelineRow>,
    story: TimelineState,
    /// How many seconds have gone by.
    pub(crate) seconds: u64,
    /// How many slices the next turn is opened with.
    pub(crate) slices: u32,
    /// How reproducers end.
    pub(crate) reproduced: Outcome,
    /// How the tests of fixes end without the fix, and with it.
    pub(crate) fixes: (Outcome, Outcome),
}

impl Play {
    /// A bubble whose first turn is open.
    pub(crate) fn started(id: &str, task: &str, rules: Rules) -> Self {
        let state = BubbleState::new(id.parse().unwrap());
        let story = TimelineState::new(state.id.clone());
        let mut play = Self {
            state,
            log: Vec::new(),
            rows: Vec::new(),
            story,
            seconds: 0,
            slices: 0,
            reproduced: failed(),
            fixes: (failed(), Outcome::Passed),
        };
        play.record(create(Lifecycle::Created {
            repo: "/home/me/shop".to_owned(),
            task: task.to_owned(),
            acceptance_criteria: vec!["a failed write leaves nothing behind".to_owned()],
            rules: Box::new(rules.clone()),
            confirmed: "yes".to_owned(),
            identity: None,
        }));
        play.run(Command::Start { rules: Box::new(rules) });
        play.run(Command::WorkspaceReady { workspace: workspace() });
        play.open();
        play
    }

    pub(crate) fn now(&self) -> Moment {
        let millis = 1000 * self.seconds;
        Moment {
            ts: Timestamp::from_millis(1_771_675_200_000 + i64::try_from(millis).unwrap()),
            up: 5_000_000 + millis,
        }
    }

    pub(crate) fn record(&mut self, events: Vec<Event>) {
        for event in events {
            self.seconds += 7;
            let (at, seq) = (self.now(), self.log.len() as u64 + 1);
            let id = Envelope::name(seq, at);
            let envelope = Envelope { seq, id, at, bubble_id: self.state.id.clone(), more: 0, event };
            self.state = evolve(self.state.clone(), &envelope);
            self.rows.extend(self.story.step(&envelope));
            self.log.push(envelope);
        }
    }

    pub(crate) fn run(&mut self, command: Command) {
        self.attempt(command).unwrap();
    }

    pub(crate) fn attempt(&mut self, command: Command) -> Result<(), Refusal> {
        let decided = handle(&self.state, &command, self.now())?;
        self.record(decided.events);
        Ok(())
    }

    pub(crate) fn open(&mut self) {
        // Whatever the loop asks by itself, the person wants it to go on.
        if matches!(self.state.phase, Phase::WaitingHuman(_)) {
            let (message, decision) = ("go on".to_owned(), Some(Decision::Continue));
            self.run(Command::Reply { message, question: None, decision, refs: Vec::new(), key: None });
        }
        self.check(true);
        self.show();
        let turn = self.state.phase.turn().unwrap().clone();
        self.run(Command::TurnReady { turn: turn.number, slices: self.slices });
        if let Some(notice) = self.state.notice_for(&turn.agent).map(|notice| notice.number) {
            self.run(Command::Sent { notice });
            self.run(Command::Acknowledged { agent: turn.agent, notice });
        }
    }

    /// Records the tree that a hand-over left, runs the checks, and opens the next turn if there is one.
    pub(crate) fn settle(&mut self, author: &str, tree: &str, passes: bool) {
        let changed = self.state.tree().is_none_or(|before| before.0 != tree);
        self.run(Command::SnapshotTaken { snapshot: snapshot(author, tree, changed) });
        self.check(passes);
        self.show();
        if self.state.phase.turn().is_some() {
            self.open();
        }
    }

    /// Runs what has to be run before the next turn opens.
    fn check(&mut self, passes: bool) {
        let missing = missing_checks(&self.state).into_iter().map(|(check, place)| (check.clone(), place));
        for (check, place) in missing.collect::<Vec<_>>() {
            let outcome = match passes || check.name == "lint" {
                true => Outcome::Passed,
                false => failed(),
            };
            let tree = self.state.tree().unwrap().clone();
            let tail = "running 2 tests\ntest save ... FAILED\n".to_owned();
            let (check, command) = (check.name, check.command);
            let receipt = Receipt { check, command, tree, outcome, duration_ms: 420, output: None, tail, place };
            self.run(Command::Checked { receipt });
        }
    }

    /// Runs the reproducers and the tests of fixes that are owed.
    fn show(&mut self) {
        let receipt = |command: &str, tree: &TreeId, outcome: &Outcome| Receipt {
            check: "test".to_owned(),
            command: command.to_owned(),
            tree: tree.clone(),
            outcome: outcome.clone(),
            duration_ms: 420,
            output: None,
            tail: "left: 1, right: 2\n".to_owned(),
            place: CheckPlace::Checkout,
        };
        loop {
            let here = self.state.tree().cloned();
            let next = owed(&self.state).into_iter().zip(here.iter().cycle()).find_map(|(effect, here)| match effect {
                Effect::RunReproducer { finding, command } => {
                    let receipt = receipt(&command, here, &self.reproduced);
                    Some(Command::Reproduced { finding, receipt })
                }
                Effect::TestFix(fix) => {
                    let (without, with) = &self.fixes;
                    let red = matches!(without, Outcome::Failed { .. });
                    let before = receipt(&fix.command, &fix.before, without);
                    let after = red.then(|| receipt(&fix.command, here, with));
                    Some(Command::FixTested { finding: fix.finding, before, after })
                }
                _ => None,
            });
            let Some(command) = next else { return };
            self.run(command);
        }
    }

    /// Hands over with these findings fixed, each with a test.
    pub(crate) fn produce(&mut self, by: &str, summary: &str, fixed: &[u32], tree: &str) {
        self.run(Command::Pass(PassCommand { answers: fixes(fixed), ..pass(by, summary) }));
        self.settle(by, tree, true);
    }

    pub(crate) fn review(&mut self, by: &str, summary: &str, findings: Vec<Finding>) {
        let tree = self.state.tree().unwrap().0.clone();
        let reviewed = (1..=self.state.phase.turn().unwrap().slices).collect();
        // Whose review may be the last one needed also explains.
        let said = || "said".to_owned();
        let explanation = Explanation { what: said(), why: said(), risks: said(), test_plan: said() };
        // A change of this size needs three looks.
        let last = !self.state.rounds.streak.is_empty() && self.state.rounds.looks >= 2;
        let explanation = last.then_some(explanation);
        self.run(Command::Pass(PassCommand { findings: Some(findings), reviewed, explanation, ..pass(by, summary) }));
        self.settle(by, &tree, true);
    }
}

/// A hand-over that says nothing but its summary.
pub(crate) fn pass(by: &str, summary: &str) -> PassCommand {
    PassCommand::new(by.parse().unwrap(), summary, HeadSeen::Branch("bubble/work".to_owned()))
}

/// A finding such as `P1:title`, in a file.
pub(crate) fn finding(text: &str, file: &str, line: u32) -> Finding {
    Finding { file: Some(file.to_owned()), line: Some(line), ..text.parse().unwrap() }
}

pub(crate) fn ids(numbers: &[u32]) -> Vec<pairflow_core::ids::FindingId> {
    numbers.iter().map(|number| pairflow_core::ids::FindingId(*number)).collect()
}

/// These findings are fixed, and each has a test.
pub(crate) fn fixes(numbers: &[u32]) -> Answers {
    let test = |finding| FixTest { finding, command: format!("cargo test fix_of_{finding}") };
    Answers { fixed: ids(numbers), tests: ids(numbers).into_iter().map(test).collect(), ..Answers::default() }
}

pub(crate) fn failed() -> Outcome {
    Outcome::Failed { exit: Some(101), timed_out: false }
}

pub(crate) fn rules() -> Rules {
    let check = |name: &str, command: &str| Check { name: name.to_owned(), command: command.to_owned() };
    Rules {
        base_branch: "main".to_owned(),
        bubble_branch: "bubble/work".to_owned(),
        checks: vec![check("test", "cargo test"), check("lint", "cargo clippy")],
        driver: DriverKind::Tmux,
        ..Rules::default()
    }
}

fn workspace() -> WorkspaceRecord {
    WorkspaceRecord {
        path: "/home/me/.pairflow-worktrees/shop/work".to_owned(),
        git_dir: String::new(),
        common_dir: String::new(),
        base: CommitId("0123456789abcdef".to_owned()),
        base_tree: TreeId("0000".to_owned()),
        port: 20000,
        ports: 10,
        setup: None,
        included: Vec::new(),
        ground: Ground::default(),
    }
}

pub(crate) fn snapshot(author: &str, tree: &str, changed: bool) -> Snapshot {
    let file = |path: &str, added, removed| FileChange { path: path.to_owned(), status: 'M', added, removed };
    let files = vec![file("src/save.rs", Some(84), Some(12)), file("tests/save.rs", Some(120), Some(0))];
    Snapshot {
        tree: TreeId(tree.to_owned()),
        commit: CommitId(format!("c{tree}")),
        r#ref: "refs/pairflow/work/1".to_owned(),
        author: Some(author.parse().unwrap()),
        changed: files.clone(),
        since_last: if changed { files } else { Vec::new() },
        out_of_scope: Vec::new(),
        agent_head: None,
        ignore_changes: Vec::new(),
        weakened: Vec::new(),
        whole: None,
    }
}
