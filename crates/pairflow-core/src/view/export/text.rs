//! Foreign text as HTML: safe, escaped and bounded, with links to what it refers to. A little Markdown is understood; the
//! rest stays as it was typed.

use std::collections::BTreeMap;

use maud::{Markup, Render, html};

use crate::gates::diff::LineRange;
use crate::ids::FindingId;
use crate::safe::safe;
use crate::time::Timestamp;
use crate::view::export::log_facts::{Export, LogFacts, RunKind};
use crate::view::package::references::{KnownReferences, Reference, Target, item};
use crate::view::patch::FilePatch;

/// How many characters of one text are shown at most.
const SHOWN: usize = 16_000;

/// What every part of the page needs.
pub(super) struct PageContext<'a> {
    pub(super) export: &'a Export,
    pub(super) links: PageLinks<'a>,
    /// The whole change.
    pub(super) whole: &'a [FilePatch<'a>],
}

/// Foreign text on one line or in a `pre`; of a very long one only the beginning.
pub(in crate::view) struct SafeText<'a>(pub(in crate::view) &'a str);

impl Render for SafeText<'_> {
    fn render_to(&self, into: &mut String) {
        let (shown, left_out) = cut(self.0);
        safe(shown).render_to(into);
        into.push_str(if left_out > 0 { "…" } else { "" });
    }
}

/// A time for people: `2026-02-21 12:34:56 UTC`.
pub(super) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{} {} UTC", text.get(..10).unwrap_or_default(), at.hms())
}

/// A coloured word.
pub(super) fn pill(class: &str, word: &str) -> Markup {
    html! { span class={ "pill " (class) } { (SafeText(word)) } }
}

/// A link to another place of the page.
pub(super) fn link(class: Option<&str>, to: &str, text: &str) -> Markup {
    html! { a class=[class] href={ "#" (to) } { (SafeText(text)) } }
}

/// One line of text, with text between backticks as code; a backtick without a partner stays.
pub(super) fn inline(text: &str, links: &PageLinks<'_>) -> Markup {
    let clean = safe(cut(text).0);
    let found = links.find(&clean);
    let ticks = clean.matches('`').count();
    let mut from = 0;
    html! {
        @for (nth, part) in clean.split('`').enumerate() {
            @let linked = linked(part, from, &found);
            @if nth % 2 == 0 { (linked) } @else if nth < ticks { code { (linked) } } @else { "`" (linked) }
            ({ from += part.len() + 1; "" })
        }
    }
}

/// A part of a text that begins at the byte `from`, with those references that are inside it.
fn linked(part: &str, from: usize, found: &[(Reference<'_>, String)]) -> Markup {
    let inside = found.iter().filter(|(it, _)| it.at.start >= from && it.at.end <= from + part.len());
    let mut at = 0;
    html! {
        @for (reference, anchor) in inside {
            @let (start, end) = (reference.at.start - from, reference.at.end - from);
            (SafeText(&part[at..start])) (link(Some("ref"), anchor, &part[start..end]))
            ({ at = end; "" })
        }
        (SafeText(&part[at..]))
    }
}

/// A text of several lines: paragraphs, lists, headings, code.
pub(super) fn blocks(text: &str, links: &PageLinks<'_>) -> Markup {
    let (shown, left_out) = cut(text);
    html! {
        @for block in read_blocks(&safe(shown)) {
            @match block {
                TextBlock::Paragraph(lines) => p { (joined(&lines, links)) },
                TextBlock::List(items) => ul { @for lines in items { li { (joined(&lines, links)) } } },
                TextBlock::Heading(title) => h4 { (SafeText(title)) },
                TextBlock::Code(lines) => pre { @for line in lines { (SafeText(line)) "\n" } },
            }
        }
        @if left_out > 0 { p.cut { (left_out) " more bytes are left out here." } }
    }
}

fn joined(lines: &[&str], links: &PageLinks<'_>) -> Markup {
    html! { @for (nth, line) in lines.iter().enumerate() { @if nth > 0 { "\n" } (inline(line, links)) } }
}

enum TextBlock<'a> {
    Paragraph(Vec<&'a str>),
    /// The lines of each item.
    List(Vec<Vec<&'a str>>),
    Heading(&'a str),
    Code(Vec<&'a str>),
}

fn read_blocks(text: &str) -> Vec<TextBlock<'_>> {
    let mut blocks = Vec::new();
    let (mut fenced, mut open) = (false, false);
    for line in text.lines() {
        let bare = line.trim();
        if bare.starts_with("```") {
            (fenced, open) = (!fenced, false);
            blocks.extend(fenced.then(|| TextBlock::Code(Vec::new())));
            continue;
        }
        match (blocks.last_mut(), item(bare)) {
            (Some(TextBlock::Code(lines)), _) if fenced => lines.push(line),
            _ if bare.is_empty() => open = false,
            (Some(TextBlock::List(items)), Some(text)) if open => items.push(vec![text]),
            (_, Some(text)) => {
                blocks.push(TextBlock::List(vec![vec![text]]));
                open = true;
            }
            _ if bare.starts_with('#') => {
                blocks.push(TextBlock::Heading(bare.trim_start_matches('#').trim()));
                open = false;
            }
            (Some(TextBlock::Paragraph(lines)), _) if open => lines.push(bare),
            (Some(TextBlock::List(items)), _) if open => {
                items.iter_mut().next_back().into_iter().for_each(|item| item.push(bare))
            }
            _ => {
                blocks.push(TextBlock::Paragraph(vec![bare]));
                open = true;
            }
        }
    }
    blocks
}

/// The beginning of a text, and how many bytes come after it.
fn cut(text: &str) -> (&str, usize) {
    let end = text.char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| at);
    (&text[..end], text.len() - end)
}

/// Everything on the page that can be linked to.
pub(super) struct PageLinks<'a> {
    known: KnownReferences<'a>,
    /// The number of each file of the whole patch, and the lines of each of its hunks in the new file.
    files: BTreeMap<&'a str, (usize, Vec<LineRange>)>,
    receipts: BTreeMap<&'a str, u64>,
}

impl<'a> PageLinks<'a> {
    /// Reads off what there is to link to; only what is on the page is.
    pub(super) fn of(facts: &'a LogFacts, whole: &'a [FilePatch<'a>]) -> Self {
        let hunks = |file: &FilePatch<'_>| file.hunks.iter().map(|hunk| hunk.header.new).collect();
        let checks = facts.receipts.list.iter().filter(|run| run.said.0 == RunKind::Check);
        Self {
            known: KnownReferences::of(facts.state()),
            files: whole.iter().zip(1..).map(|(file, number)| (file.path.as_str(), (number, hunks(file)))).collect(),
            receipts: checks.map(|run| (run.said.1.check.as_str(), run.seq)).collect(),
        }
    }

    /// Finds what a text refers to, with the place on the page that it leads to.
    pub(super) fn find(&self, text: &str) -> Vec<(Reference<'a>, String)> {
        let anchor = |target: &Target<'_>| match target {
            Target::Finding(id) => Some(finding_anchor(*id)),
            Target::Place(path, line) => self.place(path, *line),
            Target::Check(name) => self.receipt(name),
        };
        let found = self.known.references(text).into_iter();
        found.filter_map(|reference| anchor(&reference.to).map(|anchor| (reference, anchor))).collect()
    }

    /// Returns the place of a line of a changed file: its hunk, or else the file.
    pub(super) fn place(&self, path: &str, line: Option<u32>) -> Option<String> {
        let (number, hunks) = self.files.get(path)?;
        let hunk = hunks.iter().position(|hunk| line.is_some_and(|line| hunk.contain(line)));
        Some(hunk.map_or_else(|| file_anchor(None, *number), |hunk| hunk_anchor(None, *number, hunk + 1)))
    }

    /// Returns the place of the newest receipt of a check.
    pub(super) fn receipt(&self, check: &str) -> Option<String> {
        self.receipts.get(check).map(|seq| receipt_anchor(*seq))
    }
}

/// The place of a row of the ledger: `f3`.
pub(super) fn finding_anchor(id: FindingId) -> String {
    format!("f{}", id.0)
}

/// The place of a receipt: `receipt-12`, after its line of the log.
pub(super) fn receipt_anchor(seq: u64) -> String {
    format!("receipt-{seq}")
}

/// The place of a message: `msg-12`, after its line of the log.
pub(super) fn message_anchor(seq: u64) -> String {
    format!("msg-{seq}")
}

/// The place of a file in the whole patch, or in that of a round.
pub(super) fn file_anchor(round: Option<u32>, file: usize) -> String {
    let round = round.map(|round| format!("r{round}-")).unwrap_or_default();
    format!("file-{round}{file}")
}

/// The place of a hunk in the whole patch, or in that of a round.
pub(super) fn hunk_anchor(round: Option<u32>, file: usize, hunk: usize) -> String {
    let round = round.map(|round| format!("r{round}-")).unwrap_or_default();
    format!("hunk-{round}{file}-{hunk}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_never_markup() {
        let page = html! {
            p { (SafeText("<b>\"'&amp;\u{1b}[31m\0")) }
            (link(None, "'\"<", ">")) (pill("good", "<"))
        };
        assert_eq!(
            page.into_string(),
            "<p>&lt;b&gt;&quot;'&amp;amp;</p><a href=\"#'&quot;&lt;\">&gt;</a><span class=\"pill good\">&lt;</span>"
        );
    }
}
