//! One machine for interactive bubbles with the real CLIs: what the models of both agents do in each turn, and the log of
//! a bubble as tests read it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tempfile::TempDir;

use crate::clis::{AgentHome, Slot, agent_clis};
use crate::home::{Home, Ran, processes_of};
use crate::model::{Kind, Mock, Place, Reply, Scripts, Seen};
use crate::wait::following;

/// A home with both real CLIs and a mock model.
pub struct Pair {
    /// The home of pairflow and its repository.
    pub home: Home,
    /// The model.
    pub mock: Mock,
    model_script: ModelScript,
    _private: TempDir,
    _slot: Slot,
}

impl Pair {
    /// Makes a machine for the program at `program`, with models that do what `model_script` says. The directories of the CLIs
    /// lie beneath `dir`, which is not the system's temporary directory.
    ///
    /// # Panics
    /// If the CLIs cannot be installed, with the reason.
    pub fn new(program: impl Into<PathBuf>, dir: &Path, model_script: ModelScript) -> Self {
        let slot = Slot::take();
        let clis = agent_clis().unwrap_or_else(|why| panic!("the agent CLIs are missing: {why}"));
        std::fs::create_dir_all(dir).expect("the test directory can be made");
        let private = TempDir::with_prefix_in("home-", dir).expect("a temporary directory can be made");
        let mut home = Home::on_disk(program);
        let mock = Mock::start(model_script.scripts());
        let mut agents = AgentHome::new(private.path(), mock.url(), &home.repo);
        agents.repos.push(home.root().join("work"));
        agents.write().expect("a new home is writable");
        std::fs::copy(home.root().join("home/.gitconfig"), private.path().join(".gitconfig"))
            .expect("a new home is writable");
        let config = "driver = \"tmux\"\n[agent.codex]\nenv = [\"MOCK_API_KEY\"]\n[notifications]\nenabled = false\n";
        std::fs::write(home.root().join("config/pairflow/config.toml"), config).expect("the home is writable");
        home.set_env(agents.env(&[&clis.bin]));
        Self { home, mock, model_script, _private: private, _slot: slot }
    }

    /// Makes a bubble with one test command, and starts it.
    #[track_caller]
    pub fn start(&self, bubble: &str, task: &str) {
        let create = ["create", "--id", bubble, "--task", task, "--test", "true", "--yes"];
        self.home.pairflow(&create).ok();
        self.home.pairflow(&["start", bubble]).ok();
    }

    /// Runs a verb of the person.
    pub fn pairflow(&self, args: &[&str]) -> Ran {
        self.home.pairflow(args)
    }

    /// Waits until `done` says yes to the status of a bubble.
    #[track_caller]
    pub fn wait_for(&self, bubble: &str, what: &str, done: impl Fn(&Value) -> bool) -> Value {
        let look = || Some(self.home.status(bubble)).filter(|status| done(status));
        let Some(status) = following(&self.home.log(bubble), look) else {
            let (status, log) = (self.home.status(bubble), self.home.pairflow(&["log", bubble]).stdout);
            panic!("never saw {what}:\n{status:#}\n{log}\n{}", self.screens(bubble))
        };
        status
    }

    /// Waits until a bubble is in `state`.
    #[track_caller]
    pub fn wait_for_state(&self, bubble: &str, state: &str) -> Value {
        self.wait_for(bubble, state, |status| status["state"] == state)
    }

    /// Whether the model of `kind` has read `text` in the output of a command.
    pub fn has_read(&self, kind: Kind, text: &str) -> bool {
        let requests = self.mock.requests();
        let mut turns = requests.iter().filter_map(|request| request.turn()).filter(|seen| seen.kind == kind);
        turns.any(|seen| seen.tool_results().iter().any(|result| result.text.contains(text)))
    }

    /// Returns the names of the messages that the model of `kind` was told to be recorded, in what it read about a bubble.
    pub fn promised(&self, kind: Kind, bubble: &str) -> BTreeSet<String> {
        let notice = format!(" of bubble {bubble}.");
        let requests = self.mock.requests();
        let turns = requests.iter().filter_map(|request| request.turn()).filter(|seen| seen.kind == kind);
        let about = turns.filter(|seen| seen.user_texts().iter().any(|text| text.contains(&notice)));
        about.flat_map(|seen| seen.tool_results()).flat_map(|result| recorded(&result.text)).collect()
    }

    /// Returns the log of a bubble, as it is on the disk.
    #[track_caller]
    pub fn transcript(&self, bubble: &str) -> Transcript {
        let log = self.home.log(bubble);
        Transcript::read(std::fs::read(&log).unwrap_or_else(|error| panic!("cannot read {}: {error}", log.display())))
    }

    /// Returns the processes that still have the bubble in their environment.
    pub fn processes(&self, bubble: &str) -> Vec<String> {
        processes_of(&self.home.repo, bubble)
    }

    /// Returns what the models were asked to act on.
    pub fn model_script(&self) -> &ModelScript {
        &self.model_script
    }

    /// Returns the command that shows a bubble's session, as words.
    #[track_caller]
    pub fn attach(&self, bubble: &str) -> Vec<String> {
        let line = self.home.pairflow(&["attach", bubble, "--print"]).ok().stdout;
        line.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect()
    }

    /// Runs tmux on the server of a bubble; nothing comes back if there is none.
    pub fn tmux(&self, bubble: &str, words: &[&str]) -> Option<String> {
        let socket = self.home.repo.join(".pairflow/runtime/sessions.json");
        let sessions: Value = serde_json::from_str(&std::fs::read_to_string(socket).ok()?).ok()?;
        let session = sessions.as_array()?.iter().find(|one| one["bubble_id"] == bubble)?.clone();
        let mut command = Command::new("tmux");
        command.args(["-N", "-S", session["socket"].as_str()?]).args(words).env_clear().env("PATH", "/usr/bin:/bin");
        let output = command.output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Returns what every pane of a bubble shows, for the message of a test that fails.
    pub fn screens(&self, bubble: &str) -> String {
        let panes = self.tmux(bubble, &["list-panes", "-a", "-F", "#{pane_id}"]).unwrap_or_default();
        let shown = |pane: &str| {
            let screen = self.tmux(bubble, &["capture-pane", "-p", "-t", pane]).unwrap_or_default();
            format!("--- pane {pane}\n{}\n", screen.trim_end())
        };
        panes.lines().map(shown).collect()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // Panes outlive a supervisor on purpose, but not the machine that they belong to.
        let bubbles = std::fs::read_dir(self.home.repo.join(".pairflow/bubbles")).into_iter().flatten().flatten();
        for bubble in bubbles {
            let id = bubble.file_name().to_string_lossy().into_owned();
            let _ = self.home.command(&["stop", &id, "--yes"]).output();
        }
    }
}

/// Returns the names in what pairflow prints when it has recorded a message of an agent.
fn recorded(text: &str) -> Vec<String> {
    let name = |after: &str| after.chars().take_while(|one| one.is_ascii_alphanumeric() || *one == '_').collect();
    let said = ["ecorded as ", "sked as "].into_iter().flat_map(|said| text.split(said).skip(1));
    said.map(name).filter(|name: &String| name.starts_with("msg_")).collect()
}

/// A turn as a notice announces it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// The bubble.
    pub bubble: String,
    /// The round.
    pub round: u32,
    /// `implementer` or `reviewer`.
    pub seat: String,
    /// The number of the notice.
    pub notice: u64,
    /// The file with the brief.
    pub brief: String,
}

impl Turn {
    /// Reads a notice; nothing if the text is none.
    pub fn read(text: &str) -> Option<Self> {
        let (_, after) = text.rsplit_once("[pairflow ")?;
        let (notice, after) = after.split_once("] Round ")?;
        let (round, after) = after.split_once(": you are the ")?;
        let (seat, after) = after.split_once(" of bubble ")?;
        let (bubble, after) = after.split_once('.')?;
        let brief = after.split_once("which prints ")?.1.split_once(", and do")?.0;
        Some(Self {
            bubble: bubble.to_owned(),
            round: round.parse().ok()?,
            seat: seat.to_owned(),
            notice: notice.parse().ok()?,
            brief: brief.to_owned(),
        })
    }
}

/// How often the model of an agent began to act on each notice of each bubble.
pub type Begun = BTreeMap<(Kind, String, u64), usize>;

type TurnSteps = Arc<dyn Fn(&Turn, Kind) -> Vec<Reply> + Send + Sync>;

/// Both models: a function says which steps a turn has; after the last one the model stops talking.
#[derive(Clone)]
pub struct ModelScript {
    play: TurnSteps,
    /// The notices that each agent's model was asked to act on, with how often each began.
    begun: Arc<Mutex<Begun>>,
}

impl ModelScript {
    /// Has `play` say what happens in each turn.
    pub fn new(play: impl Fn(&Turn, Kind) -> Vec<Reply> + Send + Sync + 'static) -> Self {
        Self { play: Arc::new(play), begun: Arc::default() }
    }

    /// Returns the scripts of the mock model.
    pub fn scripts(&self) -> Scripts {
        let model_script = self.clone();
        Scripts::new().by(move |seen| model_script.answer(seen))
    }

    /// Returns how often the models began to act on each notice.
    pub fn begun(&self) -> Begun {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn answer(&self, seen: &Seen) -> Option<Reply> {
        let place = seen.last_where(|text| text.contains("[pairflow "))?;
        let Some(turn) = Turn::read(place.text) else { return Some(Reply::text("I wait.")) };
        if place.turns == 0 && seen.attempt == 0 {
            let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
            *begun.entry((seen.kind, turn.bubble.clone(), turn.notice)).or_default() += 1;
        }
        let steps = (self.play)(&turn, seen.kind);
        Some(step(&steps, &place))
    }
}

fn step(steps: &[Reply], place: &Place<'_>) -> Reply {
    steps.get(place.turns).cloned().unwrap_or_else(|| Reply::text("That is all."))
}

/// The whole appends of a log: what a writer had not finished does not count.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    bytes: Vec<u8>,
    messages: Vec<Value>,
}

impl Transcript {
    /// Reads the bytes of a log.
    ///
    /// # Panics
    /// If a line of it is no JSON.
    #[track_caller]
    pub fn read(mut bytes: Vec<u8>) -> Self {
        let (mut messages, mut at, mut whole) = (Vec::new(), 0, (0, 0));
        for line in lines(&bytes).filter(|line| line.ends_with(b"\n")) {
            let message: Value = serde_json::from_slice(line)
                .unwrap_or_else(|error| panic!("{error} in a line of a log: {}", String::from_utf8_lossy(line)));
            at += line.len();
            // The lines of one append count down to its end.
            let ends = message["more"].as_u64().unwrap_or(0) == 0;
            messages.push(message);
            whole = if ends { (at, messages.len()) } else { whole };
        }
        bytes.truncate(whole.0);
        messages.truncate(whole.1);
        Self { bytes, messages }
    }

    /// Returns how many lines it has.
    pub fn lines(&self) -> u64 {
        self.messages.len() as u64
    }

    /// Returns the messages of a type, in their order.
    pub fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.messages.iter().filter(move |message| message["type"] == kind)
    }

    /// Returns the message with this name.
    pub fn message(&self, id: &str) -> Option<&Value> {
        self.messages.iter().find(|message| message["id"] == id)
    }

    /// Returns who handed over in which round, and with which words.
    pub fn handovers(&self) -> Vec<(&str, u64, &str)> {
        self.of("PASS").map(handover).collect()
    }

    /// Returns the first line of an earlier reading that does not stand where it stood, with its number.
    pub fn first_lost<'a>(&self, earlier: &'a Self) -> Option<(u64, &'a Value)> {
        if self.bytes.starts_with(&earlier.bytes) {
            return None;
        }
        let at = lines(&earlier.bytes).zip(lines(&self.bytes)).take_while(|(then, now)| then == now).count();
        Some((at as u64 + 1, &earlier.messages[at]))
    }

    /// Returns how often notices were sent again: every attempt after the first.
    pub fn retries(&self) -> u64 {
        self.of("DELIVERY").filter(|one| one["payload"]["attempt"].as_u64() > Some(1)).count() as u64
    }

    /// Returns how often each notice was acknowledged.
    pub fn acknowledged(&self) -> BTreeMap<u64, u64> {
        let mut times = BTreeMap::new();
        let known = self.of("DELIVERY").filter(|one| one["payload"]["acknowledged"] == true);
        for notice in known.filter_map(|one| one["payload"]["notice"].as_u64()) {
            *times.entry(notice).or_default() += 1;
        }
        times
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

/// Returns sender, round and words of a hand-over. What is missing is empty, as in no hand-over.
fn handover(pass: &Value) -> (&str, u64, &str) {
    let (sender, summary) = (&pass["sender"], &pass["payload"]["summary"]);
    let round = pass["round"].as_u64().unwrap_or_default();
    (sender.as_str().unwrap_or_default(), round, summary.as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pairflow_says_is_recorded_is_found() {
        let text = "Output:\nRecorded as msg_20261116_012: claude is next, as reviewer of round 1\n\
                    Already recorded as msg_20261116_020 in bubble b\nAsked as msg_20261116_042 in bubble b\n\
                    pairflow reply b --question msg_20261116_099; known as nothing, recorded as nothing";
        assert_eq!(recorded(text), ["msg_20261116_012", "msg_20261116_020", "msg_20261116_042"]);
    }

    fn log(lines: &[&str]) -> Transcript {
        Transcript::read(lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes())
    }

    #[test]
    fn only_whole_appends_count() {
        let text = b"{\"id\":\"a\"}\n{\"id\":\"b\",\"more\":1}\n{\"id\":\"c\"}\n";
        let whole = Transcript::read(text.to_vec());
        assert_eq!(whole.lines(), 3);
        let first = log(&[r#"{"id":"a"}"#]);
        // In the middle of its last line, between its two lines, and in the middle of the line before.
        for cut in [1, 11, 15] {
            assert_eq!(Transcript::read(text[..text.len() - cut].to_vec()), first, "{cut}");
        }
    }

    #[test]
    fn a_line_that_is_gone_or_another_is_found() {
        let (one, two, three) = (r#"{"id":"a"}"#, r#"{"id":"b"}"#, r#"{"id":"c"}"#);
        let before = log(&[one, two]);
        assert_eq!(log(&[one, two]).first_lost(&before), None);
        assert_eq!(log(&[one, two, three]).first_lost(&before), None);
        let lost = |now: &[&str]| log(now).first_lost(&before).map(|(number, line)| (number, line["id"].clone()));
        assert_eq!(lost(&[one]), Some((2, "b".into())));
        assert_eq!(lost(&[one, three]), Some((2, "b".into())));
        assert_eq!(lost(&[two, three]), Some((1, "a".into())));
        assert_eq!(lost(&[]), Some((1, "a".into())));
    }

    #[test]
    fn attempts_after_the_first_and_acknowledgements_are_counted() {
        let log = log(&[
            r#"{"type":"DELIVERY","payload":{"notice":1,"attempt":1,"acknowledged":false}}"#,
            r#"{"type":"DELIVERY","payload":{"notice":1,"acknowledged":true}}"#,
            r#"{"type":"DELIVERY","payload":{"notice":2,"attempt":1,"acknowledged":false}}"#,
            r#"{"type":"DELIVERY","payload":{"notice":2,"attempt":2,"acknowledged":false}}"#,
            r#"{"type":"DELIVERY","payload":{"notice":2,"attempt":3,"acknowledged":false}}"#,
            r#"{"type":"DELIVERY","payload":{"notice":2,"acknowledged":true}}"#,
            r#"{"type":"DELIVERY","payload":{"notice":2,"acknowledged":true}}"#,
            r#"{"type":"PASS","payload":{"attempt":9,"acknowledged":true}}"#,
        ]);
        assert_eq!(log.retries(), 2);
        assert_eq!(log.acknowledged(), BTreeMap::from([(1, 1), (2, 2)]));
    }
}
