//! A bubble's whole life with both real CLIs: briefing, first cut, finding, fix, clean review, seat swap, a question to
//! the person, second clean review, approval, commit. Every step can be repeated without harm, as after a crash.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::account;
use super::minds::{Minds, Turn};
use super::place::Pair;
use super::transcript::Transcript;
use super::words::{QUESTION, Words};
use crate::model::{Kind, Reply};

/// Both agents.
pub(super) const AGENTS: [(Kind, &str); 2] = [(Kind::Claude, "claude"), (Kind::Codex, "codex")];

impl Pair {
    /// Makes a machine whose agents live the story.
    pub fn of_stories(program: impl Into<PathBuf>, dir: &Path) -> Self {
        Self::new(program, dir, minds())
    }
}

/// What both models do in a story, whichever bubble it is.
pub fn minds() -> Minds {
    Minds::new(|turn: &Turn, kind| steps(turn, kind))
}

fn steps(turn: &Turn, kind: Kind) -> Vec<Reply> {
    let words = Words::of(&turn.bubble);
    let [first, looked, fixed, well, agreed] =
        words.handovers.map(|(_, _, summary)| format!("pass --summary '{summary}'"));
    let read = || Reply::shell("pairflow brief");
    let say = |words: &str| Reply::shell(format!("pairflow {words}"));
    match (kind, turn.round, turn.seat.as_str()) {
        (Kind::Codex, 1, "implementer") => {
            let explain = "printf '## %s\\nx\\n' 'What changed' Why Risks 'Manual test plan'";
            let explained = Reply::shell(format!("{explain} | pairflow {first} --explain -"));
            vec![read(), Reply::shell("echo one > work.txt"), explained]
        }
        (Kind::Claude, 1, "reviewer") => {
            // A file of pairflow's own is read without a question, wherever it lies.
            let brief = Reply::read(&turn.brief);
            vec![brief, read(), say(&format!("{looked} --finding 'P1:{}'", words.finding))]
        }
        (Kind::Codex, 2, "implementer") => {
            vec![read(), Reply::shell("printf 'one\\ntwo\\n' > work.txt"), say(&format!("{fixed} --fixed F1"))]
        }
        (Kind::Claude, 2, "reviewer") => vec![read(), say(&format!("{well} --no-findings"))],
        // Before the person has answered it asks; the brief that it reads afterwards holds the answer.
        (Kind::Codex, 2, "reviewer") => vec![
            read(),
            Reply::shell(format!(
                "brief=$(pairflow brief) || exit 1; case \"$brief\" in *'{}'*) pairflow {agreed} --no-findings;; \
                 *) pairflow ask-human --question '{QUESTION}';; esac",
                words.answered
            )),
        ],
        _ => Vec::new(),
    }
}

/// Lives a whole story in the bubble `id`.
///
/// # Panics
/// If anything of it does not happen, with the log and every screen.
#[track_caller]
pub fn live(pair: &Pair, id: &str) {
    start(pair, id);
    let asked = pair.wait_for_state(id, "WAITING_HUMAN");
    assert!(question(&asked).is_some(), "{asked:#}\n{}", pair.screens(id));
    answer(pair, id, &asked);
    pair.wait_for_state(id, "READY_FOR_APPROVAL");
    finish(pair, id);
    let log = happened(pair, id);
    // Nothing disturbed it, so pairflow has asked nothing by itself.
    let said = ["HUMAN_QUESTION", "HUMAN_REPLY"].map(|kind| log.of(kind).count());
    assert_eq!(said, [1, 1], "{}", pair.pairflow(&["log", id]).stdout);
    for (kind, agent) in AGENTS {
        assert!(!pair.promised(kind, id).is_empty(), "{agent} was not told that any of its messages is recorded");
    }
}

/// Lives whole stories in all of `ids`, one after the other.
///
/// # Panics
/// If one of them does.
#[track_caller]
pub fn live_in_turn(pair: &Pair, ids: &[String]) {
    for id in ids {
        live(pair, id);
        pair.mock.forget();
    }
}

/// Lives whole stories in all of `ids` at the same time, after a first one: of several Codex in a new home all but one
/// fail, because each wants to make its database.
///
/// # Panics
/// If one of them does.
pub fn live_together(pair: &Pair, ids: &[String]) {
    live_in_turn(pair, &["before-all".to_owned()]);
    std::thread::scope(|scope| {
        let lives: Vec<_> = ids.iter().map(|id| scope.spawn(move || live(pair, id))).collect();
        for life in lives {
            life.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause));
        }
    });
    // Only now: what one of them still has to show would be forgotten with the rest.
    pair.mock.forget();
}

/// Makes the bubble of a story and starts it.
#[track_caller]
pub(super) fn start(pair: &Pair, id: &str) {
    pair.start(id, &Words::of(id).task);
}

/// Returns the question of the story, if it is open.
pub(super) fn question(status: &Value) -> Option<&Value> {
    status["questions"].as_array()?.iter().find(|open| open["question"] == QUESTION)
}

/// Answers the question of the story, which is open.
#[track_caller]
pub(super) fn answer(pair: &Pair, id: &str, asked: &Value) {
    let open = question(asked).and_then(|open| open["id"].as_str()).unwrap_or_default();
    pair.pairflow(&["reply", id, "--question", open, "--message", &Words::of(id).answer]).ok();
}

/// Approves and commits what the agents have made, and looks at it.
#[track_caller]
pub(super) fn finish(pair: &Pair, id: &str) {
    pair.pairflow(&["approve", id, "--yes"]).ok();
    pair.pairflow(&["commit", id, "--message", "work", "--yes"]).ok();
    pair.wait_for_state(id, "DONE");
    assert_eq!(pair.home.git(&["show", &format!("bubble/{id}:work.txt")]), "one\ntwo");
    pair.pairflow(&["verify", id]).ok();
    let socket = pair.home.repo.join(format!(".pairflow/runtime/{id}/tmux.sock"));
    // The programs are told to end, and take a moment.
    pair.wait_for(id, "the end of everything that ran for it", |_| pair.processes(id).is_empty() && !socket.exists());
}

/// Looks whether everything of a story that is over happened, and nothing of it twice, however often it was disturbed.
/// Returns its log.
#[track_caller]
pub(super) fn happened(pair: &Pair, id: &str) -> Transcript {
    let (log, words) = (pair.transcript(id), Words::of(id));
    let shown = || pair.pairflow(&["log", id]).stdout;
    account::check(&log, &words).unwrap_or_else(|wrong| panic!("{wrong}\n{}", shown()));
    for (kind, agent) in AGENTS {
        let lost = pair.promised(kind, id).into_iter().filter(|message| !account::has_said(&log, agent, message));
        let lost: Vec<_> = lost.collect();
        assert!(lost.is_empty(), "{agent} was told that these are recorded: {lost:?}\n{}", shown());
    }
    for (kind, text) in words.told() {
        assert!(pair.has_read(kind, &text), "{kind:?} never read {text:?} word for word\n{}", shown());
    }
    log
}
