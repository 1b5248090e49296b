//! An agent's text as single statements, and what each refers to as far as code can tell: findings, changed files, checks.
//!
//! A list item is a statement, elsewhere a sentence; a fenced block belongs to the statement before it. Only what is known
//! counts as a reference: a finding that was never filed, or a file that the work does not change, is no evidence.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

use crate::bubble::BubbleState;
use crate::ids::FindingId;
use crate::rules::Check;
use crate::safe::safe;
use crate::view::words::one_line;

/// How many endings of a path are understood.
const PARTS: usize = 8;
/// The longest path that is looked up, in bytes.
const LONGEST: usize = 4096;

/// What there is to refer to.
#[derive(Debug, Clone)]
pub(crate) struct KnownReferences<'a> {
    findings: Vec<FindingId>,
    /// Changed files, by their whole path and by every ending of it; nothing where an ending is not unique.
    files: BTreeMap<&'a str, Option<&'a str>>,
    checks: &'a [Check],
}

/// One reference in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    /// Its place in the text, in bytes.
    pub(crate) at: Range<usize>,
    /// What it means.
    pub(crate) to: Target<'a>,
}

/// What a reference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// A row of the ledger.
    Finding(FindingId),
    /// A changed file, and a line of it if one is named.
    Place(&'a str, Option<u32>),
    /// A required check.
    Check(&'a str),
}

impl<'a> KnownReferences<'a> {
    /// Reads off a state what can be referred to.
    pub(crate) fn of(state: &'a BubbleState) -> Self {
        let changed =
            state.evidence.snapshot.iter().flat_map(|snapshot| &snapshot.changed).map(|file| file.path.as_str());
        let findings = state.ledger.rows.iter().map(|row| row.id).collect();
        Self { findings, files: endings(changed), checks: &state.rules.checks }
    }

    /// Finds every reference in a text, in order; none overlaps another.
    pub(crate) fn references(&self, text: &str) -> Vec<Reference<'a>> {
        let words = words(text);
        let mut found: Vec<_> = words.iter().flat_map(|word| self.word(text, word)).collect();
        found.extend(self.named_checks(text, &words));
        found.extend(self.long_names(text));
        found.sort_by_key(|reference| (reference.at.start, std::cmp::Reverse(reference.at.end)));
        let mut end = 0;
        found.retain(|reference| {
            let free = reference.at.start >= end;
            end = if free { reference.at.end } else { end };
            free
        });
        found
    }

    fn word(&self, text: &str, at: &Range<usize>) -> Option<Reference<'a>> {
        let word = &text[at.clone()];
        let id = word.parse::<FindingId>().ok().filter(|id| self.findings.contains(id));
        let to = id.map(Target::Finding).or_else(|| self.place(word))?;
        Some(Reference { at: at.clone(), to })
    }

    /// Reads `path`, `path:12`, `path:12-20`, `path:12:5` and `path#L12`.
    fn place(&self, word: &str) -> Option<Target<'a>> {
        let word = word.strip_prefix("./").unwrap_or(word);
        let file = |name: &str| self.files.get(name).copied().flatten();
        if let Some(path) = file(word) {
            return Some(Target::Place(path, None));
        }
        let (name, rest) = word.split_once("#L").or_else(|| word.split_once(':'))?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(Target::Place(file(name)?, digits.parse().ok().filter(|line| *line > 0)))
    }

    /// A check is meant where its name is quoted or next to the word "check", or where its command is spelled out.
    fn named_checks(&self, text: &str, words: &[Range<usize>]) -> Vec<Reference<'a>> {
        let mut found = Vec::new();
        for check in self.checks {
            let named = words.iter().enumerate().filter(|(_, at)| text[(*at).clone()] == check.name);
            let meant = named.filter(|(nth, at)| is_quoted(text, at) || is_beside_check(text, words, *nth));
            found.extend(meant.map(|(_, at)| Reference { at: at.clone(), to: Target::Check(&check.name) }));
            if check.command != Check::BUILT_IN && check.command.len() > 3 {
                found.extend(spelled(text, &check.command).map(|at| Reference { at, to: Target::Check(&check.name) }));
            }
        }
        found
    }

    /// Paths that are more than one word.
    fn long_names(&self, text: &str) -> Vec<Reference<'a>> {
        let long = self.files.iter().filter(|(name, _)| name.contains(is_gap) && name.contains(['/', '.']));
        let places = long.filter_map(|(name, path)| path.map(|path| (*name, path)));
        places
            .flat_map(|(name, path)| spelled(text, name).map(move |at| Reference { at, to: Target::Place(path, None) }))
            .collect()
    }
}

fn endings<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, Option<&'a str>> {
    let paths: Vec<&str> = paths.filter(|path| path.len() <= LONGEST).collect();
    let mut files: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for path in &paths {
        let parts = path.match_indices('/').map(|(at, _)| &path[at + 1..]).take(PARTS);
        // A bare word such as `test` may be a file, but it is a word first.
        for ending in parts.filter(|ending| ending.contains(['/', '.'])) {
            files.entry(ending).and_modify(|one| *one = None).or_insert(Some(path));
        }
    }
    files.extend(paths.iter().map(|path| (*path, Some(*path))));
    files
}

/// Whether a character separates words.
fn is_gap(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '`' | '"' | '\'' | '“' | '”' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';')
}

/// Finds the words of a text, without the marks that end a sentence.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut begin = 0;
    let gaps = text.char_indices().filter(|(_, c)| is_gap(*c)).map(|(at, c)| (at, at + c.len_utf8()));
    for (end, next) in gaps.chain([(text.len(), text.len())]) {
        let word = text[begin..end].trim_end_matches(['.', ':', '!', '?', '*', '_']);
        let lead = word.len() - word.trim_start_matches(['*', '_']).len();
        if lead < word.len() {
            words.push(begin + lead..begin + word.len());
        }
        begin = next;
    }
    words
}

fn is_quoted(text: &str, at: &Range<usize>) -> bool {
    let (before, after) = (text[..at.start].chars().next_back(), text[at.end..].chars().next());
    matches!((before, after), (Some('`'), Some('`')) | (Some('"'), Some('"')) | (Some('\''), Some('\'')))
}

fn is_beside_check(text: &str, words: &[Range<usize>], nth: usize) -> bool {
    let is_check = |at: Option<&Range<usize>>| {
        at.is_some_and(|at| matches!(text[at.clone()].to_lowercase().as_str(), "check" | "checks"))
    };
    is_check(nth.checked_sub(1).and_then(|before| words.get(before))) || is_check(words.get(nth + 1))
}

/// Finds `name` in a text where it is not part of a longer word.
fn spelled<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = Range<usize>> + use<'t> {
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '/' | '_' | '-'));
    // To prepare a search costs as much as the name is long, however short the text is.
    let found = (name.len() <= text.len()).then(|| text.match_indices(name)).into_iter().flatten();
    found
        .map(|(at, part)| at..at + part.len())
        .filter(move |at| is_end(text[..at.start].chars().next_back()) && is_end(text[at.end..].chars().next()))
}

/// How many statements of one text are read.
pub(crate) const STATEMENTS: usize = 200;
/// How many bytes of the fenced blocks after one statement are kept.
const CODE: usize = 8_000;

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Statement {
    /// The statement, on one line; empty if the text begins with a fenced block.
    pub(crate) text: String,
    /// The fenced block that follows it; mostly empty.
    pub(crate) code: String,
}

/// Reads the statements of a text, and says how many were left out.
pub(crate) fn statements(text: &str) -> (Vec<Statement>, usize) {
    let mut found = Vec::new();
    let mut open = Paragraph::default();
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
            open = Paragraph { text: item.to_owned(), is_item: true };
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
struct Paragraph {
    text: String,
    is_item: bool,
}

impl Paragraph {
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

    fn known() -> KnownReferences<'static> {
        let checks: &'static [Check] = Vec::leak(vec![
            Check { name: "test".into(), command: "cargo test".into() },
            Check { name: "lint".into(), command: Check::BUILT_IN.into() },
        ]);
        let files = ["src/lib.rs", "a/mod.rs", "b/mod.rs", "old name.txt", "Makefile"];
        KnownReferences { findings: vec![FindingId(1), FindingId(3)], files: endings(files.into_iter()), checks }
    }

    fn found(text: &str) -> Vec<Target<'static>> {
        known().references(text).into_iter().map(|one| one.to).collect()
    }

    #[test]
    fn findings_files_and_checks_are_found_where_they_are_known() {
        let text = "F3's fix in src/lib.rs:12 (see `lib.rs`), F9 and x.rs are unknown; **F1**.";
        let file = |line| Target::Place("src/lib.rs", line);
        let expected = [Target::Finding(FindingId(3)), file(Some(12)), file(None), Target::Finding(FindingId(1))];
        assert_eq!(found(text), expected);
        assert_eq!(found("mod.rs is ambiguous, b/mod.rs#L7 is not"), [Target::Place("b/mod.rs", Some(7))]);
        assert_eq!(
            found("./Makefile and old name.txt"),
            [Target::Place("Makefile", None), Target::Place("old name.txt", None)]
        );
    }

    #[test]
    fn the_name_of_a_check_counts_only_where_a_check_is_meant() {
        assert_eq!(found("I test it, and lint is a word"), []);
        assert_eq!(
            found("`test` and the lint check, or cargo test"),
            [Target::Check("test"), Target::Check("lint"), Target::Check("test")]
        );
        assert_eq!(found("built in"), []);
    }

    #[test]
    fn references_name_their_place_in_the_text() {
        let text = "ä F1 ü";
        let one = &known().references(text)[0];
        assert_eq!(&text[one.at.clone()], "F1");
    }

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
