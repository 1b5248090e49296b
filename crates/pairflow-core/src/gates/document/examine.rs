//! Examines a set of documents: sections are complete, ids and links lead somewhere, every requirement has a criterion.
//!
//! The checks of words are in `wording`.

use std::collections::{BTreeMap, BTreeSet};

use super::markdown::{BlockKind, MarkdownLink, MarkdownPage};
use super::outline::{DocumentEntry, DocumentOutline, EntryRole, PlacedBlock, RequiredSection, is_criterion_prefix};
use super::remark::{DocumentCheck, PendingRemark, Remark, excerpt, place};
use super::wording;
use super::words::{Mention, RequirementId, TokenForm, has_content, listed, mentions, tokens};

/// Returns what the documents, pairs of path and text, have to change: by file as given, then by place.
///
/// All of them count as one: a section may stand in any, and ids and links resolve across them. A link to a file that
/// is not among them is not followed.
pub fn examine(documents: &[(String, String)]) -> Vec<Remark> {
    if documents.is_empty() {
        return RequiredSection::ALL.into_iter().map(without_document).collect();
    }
    let outline = DocumentOutline::read(documents);
    let paths: Vec<&str> = documents.iter().map(|(path, _)| path.as_str()).collect();
    let mut remarks = check_structure(&outline, &paths);
    remarks.extend(wording::check(&outline));
    place(remarks, documents)
}

/// Returns the acceptance criteria of the documents, each on one line, in the order of the text.
pub fn criteria(documents: &[(String, String)]) -> Vec<String> {
    let outline = DocumentOutline::read(documents);
    let criteria = outline.entries.iter().filter(|entry| entry.role == EntryRole::Criterion);
    let text = |entry: &DocumentEntry| {
        entry.blocks.iter().map(|block| unmarked(outline.raw(*block))).collect::<Vec<_>>().join(" ")
    };
    criteria.map(text).filter(|text| !text.is_empty()).collect()
}

/// Returns a block on one line, without the mark and the box of a list item and the borders of a row.
fn unmarked(raw: &str) -> String {
    let line = raw.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_matches(|c: char| matches!(c, '|' | '#' | '>' | ' '));
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let item = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
    let numbered =
        || line[digits..].strip_prefix(". ").or_else(|| line[digits..].strip_prefix(") ")).filter(|_| digits > 0);
    let line = item.or_else(numbered).unwrap_or(line);
    ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).to_owned()
}

fn without_document(section: RequiredSection) -> Remark {
    let path = "(no document)".to_owned();
    Remark { check: DocumentCheck::Completeness, path, line: 1, column: 1, what: missing(section) }
}

/// Reports what the sections, ids, links and requirements of documents with these paths lack.
fn check_structure(outline: &DocumentOutline<'_>, paths: &[&str]) -> Vec<PendingRemark> {
    let pages: PageIndex = paths.iter().enumerate().map(|(nth, path)| (join("", path), nth)).collect();
    let mut remarks = incomplete_sections(outline);
    remarks.extend(duplicate_ids(outline, paths));
    remarks.extend(unknown_ids(outline, paths, &pages));
    remarks.extend(wanted_and_excluded(outline));
    remarks.extend(broken_links(outline, paths, &pages));
    remarks.extend(unmet_requirements(outline));
    remarks
}

/// The number of each document, by its path.
type PageIndex = BTreeMap<String, usize>;

fn remark(check: DocumentCheck, page: usize, at: usize, what: String) -> PendingRemark {
    PendingRemark { check, page, at, what }
}

fn incomplete_sections(outline: &DocumentOutline<'_>) -> Vec<PendingRemark> {
    let mut found = [false; RequiredSection::ALL.len()];
    let mut remarks = Vec::new();
    let full = headings_with_text(outline);
    for (nth, block) in outline.blocks.iter().enumerate() {
        for section in RequiredSection::ALL.into_iter().filter(|section| block.opens.has(*section)) {
            found[section as usize] = true;
            if !full[nth] {
                let (title, heading) = (section.title(), excerpt(outline.raw(nth)));
                let what = format!(
                    "the section \"{title}\" has nothing under its heading \"{heading}\": write it, or remove the heading"
                );
                remarks.push(remark(DocumentCheck::Completeness, block.page, block.range.start, what));
            }
        }
    }
    for section in RequiredSection::ALL.into_iter().filter(|section| !found[*section as usize]) {
        remarks.push(remark(DocumentCheck::Completeness, 0, 0, missing(section)));
    }
    remarks
}

/// Returns what to report about a section that no document has.
fn missing(section: RequiredSection) -> String {
    let title = section.title();
    format!("the section \"{title}\" is missing: add a heading such as `## {title}` with what it says")
}

/// Returns for each block whether it is a heading with text beneath it, in it or in the headings below it.
fn headings_with_text(outline: &DocumentOutline<'_>) -> Vec<bool> {
    let mut full = vec![false; outline.blocks.len()];
    let mut above: Vec<(u8, usize)> = Vec::new();
    let mut page = 0;
    for (nth, block) in outline.blocks.iter().enumerate() {
        if block.page != page {
            page = block.page;
            above.clear();
        }
        if let BlockKind::Heading(level) = block.kind {
            while above.last().is_some_and(|(other, _)| *other >= level) {
                above.pop();
            }
            above.push((level, nth));
        } else if block.kind != BlockKind::Header && has_content(shown(outline, nth)) {
            above.iter().for_each(|(_, heading)| full[*heading] = true);
        }
    }
    full
}

/// Returns what a reader sees of a block: the code of a code block, else all but comments.
fn shown<'a>(outline: &'a DocumentOutline<'_>, nth: usize) -> &'a str {
    let block = &outline.blocks[nth];
    match block.kind {
        BlockKind::Code => outline.raw(nth),
        _ => &outline.pages[block.page].measures[block.range.clone()],
    }
}

/// Prefixes that are requirements by custom: a criterion that names one means a requirement.
const REQUIREMENTS: &str = "R REQ FR NFR US UR";

/// Words that carry no meaning of their own when two items are compared.
const EMPTY: &str = "a an the to for of in with and by from as must shall should will can system support supports supported \
    supporting provide provides any is are be it feature no not";

/// Words that start a remark on when an excluded thing comes instead.
const LATER: &str = "later next future planned not post after deferred until because see phase version v2";

fn duplicate_ids(outline: &DocumentOutline<'_>, paths: &[&str]) -> Vec<PendingRemark> {
    let mut first: BTreeMap<(&RequirementId, bool), usize> = BTreeMap::new();
    let mut remarks = Vec::new();
    for (nth, mention) in outline.definitions() {
        let block = &outline.blocks[nth];
        // A list or table of all entries may stand beside the headings that describe them.
        let heading = matches!(block.kind, BlockKind::Heading(_));
        match first.get(&(&mention.id, heading)) {
            None => {
                first.insert((&mention.id, heading), nth);
            }
            Some(before) => {
                let (id, path) = (written(outline, block.page, mention), paths[outline.blocks[*before].page]);
                let said = excerpt(outline.raw(*before));
                let what = format!("{id} is used twice: {path} already has \"{said}\"; give this one an id of its own");
                remarks.push(remark(DocumentCheck::Consistency, block.page, mention.at, what));
            }
        }
    }
    remarks
}

fn unknown_ids(outline: &DocumentOutline<'_>, paths: &[&str], pages: &PageIndex) -> Vec<PendingRemark> {
    let mut remarks = Vec::new();
    for block in &outline.blocks {
        let links = &outline.pages[block.page].links;
        for mention in block.mentions.iter().filter(|mention| !outline.defined.contains(&mention.id)) {
            let foreign = || leads_out(links, mention.at, paths[block.page], pages);
            if is_checked(outline, block, mention) && !foreign() {
                remarks.push(remark(
                    DocumentCheck::Consistency,
                    block.page,
                    mention.at,
                    dangling(outline, block, mention),
                ));
            }
        }
    }
    remarks
}

/// Returns whether an id has to be defined in the set: others are defined with its prefix, or the prefix is a customary one.
fn is_checked(outline: &DocumentOutline<'_>, block: &PlacedBlock, mention: &Mention) -> bool {
    let prefix = mention.id.prefix.as_str();
    let required = block.sections.has(RequiredSection::Acceptance) && listed(REQUIREMENTS, prefix);
    outline.homes.contains_key(prefix) || required || (is_criterion_prefix(prefix) && !block.sections.is_empty())
}

/// Returns whether the id at `at` is the text of a link to a document outside the set, which defines it.
fn leads_out(links: &[MarkdownLink], at: usize, path: &str, pages: &PageIndex) -> bool {
    let nth = links.partition_point(|link| link.at <= at);
    let around = links[..nth].last().filter(|link| link.words.contains(&at));
    around.is_some_and(|link| {
        let target = link.target.split_once('#').map_or(link.target.as_str(), |(target, _)| target);
        !target.is_empty() && page_of(path, target, pages).is_none()
    })
}

fn dangling(outline: &DocumentOutline<'_>, block: &PlacedBlock, mention: &Mention) -> String {
    let id = written(outline, block.page, mention);
    let prefix = &mention.id.prefix;
    let requirement = outline.homes.get(prefix) == Some(&RequiredSection::Requirements)
        || (listed(REQUIREMENTS, prefix) && !outline.homes.contains_key(prefix));
    if requirement && block.sections.has(RequiredSection::Acceptance) {
        format!("the acceptance criterion names requirement {id}, which does not exist: correct the id, or write {id}")
    } else {
        format!("{id} is named here but defined nowhere: correct the id, or write {id}")
    }
}

fn wanted_and_excluded(outline: &DocumentOutline<'_>) -> Vec<PendingRemark> {
    let wanted = wanted(outline);
    let required: BTreeSet<&RequirementId> = outline
        .entries
        .iter()
        .filter(|entry| entry.role == EntryRole::Requirement)
        .filter_map(|entry| entry.name.as_ref().map(|name| &name.id))
        .collect();
    let mut remarks = Vec::new();
    for (nth, block) in outline.blocks.iter().enumerate() {
        let excluded = block.sections.has(RequiredSection::NonGoals) && !block.sections.has(RequiredSection::Scope);
        if block.kind != BlockKind::Item || !excluded {
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
                    if outline.blocks[*other].sections.has(RequiredSection::Scope) { "in scope" } else { "required" };
                format!(
                    "\"{}\" is excluded here and {where_to} elsewhere: keep one of the two",
                    excerpt(outline.raw(nth))
                )
            }
            _ => continue,
        };
        remarks.push(remark(DocumentCheck::Consistency, block.page, block.range.start, what));
    }
    remarks
}

/// Returns what is in scope or required, by meaning.
fn wanted(outline: &DocumentOutline<'_>) -> BTreeMap<Vec<String>, usize> {
    let mut wanted = BTreeMap::new();
    for (nth, block) in outline.blocks.iter().enumerate().rev() {
        let inside = block.sections.has(RequiredSection::Scope) || block.sections.has(RequiredSection::Requirements);
        if block.kind == BlockKind::Item
            && inside
            && !block.sections.has(RequiredSection::NonGoals)
            && !negated(outline.prose(nth))
        {
            wanted.insert(meaning(outline.prose(nth), false), nth);
        }
    }
    wanted
}

fn negated(prose: &str) -> bool {
    tokens(prose, 0..prose.len()).iter().any(|token| token.among("no not never without except"))
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
        if token.form != TokenForm::Sign && !in_id && !token.among(EMPTY) {
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
        LATER.split_ascii_whitespace().any(|later| {
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

fn written<'a>(outline: &'a DocumentOutline<'_>, page: usize, mention: &Mention) -> &'a str {
    &outline.texts[page][mention.at..mention.end]
}

fn broken_links(outline: &DocumentOutline<'_>, paths: &[&str], pages: &PageIndex) -> Vec<PendingRemark> {
    let anchors: Vec<BTreeSet<String>> = outline.pages.iter().map(anchors).collect();
    let mut remarks = Vec::new();
    for (page, read) in outline.pages.iter().enumerate() {
        for link in &read.links {
            let Some((path, anchor)) = link.target.split_once('#') else { continue };
            let target = if path.is_empty() { Some(page) } else { page_of(paths[page], path, pages) };
            let Some(target) = target else { continue };
            let wanted = simplified(&decoded(anchor));
            let line =
                wanted.strip_prefix('l').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()));
            if !wanted.is_empty() && !line && !anchors[target].contains(&wanted) {
                let what = format!(
                    "the link to #{anchor} leads nowhere: {} has no such heading; correct the link or the heading",
                    paths[target]
                );
                remarks.push(remark(DocumentCheck::Consistency, page, link.at, what));
            }
        }
    }
    remarks
}

/// Returns the page that a relative link of the document `from` leads to, if it is one of the set.
fn page_of(from: &str, link: &str, pages: &PageIndex) -> Option<usize> {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if let Some(rooted) = link.strip_prefix('/') { join("", rooted) } else { join(folder, &decoded(link)) };
    pages.get(&path).copied()
}

/// Joins two paths, without `.` and `..`.
fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the anchors of a page: those of its headings, numbered when they repeat, and those that it sets itself.
fn anchors(page: &MarkdownPage) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = page.anchors.iter().map(|anchor| simplified(anchor)).collect();
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for title in &page.titles {
        // As GitHub does it.
        let kept = title.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
        let anchor = simplified(&kept.map(|char| if char == ' ' { '-' } else { char }).collect::<String>());
        let count = seen.entry(anchor.clone()).or_default();
        found.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    found
}

/// Whether `_` is an emphasis or a letter depends on the renderer, so it does not count.
fn simplified(anchor: &str) -> String {
    anchor.to_lowercase().replace('_', "").trim_matches('-').to_owned()
}

/// Undoes percent-encoding.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(&part.as_bytes()[2..]);
            }
            None => bytes.extend(b"%".iter().chain(part.as_bytes())),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn unmet_requirements(outline: &DocumentOutline<'_>) -> Vec<PendingRemark> {
    let groups = groups(outline);
    let mut remarks = Vec::new();
    let mut nth = 0;
    for (at, entry) in outline.entries.iter().enumerate().filter(|(_, entry)| entry.role == EntryRole::Requirement) {
        nth += 1;
        if !outline.links.reaches(at) && !entry.accepted_in_row && !groups[at] {
            remarks.push(untraced(outline, entry.block, unmet(outline, entry, nth)));
        }
    }
    if nth == 0 {
        remarks.extend(prose_only(outline));
    }
    remarks
}

/// Returns for each entry whether it only groups requirements that are checked one by one.
fn groups(outline: &DocumentOutline<'_>) -> Vec<bool> {
    let mut groups = vec![false; outline.entries.len()];
    for entry in outline.entries.iter().filter(|entry| entry.role == EntryRole::Requirement) {
        if let Some(inside) = entry.inside {
            groups[inside] = true;
        }
    }
    groups
}

fn unmet(outline: &DocumentOutline<'_>, entry: &DocumentEntry, nth: usize) -> String {
    let text = outline.texts[outline.blocks[entry.block].page];
    let range = &outline.blocks[entry.block].range;
    match &entry.name {
        Some(name) => {
            let (id, said) = (&text[name.at..name.end], excerpt(&text[name.end..range.end]));
            format!("requirement {id} ({said}) is named by no acceptance criterion: add one that names {id}")
        }
        None => {
            let said = excerpt(&text[range.clone()]);
            let advice = format!("number it, as in \"R{nth}: …\"");
            format!("requirement {nth} ({said}) has no id, so that no acceptance criterion can name it: {advice}")
        }
    }
}

/// Requirements that are written as running text cannot be named one by one.
fn prose_only(outline: &DocumentOutline<'_>) -> Option<PendingRemark> {
    let block = (0..outline.blocks.len()).find(|nth| {
        let block = &outline.blocks[*nth];
        let text = matches!(block.kind, BlockKind::Paragraph | BlockKind::Quote | BlockKind::Row);
        text && block.sections.has(RequiredSection::Requirements) && has_content(outline.raw(*nth))
    })?;
    let what = "the requirements are running text: write each as a list item with an id, as in \"R1: …\"";
    Some(untraced(outline, block, what.to_owned()))
}

fn untraced(outline: &DocumentOutline<'_>, block: usize, what: String) -> PendingRemark {
    let placed = &outline.blocks[block];
    remark(DocumentCheck::Traceability, placed.page, placed.range.start, what)
}
