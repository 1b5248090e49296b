//! The commands that pairflow would run: which they are, who set them, and what a person trusts in a repository.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::Place;
use super::keys::Layer;
use super::layer::{Origin, Set, Source};
use super::resolve::{Layers, merge};
use super::table::Keyed;
use crate::hash::sha256;
use crate::rules::BubbleKind;

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
        let place = Place {
            file: format!("pairflow-templates/{name}"),
            line: 1,
            column: 1,
            span: 0..text.len(),
            width: 1,
            line_text: String::new(),
        };
        Self { name, command: text, source: Origin::File(Source::Repository, place) }
    }

    /// Whether it is a template.
    pub fn is_template(&self) -> bool {
        self.name.ends_with(".j2")
    }

    /// Whether the repository's own file says it.
    pub fn is_repository(&self) -> bool {
        matches!(self.source, Origin::File(Source::Repository, _))
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
        Layer::parse("pairflow.toml", text, Source::Repository).unwrap().commands().into_iter().collect()
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
        let repo = Layer::parse("pairflow.toml", "commands.test = \"a\"\ncommands.setup = \"s\"\n", Source::Repository);
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
