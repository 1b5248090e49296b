//! Links inside the set of documents lead somewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::block::Kind;
use super::outline::Outline;
use super::remark::{DocumentCheck, Mark};

/// Marks the links to anchors that no heading of the set has.
pub(super) fn check(outline: &Outline<'_>, paths: &[&str]) -> Vec<Mark> {
    let anchors: Vec<BTreeSet<String>> = (0..paths.len()).map(|page| anchors(outline, page)).collect();
    let pages: BTreeMap<String, usize> = paths.iter().enumerate().map(|(nth, path)| (join("", path), nth)).collect();
    let mut marks = Vec::new();
    for (page, inked) in outline.pages.iter().enumerate() {
        for link in &inked.links {
            let Some((path, anchor)) = link.target.split_once('#') else { continue };
            let target = if path.is_empty() { Some(page) } else { page_of(paths[page], path, &pages) };
            let Some(target) = target else { continue };
            let wanted = simplified(&decoded(anchor));
            let line =
                wanted.strip_prefix('l').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()));
            if !wanted.is_empty() && !line && !anchors[target].contains(&wanted) {
                let what = format!(
                    "the link to #{anchor} leads nowhere: {} has no such heading; correct the link or the heading",
                    paths[target]
                );
                marks.push(Mark { check: DocumentCheck::Consistency, page, at: link.at, what });
            }
        }
    }
    marks
}

/// Returns the page that a relative link of the document `from` leads to, if it is one of the set.
pub(super) fn page_of(from: &str, link: &str, pages: &BTreeMap<String, usize>) -> Option<usize> {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if let Some(rooted) = link.strip_prefix('/') { join("", rooted) } else { join(folder, &decoded(link)) };
    pages.get(&path).copied()
}

/// Joins two paths, without `.` and `..`.
pub(super) fn join(folder: &str, path: &str) -> String {
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

/// Returns the anchors of a page: those of its headings, numbered when they repeat, and those that its tags set.
fn anchors(outline: &Outline<'_>, page: usize) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = outline.pages[page].anchors.iter().map(|anchor| simplified(anchor)).collect();
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for (nth, block) in outline.blocks.iter().enumerate() {
        if block.page != page || !matches!(block.kind, Kind::Heading(1..=6)) {
            continue;
        }
        let raw = outline.raw(nth);
        let (title, own) = match raw.strip_suffix('}').and_then(|raw| raw.rsplit_once("{#")) {
            Some((title, own)) => (title.trim_end(), Some(own)),
            None => (raw, None),
        };
        found.extend(own.map(simplified));
        let anchor = simplified(&slug(title));
        let count = seen.entry(anchor.clone()).or_default();
        found.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    found
}

/// Makes an anchor of a heading the way that GitHub does.
fn slug(title: &str) -> String {
    let mut words = String::new();
    let mut rest = title;
    // Of a link only the words count.
    while let Some((before, after)) = rest.split_once("](") {
        words.push_str(before);
        rest = after.split_once(')').map_or(after, |(_, rest)| rest);
    }
    words.push_str(rest);
    let kept = words.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
    kept.map(|char| if char == ' ' { '-' } else { char }).collect()
}

/// Whether `_` is an emphasis or a letter depends on the renderer, so it does not count.
fn simplified(anchor: &str) -> String {
    anchor.to_lowercase().replace('_', "").trim_matches('-').to_owned()
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
