//! What people, agents and programs are shown of a bubble, in every state that matters, and whatever the texts are.

use pairflow_core::facts::{FileChange, Outcome, Receipt, Snapshot};
use pairflow_core::ids::{CommitId, Party, TreeId};
use pairflow_core::log::{Body, Delivery, Envelope, Event, Lifecycle, Warning, Workspace};
use pairflow_core::rounds::Finding;
use pairflow_core::rules::{Check, Rules};
use pairflow_core::time::{Moment, Timestamp};
use pairflow_core::unit::{Command, HeadSeen, PassCommand, Seen, Unit, create, decide, evolve};
use pairflow_core::view::brief::brief;
use pairflow_core::view::inbox::{inbox, inbox_ndjson};
use pairflow_core::view::messages::{MessageFile, message_file};
use pairflow_core::view::safe::{steers, width};
use pairflow_core::view::status::{LABEL_COLUMNS, Status, render};
use pairflow_core::view::timeline::{TimelineState, timeline};

/// A bubble that is played through, one second for each envelope.
struct Play {
    unit: Unit,
    log: Vec<Envelope>,
}

impl Play {
    fn new(task: &str, rules: Rules) -> Self {
        let mut play = Self { unit: Unit::new("demo".parse().unwrap()), log: Vec::new() };
        let created = Lifecycle::Created {
            repo: "/home/me/repo".to_owned(),
            task: task.to_owned(),
            acceptance_criteria: vec!["a failed write leaves nothing behind".to_owned()],
            rules: Box::new(rules),
            confirmed: "yes".to_owned(),
        };
        play.record(create(created));
        play
    }

    fn started() -> Self {
        Self::started_with(rules())
    }

    fn started_with(rules: Rules) -> Self {
        let mut play = Self::new("# Save safely\n\nWrite to a temporary file first.\n", rules.clone());
        play.run(Command::Start { rules: Box::new(rules) });
        play.run(Command::WorkspaceReady { workspace: workspace() });
        play.open();
        play
    }

    fn now(&self) -> Moment {
        let seconds = self.log.len() as i64;
        let ts = Timestamp::from_millis(1_771_675_200_000 + 1000 * seconds);
        Moment { ts, up: 1000 * self.log.len() as u64 }
    }

    fn record(&mut self, events: Vec<Event>) {
        for event in events {
            let (at, seq) = (self.now(), self.log.len() as u64 + 1);
            let id = Envelope::name(seq, at);
            let envelope = Envelope { seq, id, at, bubble_id: self.unit.id.clone(), more: 0, event };
            self.unit = evolve(self.unit.clone(), &envelope);
            self.log.push(envelope);
        }
    }

    fn run(&mut self, command: Command) {
        let decided = decide(&self.unit, &command, self.now()).unwrap();
        self.record(decided.events);
    }

    fn open(&mut self) {
        let turn = self.unit.phase.turn().unwrap().number;
        self.run(Command::TurnReady { turn });
    }

    /// Hands over, records the tree, runs the check, and opens the next turn if there is one.
    fn pass(&mut self, by: &str, summary: &str, findings: Option<&[&str]>, tree: &str, outcome: Outcome) {
        self.hand_over(by, summary, findings);
        self.run(Command::SnapshotTaken { snapshot: snapshot(by, tree, self.unit.tree()) });
        self.checked(outcome);
        if self.unit.phase.turn().is_some() {
            self.open();
        }
    }

    fn hand_over(&mut self, by: &str, summary: &str, findings: Option<&[&str]>) {
        self.run(Command::Pass(PassCommand {
            by: by.parse().unwrap(),
            summary: summary.to_owned(),
            refs: vec!["src/save.rs".to_owned()],
            intent: None,
            findings: findings.map(|texts| texts.iter().map(|text| text.parse::<Finding>().unwrap()).collect()),
            head: HeadSeen::Branch("bubble/demo".to_owned()),
            key: None,
        }));
    }

    fn checked(&mut self, outcome: Outcome) {
        if pairflow_core::unit::missing_checks(&self.unit).is_empty() {
            return;
        }
        let tree = self.unit.tree().unwrap().clone();
        let tail = "running 2 tests\ntest save ... FAILED\n".to_owned();
        let command = "cargo test".to_owned();
        let receipt = Receipt { check: "test".to_owned(), command, tree, outcome, duration_ms: 420, output: None, tail };
        self.run(Command::Checked { receipt });
    }

    fn ask(&mut self, by: &str, question: &str) {
        let (by, question) = (by.parse().unwrap(), question.to_owned());
        self.run(Command::AskHuman { by, question, refs: Vec::new(), key: None });
    }

    fn converged() -> Self {
        let mut play = Self::reviewed();
        play.pass("codex", "renamed after the write", None, "bbbb", Outcome::Passed);
        play.pass("claude", "all good", Some(&[]), "bbbb", Outcome::Passed);
        play.pass("codex", "holds", Some(&["P3:a typo"]), "bbbb", Outcome::Passed);
        play
    }

    fn reviewed() -> Self {
        let mut play = Self::started();
        play.pass("codex", "first cut", None, "aaaa", Outcome::Failed { exit: Some(101), timed_out: false });
        play.pass("claude", "no rollback", Some(&["P1:no rollback", "P2:long name"]), "aaaa", Outcome::Passed);
        play
    }

    fn status(&self) -> String {
        let lines = render(&Status::of(&self.unit, self.now()));
        lines.iter().map(|line| format!("{:w$}{}\n", line.label, line.value, w = LABEL_COLUMNS)).collect()
    }

    fn story(&self) -> String {
        let mut state = TimelineState::new(self.unit.id.clone());
        let rows: Vec<_> = self.log.iter().flat_map(|envelope| state.step(envelope)).collect();
        rows.iter().map(|row| format!("{} {} {}\n", row.round, row.who, row.what)).collect()
    }

    fn messages(&self) -> Vec<MessageFile> {
        self.log.iter().filter_map(message_file).collect()
    }
}

fn rules() -> Rules {
    Rules {
        base_branch: "main".to_owned(),
        bubble_branch: "bubble/demo".to_owned(),
        checks: vec![Check { name: "test".to_owned(), command: "cargo test".to_owned() }],
        ..Rules::default()
    }
}

fn workspace() -> Workspace {
    Workspace {
        path: "/home/me/wt/demo".to_owned(),
        git_dir: String::new(),
        common_dir: String::new(),
        base: CommitId("0123456789abcdef".to_owned()),
        base_tree: TreeId("0000".to_owned()),
        port: 20000,
        ports: 10,
        setup: None,
        included: Vec::new(),
    }
}

fn snapshot(author: &str, tree: &str, before: Option<&TreeId>) -> Snapshot {
    let file = |path: &str, added| FileChange { path: path.to_owned(), status: 'M', added, removed: added };
    let files = vec![file("src/save.rs", Some(10)), file("logo.png", None)];
    Snapshot {
        tree: TreeId(tree.to_owned()),
        commit: CommitId(format!("c{tree}")),
        r#ref: "refs/pairflow/demo/1".to_owned(),
        author: author.parse().unwrap(),
        changed: files.clone(),
        since_last: if before.is_some_and(|before| before.0 == tree) { Vec::new() } else { files },
        out_of_scope: Vec::new(),
        agent_head: None,
    }
}

#[test]
fn probe() {
    let play = Play::converged();
    let mut out = play.story();
    out += &play.status();
    out += &Play::reviewed().status();
    out += &brief(&Play::started().unit).unwrap();
    out += "=======\n";
    let mut p = Play::reviewed();
    out += &brief(&p.unit).unwrap();
    out += "=======\n";
    p.pass("codex", "second", None, "bbbb", Outcome::Passed);
    out += &brief(&p.unit).unwrap();
    for m in play.messages() { out += &format!("===== {}\n{}", m.name, m.text); }
    p.ask("claude", "which?");
    out += &p.status();
    out += &inbox_ndjson(&p.unit);
    out += &inbox_ndjson(&play.unit);
    out += &serde_json::to_string_pretty(&Status::of(&p.unit, p.now())).unwrap();
    std::fs::write("/tmp/probe.txt", out).unwrap();
}
