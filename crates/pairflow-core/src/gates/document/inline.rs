//! What of a text is prose: code, addresses, comments and quoted words are blanked, byte by byte, so that places hold.

use std::collections::BTreeMap;
use std::ops::Range;

use super::block::{Block, Kind};
use super::id;

/// The same text twice, each as long as the document itself.
pub(super) struct Inked {
    /// Without code, addresses, comments and quoted words.
    pub(super) prose: String,
    /// With inline code and quoted words, where a measure may stand.
    pub(super) measures: String,
    /// The links, in order.
    pub(super) links: Vec<Link>,
    /// The anchors that tags set.
    pub(super) anchors: Vec<String>,
}

/// A link to somewhere.
pub(super) struct Link {
    /// Its words.
    pub(super) words: Range<usize>,
    pub(super) target: String,
    pub(super) at: usize,
}

/// How many parentheses an address may hold; keeps a row of `](](](` from being read over and over.
const DEEPEST: usize = 16;
const LONGEST_LABEL: usize = 100;
const LONGEST_QUOTE: usize = 200;
const LONGEST_TAG: usize = 400;

/// Blanks what is not prose in `text`.
pub(super) fn ink(text: &str, blocks: &[Block], hidden: Vec<Range<usize>>, definitions: Vec<Range<usize>>) -> Inked {
    let mut ink = Ink::new(text);
    for range in hidden {
        ink.hide(range);
    }
    for range in definitions {
        let target = address(&text[range.clone()]);
        ink.links.push(Link { words: range.start..range.start, target, at: range.start });
    }
    for block in blocks.iter().filter(|block| block.kind != Kind::Code) {
        ink.block(block.range.clone());
    }
    ink.links.sort_by_key(|link| link.at);
    let text = |bytes| String::from_utf8(bytes).expect("only whole characters are blanked");
    Inked { prose: text(ink.prose), measures: text(ink.measures), links: ink.links, anchors: ink.anchors }
}

struct Ink<'a> {
    text: &'a str,
    prose: Vec<u8>,
    measures: Vec<u8>,
    links: Vec<Link>,
    anchors: Vec<String>,
}

impl<'a> Ink<'a> {
    fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes().to_vec();
        Self { text, prose: bytes.clone(), measures: bytes, links: Vec::new(), anchors: Vec::new() }
    }

    fn hide(&mut self, range: Range<usize>) {
        blank(&mut self.measures[range.clone()]);
        self.mute(range);
    }

    fn mute(&mut self, range: Range<usize>) {
        blank(&mut self.prose[range]);
    }

    /// Mutes what two marks of `mark` bytes enclose, unless it is an id and nothing else: `R1` in code is still R1.
    fn mute_words(&mut self, range: Range<usize>, mark: usize) {
        let inner = range.start + mark..range.end - mark;
        let words = self.text[inner.clone()].trim();
        let found = if words.len() > 40 { Vec::new() } else { id::mentions(words, 0..words.len()) };
        if found.first().is_some_and(|only| only.at == 0 && only.end == words.len()) {
            self.mute(range.start..inner.start);
            self.mute(inner.end..range.end);
        } else {
            self.mute(range);
        }
    }

    fn block(&mut self, range: Range<usize>) {
        let text = self.text;
        let ticks = Ticks::new(text, range.clone());
        let mut opened: Vec<usize> = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let rest = &text[at..range.end];
            let before = text[range.start..at].chars().next_back();
            let step = match rest.as_bytes()[0] {
                b'\\' => Some(1 + rest[1..].chars().next().map_or(0, char::len_utf8)),
                b'`' => self.code(at, &ticks),
                b'<' => self.tag(at, rest),
                b'[' => {
                    opened.push(at);
                    None
                }
                b']' => opened.pop().and_then(|open| self.link(open, at, rest)),
                b'"' | b'\'' | 0xe2 => self.quote(at, rest, before),
                b'h' | b'w' | b'm' => self.address(at, rest, before),
                _ => None,
            };
            at += step.unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
        }
    }

    fn code(&mut self, at: usize, ticks: &Ticks) -> Option<usize> {
        let (len, close) = ticks.close(at);
        let Some(close) = close else { return Some(len) };
        self.mute_words(at..close + len, len);
        Some(close + len - at)
    }

    fn tag(&mut self, at: usize, rest: &str) -> Option<usize> {
        let len = if rest.starts_with("<!--") {
            // A comment that is never closed hides the rest of its block, so that its end is looked for once.
            rest.find("-->").map_or(rest.len(), |len| len + 3)
        } else {
            let opens = rest.as_bytes().get(1).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'/');
            let inside = rest.bytes().skip(1).take(LONGEST_TAG).position(|byte| matches!(byte, b'>' | b'<'))?;
            (opens && rest.as_bytes()[inside + 1] == b'>').then_some(inside + 2)?
        };
        for name in ["id=\"", "name=\""] {
            if let Some((anchor, _)) = rest[..len].split_once(name).and_then(|(_, rest)| rest.split_once('"')) {
                self.anchors.push(anchor.to_owned());
            }
        }
        self.hide(at..at + len);
        Some(len)
    }

    /// Blanks the address behind `[words]`, and notes the link.
    fn link(&mut self, open: usize, at: usize, rest: &str) -> Option<usize> {
        let inside = &rest[1..];
        let len = match inside.as_bytes().first()? {
            b'(' => closing(inside)?,
            b'[' => label(inside)?,
            _ => return None,
        };
        if inside.starts_with('(') {
            self.links.push(Link { words: open + 1..at, target: address(&inside[1..len]), at: open });
        }
        self.hide(at + 1..at + len + 2);
        Some(len + 2)
    }

    fn quote(&mut self, at: usize, rest: &str, before: Option<char>) -> Option<usize> {
        let mark = rest.chars().next()?;
        let close = match mark {
            '"' | '\'' => mark,
            '“' => '”',
            '‘' => '’',
            _ => return None,
        };
        if !before.is_none_or(|char| char.is_whitespace() || "([{*_—–/".contains(char)) {
            return None;
        }
        let longest = if matches!(close, '\'' | '’') { LONGEST_QUOTE / 3 } else { LONGEST_QUOTE };
        let inner = &rest[mark.len_utf8()..];
        let len = inner.char_indices().take(longest).find(|(_, char)| *char == close).map(|(len, _)| len)?;
        let end = mark.len_utf8() + len + close.len_utf8();
        let closes = rest[end..].chars().next().is_none_or(|char| !char.is_alphanumeric());
        if !closes || len == 0 {
            return None;
        }
        self.mute_words(at..at + end, mark.len_utf8());
        Some(end)
    }

    fn address(&mut self, at: usize, rest: &str, before: Option<char>) -> Option<usize> {
        let starts = ["http://", "https://", "www.", "mailto:"].iter().any(|start| rest.starts_with(start));
        if !starts || before.is_some_and(char::is_alphanumeric) {
            return None;
        }
        let len = rest.find(|char: char| char.is_whitespace() || "<>)|\"`".contains(char)).unwrap_or(rest.len());
        self.hide(at..at + len);
        Some(len)
    }
}

/// The runs of backticks of one block: where each is, and where the last of each length is.
struct Ticks {
    runs: Vec<(usize, usize)>,
    last: BTreeMap<usize, usize>,
}

impl Ticks {
    fn new(text: &str, range: Range<usize>) -> Self {
        let bytes = text.as_bytes();
        let mut ticks = Self { runs: Vec::new(), last: BTreeMap::new() };
        let mut at = range.start;
        while at < range.end {
            let len = bytes[at..range.end].iter().take_while(|byte| **byte == b'`').count();
            if len > 0 {
                ticks.runs.push((at, len));
                ticks.last.insert(len, at);
            }
            at += len.max(1);
        }
        ticks
    }

    /// Returns how long the run at `at` is, and where the run that closes it starts.
    fn close(&self, at: usize) -> (usize, Option<usize>) {
        let nth = self.runs.partition_point(|(run, _)| *run < at);
        let Some((run, len)) = self.runs.get(nth).copied().filter(|(run, _)| *run == at) else {
            // Behind an escaped backtick the run is shorter than it was counted.
            return (1, None);
        };
        if self.last[&len] <= run {
            return (len, None);
        }
        (len, self.runs[nth + 1..].iter().find(|(_, other)| *other == len).map(|(close, _)| *close))
    }
}

/// Returns where the bracket that `text` starts with is closed.
fn label(text: &str) -> Option<usize> {
    let end = text.bytes().skip(1).take(LONGEST_LABEL).position(|byte| matches!(byte, b']' | b'['))? + 1;
    (text.as_bytes()[end] == b']').then_some(end)
}

/// Returns where the parenthesis that `text` starts with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut opened = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => {
                depth += 1;
                opened += 1;
            }
            b')' => depth -= 1,
            b'\n' => return None,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
        if opened > DEEPEST {
            return None;
        }
    }
    None
}

/// Returns the address of a link without its title.
fn address(text: &str) -> String {
    let target = text.trim().split(char::is_whitespace).next().unwrap_or_default();
    target.trim_matches(['<', '>']).to_owned()
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}
