//! Retry keys: the same command sent twice is one record.

use sha2::{Digest, Sha256};

use crate::hash::hex;
use crate::ids::MsgId;
use crate::log::Key;
use crate::unit::{Command, PassCommand, Unit};

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
pub fn key_of(unit: &Unit, command: &Command) -> Option<Key> {
    match command {
        Command::Pass(pass) => Some(pass.key.clone().unwrap_or_else(|| key_of_pass(unit, pass))),
        Command::AskHuman { by, question, refs, key } => {
            let turn = unit.last_turn_of(by).to_string();
            // Asked again after the answer, it is another question.
            let answered = unit.answered_to(by).to_string();
            let made = || Key::of(&[by.as_str(), &turn, &answered, "ask-human", question, &refs.join("\n")]);
            Some(key.clone().unwrap_or_else(made))
        }
        Command::Converged { by, summary, refs, key, explanation, .. } => {
            let turn = unit.last_turn_of(by).to_string();
            let explained = format!("{explanation:?}");
            let made = || Key::of(&[by.as_str(), &turn, "converged", summary, &refs.join("\n"), &explained]);
            Some(key.clone().unwrap_or_else(made))
        }
        Command::Reply { key, .. } | Command::Approve { key, .. } | Command::Rework { key, .. } => key.clone(),
        _ => None,
    }
}

/// Returns the record that `key` already stands for.
pub fn recorded(unit: &Unit, key: &Key) -> Option<MsgId> {
    unit.keys.iter().rev().find(|(one, _)| one == key).map(|(_, id)| id.clone())
}

fn key_of_pass(unit: &Unit, pass: &PassCommand) -> Key {
    let turn = unit.last_turn_of(&pass.by).to_string();
    let findings = match &pass.findings {
        None => "-".to_owned(),
        Some(findings) => {
            // What pairflow finds out about a finding is no part of what was said.
            let lines = findings.iter().map(|finding| {
                let place = (&finding.file, finding.line, finding.class);
                format!("{}:{}:{place:?}:{}:{:?}", finding.severity, finding.title, finding.detail, finding.reproducer)
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    };
    let intent = pass.intent.map_or("-", |intent| match intent {
        crate::log::Intent::Task => "task",
        crate::log::Intent::Review => "review",
        crate::log::Intent::FixRequest => "fix_request",
    });
    let beside = format!("{:?} {:?} {:?} {}", pass.answers, pass.explanation, pass.steps, pass.discuss);
    Key::of(&[pass.by.as_str(), &turn, "pass", &pass.summary, intent, &findings, &pass.refs.join("\n"), &beside])
}
