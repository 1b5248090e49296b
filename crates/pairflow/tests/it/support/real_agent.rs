//! A seat for the real CLIs: a home, a repository with a worktree, a mock model, and a `pairflow` that writes down how
//! it was called. Everything is started as the product does it: the driver's launch, by `pairflow launch`, in tmux.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pairflow_agents::Drivers;
use pairflow_agents::spec::dialog_on;
use pairflow_core::facts::Seat;
use pairflow_core::rules::{CustomAgent, Permissions};
use pairflow_engine::driver::{AgentDriver, Launch, LaunchFile, PaneStart, Session};
use pairflow_engine::process::MARK;
use pairflow_testkit::clis::{AgentHome, Clis, HookLog, Panes, Slot, agent_clis};
use pairflow_testkit::home::write_program;
use pairflow_testkit::model::{Mock, Request, Scripts};
use pairflow_testkit::wait::{PATIENCE, eventually_or};
use serde_json::Value;
use tempfile::TempDir;

/// The conversation that fresh agents are given.
pub(crate) const SESSION: &str = "5f0c8a52-1c0e-4f0e-9b58-7a3a2f6d1e01";

/// The mark that programs are started with.
const OURS: &str = "1.2.3";

/// What the person has in their environment and agents must not see.
pub(crate) const OUTER: [(&str, &str); 7] = [
    ("CLAUDECODE", "1"),
    ("CLAUDE_CODE_SESSION_ID", "outer-conversation"),
    ("CLAUDE_CODE_ENTRYPOINT", "outer-cli"),
    ("CODEX_THREAD_ID", "outer-thread"),
    ("PAIRFLOW_TOKEN", "outer-token"),
    ("DATABASE_PASSWORD", "outer-secret"),
    ("TMUX", "/outer/tmux,1,0"),
];

/// Stands for pairflow: hooks are written down, everything else is answered with how it was called.
const STAND_IN: &str = r#"#!/bin/bash
if [ "$1" = hook ]; then
    at=$(date +%s%N)-$$
    echo "$2 $PF_PROCESS_MARK" >> "HOOKS/../marks"
    cat > "HOOKS/.$at" && mv "HOOKS/.$at" "HOOKS/$at"
    exit 0
fi
echo "pairflow-ran as $PAIRFLOW_AGENT: $*"
(exec 3<>/dev/tcp/ADDRESS) && echo network-open
"#;

/// Prints the environment, as a check of the bubble.
const CHECK: &str = "#!/bin/sh\necho check-ran\nenv\n";

/// Everything that an agent gets to see. Dropping it ends what runs in panes, then the model, then the directories.
pub(crate) struct Place {
    panes: Panes,
    pub(crate) mock: Mock,
    hooks: HookLog,
    pub(crate) home: AgentHome,
    clis: Clis,
    root: PathBuf,
    pub(crate) worktree: PathBuf,
    _dirs: [TempDir; 2],
    _slot: Slot,
}

impl Place {
    /// Makes a place whose repository both CLIs trust.
    pub(crate) fn new(scripts: Scripts) -> Self {
        let (slot, clis) = (Slot::take(), agent_clis().unwrap());
        // Codex wants no home below /tmp, and Claude Code reads instructions of all directories above the repository.
        let private = TempDir::with_prefix_in("home-", env!("CARGO_TARGET_TMPDIR")).unwrap();
        let open = TempDir::with_prefix("pf-").unwrap();
        let root = open.path().canonicalize().unwrap();
        let mock = Mock::start(scripts);
        let hooks = HookLog::new(root.join("hooks")).unwrap();
        let home = AgentHome::new(private.path(), mock.url(), root.join("repo"));
        home.write().unwrap();
        contrary(home.home.as_path());
        let place = Self {
            panes: Panes::new(&root),
            mock,
            hooks,
            home,
            clis,
            worktree: root.join("worktree"),
            root,
            _dirs: [private, open],
            _slot: slot,
        };
        place.furnish();
        place
    }

    fn furnish(&self) {
        for name in ["bin", "runtime", "repo"] {
            std::fs::create_dir(self.root.join(name)).unwrap();
        }
        let hooks = self.root.join("hooks");
        let address = self.mock.url().trim_start_matches("http://").replace(':', "/");
        let stand_in = STAND_IN.replace("HOOKS", hooks.to_str().unwrap()).replace("ADDRESS", &address);
        write_program(&self.program(), &stand_in);
        write_program(&self.root.join("repo/check.sh"), CHECK);
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(words);
            git.current_dir(self.root.join("repo")).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
            assert!(git.stdin(Stdio::null()).status().unwrap().success(), "{git:?}");
        };
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", "first"]);
        git(&["worktree", "add", "--quiet", self.worktree.to_str().unwrap()]);
    }

    /// Returns the stand-in for pairflow.
    pub(crate) fn program(&self) -> PathBuf {
        self.root.join("bin/pairflow")
    }

    /// Describes the seat of `agent` with a fresh conversation and permission to edit.
    pub(crate) fn seat(&self, agent: &str, prompt: &str) -> PaneStart {
        let mut person = self.home.env(&[&self.clis.bin]);
        person.extend(OUTER.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let env = [("PAIRFLOW_AGENT", agent), ("PAIRFLOW_BUBBLE", "fix-it"), (MARK, OURS)];
        PaneStart {
            bubble_id: "fix-it".parse().unwrap(),
            repo: self.root.join("repo"),
            agent: agent.parse().unwrap(),
            seat: Seat::Implementer,
            worktree: self.worktree.clone(),
            runtime_dir: self.root.join("runtime"),
            artifacts: self.root.join("artifacts"),
            scratch: None,
            env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            person,
            session: Session::Fresh(SESSION.to_owned()),
            prompt: prompt.to_owned(),
            permissions: Permissions::Edits,
            allowed: vec!["./check.sh".to_owned()],
            program: self.program(),
            spec: Some(CustomAgent { env: vec!["MOCK_API_KEY".to_owned()], ..CustomAgent::default() }),
        }
    }

    /// Starts the agent of a seat in a pane.
    pub(crate) fn launch(&self, seat: &PaneStart) -> Pane<'_> {
        let launch = Drivers::default().launch(seat).unwrap();
        let dir = self.root.join(".pairflow/runtime/b1");
        std::fs::create_dir_all(&dir).unwrap();
        let file = dir.join(format!("{}.launch", seat.agent));
        LaunchFile::from(&launch).write(&file).unwrap();
        let words = [env!("CARGO_BIN_EXE_pairflow"), "launch", file.to_str().unwrap()].map(str::to_owned);
        // In a pane nothing of an agent is set: `launch` takes nothing from agents.
        let outer = OUTER.into_iter().filter(|(name, _)| !name.starts_with("PAIRFLOW_"));
        let outer: Vec<_> = outer.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Pane { id: self.panes.open(Path::new("/"), &outer, &words), place: self, launch }
    }

    /// Returns the hook events so far.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.hooks.events().unwrap()
    }

    /// Returns the names of the hooks that did not have the mark of their program in their environment, and how many had.
    pub(crate) fn unmarked(&self) -> (Vec<String>, usize) {
        let marks = std::fs::read_to_string(self.root.join("marks")).unwrap();
        let (marked, rest): (Vec<_>, Vec<_>) = marks.lines().partition(|line| line.ends_with(&format!(" {OURS}")));
        (rest.into_iter().map(str::to_owned).collect(), marked.len())
    }

    /// Returns the bytes of the files that belong to the person alone.
    pub(crate) fn persons_files(&self) -> Vec<(String, Option<Vec<u8>>)> {
        let names = [".claude/settings.json", ".claude/settings.local.json", ".codex/config.toml", ".codex/hooks.json"];
        names.map(|name| (name.to_owned(), std::fs::read(self.home.home.join(name)).ok())).to_vec()
    }
}

/// An agent that runs in a pane.
pub(crate) struct Pane<'a> {
    id: String,
    place: &'a Place,
    pub(crate) launch: Launch,
}

impl Pane<'_> {
    pub(crate) fn say(&self, text: &str) {
        self.place.panes.say(&self.id, text);
    }

    /// Pastes `text` without Enter.
    pub(crate) fn paste(&self, text: &str) {
        self.place.panes.paste(&self.id, text);
    }

    /// Types `text`, key by key.
    pub(crate) fn type_keys(&self, text: &str) {
        self.place.panes.type_keys(&self.id, text);
    }

    pub(crate) fn press(&self, key: &str) {
        self.place.panes.press(&self.id, key);
    }

    pub(crate) fn styled(&self) -> String {
        self.place.panes.styled_screen(&self.id)
    }

    pub(crate) fn cursor(&self) -> bool {
        self.place.panes.shows_cursor(&self.id)
    }

    /// Ends the agent.
    pub(crate) fn close(self) {
        self.place.panes.close(&self.id);
    }

    /// Waits for what the model sees.
    #[track_caller]
    pub(crate) fn model_sees(&self, done: impl Fn(&Request) -> bool) {
        let seen = self.place.mock.wait_within(PATIENCE, |all| all.iter().any(|one| done(one)));
        assert!(seen.is_ok(), "the model never saw it; the screen shows:\n{}", self.screen());
    }

    /// Waits for the hook `name`, with this many events of that name in all.
    #[track_caller]
    pub(crate) fn hook(&self, name: &str, count: usize) -> Value {
        let of = |events: &[Value]| {
            events.iter().filter(|event| event["hook_event_name"] == name).cloned().collect::<Vec<_>>()
        };
        match self.place.hooks.wait_for(|events| of(events).len() >= count) {
            Ok(events) => of(&events).swap_remove(count - 1),
            Err(events) => panic!("no {name} no. {count} in {events:#?}; the screen shows:\n{}", self.screen()),
        }
    }

    /// Waits for a dialog and returns its name.
    #[track_caller]
    pub(crate) fn dialog(&self) -> String {
        self.wait(|| dialog_on(&self.screen(), &self.launch.dialogs).map(|dialog| dialog.name.clone()))
    }

    /// Waits until `found` finds something.
    #[track_caller]
    pub(crate) fn wait<T>(&self, found: impl Fn() -> Option<T>) -> T {
        eventually_or("it; the screen shows", || self.screen(), found)
    }

    pub(crate) fn screen(&self) -> String {
        self.place.panes.screen(&self.id)
    }
}

/// Gives the person settings that are not ours, so that it shows who wins.
fn contrary(home: &Path) {
    let codex = home.join(".codex/config.toml");
    let config = std::fs::read_to_string(&codex).unwrap();
    let config = config.replace("allow_login_shell = false", "allow_login_shell = true");
    let config = config.replace("check_for_update_on_startup = false", "check_for_update_on_startup = true");
    let first = "sandbox_mode = \"danger-full-access\"\napproval_policy = \"never\"\n";
    let last = "[shell_environment_policy]\ninherit = \"core\"\n";
    std::fs::write(codex, format!("{first}{config}\n{last}")).unwrap();
    let seen = r#"{"latest_version":"999.0.0","last_checked_at":"2999-01-01T00:00:00Z","dismissed_version":null}"#;
    std::fs::write(home.join(".codex/version.json"), seen).unwrap();
    std::fs::write(home.join(".claude/settings.json"), r#"{"permissions":{"defaultMode":"plan"}}"#).unwrap();
}
