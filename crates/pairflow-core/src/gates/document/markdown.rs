//! Reads Markdown with `pulldown-cmark` as a flat list of blocks with their places.
//!
//! Beside the text there are two copies of the same length in which code, addresses and comments are blank, so that
//! places hold in all three. Knows nothing of sections and requirements.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::words;

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// A heading; a bold line that is meant as one has level 7.
    Heading(u8),
    Paragraph,
    /// An item of a list.
    Item,
    /// The first row of a table.
    Header,
    Row,
    Quote,
    Code,
}

/// One block of a page.
#[derive(Debug, Clone)]
pub(super) struct MarkdownBlock {
    pub(super) kind: BlockKind,
    /// Its text, without markers.
    pub(super) range: Range<usize>,
    /// The list item around it.
    pub(super) parent: Option<usize>,
    /// The cells of a row.
    pub(super) cells: Vec<Range<usize>>,
}

/// A link.
pub(super) struct MarkdownLink {
    pub(super) at: usize,
    /// The text that is linked.
    pub(super) words: Range<usize>,
    pub(super) target: String,
}

/// One document.
#[derive(Default)]
pub(super) struct MarkdownPage {
    pub(super) blocks: Vec<MarkdownBlock>,
    /// The text without code, addresses, comments and quoted words.
    pub(super) prose: String,
    /// The text with inline code and quoted words, which may hold a measure.
    pub(super) measures: String,
    /// The links, in order.
    pub(super) links: Vec<MarkdownLink>,
    /// The headings, without markup.
    pub(super) titles: Vec<String>,
    /// The anchors that HTML tags and attributes of headings set.
    pub(super) anchors: Vec<String>,
}

const LONGEST_QUOTE: usize = 200;

/// Reads a document.
pub(super) fn read(text: &str) -> MarkdownPage {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let copy = || text.as_bytes().to_vec();
    let mut reader = PageReader { text, prose: copy(), measures: copy(), ..PageReader::default() };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        reader.take(event, range);
    }
    for nth in 0..reader.page.blocks.len() {
        let block = &reader.page.blocks[nth];
        if block.kind != BlockKind::Code {
            reader.mute_quotes_and_addresses(block.range.clone());
        }
    }
    let text = |bytes| String::from_utf8(bytes).expect("only whole characters are blanked");
    let mut page = reader.page;
    (page.prose, page.measures) = (text(reader.prose), text(reader.measures));
    page.links.sort_by_key(|link| link.at);
    page
}

#[derive(Default)]
struct PageReader<'a> {
    text: &'a str,
    page: MarkdownPage,
    prose: Vec<u8>,
    measures: Vec<u8>,
    /// The block that text goes to, and whether it has any yet.
    open: Option<(usize, bool)>,
    /// The list items around the next block.
    items: Vec<usize>,
    quotes: usize,
    /// The links around the next text: the target, where it starts, what is linked.
    links: Vec<(String, usize, Range<usize>)>,
}

impl PageReader<'_> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(end) => self.end(end, range),
            Event::SoftBreak | Event::HardBreak => self.grow(range),
            Event::Text(text) => {
                self.add_to_title(&text);
                self.grow(range);
            }
            Event::Code(code) => {
                self.add_to_title(&code);
                self.grow(range.clone());
                let ticks = self.text[range.clone()].bytes().take_while(|byte| *byte == b'`').count();
                self.mute_words(range, ticks);
            }
            Event::InlineHtml(html) | Event::Html(html) => {
                self.hide(range.clone());
                for name in ["id=\"", "name=\""] {
                    let anchor = html.split_once(name).and_then(|(_, rest)| rest.split_once('"'));
                    self.page.anchors.extend(anchor.map(|(anchor, _)| anchor.to_owned()));
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::BlockQuote(_) => {
                self.quotes += 1;
                if self.quotes == 1 {
                    let inside = range.start + 1..self.trimmed_end(&range);
                    self.push(BlockKind::Quote, inside, None);
                }
            }
            Tag::Heading { level, id, .. } if self.quotes == 0 => {
                let end = self.trimmed_end(&range);
                self.push(BlockKind::Heading(level as u8), end..end, None);
                self.page.titles.push(String::new());
                self.page.anchors.extend(id.map(pulldown_cmark::CowStr::into_string));
            }
            Tag::Paragraph if self.quotes == 0 => {
                // The first paragraph of an item is the item's own text.
                let own = self.open.is_some_and(|(nth, filled)| !filled && self.items.last() == Some(&nth));
                if !own {
                    self.push(BlockKind::Paragraph, range.start..range.start, self.items.last().copied());
                }
            }
            Tag::Item if self.quotes == 0 => {
                let nth = self.push(BlockKind::Item, range.start..range.start, self.items.last().copied());
                self.items.push(nth);
            }
            Tag::CodeBlock(_) => {
                self.hide(range.clone());
                if self.quotes == 0 {
                    self.push(BlockKind::Code, range.start..range.start, self.items.last().copied());
                }
            }
            Tag::TableHead | Tag::TableRow if self.quotes == 0 => {
                let kind = if tag == Tag::TableHead { BlockKind::Header } else { BlockKind::Row };
                let row = range.start..self.trimmed_end(&range);
                self.push(kind, row, self.items.last().copied());
            }
            Tag::TableCell if self.quotes == 0 => {
                if let Some(row) = self.page.blocks.last_mut() {
                    row.cells.push(range);
                }
            }
            Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. } => {
                if matches!(link_type, LinkType::Autolink | LinkType::Email) {
                    self.hide(range.clone());
                }
                self.grow(range.clone());
                self.links.push((dest_url.into_string(), range.start, range.start..range.start));
            }
            Tag::Emphasis | Tag::Strong => self.grow(range),
            Tag::HtmlBlock | Tag::MetadataBlock(_) => self.open = None,
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd, range: Range<usize>) {
        match end {
            TagEnd::BlockQuote(_) => self.quotes -= 1,
            TagEnd::Item if self.quotes == 0 => {
                self.items.pop();
                self.open = None;
            }
            TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::CodeBlock | TagEnd::Table => self.open = None,
            TagEnd::Link | TagEnd::Image => {
                let Some((target, at, words)) = self.links.pop() else { return };
                // The closing bracket stays, the address behind it goes.
                self.hide((words.end + 1).min(range.end)..range.end);
                self.page.links.push(MarkdownLink { at, words, target });
            }
            _ => {}
        }
    }

    fn add_to_title(&mut self, text: &str) {
        let open = self.open.map(|(nth, _)| self.page.blocks[nth].kind);
        if let (Some(BlockKind::Heading(_)), Some(title)) = (open, self.page.titles.last_mut()) {
            title.push_str(text);
        }
    }

    fn trimmed_end(&self, range: &Range<usize>) -> usize {
        range.start + self.text[range.clone()].trim_end().len()
    }

    fn push(&mut self, kind: BlockKind, range: Range<usize>, parent: Option<usize>) -> usize {
        let nth = self.page.blocks.len();
        self.open = Some((nth, range.start < range.end));
        self.page.blocks.push(MarkdownBlock { kind, range, parent, cells: Vec::new() });
        nth
    }

    /// Adds text to the open block and to the links around it.
    fn grow(&mut self, range: Range<usize>) {
        for (_, _, words) in &mut self.links {
            *words = if words.start == words.end { range.clone() } else { words.start..range.end.max(words.end) };
        }
        if let Some((nth, filled)) = &mut self.open {
            let block = &mut self.page.blocks[*nth].range;
            *block = if *filled { block.start..range.end.max(block.end) } else { range };
            *filled = true;
        }
    }

    fn hide(&mut self, range: Range<usize>) {
        blank(&mut self.measures[range.clone()]);
        blank(&mut self.prose[range]);
    }

    /// Blanks what two marks of `mark` bytes enclose in the prose, unless it is an id: `R1` in code is still R1.
    fn mute_words(&mut self, range: Range<usize>, mark: usize) {
        let inner = range.start + mark..range.end - mark;
        let text = self.text[inner.clone()].trim();
        let found = if text.len() > 40 { Vec::new() } else { words::mentions(text, 0..text.len()) };
        let is_id = found.first().is_some_and(|only| only.at == 0 && only.end == text.len());
        blank(&mut self.prose[range.start..inner.start]);
        blank(&mut self.prose[inner.end..range.end]);
        if !is_id {
            blank(&mut self.prose[inner]);
        }
    }

    fn mute_quotes_and_addresses(&mut self, range: Range<usize>) {
        let (mut at, mut before) = (range.start, ' ');
        while let Some(first) = self.text[at..range.end].chars().next() {
            let rest = &self.text[at..range.end];
            // What is blank in the prose already was code or a comment.
            let is_prose = self.prose[at] != b' ';
            let quote = quote_len(rest, first, before).filter(|_| is_prose);
            let address = address_len(rest, before).filter(|_| is_prose);
            let len = if let Some(len) = quote {
                self.mute_words(at..at + len, first.len_utf8());
                len
            } else if let Some(len) = address {
                self.hide(at..at + len);
                len
            } else if first == '\\' {
                1 + rest[1..].chars().next().map_or(0, char::len_utf8)
            } else {
                first.len_utf8()
            };
            before = self.text[at..at + len].chars().next_back().unwrap_or(' ');
            at += len;
        }
    }
}

/// Returns the length of the quoted words that `rest` starts with.
fn quote_len(rest: &str, mark: char, before: char) -> Option<usize> {
    let close = match mark {
        '"' | '\'' => mark,
        '“' => '”',
        '‘' => '’',
        _ => return None,
    };
    let longest = if matches!(close, '\'' | '’') { LONGEST_QUOTE / 3 } else { LONGEST_QUOTE };
    let inner = &rest[mark.len_utf8()..];
    let len = inner.char_indices().take(longest).find(|(_, char)| *char == close).map(|(len, _)| len)?;
    let end = mark.len_utf8() + len + close.len_utf8();
    let opens = before.is_whitespace() || "([{*_—–/".contains(before);
    let closes = rest[end..].chars().next().is_none_or(|char| !char.is_alphanumeric());
    (opens && closes && len > 0).then_some(end)
}

/// Returns the length of the bare address that `rest` starts with.
fn address_len(rest: &str, before: char) -> Option<usize> {
    let starts = ["http://", "https://", "www.", "mailto:"].iter().any(|start| rest.starts_with(start));
    let end = || rest.find(|char: char| char.is_whitespace() || "<>)|\"`".contains(char)).unwrap_or(rest.len());
    (starts && !before.is_alphanumeric()).then(end)
}

fn blank(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}
