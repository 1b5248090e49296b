//! One bubble of the machine: its verbs, its panes, and what its toys wrote down.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::machine::{LOOK, Machine};
use crate::home::{Ran, processes_of};
use crate::wait::{eventually_or, following, within};

/// One prompt that a toy took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The number of the notice; nothing for a person's words.
    pub number: Option<u64>,
    /// The round, for a turn.
    pub round: Option<u32>,
    /// `implementer`, `reviewer`, or `-` outside of a turn.
    pub seat: String,
    /// The bubble that the prompt names.
    pub whose: String,
    /// `fresh` or `resume` for the first prompt of a process, `paste` for every other.
    pub how: String,
    /// The process.
    pub pid: u32,
    /// The conversation.
    pub session: String,
}

impl Note {
    fn read(line: &str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        let [number, round, seat, whose, how, pid, session] = words[..] else { panic!("no note: {line:?}") };
        let (number, round) = (number.parse().ok(), round.parse().ok());
        let [seat, whose, how, session] = [seat, whose, how, session].map(str::to_owned);
        Self { number, round, seat, whose, how, pid: pid.parse().unwrap(), session }
    }
}

/// A bubble.
pub struct Own<'a> {
    /// Where it runs.
    pub machine: &'a Machine,
    /// Its repository.
    pub repo: PathBuf,
    /// Its name.
    pub id: String,
}

impl Machine {
    /// Makes a bubble in the first repository and starts it.
    #[track_caller]
    pub fn start(&self, id: &str) -> Own<'_> {
        self.start_in(&self.home.repo, id, "Write work.txt")
    }

    /// Makes a bubble and starts it.
    #[track_caller]
    pub fn start_in(&self, repo: &Path, id: &str, task: &str) -> Own<'_> {
        let create = ["create", "--id", id, "--task", task, "--test", "true", "--yes", "--start"];
        self.home.pairflow_in(repo, &create).ok();
        Own { machine: self, repo: repo.to_owned(), id: id.to_owned() }
    }
}

impl Own<'_> {
    /// Runs a verb of the person on this bubble.
    pub fn run(&self, verb: &str, more: &[&str]) -> Ran {
        self.machine.home.pairflow_in(&self.repo, &[&[verb, &self.id], more].concat())
    }

    /// Returns its status.
    #[track_caller]
    pub fn status(&self) -> Value {
        self.run("status", &["--json"]).ok().json()
    }

    /// Waits until `done` says yes to its status.
    #[track_caller]
    pub fn wait(&self, what: &str, done: impl Fn(&Value) -> bool) -> Value {
        self.look(what, || Some(self.status()).filter(|status| done(status)))
    }

    /// Waits until it is in `state`.
    #[track_caller]
    pub fn wait_for_state(&self, state: &str) -> Value {
        self.wait(&format!("{} {state}", self.id), |status| status["state"] == state)
    }

    /// Waits until a question of `kind` is open, and returns its text.
    #[track_caller]
    pub fn wait_for_question(&self, kind: &str) -> String {
        let asked = || {
            let items = self.run("inbox", &["--json"]).ok().json();
            let item = items["items"].as_array()?.iter().find(|item| item["kind"] == kind)?.clone();
            item["question"].as_str().map(str::to_owned)
        };
        self.look(&format!("a question of kind {kind}"), asked)
    }

    /// Looks until `look`, which starts a process, finds something.
    #[track_caller]
    fn look<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        let log = self.repo.join(".pairflow/bubbles").join(&self.id).join("transcript.ndjson");
        match following(&log, look) {
            Some(found) => found,
            None => panic!("never saw {what}:\n{}", self.everything()),
        }
    }

    /// Insists that `what` holds for a while: for longer than pairflow takes to look again, and once more.
    #[track_caller]
    pub fn stays(&self, what: &str, holds: impl Fn() -> bool) {
        let broken = within(LOOK * 4, || (!holds()).then_some(()));
        assert!(broken.is_none(), "{what}:\n{}", self.everything());
    }

    /// Returns how many questions wait for the person.
    pub fn questions(&self) -> usize {
        self.run("inbox", &["--json"]).ok().json()["items"].as_array().map_or(0, Vec::len)
    }

    /// Returns the prompts that the toy of `agent` took.
    pub fn notes(&self, agent: &str) -> Vec<Note> {
        let text = std::fs::read_to_string(self.file("notes", agent)).unwrap_or_default();
        text.lines().map(Note::read).collect()
    }

    /// Waits for the note of a notice beyond the first `known` notes of `agent`.
    #[track_caller]
    pub fn wait_for_note(&self, agent: &str, known: usize) -> Note {
        let found = || self.notes(agent).get(known).cloned();
        eventually_or(&format!("note {known} of {agent}"), || self.everything(), found)
    }

    /// Returns what the toy of `agent` was answered when it stopped.
    pub fn stops(&self, agent: &str) -> Vec<Value> {
        let name = format!("{}.stops", self.file("notes", agent).display());
        let text = std::fs::read_to_string(name).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns every byte that the toy of `agent` was given.
    pub fn given(&self, agent: &str) -> Vec<u8> {
        std::fs::read(self.file("given", agent)).unwrap_or_default()
    }

    fn file(&self, dir: &str, agent: &str) -> PathBuf {
        let repo = self.repo.file_name().unwrap().to_string_lossy().into_owned();
        self.machine.beside(dir).join(format!("{repo}.{}.{agent}", self.id))
    }

    /// Returns its entry of the list of running sessions.
    pub fn session(&self) -> Option<Value> {
        let text = std::fs::read_to_string(self.repo.join(".pairflow/runtime/sessions.json")).ok()?;
        let sessions: Value = serde_json::from_str(&text).ok()?;
        sessions.as_array()?.iter().find(|one| one["bubble_id"] == self.id).cloned()
    }

    /// Runs tmux on its server; nothing comes back if there is none.
    pub fn tmux(&self, words: &[&str]) -> Option<String> {
        let session = self.session()?;
        let mut command = Command::new("tmux");
        command.args(["-N", "-S", session["socket"].as_str()?]).args(words).env_clear().env("PATH", "/usr/bin:/bin");
        let output = command.output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Returns the tags of its panes, from the first to the last.
    pub fn tags(&self) -> Vec<String> {
        let listed = self.tmux(&["list-panes", "-a", "-F", "#{pane_index} #{@pairflow}"]).unwrap_or_default();
        listed.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
    }

    /// Returns the pane of `agent`.
    #[track_caller]
    pub fn pane(&self, agent: &str) -> String {
        let find = || {
            let listed = self.tmux(&["list-panes", "-a", "-F", "#{pane_id} #{@pairflow}"])?;
            listed.lines().find_map(|line| line.strip_suffix(&format!(" {agent}")).map(str::to_owned))
        };
        eventually_or(&format!("the pane of {agent}"), || self.everything(), find)
    }

    /// Returns the command lines of the processes that have the bubble in their environment.
    pub fn processes(&self) -> Vec<String> {
        processes_of(&self.repo, &self.id)
    }

    /// Stops the bubble, after which nothing of its session is left.
    #[track_caller]
    pub fn stop(&self) {
        let server = self.tmux(&["display-message", "-p", "#{pid}"]).expect("the session runs until it is stopped");
        assert!(!self.processes().is_empty(), "its toys run until they are stopped");
        self.run("stop", &["--yes"]).ok();
        let left = || format!("{:?}\n{:?}", self.processes(), self.session());
        let gone = || self.processes().is_empty() && self.session().is_none();
        eventually_or("the end of the session", left, || gone().then_some(()));
        let alive = || std::path::Path::new("/proc").join(&server).exists();
        eventually_or("the end of the tmux server", String::new, || (!alive()).then_some(()));
    }

    /// Returns everything that is known, for the message of a test that fails.
    pub fn everything(&self) -> String {
        let panes = self.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]).unwrap_or_default();
        let screen = |pane: &str| self.tmux(&["capture-pane", "-p", "-t", pane]).unwrap_or_default();
        let screens: String = panes.lines().map(|pane| format!("--- {pane}\n{}\n", screen(pane))).collect();
        let said = std::fs::read_to_string(self.machine.beside("said")).unwrap_or_default();
        let tail: String = said.lines().rev().take(20).collect::<Vec<_>>().join("\n");
        let notes = ["claude", "codex"].map(|agent| format!("{agent}: {:?}", self.notes(agent))).join("\n");
        format!("{}\n{notes}\n{screens}\nsaid, newest first:\n{tail}", self.run("log", &[]).stdout)
    }
}
