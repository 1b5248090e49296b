//! Markdown as a flat list of blocks with their places. Hand-written: the gate needs blocks, nesting and places, not
//! rendering, and has to stay linear on garbage.

use std::ops::Range;

use super::block::{Block, Kind};
use super::inline::{Inked, ink};
use super::{id, section};

/// One document, taken apart.
pub(super) struct Page {
    pub(super) blocks: Vec<Block>,
    pub(super) inked: Inked,
}

/// Takes `text` apart.
pub(super) fn scan(text: &str) -> Page {
    let mut scanner = Scanner { text, lines: lines(text), ..Scanner::default() };
    scanner.front_matter();
    while scanner.at < scanner.lines.len() {
        scanner.step();
    }
    let mut blocks = scanner.blocks;
    let inked = ink(text, &blocks, scanner.hidden, scanner.definitions);
    for block in &mut blocks {
        raise_bold_line(text, &inked.prose, block);
    }
    Page { blocks, inked }
}

#[derive(Default)]
struct Scanner<'a> {
    text: &'a str,
    lines: Vec<Range<usize>>,
    at: usize,
    blocks: Vec<Block>,
    /// The block that the next line of text goes on with.
    open: Option<usize>,
    /// The items around the next line: their indents and blocks.
    list: Vec<(usize, usize)>,
    hidden: Vec<Range<usize>>,
    definitions: Vec<Range<usize>>,
}

impl<'a> Scanner<'a> {
    fn step(&mut self) {
        let taken = self.blank()
            || self.comment()
            || self.fence()
            || self.heading()
            || self.underline()
            || self.rule()
            || self.table()
            || self.quote()
            || self.item()
            || self.indented()
            || self.definition();
        if !taken {
            self.words();
        }
        self.at += 1;
    }

    fn line(&self, at: usize) -> &'a str {
        self.lines.get(at).map_or("", |line| &self.text[line.clone()])
    }

    /// Returns the line at hand without its indent, the indent in columns, and where the rest starts.
    fn current(&self) -> (&'a str, usize, usize) {
        let line = self.line(self.at);
        let rest = line.trim_start_matches([' ', '\t']);
        let white = &line[..line.len() - rest.len()];
        let columns = white.bytes().fold(0, |at, byte| if byte == b'\t' { (at / 4 + 1) * 4 } else { at + 1 });
        (rest, columns, self.lines[self.at].start + white.len())
    }

    fn push(&mut self, kind: Kind, range: Range<usize>, parent: Option<usize>) -> usize {
        self.blocks.push(Block { kind, range, parent });
        self.blocks.len() - 1
    }

    /// Returns the item that text at `columns` stands in, and leaves the items that it does not.
    fn home(&mut self, columns: usize) -> Option<usize> {
        while self.list.last().is_some_and(|(indent, _)| *indent >= columns) {
            self.list.pop();
        }
        self.list.last().map(|(_, block)| *block)
    }

    fn front_matter(&mut self) {
        if self.line(0).trim_end() != "---" {
            return;
        }
        if let Some(end) = (1..self.lines.len()).find(|at| matches!(self.line(*at).trim_end(), "---" | "...")) {
            self.hidden.push(0..self.lines[end].end);
            self.at = end + 1;
        }
    }

    fn blank(&mut self) -> bool {
        let blank = self.line(self.at).trim().is_empty();
        if blank {
            self.open = None;
        }
        blank
    }

    fn comment(&mut self) -> bool {
        let (rest, _, start) = self.current();
        if !rest.starts_with("<!--") {
            return false;
        }
        let close = self.text[start..].find("-->").map_or(self.text.len(), |len| start + len + 3);
        self.hidden.push(start..close);
        while self.lines[self.at].end < close && self.at + 1 < self.lines.len() {
            self.at += 1;
        }
        let end = self.lines[self.at].end;
        // Text behind the end of the comment is text.
        if close < end && !self.text[close..end].trim().is_empty() {
            self.open = Some(self.push(Kind::Paragraph, close..end, None));
        }
        true
    }

    fn fence(&mut self) -> bool {
        let (rest, columns, start) = self.current();
        let Some(mark) = rest.chars().next().filter(|char| matches!(char, '`' | '~')) else { return false };
        let len = rest.len() - rest.trim_start_matches(mark).len();
        if len < 3 || (mark == '`' && rest[len..].contains('`')) {
            return false;
        }
        let parent = self.home(columns);
        let inside = (self.lines[self.at].end + 1).min(self.text.len());
        let closes = |line: &str| {
            let line = line.trim();
            line.len() >= len && line.chars().all(|char| char == mark)
        };
        let last = self.lines.len() - 1;
        let end = (self.at + 1..=last).find(|at| closes(self.line(*at)));
        let until = end.map_or(self.text.len(), |at| self.lines[at].start);
        self.hidden.push(start..end.map_or(self.text.len(), |at| self.lines[at].end));
        self.push(Kind::Code, inside.min(until)..until, parent);
        self.at = end.unwrap_or(last);
        self.open = None;
        true
    }

    fn heading(&mut self) -> bool {
        let (rest, columns, start) = self.current();
        let level = rest.len() - rest.trim_start_matches('#').len();
        let body = &rest[level..];
        if columns > 3 || !(1..=6).contains(&level) || !(body.is_empty() || body.starts_with([' ', '\t'])) {
            return false;
        }
        let closed = body.trim_end().trim_end_matches('#');
        let title = if closed.ends_with([' ', '\t']) || closed.is_empty() { closed } else { body }.trim();
        let white = if title.is_empty() { 0 } else { body.len() - body.trim_start().len() };
        let from = start + level + white;
        self.push(Kind::Heading(u8::try_from(level).unwrap_or(6)), from..from + title.len(), None);
        self.open = None;
        self.list.clear();
        true
    }

    fn underline(&mut self) -> bool {
        let (rest, columns, _) = self.current();
        let line = rest.trim_end();
        let level = if line.bytes().all(|byte| byte == b'=') { 1 } else { 2 };
        if columns > 3 || !(level == 1 || line.bytes().all(|byte| byte == b'-')) {
            return false;
        }
        let Some(block) = self.open.map(|open| &mut self.blocks[open]) else { return false };
        if block.kind != Kind::Paragraph || block.parent.is_some() || self.text[block.range.clone()].contains('\n') {
            return false;
        }
        block.kind = Kind::Heading(level);
        self.open = None;
        self.list.clear();
        true
    }

    fn rule(&mut self) -> bool {
        let (rest, columns, _) = self.current();
        let marks: Vec<u8> = rest.bytes().filter(|byte| !byte.is_ascii_whitespace()).take(3).collect();
        let Some(first) = marks.first().copied().filter(|first| b"-*_".contains(first)) else { return false };
        let whole = rest.bytes().all(|byte| byte == first || byte.is_ascii_whitespace());
        let rule = columns <= 3 && marks.len() == 3 && whole;
        if rule {
            self.open = None;
            self.list.clear();
        }
        rule
    }

    fn table(&mut self) -> bool {
        let (rest, columns, start) = self.current();
        if !rest.contains('|') || !delimits(self.line(self.at + 1)) {
            return false;
        }
        let parent = self.home(columns);
        self.push(Kind::Header, start..start + rest.trim_end().len(), parent);
        self.at += 1;
        while self.line(self.at + 1).contains('|') {
            self.at += 1;
            let (rest, _, start) = self.current();
            self.push(Kind::Row, start..start + rest.trim_end().len(), parent);
        }
        self.open = None;
        true
    }

    fn quote(&mut self) -> bool {
        let (rest, _, start) = self.current();
        if !rest.starts_with('>') {
            return false;
        }
        let end = start + rest.len();
        match self.open.map(|open| &mut self.blocks[open]) {
            Some(block) if block.kind == Kind::Quote => block.range.end = end,
            _ => self.open = Some(self.push(Kind::Quote, start + 1..end, None)),
        }
        true
    }

    fn item(&mut self) -> bool {
        let (rest, columns, start) = self.current();
        let Some((marker, number)) = marker(rest) else { return false };
        let paragraph = self.open.is_some_and(|open| self.blocks[open].kind == Kind::Paragraph) && self.list.is_empty();
        if paragraph && (number.is_some_and(|number| number != 1) || rest[marker..].trim().is_empty()) {
            return false;
        }
        if self.list.is_empty() && columns > 3 && self.open.is_none() {
            return false;
        }
        // One column more is still the same list.
        let parent = self.home(columns.saturating_sub(1).max(usize::from(columns > 1)));
        let body = rest[marker..].trim_start();
        let boxed = ["[ ] ", "[x] ", "[X] "].iter().any(|mark| body.starts_with(mark));
        let from = start + rest.len() - body.len() + if boxed { 4 } else { 0 };
        let block = self.push(Kind::Item, from..start + rest.len(), parent);
        self.list.push((columns, block));
        self.open = Some(block);
        true
    }

    fn indented(&mut self) -> bool {
        let (rest, columns, start) = self.current();
        if columns < 4 || self.open.is_some() || !self.list.is_empty() {
            return false;
        }
        self.hidden.push(start..start + rest.len());
        self.push(Kind::Code, start..start + rest.len(), None);
        true
    }

    /// A line such as `[spec]: https://example.org`.
    fn definition(&mut self) -> bool {
        let (rest, columns, start) = self.current();
        let Some((label, _)) = rest.strip_prefix('[').and_then(|rest| rest.split_once("]:")) else { return false };
        let plain = !label.contains(']') && !label.is_empty() && !label.starts_with('^');
        if columns > 3 || self.open.is_some() || !plain {
            return false;
        }
        self.definitions.push(start + label.len() + 3..start + rest.len());
        self.hidden.push(start..start + rest.len());
        true
    }

    fn words(&mut self) {
        let (rest, columns, start) = self.current();
        let end = start + rest.len();
        if let Some(open) = self.open {
            self.blocks[open].range.end = end;
            return;
        }
        let parent = self.home(columns);
        self.open = Some(self.push(Kind::Paragraph, start..end, parent));
    }
}

fn lines(text: &str) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        let end = start + line.len();
        lines.push(start..end - usize::from(line.ends_with('\r')));
        start = end + 1;
    }
    lines
}

fn delimits(line: &str) -> bool {
    let line = line.trim();
    line.contains('-') && line.contains('|') && line.bytes().all(|byte| b"|:- \t".contains(&byte))
}

/// Returns how long the marker of a list item is, and the number of a numbered one.
fn marker(rest: &str) -> Option<(usize, Option<u32>)> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let sign = rest.as_bytes().get(digits)?;
    let fits = if digits == 0 { b"-*+".contains(sign) } else { digits <= 9 && b".)".contains(sign) };
    let spaced = rest.as_bytes().get(digits + 1).is_none_or(|byte| matches!(byte, b' ' | b'\t'));
    (fits && spaced).then(|| (digits + 1, rest[..digits].parse().ok()))
}

/// Takes a line that is only bold and opens a section or names an id for the heading that it is meant to be.
fn raise_bold_line(text: &str, prose: &str, block: &mut Block) {
    let line = &text[block.range.clone()];
    if block.kind != Kind::Paragraph || block.parent.is_some() || line.len() > 120 || line.contains('\n') {
        return;
    }
    let bare = line.trim_end().trim_end_matches(':');
    let Some(title) = bare.strip_prefix("**").and_then(|rest| rest.strip_suffix("**")) else { return };
    let range = block.range.start + 2..block.range.start + 2 + title.len();
    let opens = matches!(section::opens(title), section::Opens::Sections(_));
    if !title.contains("**") && (opens || id::leading(prose, range.clone()).is_some()) {
        block.kind = Kind::Heading(7);
        block.range = range;
    }
}
