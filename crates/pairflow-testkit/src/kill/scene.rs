//! One bubble on real files, driven to any state without git: its debts are paid with made-up results.
//!
//! It lives on a [`Site`]: a home for the real program and a repository with a worktree. A stand-in answers at the
//! supervisor's socket, so that commands start no real supervisor; it pays only what a caller waits for: the workspace of a
//! start, and a commit.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use pairflow_core::bubble::{BubbleState, Command, Effect, create, owed};
use pairflow_core::facts::{CheckPlace, Outcome, Receipt, Snapshot};
use pairflow_core::ids::{AgentId, BubbleId, CommitId, Party, TreeId};
use pairflow_core::log::{Ground, Lifecycle, WorkspaceRecord};
use pairflow_core::rules::Rules;
use pairflow_engine::clock::SystemClock;
use pairflow_engine::engine::{Bubble, ControlDir, Engine, EngineError, UserDirs};
use pairflow_engine::store::{Log, RealDisk};
use pairflow_engine::supervisor_client::{SupervisorRequest, socket_path};

use crate::home::Home;
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
        let log: Log =
            Log::new(engine.disk.clone(), ControlDir::of(repo).files(&id), id.clone()).owned(engine.registry());
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

/// Pays what a bubble owes of the `due` kind; results that came too late are ignored.
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
        Effect::TestFix(fix) => {
            let ran = receipt(&fix.finding.to_string(), &fix.command, workspace);
            let before = Receipt { tree: fix.before.clone(), ..ran };
            Command::FixTested { finding: fix.finding, before, after: None }
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
    bubble.log().set_locations(&mut here);
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

/// A workspace that is not there, for bubbles whose worktree is never read.
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

/// The file of the repository that explains the work of every bubble.
pub(super) const EXPLANATION: &str = "explanation.md";

/// A place where the real program runs.
pub struct Site {
    // Dropped first: the home's own end must not find anyone at the door.
    _doorman: SupervisorStandIn,
    home: Home,
    engine: Engine,
    workspace: WorkspaceRecord,
    made: AtomicU64,
}

impl Site {
    /// Sets up a site for the program at `program`.
    pub fn new(program: impl Into<PathBuf>) -> Result<Self, String> {
        let home = Home::new(program);
        let headings = ["What changed", "Why", "Risks", "Manual test plan"].map(|name| format!("## {name}\nsaid\n"));
        home.commit(EXPLANATION, &headings.concat(), "what a person has to know");
        let root = home.root().canonicalize().map_err(|error| error.to_string())?;
        let dir = |name: &str| {
            let below = match name {
                "HOME" => "home",
                "XDG_RUNTIME_DIR" => "run",
                "XDG_STATE_HOME" => "state",
                _ => "config",
            };
            Some(OsString::from(root.join(below)))
        };
        let dirs = UserDirs::find(dir).ok_or("a home has all directories")?;
        let engine = Engine::new(Arc::new(RealDisk), Arc::new(SystemClock), dirs);
        let workspace = worktree(&home, &root);
        let supervisor =
            SupervisorStandIn::new(engine.clone(), workspace.clone()).map_err(|error| error.to_string())?;
        Ok(Self { _doorman: supervisor, home, engine, workspace, made: AtomicU64::new(0) })
    }

    /// Returns an id that no bubble has.
    pub(super) fn fresh_id(&self) -> String {
        format!("b{}", self.made.fetch_add(1, Ordering::SeqCst))
    }

    /// Makes a bubble that is not started yet.
    pub(super) fn created(&self) -> Result<Scene, String> {
        Scene::create(&self.engine, &self.home.repo, &self.fresh_id())
    }

    /// Makes a bubble whose first turn is open and whose agents can prove themselves.
    pub fn scene(&self) -> Result<Scene, String> {
        let mut scene = Scene::start(&self.engine, &self.home.repo, &self.fresh_id(), &self.workspace)?;
        scene.mint()?;
        Ok(scene)
    }

    /// Returns the program with these arguments: as a person in the repository, or as an agent in the worktree.
    pub(super) fn command(&self, scene: Option<(&Scene, &AgentId)>, args: &[String]) -> std::process::Command {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = self.home.command(&args);
        if let Some((scene, agent)) = scene {
            let own = scene.state().evidence.workspace.as_ref().map_or(&self.workspace.path, |own| &own.path);
            command.current_dir(own);
            command.env("PAIRFLOW_BUBBLE", scene.bubble.id.as_str()).env("PAIRFLOW_REPO", &self.home.repo);
            command.env("PAIRFLOW_AGENT", agent.as_str());
            command.env("PAIRFLOW_TOKEN", scene.tokens.get(agent).map_or("", String::as_str));
        }
        command
    }

    /// Returns the workspace that all bubbles share.
    pub(super) fn workspace(&self) -> &WorkspaceRecord {
        &self.workspace
    }

    /// Returns the engine that reads and writes without any process.
    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the repository.
    pub(super) fn repo(&self) -> &Path {
        &self.home.repo
    }
}

/// Makes the worktree that all bubbles of a site share; it never changes.
fn worktree(home: &Home, root: &Path) -> WorkspaceRecord {
    let path = root.join("work/kill");
    let text = path.display().to_string();
    home.git(&["worktree", "add", "--quiet", "--no-track", "-b", BRANCH, &text, "main"]);
    let common = home.repo.join(".git");
    WorkspaceRecord {
        git_dir: common.join("worktrees/kill").display().to_string(),
        common_dir: common.display().to_string(),
        base: CommitId(home.git(&["rev-parse", "main"])),
        base_tree: TreeId(home.git(&["rev-parse", "main^{tree}"])),
        path: text,
        ..imaginary()
    }
}

/// A listener that ends when it is dropped.
pub(super) struct SupervisorStandIn {
    engine: Engine,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SupervisorStandIn {
    /// Begins to listen.
    pub(super) fn new(engine: Engine, workspace: WorkspaceRecord) -> std::io::Result<Self> {
        let path = socket_path(&engine.dirs);
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let listener = UnixListener::bind(path)?;
        let over = Arc::new(AtomicBool::new(false));
        let (own, ended) = (engine.clone(), Arc::clone(&over));
        let thread = std::thread::Builder::new().name("supervisor".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                // The caller may be dead already.
                let _ = stream.and_then(|stream| answer(&own, &workspace, stream));
            }
        })?;
        Ok(Self { engine, over, thread: Some(thread) })
    }
}

impl Drop for SupervisorStandIn {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let path = socket_path(&self.engine.dirs);
        let _ = UnixStream::connect(&path);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(path);
    }
}

fn answer(engine: &Engine, workspace: &WorkspaceRecord, mut stream: UnixStream) -> std::io::Result<()> {
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    if let Ok(SupervisorRequest::Wake { repo, id, .. }) = serde_json::from_str(&line)
        && let Ok(bubble) = engine.bubble(&repo, &id)
    {
        let waited_for =
            |effect: &Effect| matches!(effect, Effect::PrepareWorkspace | Effect::Commit(_) | Effect::RecordDone);
        // The caller sees for itself whether it was done.
        let _ = pay(&bubble, workspace, waited_for);
    }
    let reply = serde_json::json!({ "pid": 1, "version": "0", "bubbles": 1, "busy": 0, "agents": 0 });
    writeln!(stream, "{reply}")
}
