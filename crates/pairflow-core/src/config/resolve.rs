//! Which value is in force, and why: flag, then `bubble.toml`, then `pairflow.toml`, then the person's own file, then
//! the default. A list replaces the list of a weaker place; lists are never joined. Also: which commands would run, and who set
//! them, so that a person can be asked to trust them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::check::Webhook;
use super::keys::{CustomLayer, Layer};
use super::origin::{Complaint, ConfigError, ConfigErrors, ConfigSource, Explained, FilePlace, Origin, Set};
use super::table::Keyed;
use crate::hash::sha256;
use crate::ids::AgentId;
use crate::rules::{BubbleKind, Check, CustomAgent, DriverKind, Prd, Rules};

/// The four places that values come from, the strongest first. An absent file is an empty layer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layers {
    /// The command line.
    pub flags: Layer,
    /// The bubble's own `bubble.toml`.
    pub bubble: Layer,
    /// The repository's `pairflow.toml`.
    pub repo: Layer,
    /// The person's own `config.toml`.
    pub user: Layer,
}

/// A configuration in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What the bubble is bound to.
    pub rules: Rules,
    /// Whether it was said that there is no test to run.
    pub no_tests: bool,
    /// Every key with its value and where that came from.
    pub explained: Vec<Explained>,
}

impl Resolved {
    /// Whether there is anything that can show that the work is right: a command, or something to try by hand.
    pub fn can_be_checked(&self) -> bool {
        !self.rules.checks.is_empty() || !self.rules.manual_checks.is_empty()
    }
}

impl Layers {
    /// Says for every key which value is in force, also where no bubble exists yet.
    pub fn explain(&self) -> Vec<Explained> {
        merge(self).explain("")
    }

    /// Returns every agent that a seat or an `[agent.NAME]` names, each with what the configuration says of it; also where
    /// no bubble exists yet.
    pub fn agents(&self) -> BTreeMap<AgentId, Option<CustomAgent>> {
        let merged = merge(self);
        let said = |name: &AgentId| merged.custom.get(name).map(custom);
        let seats = [value(&merged.implementer), value(&merged.reviewer), value(&merged.second_reviewer)];
        let names = seats.into_iter().flatten().chain(merged.custom.keys().cloned());
        names.map(|name| (name.clone(), said(&name))).collect()
    }

    /// Returns the address that notifications are posted to: the person's own file alone says it.
    pub fn webhook(&self) -> Option<Webhook> {
        value(&self.user.webhook)
    }
}

/// Decides every value.
///
/// # Errors
///
/// Values that are good by themselves but not together, and a bubble without id or base branch.
pub fn resolve(layers: &Layers) -> Result<Resolved, ConfigErrors> {
    let merged = merge(layers);
    let errors = [
        no_id(&merged),
        no_base(&merged),
        tests(&merged),
        proof(&merged),
        kind(&merged),
        pair(&merged),
        third(&merged),
        script(&merged),
    ];
    let errors: Vec<_> = errors.into_iter().flatten().collect();
    ConfigErrors::unless_any(errors, ())?;
    Ok(Resolved { explained: merged.explain(""), no_tests: decided(&merged.no_tests), rules: rules(&merged) })
}

fn rules(merged: &Layer) -> Rules {
    let mut rules = Rules::default();
    merged.record(&mut rules);
    // What follows from several keys, or is recorded with more than its value.
    rules.checks = checks(merged);
    rules.prd = value(&merged.prd).map(|source| Prd { source, documents: Vec::new(), approved: None });
    rules.agents_custom = merged.custom.iter().map(|(name, layer)| (name.clone(), custom(layer))).collect();
    rules
}

/// Returns what is in force for one agent.
fn custom(layer: &CustomLayer) -> CustomAgent {
    let mut agent = CustomAgent::default();
    layer.record(&mut agent);
    agent
}

fn checks(merged: &Layer) -> Vec<Check> {
    if decided(&merged.kind) == BubbleKind::Document {
        return Check::of_documents();
    }
    let commands = [("test", &merged.test), ("typecheck", &merged.typecheck), ("lint", &merged.lint)];
    let red_green = merged.test.as_ref().filter(|_| decided(&merged.red_green));
    let own = red_green.map(|test| Check { name: Check::RED_GREEN.to_owned(), command: test.value.clone() });
    commands
        .into_iter()
        .filter_map(|(name, set)| value(set).map(|command| Check { name: name.to_owned(), command }))
        .chain(own)
        .collect()
}

fn value<T: Clone>(set: &Option<Set<T>>) -> Option<T> {
    set.as_ref().map(|set| set.value.clone())
}

fn decided<T: Clone>(set: &Option<Set<T>>) -> T {
    value(set).expect("a default or a refusal stands for every value that nobody set")
}

/// Takes the strongest value of every key.
pub(super) fn merge(layers: &Layers) -> Layer {
    let mut repo = layers.repo.clone();
    only_raise(&mut repo.review_depth, &layers.user.review_depth);
    only_raise(&mut repo.min_looks, &layers.user.min_looks);
    let mut merged = layers.flags.clone().or(&layers.bubble).or(&repo).or(&layers.user);
    settle_tests(&mut merged);
    settle_script(&mut merged);
    settle_branch(&mut merged);
    merged.or(&Layer::defaults())
}

/// Drops what a repository sets if it asks for less than the person's own file does.
fn only_raise<T: Ord>(repo: &mut Option<Set<T>>, own: &Option<Set<T>>) {
    repo.take_if(|repo| own.as_ref().is_some_and(|own| repo.value < own.value));
}

/// Names the branch after the bubble, unless somebody chose another name.
fn settle_branch(merged: &mut Layer) {
    if let (None, Some(id)) = (&merged.bubble_branch, &merged.id) {
        merged.bubble_branch = Some(Set::default(format!("bubble/{}", id.value)));
    }
}

/// Lets the stronger of "there are no tests" and a test command win. Equally strong, they contradict each other.
fn settle_tests(merged: &mut Layer) {
    let (Some(none), Some(test)) = (&mut merged.no_tests, &merged.test) else { return };
    if none.value && none.origin.strength() > test.origin.strength() {
        merged.test = None;
    } else if none.value && none.origin.strength() < test.origin.strength() {
        *none = Set { value: false, origin: test.origin.clone() };
    }
}

/// Reads a relative script as one beneath the repository.
fn settle_script(merged: &mut Layer) {
    if let (Some(script), Some(repo)) = (&mut merged.script, &merged.repo_path)
        && !script.value.starts_with('/')
    {
        script.value = format!("{}/{}", repo.value.trim_end_matches('/'), script.value.trim_start_matches("./"));
    }
}

fn no_id(merged: &Layer) -> Option<ConfigError> {
    let error = || Complaint::new("no bubble is named").hint("pass `--id <id>`").at(None);
    merged.id.is_none().then(error)
}

fn no_base(merged: &Layer) -> Option<ConfigError> {
    let complaint = Complaint::new("no base branch is named");
    let error = || complaint.hint("pass `--base <branch>`, or set base_branch in pairflow.toml").at(None);
    merged.base_branch.is_none().then(error)
}

fn tests(merged: &Layer) -> Option<ConfigError> {
    let none = merged.no_tests.as_ref().filter(|none| none.value)?;
    let at = none.origin.place().cloned();
    if merged.test.is_some() {
        let complaint = Complaint::new("no_tests = true contradicts the test command beside it");
        return Some(complaint.hint("remove one of the two").at(at));
    }
    let complaint = Complaint::new("without tests, at least one manual check has to say what a person tries by hand");
    let hint = "pass `--manual-check \"open the page and log in\"`, or set manual_checks";
    merged.manual_checks.as_ref().is_none_or(|checks| checks.value.is_empty()).then(|| complaint.hint(hint).at(at))
}

/// New tests can only be seen to fail on the base if there is a command that runs them.
fn proof(merged: &Layer) -> Option<ConfigError> {
    let wanted = merged.red_green.as_ref().filter(|wanted| wanted.value)?;
    let document = merged.kind.as_ref().is_some_and(|kind| kind.value == BubbleKind::Document);
    let complaint = || Complaint::new("evidence.red_green = true needs a test command that can be run on the base");
    let hint = "set commands.test, or leave the key out";
    (merged.test.is_none() && !document).then(|| complaint().hint(hint).at(wanted.origin.place().cloned()))
}

/// What a bubble makes decides what it has to name.
fn kind(merged: &Layer) -> Option<ConfigError> {
    let kind = merged.kind.as_ref()?;
    let at = |place: &Origin| place.place().cloned();
    match (kind.value, &merged.prd, &merged.documents) {
        (BubbleKind::Implementation, None, _) => {
            let complaint = Complaint::new("an implementation follows an approved document, and none is named");
            let hint = "pass `--prd <bubble or file>`; for a task without one, leave out `--kind`";
            Some(complaint.hint(hint).at(at(&kind.origin)))
        }
        (BubbleKind::Code | BubbleKind::Document, Some(prd), _) => {
            let complaint =
                Complaint::new(format!("prd belongs to `--kind implementation`, and this is {}", kind.value));
            Some(complaint.hint("pass `--kind implementation`, or leave prd out").at(at(&prd.origin)))
        }
        (BubbleKind::Code | BubbleKind::Implementation, _, Some(documents)) if !documents.value.is_empty() => {
            let complaint =
                Complaint::new(format!("documents belong to `--kind document`, and this is {}", kind.value));
            Some(complaint.hint("pass `--kind document`, or leave documents out").at(at(&documents.origin)))
        }
        _ => None,
    }
}

/// One agent in both seats has to be wanted: named twice on the command line, or recorded so in the bubble's own file.
fn pair(merged: &Layer) -> Option<ConfigError> {
    let (implementer, reviewer) = (merged.implementer.as_ref()?, merged.reviewer.as_ref()?);
    let on_purpose =
        implementer.origin.is_for_one_bubble() && implementer.origin.strength() == reviewer.origin.strength();
    if implementer.value != reviewer.value || on_purpose {
        return None;
    }
    let name = &implementer.value;
    let complaint = Complaint::new(format!("{name} would be implementer and reviewer, and review its own work")).hint(
        format!("set agents.implementer and agents.reviewer to different agents, or pass `--pair {name},{name}`"),
    );
    let place = reviewer.origin.place().or(implementer.origin.place());
    Some(complaint.at(place.cloned()))
}

fn third(merged: &Layer) -> Option<ConfigError> {
    let second = merged.second_reviewer.as_ref()?;
    let seated = [&merged.implementer, &merged.reviewer].into_iter().flatten();
    let taken = seated.into_iter().any(|agent| agent.value == second.value);
    let complaint = || Complaint::new(format!("agents.second_reviewer = \"{}\" already has a seat", second.value));
    let hint = "name a third agent, or leave the key out";
    taken.then(|| complaint().hint(hint).at(second.origin.place().cloned()))
}

fn script(merged: &Layer) -> Option<ConfigError> {
    let driver = merged.driver.as_ref().filter(|driver| driver.value == DriverKind::Script)?;
    let complaint = Complaint::new("driver = \"script\" needs the script that the agents follow");
    let hint = "pass `--script <file>`, or set script";
    merged.script.is_none().then(|| complaint.hint(hint).at(driver.origin.place().cloned()))
}

/// How many hexadecimal digits of a hash a person compares: 128 bits.
const HASH_DIGITS: usize = 32;

/// A command that would be run, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandInForce {
    /// Its key beneath `[commands]`.
    pub name: &'static str,
    /// The command line.
    pub command: String,
    /// Where it was set.
    pub source: Origin,
}

/// Commands by their key beneath `[commands]`: what a person said yes to, or is asked to say yes to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandSet(BTreeMap<String, String>);

/// A command that is new, changed or gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandChange {
    /// Its key beneath `[commands]`.
    pub name: String,
    /// What it was, if it was there.
    pub old: Option<String>,
    /// What it is, if it is there.
    pub new: Option<String>,
}

impl CommandInForce {
    /// A template of the repository, which says what agents are told: it needs the same trust as a command.
    pub fn template(name: &'static str, text: String) -> Self {
        let place = FilePlace {
            file: format!("pairflow-templates/{name}"),
            line: 1,
            column: 1,
            span: 0..text.len(),
            width: 1,
            line_text: String::new(),
        };
        Self { name, command: text, source: Origin::File(ConfigSource::Repository, place) }
    }

    /// Whether it is a template.
    pub fn is_template(&self) -> bool {
        self.name.ends_with(".j2")
    }

    /// Whether the repository's own file says it.
    pub fn is_repository(&self) -> bool {
        matches!(self.source, Origin::File(ConfigSource::Repository, _))
    }

    /// Whether nobody said it, so that pairflow detected it.
    pub fn is_detected(&self) -> bool {
        self.source == Origin::Default
    }
}

impl Layer {
    /// Returns the commands that this place sets.
    pub fn commands(&self) -> Vec<CommandInForce> {
        let set = |(name, set): (&'static str, &Option<Set<String>>)| {
            set.as_ref().map(|set| CommandInForce { name, command: set.value.clone(), source: set.origin.clone() })
        };
        let all = [("setup", &self.setup), ("test", &self.test), ("typecheck", &self.typecheck), ("lint", &self.lint)];
        all.into_iter().filter_map(set).collect()
    }

    /// Returns everything else that this place sets.
    pub(super) fn without_commands(mut self) -> Self {
        self.retain(|key| !key.starts_with("commands."));
        self
    }
}

impl Layers {
    /// Returns the commands that a bubble with this configuration would run. Documents are checked by pairflow itself.
    pub fn commands(&self) -> Vec<CommandInForce> {
        let merged = merge(self);
        let document = merged.kind.as_ref().is_some_and(|kind| kind.value == BubbleKind::Document);
        let mut commands = merged.commands();
        commands.retain(|one| !document || one.name == "setup");
        commands
    }
}

impl FromIterator<CommandInForce> for CommandSet {
    fn from_iter<T: IntoIterator<Item = CommandInForce>>(commands: T) -> Self {
        Self(commands.into_iter().map(|one| (one.name.to_owned(), one.command)).collect())
    }
}

impl CommandSet {
    /// Whether there is no command.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether each of these commands is among `others`, under the same name.
    pub fn is_part_of(&self, others: &Self) -> bool {
        self.0.iter().all(|(name, command)| others.0.get(name) == Some(command))
    }

    /// Returns these commands with those of `newer` in their places.
    pub fn replaced_by(mut self, newer: &Self) -> Self {
        self.0.extend(newer.0.clone());
        self
    }

    /// Returns each command with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, command)| (name.as_str(), command.as_str()))
    }

    /// Returns the hash of what the commands say; it is the same in every copy of a repository.
    pub fn hash(&self) -> String {
        let text: String = self.0.iter().map(|(name, command)| format!("{name}\0{command}\0")).collect();
        let mut hash = sha256(format!("pairflow commands 1\0{text}").as_bytes());
        hash.truncate(HASH_DIGITS);
        hash
    }

    /// Returns what differs from `old`, by name.
    pub fn changes_since(&self, old: &Self) -> Vec<CommandChange> {
        let mut names: Vec<_> = old.0.keys().chain(self.0.keys()).collect();
        names.sort();
        names.dedup();
        let change = |name: &String| {
            let (old, new) = (old.0.get(name).cloned(), self.0.get(name).cloned());
            (old != new).then(|| CommandChange { name: name.clone(), old, new })
        };
        names.into_iter().filter_map(change).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> CommandSet {
        Layer::parse("pairflow.toml", text, ConfigSource::Repository).unwrap().commands().into_iter().collect()
    }

    #[test]
    fn the_hash_is_of_the_commands_and_of_nothing_else() {
        let one = set("[commands]\ntest = \"make test\"\n");
        assert_eq!(one.hash(), set("max_rounds = 3\n# more\n[commands]\ntest = 'make test'\n").hash());
        assert_eq!(one.hash().len(), HASH_DIGITS);
        let others = ["lint = \"make test\"", "test = \"make test \"", "test = \"make test\"\nsetup = \"x\""];
        for other in others {
            assert_ne!(one.hash(), set(&format!("[commands]\n{other}\n")).hash(), "{other}");
        }
        assert!(set("max_rounds = 3").is_empty());
    }

    #[test]
    fn what_differs_is_named_with_old_and_new() {
        let old = set("commands.test = \"a\"\ncommands.lint = \"l\"\n");
        let new = set("commands.test = \"b\"\ncommands.setup = \"s\"\n");
        let told: Vec<_> = new.changes_since(&old).into_iter().map(|one| (one.name, one.old, one.new)).collect();
        let text = |text: &str| Some(text.to_owned());
        let expected = [
            ("lint".to_owned(), text("l"), None),
            ("setup".to_owned(), None, text("s")),
            ("test".to_owned(), text("a"), text("b")),
        ];
        assert_eq!(told, expected);
        assert!(new.changes_since(&new).is_empty());
    }

    #[test]
    fn a_command_in_force_knows_who_set_it() {
        let repo =
            Layer::parse("pairflow.toml", "commands.test = \"a\"\ncommands.setup = \"s\"\n", ConfigSource::Repository);
        let mut layers = Layers { repo: repo.unwrap(), ..Layers::default() };
        layers.flags.test = Some(Set::flag("mine".to_owned()));
        layers.user.lint = Some(Set::default("found".to_owned()));
        let commands = layers.commands();
        let told: Vec<_> = commands.iter().map(|one| (one.name, one.is_repository(), one.is_detected())).collect();
        assert_eq!(told, [("setup", true, false), ("test", false, false), ("lint", false, true)]);
        layers.flags.kind = Some(Set::flag(BubbleKind::Document));
        assert_eq!(layers.commands().len(), 1);
    }
}
