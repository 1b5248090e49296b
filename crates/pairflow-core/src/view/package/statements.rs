//! An agent's text as single statements: list items where it has a list, sentences elsewhere.
//!
//! A fenced block belongs to the statement before it. Each statement can then be held against what code knows.

use crate::safe::safe;
use crate::view::words::one_line;

/// The most statements that are read out of one text.
pub(crate) const STATEMENTS: usize = 200;
/// How many bytes of the fenced blocks after one statement are kept.
const CODE: usize = 8_000;

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Statement {
    /// The statement, on one line; empty if the text begins with a fenced block.
    pub(crate) text: String,
    /// The fenced block that follows it; mostly empty.
    pub(crate) code: String,
}

/// Reads the statements of a text, and says how many were left out.
pub(crate) fn statements(text: &str) -> (Vec<Statement>, usize) {
    let mut found = Vec::new();
    let mut open = Block::default();
    let mut fenced = false;
    for line in safe(text).lines() {
        let bare = line.trim_start();
        if bare.starts_with("```") {
            fenced = !fenced;
            open.end(&mut found);
        } else if fenced {
            code(&mut found, line);
        } else if bare.is_empty() {
            open.end(&mut found);
        } else if let Some(item) = item(bare) {
            open.end(&mut found);
            open = Block { text: item.to_owned(), is_item: true };
        } else {
            open.text.push(' ');
            open.text.push_str(bare);
        }
    }
    open.end(&mut found);
    let surplus = found.len().saturating_sub(STATEMENTS);
    found.truncate(STATEMENTS);
    (found, surplus)
}

/// Lines that belong together.
#[derive(Default)]
struct Block {
    text: String,
    is_item: bool,
}

impl Block {
    /// Turns what was gathered into statements.
    fn end(&mut self, found: &mut Vec<Statement>) {
        let Self { text, is_item } = std::mem::take(self);
        let sentences = if is_item { vec![text.as_str()] } else { sentences(&text) };
        let said = sentences.into_iter().map(one_line).filter(|text| !text.is_empty());
        found.extend(said.map(|text| Statement { text, code: String::new() }));
    }
}

fn code(found: &mut Vec<Statement>, line: &str) {
    if found.is_empty() {
        found.push(Statement::default());
    }
    if let Some(last) = found.last_mut().filter(|last| last.code.len() + line.len() < CODE) {
        last.code.push_str(line);
        last.code.push('\n');
    }
}

/// Returns the text of a list item.
pub(crate) fn item(line: &str) -> Option<&str> {
    if let Some(rest) = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some(rest);
    }
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (1..=3).contains(&(line.len() - rest.len()));
    numbered.then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))).flatten()
}

/// Divides a paragraph after each full stop that a capital, a digit or a mark follows.
fn sentences(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    let mut ended = false;
    let mut gap = false;
    for (at, c) in text.char_indices() {
        if ended && gap && !c.is_whitespace() && !c.is_lowercase() {
            parts.push(&text[begin..at]);
            begin = at;
        }
        gap = c.is_whitespace() && (gap || ended);
        ended = matches!(c, '.' | '!' | '?') || (ended && c.is_whitespace());
    }
    parts.push(&text[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        statements(text).0.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn items_are_statements_and_paragraphs_are_sentences() {
        let text =
            "A lock guards the token. It is\nheld for e.g. a login! F3 is gone.\n\n- one. Two\n  goes on\n2) three";
        let read =
            ["A lock guards the token.", "It is held for e.g. a login!", "F3 is gone.", "one. Two goes on", "three"];
        assert_eq!(texts(text), read);
    }

    #[test]
    fn a_fenced_block_belongs_to_the_statement_before_it() {
        let (read, _) = statements("Run it:\n```sh\n- no item\nmake\n```\nThen look.");
        assert_eq!(read[0], Statement { text: "Run it:".into(), code: "- no item\nmake\n".into() });
        assert_eq!((read[1].text.as_str(), read.len()), ("Then look.", 2));
        assert_eq!(statements("```\nmake\n```").0[0].code, "make\n");
    }

    #[test]
    fn a_flood_of_statements_is_cut_and_counted() {
        let (read, surplus) = statements(&"- x\n".repeat(STATEMENTS + 7));
        assert_eq!((read.len(), surplus), (STATEMENTS, 7));
        assert_eq!(statements(" \n\n"), (Vec::new(), 0));
    }
}
