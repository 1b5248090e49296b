//! One machine of its own for interactive bubbles.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::minds::Minds;
use super::transcript::Transcript;
use crate::clis::{AgentHome, Slot, agent_clis};
use crate::home::{Home, Ran, processes_of};
use crate::model::{Kind, Mock};
use crate::wait::following;

/// A home with both real CLIs and a mock model.
pub struct Pair {
    /// The home of pairflow and its repository.
    pub home: Home,
    /// The model.
    pub mock: Mock,
    minds: Minds,
    _private: TempDir,
    _slot: Slot,
}

impl Pair {
    /// Makes a machine for the program at `program`, with models that do what `minds` says. The directories of the CLIs
    /// lie beneath `dir`, which is not the system's temporary directory.
    ///
    /// # Panics
    /// If the CLIs cannot be installed, with the reason.
    pub fn new(program: impl Into<PathBuf>, dir: &Path, minds: Minds) -> Self {
        let slot = Slot::take();
        let clis = agent_clis().unwrap_or_else(|why| panic!("the agent CLIs are missing: {why}"));
        std::fs::create_dir_all(dir).expect("the test directory can be made");
        let private = TempDir::with_prefix_in("home-", dir).expect("a temporary directory can be made");
        let mut home = Home::on_disk(program);
        let mock = Mock::start(minds.scripts());
        let mut agents = AgentHome::new(private.path(), mock.url(), &home.repo);
        agents.repos.push(home.root().join("work"));
        agents.write().expect("a new home is writable");
        std::fs::copy(home.root().join("home/.gitconfig"), private.path().join(".gitconfig"))
            .expect("a new home is writable");
        let config = "driver = \"tmux\"\n[agent.codex]\nenv = [\"MOCK_API_KEY\"]\n[notifications]\nenabled = false\n";
        std::fs::write(home.root().join("config/pairflow/config.toml"), config).expect("the home is writable");
        home.set_env(agents.env(&[&clis.bin]));
        Self { home, mock, minds, _private: private, _slot: slot }
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
    pub fn minds(&self) -> &Minds {
        &self.minds
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
}
