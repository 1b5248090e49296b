//! What the log of a story that is over has to say, however often the story was disturbed.
//!
//! An agent that is started again does everything again that it did in its turn, and a turn that is over is not begun
//! again. So the log has each hand-over once, and what a person or pairflow says of the work once. What pairflow asks by
//! itself is about its programs, and as often there as they were killed.

use serde_json::Value;

use super::transcript::Transcript;
use super::words::{QUESTION, Words};

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
