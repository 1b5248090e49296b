//! Reads a file, or the flags of a command line, into a layer. Refuses keys that a file of this kind may not set and keys that
//! do not exist, with what was probably meant.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{CUSTOM_KEYS, CustomLayer, KEYS, Layer};
use super::origin::{Complaint, ConfigError, ConfigErrors, FilePlace};
use super::origin::{ConfigSource, Set};
use super::table::{Checking, FileReading, GivenValue};
use super::table::{ConfigKey, Keyed, Until, Who};
use crate::ids::AgentId;
use crate::rules::DriverKind;
use crate::text::distance;

/// What every bubble.toml has.
const NEEDED: [&str; 3] = ["id", "repo_path", "base_branch"];

impl Layer {
    /// Reads `text`, the content of the file that messages call `file`.
    ///
    /// # Errors
    ///
    /// Every mistake of the file: broken TOML, unknown keys, wrong types, values out of range.
    pub fn parse(file: &str, text: &str, source: ConfigSource) -> Result<Self, ConfigErrors> {
        let (table, broken) = DeTable::parse_recoverable(text);
        let (mut layer, mut reading) = (Self::default(), FileReading { file, text, source, errors: Vec::new() });
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
    pub fn parse_bytes(file: &str, bytes: &[u8], source: ConfigSource) -> Result<Self, ConfigErrors> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(file, text, source),
            Err(error) => {
                let at = error.valid_up_to();
                let place = FilePlace::of(file, &String::from_utf8_lossy(bytes), at..at + 1);
                Err(ConfigErrors(vec![ConfigError::new(place, &format!("byte {at} is no UTF-8 text"))]))
            }
        }
    }
}

impl FileReading<'_> {
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
            None => layer.read(key, &GivenValue { key, value }, self),
        }
    }

    /// Reads every `[agent.NAME]`.
    fn agents(&mut self, layer: &mut Layer, agents: &DeTable<'_>) {
        for (name, value) in agents.iter() {
            let text = name.get_ref().as_ref();
            match (text.parse::<AgentId>(), value.get_ref()) {
                (Ok(agent), DeValue::Table(_)) if self.source == ConfigSource::Repository => {
                    self.complain(persons_own(&format!("[{AGENT}.{agent}]"), OR_ONE_BUBBLE), name.span());
                }
                (Ok(agent), DeValue::Table(_)) if self.source == ConfigSource::Setting => {
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
                layer.read(field, &GivenValue { key: &full, value }, self);
            } else if !self.is_full() {
                self.complain(unknown_of_agent(&full, field), key.span());
            }
        }
        layer
    }

    /// Complains about what a bubble's own file has to say and does not.
    fn require(&mut self, table: &DeTable<'_>) {
        if self.source != ConfigSource::Bubble {
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

/// Where the person's own configuration usually lies.
const PERSONS_FILE: &str = "your own ~/.config/pairflow/config.toml";
/// The other place for what is the person's own.
pub(super) const OR_ONE_BUBBLE: &str = ", or for one bubble to its bubble.toml";

/// The table that holds one table for each agent.
pub(super) const AGENT: &str = "agent";

/// Returns the tables that keys live in.
pub(super) fn tables() -> impl Iterator<Item = &'static str> {
    std::iter::once(AGENT).chain(KEYS.iter().filter_map(|key| key.place().0))
}

/// Says why a file of this kind may not set `key`, if it may not.
pub(super) fn misplaced(key: &ConfigKey, source: ConfigSource) -> Option<Complaint> {
    let ConfigKey { name: key, who, until, .. } = *key;
    match (source, who) {
        (ConfigSource::User | ConfigSource::Repository, Who::Bubble) => {
            let complaint =
                Complaint::new(format!("{key} belongs to one bubble, and this file is shared by all of them"));
            Some(complaint.hint("remove it; each bubble.toml has its own"))
        }
        (ConfigSource::Bubble, Who::PersonsFile) => {
            let complaint = Complaint::new(format!("{key} is taken from your own configuration only"));
            Some(complaint.hint(format!("move it to {PERSONS_FILE}")))
        }
        (ConfigSource::Setting, Who::PersonsFile) => {
            let complaint = Complaint::new(format!("{key} is taken from your own configuration only"));
            Some(complaint.hint(format!("set it in {PERSONS_FILE}")))
        }
        (ConfigSource::Setting, _) if until <= Until::Start => Some(fixed(key)),
        (ConfigSource::Repository, Who::PersonsFile) => Some(persons_own(key, "")),
        (ConfigSource::Repository, Who::Person) => Some(persons_own(key, OR_ONE_BUBBLE)),
        _ => None,
    }
}

/// Says that `key` cannot change any more.
pub(super) fn fixed(key: &str) -> Complaint {
    let complaint = Complaint::new(format!("{key} was fixed when the bubble was started and cannot be changed"));
    complaint.hint("make a new bubble; one that is not started yet takes it from its bubble.toml")
}

/// Says that a repository may not set `key`.
pub(super) fn persons_own(key: &str, or: &str) -> Complaint {
    let complaint = Complaint::new(format!("{key} is yours to set; a repository's file must not set it"));
    complaint.hint(format!("if you want it, move it to {PERSONS_FILE}{or}"))
}

/// Says that `key` does not exist, and which one may have been meant.
pub(super) fn unknown(key: &str) -> Complaint {
    let complaint = Complaint::new(format!("unknown key `{key}`"));
    match elsewhere(key).or_else(|| nearest(key)) {
        Some(hint) => complaint.hint(hint),
        None => complaint,
    }
}

/// Says that `key`, the `field` of an `[agent.NAME]`, does not exist, and which one may have been meant.
pub(super) fn unknown_of_agent(key: &str, field: &str) -> Complaint {
    let complaint = Complaint::new(format!("unknown key `{key}`"));
    let near = || close(field, CUSTOM_KEYS.iter().map(|key| key.name)).map(|best| format!("did you mean `{best}`?"));
    match elsewhere(field).or_else(|| if field.len() > 64 { None } else { near() }) {
        Some(hint) => complaint.hint(hint),
        None => complaint,
    }
}

/// Says that the table `agents.NAME` is meant to be `agent.NAME`.
pub(super) fn belongs_to_agent(key: &str) -> Complaint {
    let name = key.split_once('.').map_or(key, |(_, name)| name);
    Complaint::new(format!("unknown key `{key}`")).hint(format!("how {name} is started belongs into [agent.{name}]"))
}

/// Finds a key that is spelt right but stands in the wrong table.
fn elsewhere(key: &str) -> Option<String> {
    let (_, own) = split(key);
    let right = KEYS.iter().find(|known| known.place().1 == own)?;
    Some(match right.place() {
        (Some(table), name) => format!("`{name}` belongs into [{table}]"),
        (None, name) => format!("`{name}` belongs above the first [table] of the file"),
    })
}

fn nearest(key: &str) -> Option<String> {
    // Comparing costs the product of both lengths; nothing that long is a misspelling.
    if key.len() > 64 {
        return None;
    }
    let (table, name) = split(key);
    let places = || KEYS.iter().map(ConfigKey::place);
    let beside = places().filter(|known| known.0 == table).map(|known| known.1);
    let tables = tables().filter(|_| table.is_none());
    let all_names = places().map(|known| known.1);
    let best = close(name, beside.chain(tables)).or_else(|| close(name, all_names))?;
    Some(format!("did you mean `{best}`?"))
}

fn close<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    known.map(|known| (distance(name, known), known)).filter(|(far, _)| *far <= allowed).min().map(|(_, known)| known)
}

fn split(key: &str) -> (Option<&str>, &str) {
    key.split_once('.').map_or((None, key), |(table, name)| (Some(table), name))
}

impl Layer {
    /// Returns the layer of a command line that sets these values.
    ///
    /// # Errors
    ///
    /// Every flag whose value no file could hold either.
    pub fn from_flags(flags: Self) -> Result<Self, ConfigErrors> {
        let mut checking = Checking { errors: Vec::new() };
        let mut layer = flags.accept(&mut checking);
        if layer.script.is_some() {
            // A script that is named is to be played.
            layer.driver.get_or_insert(Set::flag(DriverKind::Script));
        }
        ConfigErrors::unless_any(checking.errors, layer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(key: &str) -> Option<String> {
        unknown(key).hint
    }

    #[test]
    fn a_misspelt_key_is_guessed() {
        assert_eq!(hint("max_round").as_deref(), Some("did you mean `max_rounds`?"));
        assert_eq!(hint("max-rounds").as_deref(), Some("did you mean `max_rounds`?"));
        assert_eq!(hint("agents.implementor").as_deref(), Some("did you mean `implementer`?"));
        assert_eq!(hint("aggents").as_deref(), Some("did you mean `agents`?"));
        assert_eq!(hint("comands").as_deref(), Some("did you mean `commands`?"));
        assert_eq!(hint("commands.tset").as_deref(), Some("did you mean `test`?"));
    }

    #[test]
    fn a_key_in_the_wrong_table_is_sent_to_the_right_one() {
        assert_eq!(hint("implementer").as_deref(), Some("`implementer` belongs into [agents]"));
        assert_eq!(
            hint("agents.max_rounds").as_deref(),
            Some("`max_rounds` belongs above the first [table] of the file")
        );
        assert_eq!(hint("scope.test").as_deref(), Some("`test` belongs into [commands]"));
    }

    #[test]
    fn a_key_that_resembles_nothing_gets_no_guess() {
        assert_eq!(hint("colour_of_the_sky"), None);
        assert_eq!(hint(&"x".repeat(10_000)), None);
    }

    #[test]
    fn flags_are_held_to_the_rules_of_a_file() {
        let flags = Layer {
            repo_path: Some(Set::flag("here".to_owned())),
            base_branch: Some(Set::flag("a b".to_owned())),
            max_rounds: Some(Set::flag(0)),
            test: Some(Set::flag(" ".to_owned())),
            ..Layer::default()
        };
        let errors = Layer::from_flags(flags).unwrap_err().0;
        let messages: Vec<_> = errors.iter().map(|error| error.message.split(':').next().unwrap()).collect();
        let expected = [
            "--repo = \"here\" is a relative path",
            "--base = \"a b\" is no name that git allows for a branch",
            "--max-rounds = 0 is out of range; it goes from 1 to 1000",
            "--test is empty",
        ];
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_script_is_played_unless_another_driver_is_named() {
        let driver = |driver: Option<DriverKind>, script: Option<&str>| {
            let script = script.map(|script| Set::flag(script.to_owned()));
            let flags = Layer { driver: driver.map(Set::flag), script, ..Layer::default() };
            Layer::from_flags(flags).unwrap().driver.map(|set| set.value)
        };
        assert_eq!(driver(None, Some("/a.yaml")), Some(DriverKind::Script));
        assert_eq!(driver(Some(DriverKind::External), Some("/a.yaml")), Some(DriverKind::External));
        assert_eq!(driver(None, None), None);
    }

    #[test]
    fn no_flags_are_an_empty_layer() {
        assert_eq!(Layer::from_flags(Layer::default()), Ok(Layer::default()));
    }
}
