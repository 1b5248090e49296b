//! The rules that a log records, as configuration again: what is in force, what a person changes in it, how it differs from a
//! file, and the files that pairflow writes (`bubble.toml` of a new bubble, `pairflow.toml` of a repository).

use std::str::FromStr;

use serde_json::Value;

use super::keys::{CUSTOM_KEYS, CustomLayer, KEYS, Layer};
use super::origin::{ConfigErrors, ConfigSource, Explained, LogLine, Origin, QualityMode, Set, toml_value};
use super::parse::{AGENT, misplaced};
use super::resolve::{Layers, Resolved, resolve};
use super::table::Shape;
use super::table::{ConfigKey, Keyed, Who, Written};
use crate::ids::BubbleId;
use crate::rules::{Check, ConfigChange, CustomAgent, Rules};

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
    pub changes: Vec<ConfigChange>,
}

/// One `key=value` of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigSetting {
    /// The key, with its table.
    pub key: String,
    /// The value as it was typed; nothing takes the key's value back.
    pub value: Option<String>,
}

impl FromStr for ConfigSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is no KEY=VALUE"))?;
        let key = key.trim().to_owned();
        let value = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        if key.is_empty() { Err(format!("'{text}' names no key")) } else { Ok(Self { key, value }) }
    }
}

impl ConfigSetting {
    /// Reads the value as TOML, or else as a plain text: nobody quotes a command twice.
    fn layer(&self) -> Result<Layer, ConfigErrors> {
        let Self { key, value } = self;
        let read = |value: &str| Layer::parse("", &format!("{key} = {value}"), ConfigSource::Setting);
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
        if known.is_some_and(|key| misplaced(key, ConfigSource::Setting).is_none()) {
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
    pub fn with(&self, settings: &[ConfigSetting]) -> Result<Rules, ConfigErrors> {
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
    pub fn explain(&self, line_of: impl Fn(&str) -> LogLine, user: &Layer) -> Vec<Explained> {
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
pub fn changes(old: &Rules, new: &Rules) -> Vec<ConfigChange> {
    let (old, new) = (recorded(old).explain(""), recorded(new).explain(""));
    let value = |rows: &[Explained], key: &str| {
        rows.iter().find(|row| row.key == key).map_or(Value::Null, |row| row.value.clone())
    };
    let mut keys: Vec<_> = old.iter().map(|row| row.key.as_str()).collect();
    keys.extend(new.iter().map(|row| row.key.as_str()).filter(|key| !old.iter().any(|row| row.key == *key)));
    let change = |key: &str| {
        let (old, new) = (value(&old, key), value(&new, key));
        (old != new).then(|| ConfigChange { key: key.to_owned(), old, new })
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

/// The width of what stands before the comments of a `pairflow.toml`.
const COMMENTS: usize = 37;

const HEAD: &str = "# How pairflow works in this repository. Everything here is optional; a flag and a bubble's own
# bubble.toml win over this file. See what is in force, and why: pairflow config explain
#
# Everybody who works in this repository shares this file, so it can set nothing that is yours: agents, permissions,
# notifications and your editor belong into ~/.config/pairflow/config.toml.

";

const COMMANDS: &str = "\
# pairflow runs test, typecheck and lint itself on every tree; setup runs once in a new worktree.
# Each person is asked once whether to trust them, and again when they change: pairflow trust
";

/// A command that a new `pairflow.toml` sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StarterCommand {
    /// Its key beneath `[commands]`.
    pub key: &'static str,
    /// The command line; nothing if none was found.
    pub command: Option<String>,
    /// What speaks for it.
    pub because: String,
}

/// Writes what was resolved as a `bubble.toml`; reading it gives the same rules again.
pub fn render_bubble_toml(resolved: &Resolved, id: &BubbleId, repo_path: &str) -> String {
    let layer = Layer {
        id: Some(Set::recorded(id.clone())),
        repo_path: Some(Set::recorded(repo_path.to_owned())),
        no_tests: Some(Set::recorded(resolved.no_tests)),
        ..recorded(&resolved.rules)
    };
    let mut page = ConfigPage::new("# What this bubble was created with. A flag wins over this file.\n");
    page.values(&layer.explain(""), KEYS);
    for (name, agent) in &layer.custom {
        page.title(&format!("{AGENT}.{name}"));
        page.values(&agent.explain(""), CUSTOM_KEYS);
    }
    page.text
}

/// Writes a `pairflow.toml` with `commands`, and every other key of a repository as a comment.
pub fn render_pairflow_toml(commands: &[StarterCommand]) -> String {
    let mut page = ConfigPage::new(HEAD);
    for key in KEYS.iter().filter(|key| key.who == Who::Repository) {
        let (table, name) = key.place();
        if page.table(table) && table == Some("commands") {
            page.text.push_str(COMMANDS);
        }
        let given = commands.iter().find(|one| table == Some("commands") && one.key == name);
        match given.and_then(|one| Some((one.command.as_deref()?, &one.because))) {
            Some((command, because)) => {
                let because: String = because.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                let value = toml_value(&Value::from(command));
                page.text.push_str(&format!("{name} = {value} # found in {because}\n"));
            }
            None => {
                let line = format!("# {name} = {}", key.example());
                let choices = choices(key).map_or(String::new(), |words| format!("{words}: "));
                page.text.push_str(&format!("{line:<COMMENTS$} # {choices}{}\n", key.help));
            }
        }
    }
    page.text
}

/// Returns the words that a key chooses from.
fn choices(key: &ConfigKey) -> Option<String> {
    match (key.shape)() {
        Shape::Words(words) if words.len() > 1 => Some(words.join("|")),
        _ => None,
    }
}

/// A file that is being written.
struct ConfigPage {
    text: String,
    /// The table that is open.
    table: Option<&'static str>,
}

impl ConfigPage {
    fn new(head: &str) -> Self {
        Self { text: head.to_owned(), table: None }
    }

    /// Opens a table, if it is not open; returns whether it was not.
    fn table(&mut self, table: Option<&'static str>) -> bool {
        let opens = table.is_some() && self.table != table;
        if let Some(name) = table.filter(|_| opens) {
            self.title(name);
        }
        self.table = table;
        opens
    }

    fn title(&mut self, name: &str) {
        self.text.push_str(&format!("\n[{name}]\n"));
    }

    /// Writes the values that a `bubble.toml` has.
    fn values(&mut self, rows: &[Explained], keys: &[ConfigKey]) {
        for (row, key) in rows.iter().zip(keys) {
            let unchanged = key.written == Written::IfChanged && row.value == (key.default)();
            let empty = row.value.is_null() || row.value.as_array().is_some_and(Vec::is_empty);
            if unchanged || empty {
                continue;
            }
            let (table, name) = key.place();
            self.table(table);
            let note = key.note.map(str::to_owned).or_else(|| choices(key));
            let note = note.map_or(String::new(), |note| format!(" # {note}"));
            self.text.push_str(&format!("{name} = {}{note}\n", toml_value(&row.value)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigSource;

    fn found(command: &str) -> Vec<StarterCommand> {
        let because = "Makefile target \"test\"\n".to_owned();
        vec![StarterCommand { key: "test", command: Some(command.to_owned()), because }]
    }

    #[test]
    fn what_was_detected_is_set_and_nothing_else() {
        for command in ["make test", "sh -c 'a \"b\" \\ # c'", "say \u{1b}\n\u{fc}"] {
            let text = render_pairflow_toml(&found(command));
            let layer = Layer::parse_bytes("pairflow.toml", text.as_bytes(), ConfigSource::Repository).unwrap();
            assert_eq!(layer.test.as_ref().map(|set| set.value.as_str()), Some(command), "{text}");
            assert_eq!(Layer { test: None, ..layer }, Layer::default());
        }
    }

    #[test]
    fn every_key_of_a_repository_is_shown_and_good_as_it_stands() {
        let text = render_pairflow_toml(&[]);
        let key_line = |line: &&str| line.starts_with("# ") && line.contains(" = ");
        let open: String = text
            .lines()
            .filter(|line| line.starts_with('[') || key_line(line))
            .map(|line| format!("{}\n", line.trim_start_matches("# ")))
            .collect();
        let layer = Layer::parse_bytes("pairflow.toml", open.as_bytes(), ConfigSource::Repository);
        assert!(layer.is_ok(), "{layer:?}\n{open}");
        let own = include_str!("../../../../docs/configuration.md").split("```toml\n").nth(1).unwrap();
        let sample = Layer::parse("config.toml", own.split("```").next().unwrap(), ConfigSource::User);
        let sample = sample.unwrap().explain("");
        for key in KEYS {
            let own = matches!(key.who, Who::Person | Who::PersonsFile);
            let shown = sample.iter().any(|row| row.key == key.name && !row.value.is_null());
            assert_eq!(shown, own, "{} in docs/configuration.md", key.name);
            let line = format!("# {} = ", key.place().1);
            assert_eq!(text.contains(&line), key.who == Who::Repository, "{}", key.name);
        }
    }
}
