//! A stage for the real CLIs: a home and a repository of their own, a mock model, and nothing of the person who runs
//! the tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use pairflow_testkit::clis::{AgentHome, Clis, HookLog, Panes, Slot, agent_clis};
use pairflow_testkit::model::{Answered, Mock, Request, Scripts};
use serde_json::Value;
use tempfile::TempDir;

/// How long a CLI may take for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where Codex looks for announcements whenever it starts in a terminal. No setting turns that off.
const NO_SWITCH: &str = "raw.githubusercontent.com:443";

/// Everything that a CLI gets to see. Dropping it ends what runs in panes, then the model, then the directories.
pub(crate) struct Stage {
    panes: Panes,
    pub(crate) mock: Mock,
    pub(crate) hooks: HookLog,
    pub(crate) repo: PathBuf,
    pub(crate) clis: Clis,
    home: AgentHome,
    _dirs: [TempDir; 2],
    _slot: Slot,
}

impl Stage {
    pub(crate) fn new(scripts: Scripts) -> Self {
        let (slot, clis) = (Slot::take(), agent_clis().unwrap());
        // Codex wants no home below /tmp, and Claude Code reads instructions of all directories above the repository.
        let private = TempDir::with_prefix_in("home-", env!("CARGO_TARGET_TMPDIR")).unwrap();
        let open = TempDir::with_prefix("pf-").unwrap();
        let root = open.path().canonicalize().unwrap();
        let repo = root.join("repo");
        let mock = Mock::start(scripts);
        let hooks = HookLog::new(root.join("hooks")).unwrap();
        let mut home = AgentHome::new(private.path(), mock.url(), &repo);
        home.hooks = hooks.hooks();
        home.allow = vec!["Bash".to_owned()];
        home.write().unwrap();
        let stage =
            Self { panes: Panes::new(&root), mock, hooks, repo, clis, home, _dirs: [private, open], _slot: slot };
        let made = stage.run(&root, Path::new("git"), &["init", "--quiet", "repo"]);
        assert!(made.status.success(), "{made:?}");
        stage
    }

    /// Runs a program to its end, in the repository, with the clean environment and without input.
    pub(crate) fn call(&self, program: &Path, words: &[&str]) -> Output {
        self.run(&self.repo, program, words)
    }

    fn run(&self, dir: &Path, program: &Path, words: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(words).current_dir(dir).env_clear().envs(self.env()).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// Starts a program in a pane, in the repository.
    pub(crate) fn open(&self, program: &Path, words: &[&str]) -> Pane<'_> {
        let mut line = vec![program.display().to_string()];
        line.extend(words.iter().map(|word| (*word).to_owned()));
        Pane { id: self.panes.open(&self.repo, &self.env(), &line), stage: self }
    }

    /// Insists that nobody tried to reach anything but the mock, and that what has no switch was refused.
    #[track_caller]
    pub(crate) fn stayed_at_home(&self) {
        for request in self.mock.requests().iter().filter(|request| !request.path.starts_with('/')) {
            assert_eq!(request.path, NO_SWITCH, "somebody wanted {} {}", request.method, request.path);
            assert!(matches!(request.answered(), None | Some(Answered::Refused)));
        }
    }

    fn env(&self) -> Vec<(String, String)> {
        self.home.env(&[&self.clis.bin])
    }
}

/// A CLI that runs in a pane.
pub(crate) struct Pane<'a> {
    id: String,
    stage: &'a Stage,
}

impl Pane<'_> {
    pub(crate) fn say(&self, text: &str) {
        self.stage.panes.say(&self.id, text);
    }

    /// Waits for what the model sees.
    #[track_caller]
    pub(crate) fn model_sees(&self, done: impl Fn(&Request) -> bool) {
        let seen = self.stage.mock.wait_within(PATIENCE, |all| all.iter().any(|one| done(one)));
        assert!(seen.is_ok(), "the model never saw it; the screen shows:\n{}", self.screen());
    }

    /// Waits for the hook `name`, with this many events of that name in all.
    #[track_caller]
    pub(crate) fn hook(&self, name: &str, count: usize) -> Value {
        let of = |events: &[Value]| {
            events.iter().filter(|event| event["hook_event_name"] == name).cloned().collect::<Vec<_>>()
        };
        match self.stage.hooks.wait_for(|events| of(events).len() >= count) {
            Ok(events) => of(&events).swap_remove(count - 1),
            Err(events) => panic!("no {name} no. {count} in {events:#?}; the screen shows:\n{}", self.screen()),
        }
    }

    pub(crate) fn screen(&self) -> String {
        self.stage.panes.screen(&self.id)
    }
}
