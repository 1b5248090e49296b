//! JSON for programs: pretty, with the name and version of its schema first, and harmless on a terminal.

use std::fmt::Write;

use pairflow_core::safe::steers;
use serde::Serialize;

#[derive(Serialize)]
struct WithSchema<'a, T: Serialize> {
    schema: &'a str,
    #[serde(flatten)]
    value: &'a T,
}

/// Renders `value`, an object, with `"schema": "pairflow.<schema>"` as its first field.
pub(crate) fn render<T: Serialize>(schema: &str, value: &T) -> Result<String, serde_json::Error> {
    debug_assert!(!schema.starts_with("pairflow."), "the prefix is added here");
    let schema = format!("pairflow.{schema}");
    let text = serde_json::to_string_pretty(&WithSchema { schema: &schema, value })?;
    Ok(escape(text))
}

/// Writes what could steer a terminal as `\u` escapes: the same value to a program, no power over a screen.
///
/// Outside of strings JSON has no such character, and inside of them all of ASCII's are escaped already.
fn escape(text: String) -> String {
    let odd = |c: char| c != '\n' && steers(c);
    if !text.contains(odd) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if odd(c) {
            let mut states = [0; 2];
            for state in c.encode_utf16(&mut states) {
                let _ = write!(escaped, "\\u{state:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Sample<'a> {
        question: &'a str,
    }

    #[test]
    fn the_schema_comes_first() {
        let text = render("status/1", &Sample { question: "why?" }).unwrap();
        assert_eq!(text, "{\n  \"schema\": \"pairflow.status/1\",\n  \"question\": \"why?\"\n}");
    }

    #[test]
    fn harmful_characters_are_escaped_and_keep_their_value() {
        let question = "a\u{1b}[2J\u{9b}1m\u{202e}\u{7f}\u{e0041}\u{feff}é\n";
        let text = render("x/1", &Sample { question }).unwrap();
        assert!(!text.chars().any(steers), "{text:?}");
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["question"], question);
    }
}
