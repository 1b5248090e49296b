//! Notices by the dozen: each agent asks, is answered, and is notified again, idle or busy.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::machine::Pair;
use super::machine::{ModelScript, Turn};
use crate::model::{Kind, Reply};

/// What came of many notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoticeCount {
    /// How many notices were sent to the agent.
    pub notices: u64,
    /// How many its model began to act on exactly once.
    pub once: u64,
    /// How many its model began to act on more than once.
    pub twice: u64,
    /// How many attempts beyond the first were needed.
    pub retries: u64,
}

impl Pair {
    /// Makes a machine whose agents ask the person whatever they are told.
    pub fn of_questions(program: impl Into<PathBuf>, dir: &Path) -> Self {
        Self::new(program, dir, model_script())
    }
}

/// Models that ask the person as soon as they are told anything, and then go on talking for a while, now short, now long.
fn asking() -> ModelScript {
    ModelScript::new(|turn: &Turn, _| {
        let ask = Reply::shell(format!("pairflow ask-human --question 'what about {}?'", turn.notice));
        let more = match turn.notice % 5 {
            0 => Reply::text("A long text stays on the screen.\n".repeat(120)),
            1 => Reply::shell("sleep 1; echo still busy"),
            _ => Reply::text("I wait for the answer."),
        };
        vec![ask, more]
    })
}

/// Tells each of both agents something `times` times and looks who has read what.
///
/// # Panics
/// If a notice does not arrive, with the log and every screen.
#[track_caller]
pub fn tell(pair: &Pair, times: u64) -> [(Kind, NoticeCount); 2] {
    let bubbles = [(Kind::Codex, "to-codex", "codex,claude"), (Kind::Claude, "to-claude", "claude,codex")];
    for (_, id, seats) in bubbles {
        let create = ["create", "--id", id, "--task", "Ask.", "--pair", seats, "--test", "true", "--yes", "--start"];
        pair.pairflow(&create).ok();
        // Of two Codex in a new home one fails, because each wants to make its database.
        pair.wait_for(id, "the first question", |status| status["questions"][0].is_object());
    }
    let began = Instant::now();
    for number in 1..=times {
        for (_, id, _) in bubbles {
            let question = format!("what about {number}?");
            let asks = |status: &serde_json::Value| status["questions"][0]["question"] == question;
            pair.wait_for(id, &format!("{question} after {:?}", began.elapsed()), asks);
            // The agent is still talking at this moment.
            pair.pairflow(&["reply", id, "--message", &format!("answer {number}")]).ok();
        }
        // Every request repeats its whole conversation, which grows with every notice.
        pair.mock.forget();
    }
    bubbles.map(|(kind, id, _)| {
        let question = format!("what about {}?", times + 1);
        pair.wait_for(id, &question, |status| status["questions"][0]["question"] == question);
        (kind, told(pair, kind, id))
    })
}

/// Makes a pair whose agents only ask.
pub(super) fn model_script() -> ModelScript {
    asking()
}

fn told(pair: &Pair, kind: Kind, id: &str) -> NoticeCount {
    let begun = pair.model_script().begun();
    let mine =
        || begun.iter().filter(|((whose, bubble, _), _)| *whose == kind && bubble == id).map(|(_, times)| *times);
    NoticeCount {
        notices: mine().count() as u64,
        once: mine().filter(|times| *times == 1).count() as u64,
        twice: mine().filter(|times| *times > 1).count() as u64,
        retries: pair.transcript(id).retries(),
    }
}
