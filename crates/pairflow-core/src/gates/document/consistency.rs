//! Ids are defined once and lead somewhere, and nothing is both wanted and excluded.

use std::collections::{BTreeMap, BTreeSet};

use super::anchors::{join, page_of};
use super::block::Kind;
use super::id::{Id, Mention, mentions};
use super::inline::Link;
use super::outline::{Outline, Placed, Role, is_criterion_prefix};
use super::remark::{DocumentCheck, Mark, excerpt};
use super::section::Section;
use super::token::{Form, tokens};

/// Prefixes that are requirements by custom: a criterion that names one means a requirement.
const REQUIREMENTS: [&str; 6] = ["R", "REQ", "FR", "NFR", "US", "UR"];

/// Words that carry no meaning of their own when two items are compared.
const EMPTY: [&str; 32] = [
    "a",
    "an",
    "the",
    "to",
    "for",
    "of",
    "in",
    "with",
    "and",
    "by",
    "from",
    "as",
    "must",
    "shall",
    "should",
    "will",
    "can",
    "system",
    "support",
    "supports",
    "supported",
    "supporting",
    "provide",
    "provides",
    "any",
    "is",
    "are",
    "be",
    "it",
    "feature",
    "no",
    "not",
];

/// Words that start a remark on when an excluded thing comes instead.
const LATER: [&str; 14] = [
    "later", "next", "future", "planned", "not", "post", "after", "deferred", "until", "because", "see", "phase",
    "version", "v2",
];

/// Marks duplicate ids, references to nothing, and items that are in and out of scope.
pub(super) fn check(outline: &Outline<'_>, paths: &[&str]) -> Vec<Mark> {
    let mut marks = duplicates(outline, paths);
    marks.extend(unknown(outline, paths));
    marks.extend(in_and_out(outline));
    marks
}

fn duplicates(outline: &Outline<'_>, paths: &[&str]) -> Vec<Mark> {
    let mut first: BTreeMap<(&Id, bool), usize> = BTreeMap::new();
    let mut marks = Vec::new();
    for (nth, mention) in outline.definitions() {
        let block = &outline.blocks[nth];
        // A list or table of all entries may stand beside the headings that describe them.
        let heading = matches!(block.kind, Kind::Heading(_));
        match first.get(&(&mention.id, heading)) {
            None => {
                first.insert((&mention.id, heading), nth);
            }
            Some(before) => {
                let (id, path) = (written(outline, block.page, mention), paths[outline.blocks[*before].page]);
                let said = excerpt(outline.raw(*before));
                let what = format!("{id} is used twice: {path} already has \"{said}\"; give this one an id of its own");
                marks.push(mark(block.page, mention.at, what));
            }
        }
    }
    marks
}

fn unknown(outline: &Outline<'_>, paths: &[&str]) -> Vec<Mark> {
    let pages: BTreeMap<String, usize> = paths.iter().enumerate().map(|(nth, path)| (join("", path), nth)).collect();
    let mut marks = Vec::new();
    for block in &outline.blocks {
        let links = &outline.pages[block.page].links;
        for mention in block.mentions.iter().filter(|mention| !outline.defined.contains(&mention.id)) {
            let foreign = || leads_out(links, mention.at, paths[block.page], &pages);
            if is_checked(outline, block, mention) && !foreign() {
                marks.push(mark(block.page, mention.at, dangling(outline, block, mention)));
            }
        }
    }
    marks
}

/// Says whether an id has to be defined in the set: others are defined with its prefix, or custom says what it is.
fn is_checked(outline: &Outline<'_>, block: &Placed, mention: &Mention) -> bool {
    let prefix = mention.id.prefix.as_str();
    let required = block.sections.has(Section::Acceptance) && REQUIREMENTS.contains(&prefix);
    outline.homes.contains_key(prefix) || required || (is_criterion_prefix(prefix) && !block.sections.is_empty())
}

/// Says whether the id at `at` is the text of a link to a document outside the set, which defines it.
fn leads_out(links: &[Link], at: usize, path: &str, pages: &BTreeMap<String, usize>) -> bool {
    let nth = links.partition_point(|link| link.at <= at);
    let around = links[..nth].last().filter(|link| link.words.contains(&at));
    around.is_some_and(|link| {
        let target = link.target.split_once('#').map_or(link.target.as_str(), |(target, _)| target);
        !target.is_empty() && page_of(path, target, pages).is_none()
    })
}

fn dangling(outline: &Outline<'_>, block: &Placed, mention: &Mention) -> String {
    let id = written(outline, block.page, mention);
    let prefix = &mention.id.prefix;
    let requirement = outline.homes.get(prefix) == Some(&Section::Requirements)
        || (REQUIREMENTS.contains(&prefix.as_str()) && !outline.homes.contains_key(prefix));
    if requirement && block.sections.has(Section::Acceptance) {
        format!("the acceptance criterion names requirement {id}, which does not exist: correct the id, or write {id}")
    } else {
        format!("{id} is named here but defined nowhere: correct the id, or write {id}")
    }
}

fn in_and_out(outline: &Outline<'_>) -> Vec<Mark> {
    let wanted = wanted(outline);
    let required: BTreeSet<&Id> = outline
        .entries
        .iter()
        .filter(|entry| entry.role == Role::Requirement)
        .filter_map(|entry| entry.name.as_ref().map(|name| &name.id))
        .collect();
    let mut marks = Vec::new();
    for (nth, block) in outline.blocks.iter().enumerate() {
        let excluded = block.sections.has(Section::NonGoals) && !block.sections.has(Section::Scope);
        if block.kind != Kind::Item || !excluded {
            continue;
        }
        let meaning = meaning(outline.prose(nth), true);
        let named = block.mentions.iter().find(|mention| required.contains(&mention.id));
        let what = match (named, wanted.get(&meaning)) {
            (Some(mention), _) if meaning.is_empty() => {
                let id = written(outline, block.page, mention);
                format!("{id} is excluded here and is a requirement: keep one of the two")
            }
            (_, Some(other)) if !meaning.is_empty() => {
                let where_to =
                    if outline.blocks[*other].sections.has(Section::Scope) { "in scope" } else { "required" };
                format!(
                    "\"{}\" is excluded here and {where_to} elsewhere: keep one of the two",
                    excerpt(outline.raw(nth))
                )
            }
            _ => continue,
        };
        marks.push(mark(block.page, block.range.start, what));
    }
    marks
}

/// Returns what is in scope or required, by meaning.
fn wanted(outline: &Outline<'_>) -> BTreeMap<Vec<String>, usize> {
    let mut wanted = BTreeMap::new();
    for (nth, block) in outline.blocks.iter().enumerate().rev() {
        let inside = block.sections.has(Section::Scope) || block.sections.has(Section::Requirements);
        if block.kind == Kind::Item && inside && !block.sections.has(Section::NonGoals) && !negated(outline.prose(nth))
        {
            wanted.insert(meaning(outline.prose(nth), false), nth);
        }
    }
    wanted
}

fn negated(prose: &str) -> bool {
    tokens(prose, 0..prose.len()).iter().any(|token| token.among(&["no", "not", "never", "without", "except"]))
}

/// Returns the words of an item that say something, in order of the alphabet: "PDF export" is "Export to PDF".
fn meaning(prose: &str, excluded: bool) -> Vec<String> {
    let end = if excluded { without_remark(prose) } else { prose.len() };
    let ids = mentions(prose, 0..end);
    let mut next = ids.iter().peekable();
    let mut words: Vec<String> = Vec::new();
    for token in tokens(prose, 0..end) {
        while next.next_if(|id| id.end <= token.at).is_some() {}
        let in_id = next.peek().is_some_and(|id| id.at <= token.at);
        if token.form != Form::Sign && !in_id && !token.among(&EMPTY) {
            words.push(singular(&token.text.to_lowercase()));
        }
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// Returns where a closing remark such as "(later)" or "— planned for 2027" starts.
fn without_remark(prose: &str) -> usize {
    let opens = |(at, char): &(usize, char)| {
        if !matches!(char, '(' | ':' | '—' | '–' | '-' | ',' | ';' | '.') {
            return false;
        }
        let rest = prose[at + char.len_utf8()..].trim_start();
        LATER.iter().any(|later| {
            rest.get(..later.len()).is_some_and(|start| start.eq_ignore_ascii_case(later))
                && !rest[later.len()..].starts_with(char::is_alphanumeric)
        })
    };
    prose.char_indices().find(opens).map_or(prose.len(), |(at, _)| at)
}

fn singular(word: &str) -> String {
    let plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
    if plural { word[..word.len() - 1].to_owned() } else { word.to_owned() }
}

fn written<'a>(outline: &'a Outline<'_>, page: usize, mention: &Mention) -> &'a str {
    &outline.texts[page][mention.at..mention.end]
}

fn mark(page: usize, at: usize, what: String) -> Mark {
    Mark { check: DocumentCheck::Consistency, page, at, what }
}
