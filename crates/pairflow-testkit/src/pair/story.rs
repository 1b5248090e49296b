//! A bubble's whole life with both real CLIs: briefing, first cut, finding, fix, clean review, seat swap, a question to
//! the person, second clean review, approval, commit. Every step can be repeated without harm, as after a crash.
//!
//! An agent that is started again repeats everything that it did in its turn, and a turn that is over does not begin
//! again. So the log has each hand-over once, however often the story was disturbed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::machine::{ModelScript, Pair, Transcript, Turn};
use crate::model::{Kind, Reply};

/// Both agents.
pub(super) const AGENTS: [(Kind, &str); 2] = [(Kind::Claude, "claude"), (Kind::Codex, "codex")];

impl Pair {
    /// Makes a machine whose agents live the story.
    pub fn of_stories(program: impl Into<PathBuf>, dir: &Path) -> Self {
        Self::new(program, dir, model_script())
    }
}

/// What both models do in a story, whichever bubble it is.
pub fn model_script() -> ModelScript {
    ModelScript::new(|turn: &Turn, kind| steps(turn, kind))
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
            vec![
                read(),
                Reply::shell("printf 'one\\ntwo\\n' > work.txt"),
                say(&format!("{fixed} --fixed F1 --test F1='grep -q two work.txt'")),
            ]
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
    finish(pair, id, "one\ntwo");
    let log = happened(pair, id);
    // Nothing disturbed it, so pairflow has asked no question of its own.
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

/// Approves and commits what the agents have made: a file that says `work`.
#[track_caller]
pub(super) fn finish(pair: &Pair, id: &str, work: &str) {
    pair.pairflow(&["approve", id, "--yes"]).ok();
    pair.pairflow(&["commit", id, "--message", "work", "--yes"]).ok();
    pair.wait_for_state(id, "DONE");
    assert_eq!(pair.home.git(&["show", &format!("bubble/{id}:work.txt")]), work);
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
    check(&log, &words).unwrap_or_else(|wrong| panic!("{wrong}\n{}", shown()));
    for (kind, agent) in AGENTS {
        let lost = pair.promised(kind, id).into_iter().filter(|message| !has_said(&log, agent, message));
        let lost: Vec<_> = lost.collect();
        assert!(lost.is_empty(), "{agent} was told that these are recorded: {lost:?}\n{}", shown());
    }
    for (kind, text) in TAUGHT {
        assert!(pair.has_read(kind, text), "{kind:?} was never taught {text:?}\n{}", shown());
    }
    for (kind, text) in words.told() {
        assert!(pair.has_read(kind, &text), "{kind:?} never read {text:?} word for word\n{}", shown());
    }
    log
}

/// What each seat is taught by its brief.
const TAUGHT: [(Kind, &str); 8] = [
    (Kind::Claude, "- P0 critical: loses or corrupts data, opens a security hole, or breaks what worked."),
    (
        Kind::Claude,
        "- P1 major: does not do what the task or a criterion asks, or is wrong in a case that will happen.",
    ),
    (Kind::Claude, "Bring a `reproducer` with every P0 and P1 that a command can show"),
    (Kind::Claude, "Finding nothing is allowed, and no number of findings is expected."),
    (Kind::Claude, "[claimed fixed, SHOWN: `grep -q two work.txt`: red without it, green with it]"),
    (Kind::Codex, "- F1 P1 no rollback in "),
    (Kind::Codex, "write a test that fails because of the defect"),
    (Kind::Codex, "--fixed F1 --test F1='…'"),
];

/// What the second reviewer asks the person.
pub(super) const QUESTION: &str = "Is larger better?";

/// What is said in the story of one bubble.
pub(super) struct Words {
    /// The work that is wanted.
    pub(super) task: String,
    /// What has to be true of it.
    pub(super) criterion: String,
    /// The finding of the first review.
    pub(super) finding: String,
    /// What the person answers.
    pub(super) answer: String,
    /// By what the answer is known, wherever it is quoted.
    pub(super) answered: String,
    /// Who hands over in which round, and with which words.
    pub(super) handovers: [(&'static str, u64, String); 5],
}

impl Words {
    /// Returns what is said in the bubble `id`. After each name something follows, because one may begin with another.
    pub(super) fn of(id: &str) -> Self {
        let (criterion, answered) = (format!("it rolls back in {id}."), format!("besser als {id}:"));
        Self {
            task: format!("Write work.txt\n\n## Acceptance criteria\n- {criterion}"),
            criterion,
            finding: format!("no rollback in {id} when the write fails: 50% of \"rows\" stay, größer 漢字"),
            answer: format!("Ja, größer ist {answered} $HOME, #{{pane_id}} and `id` stay as they are"),
            answered,
            handovers: [
                ("codex", 1, format!("first cut of {id}.")),
                ("claude", 1, format!("looked at {id}.")),
                ("codex", 2, format!("rolled back in {id}.")),
                ("claude", 2, format!("all is well with {id}.")),
                ("codex", 2, format!("agreed on {id}.")),
            ],
        }
    }

    /// Returns what each of the agents is told, word for word: by the person, and by the other one.
    pub(super) fn told(&self) -> [(Kind, String); 7] {
        let [first, looked, fixed, ..] = self.handovers.each_ref().map(|(_, _, summary)| summary.clone());
        let note = format!("{QUESTION} -> {}", self.answer);
        [
            (Kind::Codex, self.criterion.clone()),
            (Kind::Codex, looked),
            (Kind::Codex, self.finding.clone()),
            (Kind::Codex, note),
            (Kind::Claude, self.criterion.clone()),
            (Kind::Claude, first),
            (Kind::Claude, fixed),
        ]
    }
}

/// What a story has once, whatever happens.
const ONCE: [&str; 5] = ["TASK", "CONVERGENCE", "APPROVAL_REQUEST", "APPROVAL_DECISION", "DONE_PACKAGE"];

/// Says what is not as the story has it: lost, there twice, or in other words.
pub(super) fn check(log: &Transcript, words: &Words) -> Result<(), String> {
    let expected: Vec<_> = words.handovers.iter().map(|(who, round, how)| (*who, *round, how.as_str())).collect();
    same("the hand-overs", &log.handovers(), &expected)?;
    for kind in ONCE {
        same(kind, &log.of(kind).count(), &1)?;
    }
    let asked: Vec<_> = log.of("HUMAN_QUESTION").filter(|one| one["sender"] != "orchestrator").collect();
    let questions: Vec<_> = asked.iter().map(|one| (&one["sender"], &one["payload"]["question"])).collect();
    same("the agents' questions", &questions, &vec![(&Value::from("codex"), &Value::from(QUESTION))])?;
    let answers = log.of("HUMAN_REPLY").filter(|reply| asked.iter().any(|one| reply["in_reply_to"] == one["id"]));
    let answers: Vec<_> = answers.map(|one| (&one["sender"], &one["payload"]["message"])).collect();
    same("the answers", &answers, &vec![(&Value::from("human"), &Value::from(words.answer.as_str()))])?;
    let twice: Vec<_> = log.acknowledged().into_iter().filter(|(_, times)| *times > 1).collect();
    same("the notices that were acknowledged more than once", &twice, &Vec::new())
}

/// Whether the log has the message of this name, and it is one of those that an agent sends.
pub(super) fn has_said(log: &Transcript, agent: &str, id: &str) -> bool {
    let fits = |one: &Value| one["sender"] == agent && (one["type"] == "PASS" || one["type"] == "HUMAN_QUESTION");
    log.message(id).is_some_and(fits)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:#?} instead of {expected:#?}")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_words_of_one_story_are_in_no_other() {
        let ids = ["five", "fivefive", "fivefivefive", "run-1", "run-10", "run-11", "1", "11"];
        let others = |id: &str| ids.into_iter().filter(|other| *other != id).collect::<Vec<_>>();
        for (id, other) in ids.into_iter().flat_map(|id| others(id).into_iter().map(move |other| (id, other))) {
            let (own, foreign) = (Words::of(id), Words::of(other));
            assert!(!foreign.answer.contains(&own.answered), "{id} and {other}");
            for (_, text) in own.told() {
                assert!(!foreign.told().iter().any(|(_, words)| words.contains(&text)), "{text} is in that of {other}");
            }
        }
    }

    fn message(kind: &str, sender: &str, payload: &Value) -> Value {
        json!({"type": kind, "sender": sender, "payload": payload})
    }

    /// The log of a story with a kill, as far as it is looked at.
    fn story() -> Vec<Value> {
        let words = Words::of("b");
        let passes = words.handovers.iter().enumerate().map(|(n, (who, round, how))| {
            json!({"type": "PASS", "id": format!("pass-{n}-{who}-{round}"), "sender": who, "round": round, "payload": {"summary": how}})
        });
        let mut log: Vec<_> = passes.collect();
        log.extend(ONCE.map(|kind| message(kind, "orchestrator", &json!({}))));
        for (id, by, asked, said) in
            [("q1", "codex", QUESTION, &*words.answer), ("q2", "orchestrator", "codex ended", "resumed")]
        {
            log.push(json!({"type": "HUMAN_QUESTION", "id": id, "sender": by, "payload": {"question": asked}}));
            log.push(
                json!({"type": "HUMAN_REPLY", "in_reply_to": id, "sender": "human", "payload": {"message": said}}),
            );
        }
        for notice in [1, 2] {
            log.push(message("DELIVERY", "orchestrator", &json!({"notice": notice, "acknowledged": true})));
        }
        log
    }

    fn read(lines: &[Value]) -> Transcript {
        Transcript::read(lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes())
    }

    /// Whether pairflow may say it as often as it likes.
    fn is_own(line: &Value) -> bool {
        line["id"] == "q2" || line["in_reply_to"] == "q2"
    }

    #[test]
    fn a_story_is_as_it_should_be() {
        assert_eq!(check(&read(&story()), &Words::of("b")), Ok(()));
    }

    #[test]
    fn whatever_is_there_twice_is_found() {
        for (at, line) in story().iter().enumerate() {
            let mut log = story();
            log.insert(at, line.clone());
            assert_eq!(check(&read(&log), &Words::of("b")).is_err(), !is_own(line), "{line}");
        }
    }

    #[test]
    fn whatever_is_lost_is_found() {
        for (at, line) in story().iter().enumerate() {
            let mut log = story();
            log.remove(at);
            // That an agent has read something it may also show by what it does.
            let may = is_own(line) || line["type"] == "DELIVERY";
            assert_eq!(check(&read(&log), &Words::of("b")).is_err(), !may, "{line}");
        }
    }

    #[test]
    fn the_words_of_another_story_are_found() {
        assert!(check(&read(&story()), &Words::of("bb")).is_err());
        let mut log = story();
        for line in log.iter_mut().filter(|line| line["in_reply_to"] == "q1") {
            line["payload"]["message"] = Words::of("bb").answer.into();
        }
        assert!(check(&read(&log), &Words::of("b")).is_err());
    }

    #[test]
    fn only_what_an_agent_sent_is_its_message() {
        let log = read(&story());
        assert!(has_said(&log, "codex", "pass-0-codex-1") && has_said(&log, "codex", "q1"));
        assert!(!has_said(&log, "claude", "pass-0-codex-1") && !has_said(&log, "codex", "pass-codex-9"));
    }
}
