//! What `docs/configuration.md` says about single keys is made out of the key table; `UPDATE_DOCS=1` writes it again.

use std::path::Path;

use pairflow_core::config::{CUSTOM_KEYS, ConfigKey, KEYS, Layer, Layers, Set, Shape, Until, Who, resolve};
use pairflow_core::rules::{DriverKind, Rules};
use pairflow_testkit::script::compare_document;

#[test]
fn the_reference_of_the_configuration_follows_the_key_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let stored = include_str!("../../../../../docs/configuration.md");
    let document = replaced(stored, "<!-- your own keys -->\n```toml\n", "```\n", &own_file());
    compare_document(&path, &replaced(&document, "<!-- every key -->\n", "<!-- end of keys -->\n", &table()));
}

fn replaced(document: &str, from: &str, to: &str, text: &str) -> String {
    let (before, rest) = document.split_once(from).unwrap_or_else(|| panic!("the document has no {from}"));
    let (_, after) = rest.split_once(to).unwrap_or_else(|| panic!("the document has no {to}"));
    format!("{before}{from}{text}{to}{after}")
}

/// A file that has everything which only the person may set.
fn own_file() -> String {
    let (mut text, mut open) = (String::new(), None);
    for key in KEYS.iter().filter(|key| matches!(key.who, Who::Person | Who::PersonsFile)) {
        let (table, name) = key.place();
        if let Some(table) = table.filter(|_| table != open) {
            text.push_str(&format!("\n[{table}]\n"));
        }
        open = table;
        text.push_str(&line(name, key));
    }
    text.push_str("\n[agent.gemini]\n");
    CUSTOM_KEYS.iter().for_each(|key| text.push_str(&line(key.name, key)));
    text
}

fn line(name: &str, key: &ConfigKey) -> String {
    format!("{:<35} # {}\n", format!("{name} = {}", key.example()), key.help)
}

fn table() -> String {
    let head =
        "| key | values | default | who sets it | until | flag | what it says |\n|---|---|---|---|---|---|---|\n";
    let rows = KEYS.iter().map(|key| row(key.name, key));
    let custom = CUSTOM_KEYS.iter().map(|key| row(&format!("agent.NAME.{}", key.name), key));
    rows.chain(custom).fold(format!("\n{head}"), |text, row| text + &row) + "\n"
}

fn row(name: &str, key: &ConfigKey) -> String {
    let values = match (key.shape)() {
        Shape::Text => "text".to_owned(),
        Shape::Words(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Shape::Number(range) => format!("{} to {}", range.start(), range.end()),
        Shape::Truth => "true, false".to_owned(),
        Shape::List => "texts".to_owned(),
    };
    let default = match (key.default)() {
        serde_json::Value::Null => String::new(),
        serde_json::Value::Array(items) if items.is_empty() => String::new(),
        serde_json::Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    };
    let who = match key.who {
        Who::Bubble => "bubble",
        Who::Person => "you",
        Who::PersonsFile => "your own file",
        Who::Repository => "you, repository",
    };
    let until = match key.until {
        Until::Creation => "creation",
        Until::Start => "start",
        Until::Approval => "approval",
        Until::End => "end",
    };
    let flag = key.flag.map_or(String::new(), |flag| format!("`{flag}`"));
    format!("| `{name}` | {values} | {default} | {who} | {until} | {flag} | {} |\n", key.help)
}

#[test]
fn rules_that_nobody_configured_have_the_defaults_of_the_table() {
    let (id, base_branch) = (Some(Set::flag("b1".parse().unwrap())), Some(Set::flag("main".to_owned())));
    let layers = Layers { flags: Layer { id, base_branch, ..Layer::default() }, ..Layers::default() };
    let rules = resolve(&layers).unwrap().rules;
    let plain = Rules {
        base_branch: "main".to_owned(),
        bubble_branch: "bubble/b1".to_owned(),
        driver: DriverKind::Tmux,
        ..Rules::default()
    };
    assert_eq!(rules, plain);
}
