//! The files that pairflow writes: the `bubble.toml` that a new bubble is given, with every decision written out so that it
//! stays what it was, and the `pairflow.toml` that a repository begins with. Both follow the key table.

use serde_json::Value;

use super::form::Shape;
use super::keys::{CUSTOM_KEYS, KEYS, Layer};
use super::layer::{Explained, Set, toml_value};
use super::recorded::recorded;
use super::refused::AGENT;
use super::resolve::Resolved;
use super::table::{Key, Keyed, Who, Written};
use crate::ids::BubbleId;

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
    let mut page = Page::new("# What this bubble was created with. A flag wins over this file.\n");
    page.values(&layer.explain(""), KEYS);
    for (name, agent) in &layer.custom {
        page.title(&format!("{AGENT}.{name}"));
        page.values(&agent.explain(""), CUSTOM_KEYS);
    }
    page.text
}

/// Writes a `pairflow.toml` with `commands`, and every other key of a repository as a comment.
pub fn render_pairflow_toml(commands: &[StarterCommand]) -> String {
    let mut page = Page::new(HEAD);
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
fn choices(key: &Key) -> Option<String> {
    match (key.shape)() {
        Shape::Words(words) if words.len() > 1 => Some(words.join("|")),
        _ => None,
    }
}

/// A file that is being written.
struct Page {
    text: String,
    /// The table that is open.
    table: Option<&'static str>,
}

impl Page {
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
    fn values(&mut self, rows: &[Explained], keys: &[Key]) {
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
    use crate::config::Source;

    fn found(command: &str) -> Vec<StarterCommand> {
        let because = "Makefile target \"test\"\n".to_owned();
        vec![StarterCommand { key: "test", command: Some(command.to_owned()), because }]
    }

    #[test]
    fn what_was_detected_is_set_and_nothing_else() {
        for command in ["make test", "sh -c 'a \"b\" \\ # c'", "say \u{1b}\n\u{fc}"] {
            let text = render_pairflow_toml(&found(command));
            let layer = Layer::parse_bytes("pairflow.toml", text.as_bytes(), Source::Repository).unwrap();
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
        let layer = Layer::parse_bytes("pairflow.toml", open.as_bytes(), Source::Repository);
        assert!(layer.is_ok(), "{layer:?}\n{open}");
        let own = include_str!("../../../../docs/configuration.md").split("```toml\n").nth(1).unwrap();
        let sample = Layer::parse("config.toml", own.split("```").next().unwrap(), Source::User);
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
