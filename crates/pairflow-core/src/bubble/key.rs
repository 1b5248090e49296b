//! Retry keys: the same command sent twice is one record.

use sha2::{Digest, Sha256};

use crate::bubble::{BubbleState, Command, PassCommand};
use crate::facts::Finding;
use crate::hash::hex;
use crate::ids::MsgId;
use crate::log::Key;

impl Key {
    /// Makes the key of a command that came without one: a hash of sender, turn, verb and payload.
    pub fn of(parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part.len().to_le_bytes());
            hash.update(part.as_bytes());
        }
        Self(hex(&hash.finalize()[..16]))
    }
}

/// Returns the retry key of `command`: the one that was given, else for agents' verbs one made of its content.
pub fn key_of(state: &BubbleState, command: &Command) -> Option<Key> {
    match command {
        Command::Pass(pass) => {
            Some(pass.key.clone().unwrap_or_else(|| key_of_pass(state.last_turn_of(&pass.by), pass)))
        }
        Command::AskHuman { by, question, refs, key } => {
            let turn = state.last_turn_of(by).to_string();
            // Asked again after the answer, it is another question.
            let answered = state.answered_to(by).to_string();
            let made = || Key::of(&[by.as_str(), &turn, &answered, "ask-human", &payload(&(question, refs))]);
            Some(key.clone().unwrap_or_else(made))
        }
        Command::Converged { by, summary, refs, key, explanation, reviewed, .. } => {
            let turn = state.last_turn_of(by).to_string();
            let made =
                || Key::of(&[by.as_str(), &turn, "converged", &payload(&(summary, refs, explanation, reviewed))]);
            Some(key.clone().unwrap_or_else(made))
        }
        Command::Reply { key, .. } | Command::Approve { key, .. } | Command::Rework { key, .. } => key.clone(),
        _ => None,
    }
}

/// Returns the record of an earlier attempt of `command`, if there was one.
///
/// A hand-over that came back is still the same one while its sender has not acknowledged the return, says the same
/// words and has not changed the tree: the retry key is then made with the turn in which the words were first said.
pub fn earlier(state: &BubbleState, command: &Command) -> Option<MsgId> {
    let key = match command {
        Command::Pass(pass) if pass.key.is_none() => match state.returned_to(&pass.by) {
            Some(returned) if pass.tree.as_ref().is_none_or(|tree| *tree == returned.tree) => {
                key_of_pass(returned.turn, pass)
            }
            Some(_) => return None,
            None => key_of(state, command)?,
        },
        _ => key_of(state, command)?,
    };
    state.keys.iter().rev().find(|(one, _)| *one == key).map(|(_, id)| id.clone())
}

fn key_of_pass(turn: u32, pass: &PassCommand) -> Key {
    // Every field has to be named here, so that a new one is not forgotten. Findings and blockers are what it files.
    let PassCommand {
        by,
        summary,
        refs,
        intent,
        findings: _,
        answers,
        explanation,
        steps,
        blockers: _,
        discuss,
        insists,
        reviewed,
        head: _,
        tree: _,
        key: _,
    } = pass;
    let filed = pass.filed().map(|all| all.iter().map(Finding::as_said).collect::<Vec<_>>());
    let said = payload(&(summary, refs, intent, filed, answers, explanation, steps, (discuss, insists, reviewed)));
    Key::of(&[by.as_str(), &turn.to_string(), "pass", &said])
}

/// Everything that was said, in one spelling: the fields of a type are written in their order.
fn payload(said: &impl serde::Serialize) -> String {
    serde_json::to_string(said).expect("a payload has text keys only, so it is always writable as JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bubble::HeadSeen;
    use crate::facts::{Class, Explanation, Severity, Step, StepName};
    use crate::ids::FindingId;
    use crate::log::Intent;

    fn key(change: impl FnOnce(&mut PassCommand)) -> String {
        let mut pass = PassCommand::new("claude".parse().expect("the name is valid"), "said", HeadSeen::Detached);
        pass.findings = Some(vec![Finding::new(Severity::P1, "no rollback")]);
        change(&mut pass);
        key_of_pass(1, &pass).0
    }

    fn of_finding(change: fn(&mut Finding)) -> String {
        key(|pass| pass.findings.iter_mut().flatten().for_each(change))
    }

    #[test]
    fn whatever_was_said_makes_another_key() {
        let step = Step { step: StepName::DryRun, result: "x".into() };
        let keys = [
            key(|_| {}),
            key(|pass| pass.summary = "said else".into()),
            key(|pass| pass.refs = vec!["a".into(), "b".into()]),
            key(|pass| pass.refs = vec!["a\nb".into()]),
            key(|pass| pass.intent = Some(Intent::Review)),
            key(|pass| pass.findings = None),
            key(|pass| pass.findings = Some(Vec::new())),
            key(|pass| pass.answers.fixed.push(FindingId(1))),
            key(|pass| pass.answers.confirmed.push(FindingId(1))),
            key(|pass| pass.explanation = Some(Explanation::default())),
            key(|pass| pass.steps.push(step)),
            key(|pass| pass.blockers.push("x".into())),
            key(|pass| pass.discuss = true),
            key(|pass| pass.insists = true),
            key(|pass| pass.reviewed.push(1)),
            of_finding(|one| one.severity = Severity::P0),
            of_finding(|one| one.title = "no rollback:".into()),
            of_finding(|one| one.detail = "x".into()),
            of_finding(|one| one.file = Some("x".into())),
            of_finding(|one| one.line = Some(1)),
            of_finding(|one| one.class = Some(Class::Tests)),
            of_finding(|one| one.suggestion = "x".into()),
            of_finding(|one| one.reproducer = Some("x".into())),
            of_finding(|one| one.reverses = Some(FindingId(1))),
        ];
        let different: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(different.len(), keys.len(), "{keys:#?}");
    }

    #[test]
    fn what_pairflow_found_out_makes_no_other_key() {
        let found = of_finding(|one| {
            (one.id, one.seen) = (Some(FindingId(1)), Some(2));
            one.anchor = "x".into();
        });
        assert_eq!(found, key(|_| {}));
    }
}
