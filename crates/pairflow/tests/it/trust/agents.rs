//! Agents that a test can have run pairflow: one that has joined by itself, or a program in a pane.

use std::path::{Path, PathBuf};

use pairflow_testkit::home::{Agent, Home, Ran, write_program};
use pairflow_testkit::wait::eventually;

use crate::support::bubbles::{home, program};

/// How the agents of a home are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// They join by themselves.
    External,
    /// They are programs in panes, whose verbs go through the sockets of their seats.
    Panes,
}

/// A home whose agents are of one kind. Dropping it ends their panes.
pub(crate) struct Cast {
    pub(crate) home: Home,
    pub(crate) kind: Kind,
}

/// An agent that runs pairflow in its own process tree.
pub(crate) enum Speaker<'a> {
    External(Agent<'a>),
    Pane(PathBuf),
}

impl Cast {
    /// Makes a home whose agents `codex` and `claude` are of one kind.
    pub(crate) fn new(kind: Kind) -> Self {
        let home = home();
        if kind == Kind::Panes {
            let root = home.root().canonicalize().unwrap();
            let toy = root.join("programs/toy");
            write_program(&toy, &runs_what_it_is_told(&root));
            let agent = |name: &str| format!("[agent.{name}]\ncommand = [\"{}\"]\nhooks = \"none\"\n", toy.display());
            let agents = [agent("codex"), agent("claude")].concat();
            let config = format!("driver = \"tmux\"\n{agents}[notifications]\nenabled = false\n");
            std::fs::write(root.join("config/pairflow/config.toml"), config).unwrap();
        }
        Self { home, kind }
    }

    /// Makes a bubble with the check `check`, in which codex has the first turn.
    pub(crate) fn start(&self, id: &str, check: &str) -> PathBuf {
        let create = ["create", "--id", id, "--task", "Write done.txt", "--test", check, "--yes", "--start"];
        self.home.pairflow(&create).ok();
        let status = self.home.wait_for_turn(id, "codex");
        PathBuf::from(status["worktree"].as_str().unwrap())
    }

    /// Waits until `agent` may review in `round`. In a pane that is a program of its own, which takes the place of the
    /// one before.
    pub(crate) fn wait_for_review(&self, bubble: &str, agent: &str, round: u32) {
        self.home.wait_for_turn(bubble, agent);
        if self.kind == Kind::Panes {
            let prompts = self.place(bubble, agent).join("prompts");
            let told = format!("Round {round}: you are the reviewer");
            let begun = || std::fs::read_to_string(&prompts).is_ok_and(|text| text.contains(&told)).then_some(());
            eventually("the reviewer's program", begun);
        }
    }

    fn place(&self, bubble: &str, agent: &str) -> PathBuf {
        self.home.root().join(format!("says-{bubble}-{agent}"))
    }

    /// Has an agent of a bubble speak.
    pub(crate) fn agent(&self, bubble: &str, agent: &str) -> Speaker<'_> {
        match self.kind {
            Kind::External => Speaker::External(self.home.agent(bubble, agent)),
            Kind::Panes => {
                let place = self.place(bubble, agent);
                eventually("the agent's program to run", || place.is_dir().then_some(()));
                Speaker::Pane(place)
            }
        }
    }
}

impl Drop for Cast {
    fn drop(&mut self) {
        let bubbles = std::fs::read_dir(self.home.repo.join(".pairflow/bubbles")).into_iter().flatten().flatten();
        for bubble in bubbles.filter(|_| self.kind == Kind::Panes) {
            // Panes outlive a supervisor on purpose, but not their home.
            let _ = self.home.command(&["stop", &bubble.file_name().to_string_lossy(), "--yes"]).output();
        }
    }
}

impl Speaker<'_> {
    /// Runs the program as this agent, in the worktree.
    pub(crate) fn pairflow(&self, args: &[&str]) -> Ran {
        match self {
            Self::External(agent) => agent.pairflow(args),
            Self::Pane(place) => told(place, args),
        }
    }
}

/// The program of an agent in a pane: it runs every call that is put into its directory, one after the other, until the
/// directory is gone.
fn runs_what_it_is_told(root: &Path) -> String {
    let root = root.display();
    format!(
        r#"#!/bin/sh
place='{root}'/says-$PAIRFLOW_BUBBLE-$PAIRFLOW_AGENT
mkdir -p "$place"
echo "$*" >>"$place/prompts"
while [ -d "$place" ]; do
  for call in "$place"/*.call; do
    [ -e "$call" ] || continue
    sh "$call" </dev/null >"$place/out" 2>"$place/err"
    echo $? >"$place/ended"
    mv "$call" "$place/last"
  done
  sleep 0.02
done
"#
    )
}

/// Has the program in a pane make one call, and waits for its end.
fn told(place: &Path, args: &[&str]) -> Ran {
    let quoted = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let words: Vec<_> =
        std::iter::once(quoted(program().to_str().unwrap())).chain(args.iter().map(|arg| quoted(arg))).collect();
    let (call, made) = (place.join("1.call"), place.join("made"));
    std::fs::write(&made, words.join(" ")).and_then(|()| std::fs::rename(&made, &call)).unwrap();
    eventually("the call to end", || (!call.exists()).then_some(()));
    let read = |name: &str| std::fs::read_to_string(place.join(name)).unwrap();
    Ran { code: read("ended").trim().parse().unwrap(), stdout: read("out"), stderr: read("err") }
}
