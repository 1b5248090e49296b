//! The rules that a log records, as configuration again: what is in force, what a person changes in it, and how it differs
//! from a file.

use std::str::FromStr;

use serde_json::Value;

use super::error::ConfigErrors;
use super::layer::{CustomLayer, Explained, Layer, Layers, Mark, Origin, QualityMode, Recorded, Set, Source};
use super::resolve::resolve;
use crate::ids::BubbleId;
use crate::rules::{Change, Check, CustomAgent, PromptBy, Rules};

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
        if is_live(&self.key) { Ok(Layer::default()) } else { Err(errors) }
    }
}

/// Whether a key can change while a bubble is under way.
pub fn is_live(key: &str) -> bool {
    Layer::marks(key).contains(&Mark::Live)
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
                Ok(_) => bubble.unset(&setting.key),
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
        let (webhook, check_env) = (user.webhook.clone(), user.check_env.clone());
        let recorded = Layer { webhook, check_env, ..self.layer() };
        let mut rows = recorded.explain("");
        for row in rows.iter_mut().filter(|row| matches!(row.source, Origin::Log(_))) {
            row.source = Origin::Log(line_of(&row.key));
        }
        rows
    }

    fn layer(&self) -> Layer {
        let id = Some(recorded(self.id.clone()));
        Layer { id, repo_path: Some(recorded(self.repo.to_owned())), ..Layer::recorded(self.rules) }
    }

    /// What no file says stays as it was.
    fn keep(&self, mut rules: Rules) -> Rules {
        rules.continues.clone_from(&self.rules.continues);
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
    let (old, new) = (Layer::recorded(old).explain(""), Layer::recorded(new).explain(""));
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

fn recorded<T>(value: T) -> Set<T> {
    // Which line it is follows from the whole log, and is filled in where it is shown.
    Set { value, origin: Origin::Log(Recorded { seq: 0, by: "create" }) }
}

impl Layer {
    /// Returns recorded rules as a layer.
    fn recorded(rules: &Rules) -> Self {
        let check = |name: &str| rules.checks.iter().find(|check| check.name == name && !check.is_own());
        let command = |name: &str| check(name).map(|check| recorded(check.command.clone()));
        let red_green = rules.checks.iter().any(|check| check.name == Check::RED_GREEN);
        let told = &rules.notifications;
        Self {
            base_branch: Some(recorded(rules.base_branch.clone())),
            bubble_branch: Some(recorded(rules.bubble_branch.clone())),
            work_mode: Some(recorded(rules.work_mode)),
            quality_mode: Some(recorded(QualityMode::Strict)),
            reviewer_context_mode: Some(recorded(rules.reviewer_context_mode)),
            watchdog_timeout_minutes: Some(recorded(rules.watchdog_timeout_minutes)),
            max_turn_minutes: Some(recorded(rules.max_turn_minutes)),
            max_rounds: Some(recorded(rules.max_rounds)),
            commit_requires_approval: Some(recorded(true)),
            open_command: Some(recorded(rules.open_command.clone())),
            driver: Some(recorded(rules.driver)),
            script: rules.script.clone().map(recorded),
            permissions: Some(recorded(rules.permissions)),
            capture_output: Some(recorded(rules.capture_output)),
            check_timeout_secs: Some(recorded(rules.check_timeout_secs)),
            checks_in: Some(recorded(rules.checks_in)),
            no_tests: Some(recorded(rules.checks.is_empty())),
            manual_checks: Some(recorded(rules.manual_checks.clone())),
            kind: Some(recorded(rules.kind)),
            documents: Some(recorded(rules.documents.clone())),
            prd: rules.prd.as_ref().map(|prd| recorded(prd.source.clone())),
            implementer: Some(recorded(rules.agents.implementer.clone())),
            reviewer: Some(recorded(rules.agents.reviewer.clone())),
            second_reviewer: rules.agents.second_reviewer.clone().map(recorded),
            test: command("test"),
            typecheck: command("typecheck"),
            lint: command("lint"),
            setup: rules.setup.clone().map(recorded),
            red_green: Some(recorded(red_green)),
            notifications_enabled: Some(recorded(told.enabled)),
            bell: Some(recorded(told.bell)),
            desktop: Some(recorded(told.desktop)),
            waiting_human_sound: told.waiting_human_sound.clone().map(recorded),
            converged_sound: told.converged_sound.clone().map(recorded),
            risk_paths: Some(recorded(rules.risk.clone())),
            scope_allow: Some(recorded(rules.scope.allow.clone())),
            scope_deny: Some(recorded(rules.scope.deny.clone())),
            custom: rules.agents_custom.iter().map(|(name, agent)| (name.clone(), custom(agent))).collect(),
            ..Self::default()
        }
    }
}

fn custom(agent: &CustomAgent) -> CustomLayer {
    let words = |words: &[String]| (!words.is_empty()).then(|| recorded(words.to_vec()));
    CustomLayer {
        command: words(&agent.command),
        args: words(&agent.args),
        resume: words(&agent.resume),
        prompt: (agent.prompt != PromptBy::default()).then(|| recorded(agent.prompt)),
        hooks: agent.hooks.map(recorded),
        env: words(&agent.env),
    }
}
