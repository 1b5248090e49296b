//! Markdown pages from templates: `templates/*.j2` of this crate, rendered with minijinja.
//!
//! Whatever a template prints is foreign text: it becomes one line without control characters. The filters `quote`, `block`
//! and `patch` print longer texts so that no line of them can pass for ours; `line` prints a line that our own code made. An undefined or absent value is an error.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};
use serde::Serialize;

use crate::safe::{revealed, safe};
use crate::view::words::{count, one_line};

/// How many characters of one line of a patch are shown.
const PATCH_COLUMNS: usize = 600;

/// Returns an environment with `templates`, each given by its name and source.
pub(crate) fn environment(templates: &[(&'static str, &'static str)]) -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the usual ones"));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // With any escaping, minijinja keeps apart what our filters and macros have made safe.
    environment.set_auto_escape_callback(|_| AutoEscape::Custom("markdown".into()));
    environment.set_formatter(|out, _, value| match value.as_str() {
        _ if value.is_none() => {
            Err(Error::new(ErrorKind::UndefinedError, "the value is absent; test it with `is not none`"))
        }
        Some(text) if value.is_safe() => Ok(out.write_str(text)?),
        Some(text) => Ok(out.write_str(&one_line(text))?),
        None => Ok(write!(out, "{value}")?),
    });
    environment.add_filter("line", |text: &str| Value::from_safe_string(safe(text).into_owned()));
    environment.add_filter("quote", |text: &str| Value::from_safe_string(quote(text)));
    environment.add_filter("block", |text: &str| Value::from_safe_string(block(text)));
    environment.add_filter("patch", |text: &str| Value::from_safe_string(patch(text)));
    environment.add_filter("items", |texts: Vec<String>, limit: Option<usize>| {
        Value::from_safe_string(items(&texts, limit.unwrap_or(usize::MAX)))
    });
    environment.add_filter("counted", |number: u64, what: &str| count(number, what));
    for (name, source) in templates {
        environment.add_template(name, source).expect("the built-in templates are well-formed");
    }
    environment
}

/// Renders a built-in template. Its context is typed, so it has every value that the template uses.
pub(crate) fn render(environment: &Environment<'_>, name: &str, context: &impl Serialize) -> String {
    try_render(environment, name, context).unwrap_or_else(|error| panic!("template {name}: {error}"))
}

/// Renders a template that may not fit its context.
pub(crate) fn try_render(environment: &Environment<'_>, name: &str, context: &impl Serialize) -> Result<String, Error> {
    environment.get_template(name)?.render(Serde(context))
}

/// Returns texts as a list, each on one line, the first `limit` of them.
fn items(texts: &[String], limit: usize) -> String {
    let more = texts.len().saturating_sub(limit);
    let more = (more > 0).then(|| format!("- and {more} more"));
    let shown = texts.iter().take(limit).map(|text| format!("- {}", one_line(text)));
    shown.chain(more).collect::<Vec<_>>().join("\n")
}

/// Returns foreign text as a quotation.
fn quote(text: &str) -> String {
    let line = |line: &str| if line.is_empty() { ">".to_owned() } else { format!("> {line}") };
    safe(text).trim().lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns foreign text in a fence that it cannot close.
fn block(text: &str) -> String {
    let text = safe(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}", text.trim_end())
}

/// Returns a patch for a reviewer: nothing in it is hidden, and only the ends of very long lines are left out.
fn patch(text: &str) -> String {
    let short = |line: &str| match line.char_indices().nth(PATCH_COLUMNS) {
        Some((end, _)) => format!("{} … [cut: {} characters]", &line[..end], line.chars().count()),
        None => line.to_owned(),
    };
    let text = text.split('\n').map(short).collect::<Vec<_>>().join("\n");
    let shown = revealed(&text);
    match shown == text.replace("\r\n", "\n") {
        true => block(&shown),
        false => {
            let note =
                "It has characters that are invisible or reorder the line; they are shown by name, such as <U+202E>.";
            format!("{note}\n\n{}", block(&shown))
        }
    }
}
