//! A hand-over that came back: said again with the same words on the same tree, it is still the same hand-over, whichever
//! way the agent speaks to pairflow.

use std::path::PathBuf;

use pairflow_testkit::home::Home;
use serde_json::Value;

use super::agents::{Cast, Kind, Speaker};
use crate::support::bubbles::{CHECK, home, program};
use crate::support::log::lines_of;

const PASS: [&str; 4] = ["pass", "--summary", "first cut", "--json"];

/// A bubble whose check writes down that it ran, and fails until `done.txt` is there.
struct Story {
    cast: Cast,
    worktree: PathBuf,
}

impl Story {
    fn start(kind: Kind) -> Self {
        let cast = Cast::new(kind);
        let worktree = cast.start("b1", &counted(&cast.home));
        std::fs::write(worktree.join("cut.txt"), "first\n").unwrap();
        Self { cast, worktree }
    }

    /// Waits until the work has come back `times` times and codex may act.
    fn wait_until_back(&self, times: usize) {
        let home = &self.cast.home;
        home.wait_for("b1", |status| {
            let back = |record: &&Value| record["payload"]["on"]["what"] == "work";
            let came_back = lines_of(home, "b1", "VERDICT").iter().filter(back).count();
            let open = status["active_agent"] == "codex" && status["turn_state"] == "open";
            came_back == times && open && status["state"] == "RUNNING"
        });
    }

    /// Said again at once, it is one record and one run of the check, and the caller is told why it has the turn.
    fn is_still_the_first(&self, codex: &Speaker<'_>, first: &Value) {
        for _ in 0..3 {
            let again = codex.pairflow(&PASS).ok().json();
            assert_eq!((&again["id"], &again["repeated"]), (&first["id"], &Value::Bool(true)), "{again:#}");
            assert_eq!(again["came_back"][0], "the check 'test' fails");
        }
        let id = first["id"].as_str().unwrap();
        let told = codex.pairflow(&PASS[..3]).ok().says(&format!("Already recorded as {id}"));
        told.says("the check 'test' fails").says("It is still your turn").says("pairflow brief b1");
        self.has_handed_over(1);
    }

    fn is_another_once_the_return_was_read(&self, codex: &Speaker<'_>, first: &Value) {
        codex.pairflow(&["brief"]).ok().says("the check 'test' fails");
        let second = codex.pairflow(&PASS).ok().json();
        assert_eq!(second["repeated"], false, "{second:#}");
        assert_ne!(second["id"], first["id"]);
        // The same files that fail in the same way are handed over on a person's word only.
        let home = &self.cast.home;
        home.wait_for_state("b1", "WAITING_HUMAN");
        home.pairflow(&["reply", "b1", "--message", "it wants done.txt"]).ok();
        self.wait_until_back(2);
        self.has_handed_over(2);
    }

    fn is_another_with_a_changed_tree(&self, codex: &Speaker<'_>) {
        std::fs::write(self.worktree.join("done.txt"), "done\n").unwrap();
        let third = codex.pairflow(&PASS).ok().json();
        assert_eq!(third["repeated"], false, "{third:#}");
        self.cast.home.wait_for_turn("b1", "claude");
        self.has_handed_over(3);
    }

    #[track_caller]
    fn has_handed_over(&self, times: usize) {
        has_handed_over(&self.cast.home, times);
    }
}

#[track_caller]
fn has_handed_over(home: &Home, times: usize) {
    assert_eq!((lines_of(home, "b1", "PASS").len(), checked(home)), (times, times), "hand-overs and runs of the check");
}

/// The check: it writes down that it ran on work, and fails until `done.txt` is there.
fn counted(home: &Home) -> String {
    let runs = home.root().join("runs.txt");
    format!("if git log -1 --format=%s | grep -q snapshot; then echo ran >> '{}'; fi; {CHECK}", runs.display())
}

/// How often the check ran.
fn checked(home: &Home) -> usize {
    std::fs::read_to_string(home.root().join("runs.txt")).map_or(0, |text| text.lines().count())
}

/// Hands over, and says the same words again in every way that matters.
fn repeats_itself(kind: Kind) {
    let story = Story::start(kind);
    let codex = story.cast.agent("b1", "codex");
    let first = codex.pairflow(&PASS).ok().json();
    assert_eq!(first["repeated"], false);
    story.wait_until_back(1);
    story.is_still_the_first(&codex, &first);
    story.is_another_once_the_return_was_read(&codex, &first);
    story.is_another_with_a_changed_tree(&codex);
}

#[test]
fn an_external_agent_that_repeats_itself_is_recorded_once() {
    repeats_itself(Kind::External);
}

#[test]
fn an_agent_in_a_pane_that_repeats_itself_is_recorded_once() {
    repeats_itself(Kind::Panes);
}

/// Starts a bubble whose agent codex plays `turn` four times.
fn scripted(home: &Home, turn: &str) {
    let script = home.root().join("agents.yaml");
    std::fs::write(&script, format!("agents:\n  codex:\n{}  claude: []\n", turn.repeat(4))).unwrap();
    let check = counted(home);
    let create = ["create", "--id", "b1", "--task", "Write done.txt", "--test", &check, "--yes", "--start"];
    let driver = ["--driver", "script", "--script", script.to_str().unwrap()];
    home.pairflow(&[&create[..], &driver[..]].concat()).ok();
}

#[test]
fn a_scripted_agent_that_repeats_itself_is_recorded_once_and_a_person_is_asked() {
    let home = home();
    scripted(&home, "    - - pass: {summary: first cut}\n");
    home.wait_for_state("b1", "WAITING_HUMAN");
    has_handed_over(&home, 1);
    let printed = std::fs::read_to_string(home.repo.join(".pairflow/runtime/b1/codex.log")).unwrap();
    assert!(printed.contains("the check 'test' fails") && printed.contains("It is still your turn"), "{printed}");
}

#[test]
fn a_scripted_agent_that_has_read_its_brief_hands_over_anew() {
    let home = home();
    let brief = format!("{} brief", program().display());
    scripted(&home, &format!("    - - run: '{brief}'\n      - pass: {{summary: first cut}}\n"));
    // It went back once; with the same files a person is asked.
    let status = home.wait_for_state("b1", "WAITING_HUMAN");
    assert_eq!(status["questions"][0]["kind"], "failing", "{status:#}");
    has_handed_over(&home, 2);
}
