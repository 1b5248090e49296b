//! A file's text as a layer, or every mistake in it.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Complaint, ConfigError, ConfigErrors, Place};
use super::form::{Given, Reading};
use super::keys::{CUSTOM_KEYS, CustomLayer, KEYS, Layer};
use super::layer::Source;
use super::refused::{
    AGENT, OR_ONE_BUBBLE, belongs_to_agent, fixed, misplaced, persons_own, tables, unknown, unknown_of_agent,
};
use super::table::Keyed;
use crate::ids::AgentId;

/// What every bubble.toml has.
const NEEDED: [&str; 3] = ["id", "repo_path", "base_branch"];

impl Layer {
    /// Reads `text`, the content of the file that messages call `file`.
    ///
    /// # Errors
    ///
    /// Every mistake of the file: broken TOML, unknown keys, wrong types, values out of range.
    pub fn parse(file: &str, text: &str, source: Source) -> Result<Self, ConfigErrors> {
        let (table, broken) = DeTable::parse_recoverable(text);
        let (mut layer, mut reading) = (Self::default(), Reading { file, text, source, errors: Vec::new() });
        if broken.is_empty() {
            reading.table(&mut layer, table.get_ref());
            reading.require(table.get_ref());
        }
        for error in broken {
            reading.complain(Complaint::new(error.message()), error.span().unwrap_or(0..0));
        }
        reading.finish(layer)
    }

    /// Reads `bytes`, which a file claims to be text.
    ///
    /// # Errors
    ///
    /// As [`Layer::parse`]; also if the bytes are no UTF-8, with the first bad byte.
    pub fn parse_bytes(file: &str, bytes: &[u8], source: Source) -> Result<Self, ConfigErrors> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(file, text, source),
            Err(error) => {
                let at = error.valid_up_to();
                let place = Place::of(file, &String::from_utf8_lossy(bytes), at..at + 1);
                Err(ConfigErrors(vec![ConfigError::new(place, &format!("byte {at} is no UTF-8 text"))]))
            }
        }
    }
}

impl Reading<'_> {
    fn table(&mut self, layer: &mut Layer, table: &DeTable<'_>) {
        for (key, value) in table.iter() {
            let name = key.get_ref().as_ref();
            match value.get_ref() {
                DeValue::Table(inner) if name == AGENT => self.agents(layer, inner),
                DeValue::Table(inner) if is_table(name) => self.inner(layer, name, inner),
                _ if is_table(name) => {
                    let complaint = Complaint::new(format!("{name} must be a table"));
                    let title = if name == AGENT { "agent.NAME" } else { name };
                    self.complain(complaint.hint(format!("write [{title}] on a line of its own")), value.span());
                }
                _ => self.entry(layer, name, (key.span(), value)),
            }
        }
    }

    fn inner(&mut self, layer: &mut Layer, table: &str, entries: &DeTable<'_>) {
        for (key, value) in entries.iter() {
            self.entry(layer, &format!("{table}.{}", key.get_ref()), (key.span(), value));
        }
    }

    fn entry(&mut self, layer: &mut Layer, key: &str, (span, value): (Range<usize>, &Spanned<DeValue<'_>>)) {
        if self.is_full() {
            return;
        }
        let complaint = match KEYS.iter().find(|known| known.name == key) {
            Some(known) => misplaced(known, self.source),
            None if is_agent(key, value) => Some(belongs_to_agent(key)),
            None => Some(unknown(key)),
        };
        match complaint {
            Some(complaint) => self.complain(complaint, span),
            None => layer.read(key, &Given { key, value }, self),
        }
    }

    /// Reads every `[agent.NAME]`.
    fn agents(&mut self, layer: &mut Layer, agents: &DeTable<'_>) {
        for (name, value) in agents.iter() {
            let text = name.get_ref().as_ref();
            match (text.parse::<AgentId>(), value.get_ref()) {
                (Ok(agent), DeValue::Table(_)) if self.source == Source::Repository => {
                    self.complain(persons_own(&format!("[{AGENT}.{agent}]"), OR_ONE_BUBBLE), name.span());
                }
                (Ok(agent), DeValue::Table(_)) if self.source == Source::Setting => {
                    self.complain(fixed(&format!("{AGENT}.{agent}")), name.span());
                }
                (Ok(agent), DeValue::Table(entries)) => {
                    let own = self.agent(&agent, entries);
                    layer.custom.insert(agent, own);
                }
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

    fn agent(&mut self, agent: &AgentId, entries: &DeTable<'_>) -> CustomLayer {
        let mut layer = CustomLayer::default();
        for (key, value) in entries.iter() {
            let (field, full) = (key.get_ref().as_ref(), format!("{AGENT}.{agent}.{}", key.get_ref()));
            if CUSTOM_KEYS.iter().any(|key| key.name == field) {
                layer.read(field, &Given { key: &full, value }, self);
            } else if !self.is_full() {
                self.complain(unknown_of_agent(&full, field), key.span());
            }
        }
        layer
    }

    /// Complains about what a bubble's own file has to say and does not.
    fn require(&mut self, table: &DeTable<'_>) {
        if self.source != Source::Bubble {
            return;
        }
        for key in KEYS.iter().filter(|key| NEEDED.contains(&key.name) && !table.contains_key(key.name)) {
            let complaint = Complaint::new(format!("a bubble.toml needs {}", key.name));
            self.complain(complaint.hint(format!("add a line such as {} = {}", key.name, key.example())), 0..0);
        }
    }
}

fn is_table(name: &str) -> bool {
    tables().any(|table| table == name)
}

/// Whether a table stands where only the names of agents do: `[agents.gemini]` for `[agent.gemini]`.
fn is_agent(key: &str, value: &Spanned<DeValue<'_>>) -> bool {
    key.starts_with("agents.") && matches!(value.get_ref(), DeValue::Table(_))
}
