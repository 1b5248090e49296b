//! `[agent.NAME]`: how an agent is started that pairflow does not know, and what is added for one that it does.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::check;
use super::error::Complaint;
use super::keys::{OR_ONE_BUBBLE, fixed, persons_own, unknown_of_agent};
use super::layer::{CUSTOM_KEYS, CustomLayer, Source};
use super::parse::Reading;
use super::read::Given;
use crate::ids::AgentId;
use crate::rules::CustomAgent;

/// The table that holds one table for each agent.
pub(super) const AGENT: &str = "agent";

impl Reading<'_> {
    /// Reads every `[agent.NAME]`.
    pub(super) fn agents(&mut self, agents: &DeTable<'_>) {
        for (name, value) in agents.iter() {
            let text = name.get_ref().as_ref();
            match (text.parse::<AgentId>(), value.get_ref()) {
                (Ok(agent), DeValue::Table(_)) if self.source == Source::Repository => {
                    self.complain(persons_own(&format!("[{AGENT}.{agent}]"), OR_ONE_BUBBLE), name.span());
                }
                (Ok(agent), DeValue::Table(_)) if self.source == Source::Setting => {
                    self.complain(fixed(&format!("{AGENT}.{agent}")), name.span());
                }
                (Ok(agent), DeValue::Table(entries)) => self.agent(&agent, entries),
                (Err(why), DeValue::Table(_)) => {
                    self.complain(Complaint::new(format!("[{AGENT}.{text}]: {why}")), name.span());
                }
                _ => {
                    let complaint = Complaint::new(format!("unknown key `{AGENT}.{text}`"));
                    let hint = "who sits where belongs into [agents]; how an agent NAME is started, into [agent.NAME]";
                    self.complain(complaint.hint(hint), name.span());
                }
            }
        }
    }

    fn agent(&mut self, agent: &AgentId, entries: &DeTable<'_>) {
        let mut layer = CustomLayer::default();
        for (key, value) in entries.iter() {
            let (field, full) = (key.get_ref().as_ref(), format!("{AGENT}.{agent}.{}", key.get_ref()));
            if CUSTOM_KEYS.contains(&field) {
                self.field(&mut layer, field, &Given { key: &full, value });
            } else if !self.is_full() {
                self.complain(unknown_of_agent(&full, field), key.span());
            }
        }
        self.layer.custom.insert(agent.clone(), layer);
    }

    /// Stores one value. One line a key.
    fn field(&mut self, layer: &mut CustomLayer, field: &str, given: &Given<'_, '_>) {
        match field {
            "command" => layer.command = self.keep(given, given.command_line()),
            "args" => layer.args = self.keep(given, given.list(check::argument)),
            "resume" => layer.resume = self.keep(given, given.command_line()),
            "prompt" => layer.prompt = self.keep(given, given.prompt()),
            "hooks" => layer.hooks = self.keep(given, given.hooks()),
            "env" => layer.env = self.keep(given, given.list(check::variable)),
            _ => self.complain(unknown_of_agent(given.key, field), given.value.span()),
        }
    }
}

impl CustomLayer {
    /// Returns what is in force for one agent.
    pub(super) fn agent(&self) -> CustomAgent {
        let words = |set: &Option<super::layer::Set<Vec<String>>>| set.as_ref().map(|set| set.value.clone());
        CustomAgent {
            command: words(&self.command).unwrap_or_default(),
            args: words(&self.args).unwrap_or_default(),
            resume: words(&self.resume).unwrap_or_default(),
            prompt: self.prompt.as_ref().map(|set| set.value).unwrap_or_default(),
            hooks: self.hooks.as_ref().map(|set| set.value),
            env: words(&self.env).unwrap_or_default(),
        }
    }
}

/// Whether a table stands where only the names of agents do: `[agents.gemini]` for `[agent.gemini]`.
pub(super) fn is_misplaced(key: &str, value: &Spanned<DeValue<'_>>) -> bool {
    key.starts_with("agents.") && matches!(value.get_ref(), DeValue::Table(_))
}
