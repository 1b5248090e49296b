//! A hand-over that came back: said again with the same words on the same tree, it is still the same hand-over, whichever
//! way the agent speaks to pairflow.

#![allow(clippy::unwrap_used, reason = "a test that fails here has found something")]

use std::path::PathBuf;
use std::process::Command;

use pairflow_testkit::home::{Home, Ran, write_program};
use serde_json::Value;

use crate::support::{home, program};

const PASS: [&str; 4] = ["pass", "--summary", "first cut", "--json"];

/// A bubble whose check writes down that it ran, and fails until `done.txt` is there.
struct Story {
    home: Home,
    worktree: PathBuf,
}

impl Story {
    /// Starts the bubble with `more` arguments.
    fn start(home: Home, more: &[&str]) -> Self {
        let check = format!("echo ran >> '{}'; test -f done.txt", runs(&home).display());
        let create = ["create", "--id", "b1", "--task", "Write done.txt", "--test", &check, "--yes", "--start"];
        home.pairflow(&[&create, more].concat()).ok();
        let status =
            home.wait_for("b1", |status| status["worktree"].is_string() && status["state"] != "PREPARING_WORKSPACE");
        let worktree = PathBuf::from(status["worktree"].as_str().unwrap());
        Self { home, worktree }
    }

    /// How often the check ran.
    fn checked(&self) -> usize {
        std::fs::read_to_string(runs(&self.home)).map_or(0, |text| text.lines().count())
    }

    /// The records of one type.
    fn records(&self, kind: &str) -> Vec<Value> {
        let log = std::fs::read_to_string(self.home.repo.join(".pairflow/bubbles/b1/transcript.ndjson")).unwrap();
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|record| record["type"] == kind).collect()
    }

    /// Waits until the work has come back `times` times and codex may act.
    fn wait_until_back(&self, times: usize) {
        self.home.wait_for("b1", |status| {
            let back =
                self.records("LIFECYCLE").iter().filter(|record| record["payload"]["event"] == "sent_back").count();
            let open = status["active_agent"] == "codex" && status["turn_state"] == "open";
            back == times && open && status["state"] == "RUNNING"
        });
    }

    /// Plays the whole story of a hand-over that comes back, for an agent that runs pairflow with `say`.
    fn play(&self, say: &dyn Fn(&[&str]) -> Ran) {
        self.home.wait_for_turn("b1", "codex");
        let first = say(&PASS).ok().json();
        assert_eq!(first["repeated"], false);
        self.wait_until_back(1);
        self.is_still_the_first(say, &first);
        self.is_another_once_the_return_was_read(say, &first);
        self.is_another_with_a_changed_tree(say);
    }

    /// Said again at once, it is one record and one run of the check, and the caller is told why it has the turn.
    fn is_still_the_first(&self, say: &dyn Fn(&[&str]) -> Ran, first: &Value) {
        for _ in 0..3 {
            let again = say(&PASS).ok().json();
            assert_eq!((&again["id"], &again["repeated"]), (&first["id"], &Value::Bool(true)), "{again:#}");
            assert_eq!(again["came_back"][0], "the check 'test' fails");
        }
        let told = say(&PASS[..3]).ok();
        let id = first["id"].as_str().unwrap();
        let told = told.says(&format!("Already recorded as {id}")).says("the check 'test' fails");
        told.says("It is still your turn").says("pairflow brief b1");
        assert_eq!((self.records("PASS").len(), self.checked()), (1, 1), "one record and one run of the check");
    }

    fn is_another_once_the_return_was_read(&self, say: &dyn Fn(&[&str]) -> Ran, first: &Value) {
        say(&["brief"]).ok().says("the check 'test' fails");
        let second = say(&PASS).ok().json();
        assert_eq!(second["repeated"], false, "{second:#}");
        assert_ne!(second["id"], first["id"]);
        self.wait_until_back(2);
        assert_eq!((self.records("PASS").len(), self.checked()), (2, 2));
    }

    fn is_another_with_a_changed_tree(&self, say: &dyn Fn(&[&str]) -> Ran) {
        std::fs::write(self.worktree.join("done.txt"), "done\n").unwrap();
        let third = say(&PASS).ok().json();
        assert_eq!(third["repeated"], false, "{third:#}");
        self.home.wait_for_turn("b1", "claude");
        assert_eq!((self.records("PASS").len(), self.checked()), (3, 3));
    }
}

fn runs(home: &Home) -> PathBuf {
    home.root().join("runs.txt")
}

#[test]
fn an_external_agent_that_repeats_itself_is_recorded_once() {
    let story = Story::start(home(), &[]);
    let codex = story.home.agent("b1", "codex");
    story.play(&|args| codex.pairflow(args));
}

#[test]
fn an_agent_in_a_pane_that_repeats_itself_is_recorded_once() {
    let home = home();
    // Agents that tell where their sockets are, and wait; the test says their verbs.
    let toy = home.root().join("programs/toy");
    let tells = format!("printf %s \"$PAIRFLOW_SOCKET\" > '{}'/$PAIRFLOW_AGENT.socket", home.root().display());
    write_program(&toy, &format!("#!/bin/sh\n{tells}\nexec sleep 600\n"));
    let agent = |name: &str| format!("[agent.{name}]\ncommand = [\"{}\"]\nhooks = \"none\"\n", toy.display());
    let config = format!("driver = \"tmux\"\n{}{}[notifications]\nenabled = false\n", agent("codex"), agent("claude"));
    std::fs::write(home.root().join("config/pairflow/config.toml"), config).unwrap();
    let story = Story::start(home, &[]);
    let _ended = Ended(&story.home);
    let file = story.home.root().join("codex.socket");
    let told = || std::fs::read_to_string(&file).unwrap_or_default();
    story.home.wait_for("b1", |_| !told().is_empty());
    let socket = told();
    story.play(&|args| story.home.finish(seated(&story, &socket, args)));
}

/// The program as codex runs it in its pane.
fn seated(story: &Story, socket: &str, args: &[&str]) -> Command {
    let mut command = story.home.command(args);
    command.current_dir(&story.worktree).env("PAIRFLOW_SOCKET", socket).env("PAIRFLOW_BUBBLE", "b1");
    command.env("PAIRFLOW_AGENT", "codex").env("PAIRFLOW_REPO", &story.home.repo);
    command
}

/// Ends the panes with the test: they outlive a supervisor.
struct Ended<'a>(&'a Home);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let _ = self.0.command(&["stop", "b1", "--yes"]).output();
    }
}

#[test]
fn a_scripted_agent_that_repeats_itself_is_recorded_once_and_a_person_is_asked() {
    let home = home();
    let turn = "    - - pass: {summary: first cut}\n".repeat(4);
    let script = home.root().join("agents.yaml");
    std::fs::write(&script, format!("agents:\n  codex:\n{turn}  claude: []\n")).unwrap();
    let story = Story::start(home, &["--driver", "script", "--script", script.to_str().unwrap()]);
    story.home.wait_for_state("b1", "WAITING_HUMAN");
    assert_eq!((story.records("PASS").len(), story.checked()), (1, 1), "one record and one run of the check");
    let printed = std::fs::read_to_string(story.home.repo.join(".pairflow/runtime/b1/codex.log")).unwrap();
    assert!(printed.contains("the check 'test' fails") && printed.contains("It is still your turn"), "{printed}");
}

#[test]
fn a_scripted_agent_that_has_read_its_brief_hands_over_anew() {
    let home = home();
    let turn = format!("    - - run: '{} brief'\n      - pass: {{summary: first cut}}\n", program().display());
    let script = home.root().join("agents.yaml");
    std::fs::write(&script, format!("agents:\n  codex:\n{}  claude: []\n", turn.repeat(4))).unwrap();
    let story = Story::start(home, &["--driver", "script", "--script", script.to_str().unwrap()]);
    story.home.wait_for("b1", |status| status["active_agent"] == "claude" && status["turn_state"] == "open");
    assert_eq!((story.records("PASS").len(), story.checked()), (4, 4), "sent back three times, then reviewed");
}
