//! A place where the real program runs: a home of its own, a repository with a worktree, and a doorman.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pairflow_core::ids::{AgentId, CommitId, TreeId};
use pairflow_core::log::WorkspaceRecord;
use pairflow_engine::clock::SystemClock;
use pairflow_engine::engine::{Engine, UserDirs};
use pairflow_engine::store::RealDisk;

use super::scene::{BRANCH, Scene, imaginary};
use super::supervisor::Doorman;
use crate::home::Home;

/// The file of the repository that explains the work of every bubble.
pub(super) const EXPLANATION: &str = "explanation.md";

/// A place where the real program runs.
pub struct Stage {
    // Dropped first: the home's own end must not find anyone at the door.
    _doorman: Doorman,
    home: Home,
    engine: Engine,
    workspace: WorkspaceRecord,
    made: AtomicU64,
}

impl Stage {
    /// Sets up a stage for the program at `program`.
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
        let doorman = Doorman::new(engine.clone(), workspace.clone()).map_err(|error| error.to_string())?;
        Ok(Self { _doorman: doorman, home, engine, workspace, made: AtomicU64::new(0) })
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
    pub(super) fn command(&self, scene: Option<(&Scene, &AgentId)>, args: &[String]) -> Command {
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

/// Makes the worktree that all bubbles of a stage share; nobody changes it.
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
