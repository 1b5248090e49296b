//! One bubble on real files, driven to any state without git: its debts are paid with made-up results.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use pairflow_core::bubble::{BubbleState, Command, Effect, create, owed};
use pairflow_core::facts::{CheckPlace, Outcome, Receipt, Snapshot};
use pairflow_core::ids::{AgentId, BubbleId, CommitId, Party, TreeId};
use pairflow_core::log::{Ground, Lifecycle, WorkspaceRecord};
use pairflow_core::rules::Rules;
use pairflow_engine::engine::{Bubble, Control, Engine, EngineError};
use pairflow_engine::store::Log;

use crate::sim::Witness;

/// A bubble with its witness.
pub struct Scene {
    /// The bubble.
    pub bubble: Bubble,
    /// What was seen of its log.
    pub witness: Witness,
    /// The agents' tokens.
    pub tokens: BTreeMap<AgentId, String>,
}

/// The branch that every bubble here works on.
pub(super) const BRANCH: &str = "bubble/kill";

impl Scene {
    /// Makes a bubble that is not started yet.
    pub fn create(engine: &Engine, repo: &Path, id: &str) -> Result<Self, String> {
        let id: BubbleId = id.parse().map_err(|why| format!("{id}: {why}"))?;
        let rules = Rules {
            base_branch: "main".to_owned(),
            bubble_branch: BRANCH.to_owned(),
            manual_checks: vec!["log in twice".to_owned()],
            ..Rules::default()
        };
        let created = Lifecycle::Created {
            repo: repo.display().to_string(),
            task: "fix the login race".to_owned(),
            acceptance_criteria: Vec::new(),
            rules: Box::new(rules),
            confirmed: "no_tests".to_owned(),
            identity: None,
        };
        let log: Log = Log::new(engine.disk.clone(), Control::of(repo).files(&id), id.clone()).owned(engine.registry());
        log.create(&create(created), engine.clock.now()).map_err(|error| error.to_string())?;
        let bubble = engine.bubble(repo, &id).map_err(|error| error.to_string())?;
        let mut scene = Self { bubble, witness: Witness::new(id), tokens: BTreeMap::new() };
        scene.catch_up()?;
        Ok(scene)
    }

    /// Makes a bubble whose first turn is open.
    pub fn start(engine: &Engine, repo: &Path, id: &str, workspace: &WorkspaceRecord) -> Result<Self, String> {
        let mut scene = Self::create(engine, repo, id)?;
        scene.apply(&Command::Start { rules: Box::new(scene.witness.state.rules.clone()) })?;
        scene.settle(workspace)?;
        Ok(scene)
    }

    /// Gives every agent a new token.
    pub(super) fn mint(&mut self) -> Result<(), String> {
        let agents: Vec<AgentId> = self.witness.state.rules.agents.all().cloned().collect();
        for agent in agents {
            let (token, _) = self.bubble.mint(&agent).map_err(|error| error.to_string())?;
            self.tokens.insert(agent, token.reveal().to_owned());
        }
        self.catch_up()
    }

    /// Has a command recorded and looks at what came of it.
    pub(super) fn apply(&mut self, command: &Command) -> Result<(), String> {
        self.bubble.apply(command).map_err(|error| format!("{}: {error}", command.name()))?;
        self.catch_up()
    }

    /// Pays what is owed.
    pub(super) fn settle(&mut self, workspace: &WorkspaceRecord) -> Result<(), String> {
        pay(&self.bubble, workspace, |effect| !effect.lasts())?;
        self.catch_up()
    }

    /// Looks at the log; everything in it was acknowledged to us.
    pub(super) fn catch_up(&mut self) -> Result<(), String> {
        let bytes = self.transcript()?;
        self.witness.look(&bytes)?;
        self.witness.make_firm();
        Ok(())
    }

    /// Reads the transcript.
    pub(super) fn transcript(&self) -> Result<Vec<u8>, String> {
        let path = self.bubble.log().files().transcript();
        std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns the bubble's state.
    pub fn state(&self) -> &BubbleState {
        &self.witness.state
    }
}

/// Pays what a bubble owes of the `due` kind; results that came too late are nobody's fault.
pub(super) fn pay(bubble: &Bubble, workspace: &WorkspaceRecord, due: fn(&Effect) -> bool) -> Result<(), String> {
    for _ in 0..50 {
        let state = bubble.durable().map_err(|error| error.to_string())?.state;
        let Some(effect) = owed(&state).into_iter().find(due) else {
            return Ok(());
        };
        match bubble.apply(&result(bubble, &state, &effect, workspace)) {
            Ok(_) | Err(EngineError::Refused { .. }) => {}
            Err(error) => return Err(format!("{effect:?}: {error}")),
        }
    }
    Err("the debts of a bubble do not end".to_owned())
}

fn result(bubble: &Bubble, state: &BubbleState, effect: &Effect, workspace: &WorkspaceRecord) -> Command {
    match effect {
        Effect::PrepareWorkspace => Command::WorkspaceReady { workspace: placed(bubble, state, workspace) },
        Effect::TakeSnapshot { author, .. } => {
            Command::SnapshotTaken { snapshot: snapshot(&workspace.base_tree, author, state) }
        }
        Effect::RunCheck { check, place } => {
            let receipt = receipt(&check.name, &check.command, workspace);
            Command::Checked { receipt: Receipt { place: *place, ..receipt } }
        }
        Effect::RunReproducer { finding, command } => {
            Command::Reproduced { finding: *finding, receipt: receipt(&finding.to_string(), command, workspace) }
        }
        Effect::OpenTurn { turn } => Command::TurnReady { turn: *turn, slices: 0 },
        Effect::Update => Command::UpdateFailed { reason: "the base has not moved".to_owned(), conflict: None },
        Effect::Commit(_) => Command::CommitMade { commit: workspace.base.clone(), old_tip: None },
        Effect::RecordDone | Effect::RunAgent { .. } | Effect::Deliver { .. } => Command::RecordDone,
    }
}

/// The tree without files, which every repository knows.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Puts a copy of the shared worktree, if there is one, where the bubble's own has to be.
fn placed(bubble: &Bubble, state: &BubbleState, shared: &WorkspaceRecord) -> WorkspaceRecord {
    // Each has a record of its own in the repository, as git would make it.
    let record = Path::new(&shared.git_dir).with_file_name(state.id.as_str());
    let real = Path::new(&shared.path).is_dir();
    let git_dir = if real { record.display().to_string() } else { shared.git_dir.clone() };
    let mut here = state.clone();
    here.evidence.workspace = Some(WorkspaceRecord { git_dir, ..shared.clone() });
    bubble.log().place(&mut here);
    let own = here.evidence.workspace.unwrap_or_else(|| shared.clone());
    let (from, to) = (Path::new(&shared.path), Path::new(&own.path));
    if from.is_dir() && !to.exists() {
        static COPIES: AtomicU64 = AtomicU64::new(0);
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let aside = to.with_file_name(format!(".{}-{}-{number}", state.id, std::process::id()));
        let parent = to.parent().expect("a worktree lies in a directory");
        std::fs::create_dir_all(parent).expect("a home is writable");
        let copied = std::process::Command::new("cp").arg("-a").arg(from).arg(&aside).status();
        assert!(copied.is_ok_and(|status| status.success()), "the shared worktree cannot be copied");
        let named = format!("gitdir: {}\n", record.display());
        std::fs::write(aside.join(".git"), named).expect("a home is writable");
        if std::fs::create_dir(&record).is_ok() {
            for file in ["HEAD", "commondir", "index"] {
                let _ = std::fs::copy(Path::new(&shared.git_dir).join(file), record.join(file));
            }
            let back = format!("{}\n", to.join(".git").display());
            std::fs::write(record.join("gitdir"), back).expect("a home is writable");
        }
        // Two may pay the same debt at the same time; the second one finds it there.
        if std::fs::rename(&aside, to).is_err() {
            let _ = std::fs::remove_dir_all(&aside);
        }
    }
    // The bubble is cut from an empty tree, so that the files of the worktree are work.
    WorkspaceRecord { base_tree: TreeId(EMPTY_TREE.to_owned()), ..own }
}

fn receipt(check: &str, command: &str, workspace: &WorkspaceRecord) -> Receipt {
    Receipt {
        check: check.to_owned(),
        command: command.to_owned(),
        tree: workspace.base_tree.clone(),
        outcome: Outcome::Passed,
        duration_ms: 1,
        output: None,
        tail: String::new(),
        place: CheckPlace::Checkout,
    }
}

fn snapshot(tree: &TreeId, author: &Option<Party>, state: &BubbleState) -> Snapshot {
    Snapshot {
        tree: tree.clone(),
        commit: CommitId(tree.0.clone()),
        r#ref: format!("refs/pairflow/{}/{}", state.id, state.evidence.snapshots + 1),
        author: author.clone(),
        changed: Vec::new(),
        since_last: Vec::new(),
        out_of_scope: Vec::new(),
        agent_head: None,
        ignore_changes: Vec::new(),
        weakened: Vec::new(),
        whole: None,
    }
}

/// A workspace that is not there, for bubbles whose worktree nobody looks at.
pub(super) fn imaginary() -> WorkspaceRecord {
    WorkspaceRecord {
        path: "/nowhere".to_owned(),
        git_dir: "/nowhere/.git".to_owned(),
        common_dir: "/nowhere/.git".to_owned(),
        base: CommitId("0".repeat(40)),
        base_tree: TreeId("1".repeat(40)),
        port: 4000,
        ports: 10,
        setup: None,
        included: Vec::new(),
        ground: Ground::default(),
    }
}
