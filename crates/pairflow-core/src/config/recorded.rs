//! The rules that a log records, as configuration again: what is in force, what a person changes in it, and how it differs
//! from a file.

use std::str::FromStr;

use serde_json::Value;

use super::error::ConfigErrors;
use super::keys::{CustomLayer, KEYS, Layer};
use super::layer::{Explained, Origin, QualityMode, Recorded, Set, Source};
use super::refused::misplaced;
use super::resolve::{Layers, resolve};
use super::table::{Keyed, Who};
use crate::ids::BubbleId;
use crate::rules::{Change, Check, CustomAgent, Rules};

/// The bubble whose rules are changed.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its name.
    pub id: &'a BubbleId,
    /// Its repository's root.
    pub repo: &'a str,
    /// The rules that its log records.
    pub rules: &'a Rules,
}

/// What an edited `bubble.toml` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The rules as the file has them.
    pub rules: Rules,
    /// What the edit changes; empty if the file says what is recorded.
    pub changes: Vec<Change>,
}

/// One `key=value` of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The key, with its table.
    pub key: String,
    /// The value as it was typed; nothing takes the key's value back.
    pub value: Option<String>,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is no KEY=VALUE"))?;
        let key = key.trim().to_owned();
        let value = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        if key.is_empty() { Err(format!("'{text}' names no key")) } else { Ok(Self { key, value }) }
    }
}

impl Setting {
    /// Reads the value as TOML, or else as a plain text: nobody quotes a command twice.
    fn layer(&self) -> Result<Layer, ConfigErrors> {
        let Self { key, value } = self;
        let read = |value: &str| Layer::parse("", &format!("{key} = {value}"), Source::Setting);
        let Some(value) = value else { return read("[]").or_else(|errors| self.unless_known(errors)) };
        let plain = || read(&toml::Value::from(value.as_str()).to_string());
        if value.contains('\n') {
            return plain();
        }
        read(value).or_else(|errors| {
            let toml = toml::from_str::<toml::Table>(&format!("{key} = {value}")).is_ok();
            plain().map_err(|as_text| if toml { errors } else { as_text })
        })
    }

    /// A key that can change may have any value here, because its value is only taken back.
    fn unless_known(&self, errors: ConfigErrors) -> Result<Layer, ConfigErrors> {
        let known = KEYS.iter().find(|key| key.name == self.key);
        if known.is_some_and(|key| misplaced(key, Source::Setting).is_none()) {
            Ok(Layer::default())
        } else {
            Err(errors)
        }
    }
}

impl Subject<'_> {
    /// Returns the rules with these settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, keys that are fixed, and values that are not good, alone or together.
    pub fn with(&self, settings: &[Setting]) -> Result<Rules, ConfigErrors> {
        let (mut errors, mut flags, mut bubble) = (Vec::new(), Layer::default(), self.layer());
        for setting in settings {
            match setting.layer() {
                Ok(layer) if setting.value.is_some() => flags = layer.or(&flags),
                Ok(_) => bubble.retain(|key| key != setting.key),
                Err(more) => errors.extend(more.0),
            }
        }
        ConfigErrors::unless_any(errors, ())?;
        let resolved = resolve(&Layers { flags, bubble, ..Layers::default() })?;
        Ok(self.keep(resolved.rules))
    }

    /// Compares the bubble's own file among `files` with the recorded rules.
    ///
    /// The other files fill in what the bubble's own leaves out. The commands of the repository's file do not: they are
    /// used only after the person trusted them.
    ///
    /// # Errors
    ///
    /// Values that are not good together.
    pub fn edited(&self, files: &Layers) -> Result<Edit, ConfigErrors> {
        let (repo, user) = (files.repo.clone().without_commands(), files.user.clone());
        let below = Layers { repo, user, ..Layers::default() };
        let rules = |bubble| Ok(self.keep(resolve(&Layers { bubble, ..below.clone() })?.rules));
        let (recorded, edited) = (rules(self.layer())?, rules(files.bubble.clone())?);
        Ok(Edit { changes: changes(&recorded, &edited), rules: edited })
    }

    /// Returns every value in force. `line_of` says which line of the log a key's value comes from; `user` is the
    /// person's own file, for what no log holds.
    pub fn explain(&self, line_of: impl Fn(&str) -> Recorded, user: &Layer) -> Vec<Explained> {
        let mut unrecorded = user.clone();
        unrecorded.custom.clear();
        unrecorded.retain(|name| KEYS.iter().any(|key| key.name == name && key.who == Who::PersonsFile));
        let mut rows = self.layer().or(&unrecorded).explain("");
        for row in rows.iter_mut().filter(|row| matches!(row.source, Origin::Log(_))) {
            row.source = Origin::Log(line_of(&row.key));
        }
        rows
    }

    fn layer(&self) -> Layer {
        let (id, repo_path) = (Some(Set::recorded(self.id.clone())), Some(Set::recorded(self.repo.to_owned())));
        Layer { id, repo_path, ..recorded(self.rules) }
    }

    /// What no file says stays as it was.
    fn keep(&self, mut rules: Rules) -> Rules {
        rules.continues.clone_from(&self.rules.continues);
        rules.policy.clone_from(&self.rules.policy);
        rules.policy_version = self.rules.policy_version;
        rules.templates.clone_from(&self.rules.templates);
        if let (Some(new), Some(old)) = (&mut rules.prd, &self.rules.prd)
            && new.source == old.source
        {
            new.documents.clone_from(&old.documents);
            new.approved = old.approved;
        }
        rules
    }
}

/// Returns every value that differs, by key. Whether there are no tests follows from the commands.
pub fn changes(old: &Rules, new: &Rules) -> Vec<Change> {
    let (old, new) = (recorded(old).explain(""), recorded(new).explain(""));
    let value = |rows: &[Explained], key: &str| {
        rows.iter().find(|row| row.key == key).map_or(Value::Null, |row| row.value.clone())
    };
    let mut keys: Vec<_> = old.iter().map(|row| row.key.as_str()).collect();
    keys.extend(new.iter().map(|row| row.key.as_str()).filter(|key| !old.iter().any(|row| row.key == *key)));
    let change = |key: &str| {
        let (old, new) = (value(&old, key), value(&new, key));
        (old != new).then(|| Change { key: key.to_owned(), old, new })
    };
    keys.into_iter().filter(|key| *key != "no_tests").filter_map(change).collect()
}

/// Returns recorded rules as a layer.
pub(super) fn recorded(rules: &Rules) -> Layer {
    let check = |name: &str| rules.checks.iter().find(|check| check.name == name && !check.is_own());
    let command = |name: &str| check(name).map(|check| Set::recorded(check.command.clone()));
    let red_green = rules.checks.iter().any(|check| check.name == Check::RED_GREEN);
    Layer {
        quality_mode: Some(Set::recorded(QualityMode::Strict)),
        commit_requires_approval: Some(Set::recorded(true)),
        no_tests: Some(Set::recorded(rules.checks.is_empty())),
        prd: rules.prd.as_ref().map(|prd| Set::recorded(prd.source.clone())),
        test: command("test"),
        typecheck: command("typecheck"),
        lint: command("lint"),
        red_green: Some(Set::recorded(red_green)),
        custom: rules.agents_custom.iter().map(|(name, agent)| (name.clone(), custom(agent))).collect(),
        ..Layer::recorded(rules)
    }
}

/// A known agent that is only added to has its own; what nobody said is not shown as if somebody had.
fn custom(agent: &CustomAgent) -> CustomLayer {
    let mut layer = CustomLayer::recorded(agent);
    let (said, unsaid) = (layer.explain(""), CustomLayer::recorded(&CustomAgent::default()).explain(""));
    layer.retain(|key| said.iter().zip(&unsaid).any(|(said, unsaid)| said.key == key && said.value != unsaid.value));
    layer
}
