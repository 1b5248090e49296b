//! A machine with toy agents in panes: the real program, the real tmux, and a shell script in place of each agent CLI.
//!
//! A [`Machine`] has a home and repositories; [`ToyBubble`] is one bubble of it, with its panes and the notes of its toys.

#![allow(clippy::unwrap_used, reason = "a test that fails here has found something")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::home::{Home, Ran, processes_of, write_program};
use crate::wait::{eventually_or, following, within};

/// The script that stands in for both agent CLIs.
const TOY: &str = include_str!("toy.sh");

/// A play with one finding: four turns and the second review.
pub const PLAY_FINDING: &str = r#"
act() {
  case $seat-$round in
    implementer-1) briefed; echo one >work.txt; pairflow pass --summary 'first cut' ;;
    reviewer-1) pairflow pass --summary 'read it' --finding 'P1:no rollback' ;;
    implementer-2) echo two >work.txt; pairflow pass --summary 'rolled back' --fixed F1 --test 'F1=grep -q two work.txt' ;;
    *) explain | pairflow pass --summary 'all is well' --no-findings --explain - ;;
  esac
}
"#;

/// How often pairflow looks at a pane here. Toys draw at once; the real programs have four times as long.
pub const LOOK: Duration = Duration::from_millis(500);

/// A home whose agents `codex` and `claude` are toys.
pub struct Machine {
    /// The home of pairflow and its first repository.
    pub home: Home,
    /// Every repository with bubbles.
    repos: std::sync::Mutex<Vec<PathBuf>>,
}

impl Machine {
    /// Makes a machine for the program at `program`. `play` is bash and changes what the toys do; `config` is added to
    /// the person's configuration.
    ///
    /// # Panics
    /// If its files cannot be written.
    pub fn new(program: impl Into<PathBuf>, play: &str, config: &str) -> Self {
        let mut home = Home::new(program);
        home.set_limits(&limits(""));
        let dir = home.root().join("toy");
        for name in ["notes", "given"] {
            std::fs::create_dir_all(dir.join(name)).unwrap();
        }
        write_program(&dir.join("toy"), TOY);
        std::fs::write(dir.join("play"), play).unwrap();
        let toy = dir.join("toy").display().to_string();
        let agents = ["codex", "claude"].map(|agent| format!("[agent.{agent}]\ncommand = [\"{toy}\"]\n")).concat();
        let config = format!("driver = \"tmux\"\n{config}\n{agents}[notifications]\nenabled = false\n");
        std::fs::write(home.root().join("config/pairflow/config.toml"), config).unwrap();
        Self { repos: std::sync::Mutex::new(vec![home.repo.clone()]), home }
    }

    /// Has everything from here on run with these time limits as well, such as `notice_pasted=2000`.
    pub fn limit(&mut self, more: &str) {
        self.home.set_limits(&limits(more));
    }

    /// Returns a file beside the toy.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.home.root().canonicalize().unwrap().join("toy").join(name)
    }

    /// Makes a file beside the toy, for which toys wait.
    pub fn open(&self, gate: &str) {
        std::fs::write(self.beside(gate), "").unwrap();
    }

    /// Makes a further repository.
    pub fn repo(&self, name: &str) -> PathBuf {
        let repo = self.home.repo.with_file_name(name);
        std::fs::create_dir_all(&repo).unwrap();
        self.home.git_in(&repo, &["init", "--quiet", "--initial-branch=main"]);
        self.home.git_in(&repo, &["commit", "--quiet", "--allow-empty", "-m", "first commit"]);
        self.repos.lock().unwrap().push(repo.clone());
        repo
    }
}

fn limits(more: &str) -> String {
    let look = format!("screen_look={}", LOOK.as_millis());
    if more.is_empty() { look } else { format!("{look},{more}") }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Panes outlive a supervisor on purpose, but not the machine that they belong to.
        for repo in self.repos.lock().unwrap().iter() {
            let bubbles = std::fs::read_dir(repo.join(".pairflow/bubbles")).into_iter().flatten().flatten();
            for bubble in bubbles {
                let id = bubble.file_name().to_string_lossy().into_owned();
                let _ = self.home.command(&["stop", &id, "--yes"]).current_dir(repo).output();
            }
        }
    }
}

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
pub struct ToyBubble<'a> {
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
    pub fn start(&self, id: &str) -> ToyBubble<'_> {
        self.start_in(&self.home.repo, id, "Write work.txt")
    }

    /// Makes a bubble and starts it.
    #[track_caller]
    pub fn start_in(&self, repo: &Path, id: &str, task: &str) -> ToyBubble<'_> {
        let create = ["create", "--id", id, "--task", task, "--test", "true", "--yes", "--start"];
        self.home.pairflow_in(repo, &create).ok();
        ToyBubble { machine: self, repo: repo.to_owned(), id: id.to_owned() }
    }
}

impl ToyBubble<'_> {
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

/// How many bubbles of a crowd are started, or stopped, at the same time.
const WORKERS: usize = 4;

/// Has `count` bubbles get to their approval side by side, each with its own notices.
///
/// # Panics
/// If one of them does not.
pub fn live_together(program: &Path, count: u64) {
    let machine = Machine::new(program, "", "");
    let ids: Vec<String> = (0..count).map(|number| format!("b{number}")).collect();
    let bubbles = side_by_side(&ids, |id| machine.start(id));
    for bubble in &bubbles {
        bubble.wait_for_state("READY_FOR_APPROVAL");
        is_told_only_its_own(bubble);
    }
    side_by_side(&bubbles, ToyBubble::stop);
}

/// Insists that every prompt of both toys names their own bubble, and that no notice came twice.
///
/// # Panics
/// If it is not so.
#[track_caller]
pub fn is_told_only_its_own(bubble: &ToyBubble<'_>) {
    for (agent, least) in [("codex", 2), ("claude", 2)] {
        let notes = bubble.notes(agent);
        assert!(notes.len() >= least, "{agent} of {}: {notes:?}", bubble.id);
        assert!(notes.iter().all(|note| note.whose == bubble.id), "{agent} of {}: {notes:?}", bubble.id);
        let mut numbers: Vec<_> = notes.iter().map(|note| note.number).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), notes.len(), "a notice came twice to {agent} of {}: {notes:?}", bubble.id);
    }
}

/// Does the same with all of `items`, a few at a time.
fn side_by_side<'a, T: Sync, R: Send>(items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let work = &work;
    std::thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(WORKERS));
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<_>>())).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}
