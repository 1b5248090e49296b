//! Reads what a reviewer wrote into a findings file, in any of four forms.
//!
//! A file holds one JSON object, or prose around exactly one fenced JSON block. Its keys say which form it has. Anything that is
//! not clearly one of the four is refused with its place: nothing here turns into an approval by being misread, and what an
//! approval is worth is decided elsewhere.

mod forms;

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use crate::facts::Finding;
use crate::ids::FindingId;

pub use crate::log::MAX_DETAIL;
pub use forms::{MAX_FILE, MAX_REPRODUCER};

/// The longest findings file, in bytes.
pub const MAX_FEEDBACK: usize = 512 * 1024;
/// The longest piece of the file that a message repeats, in characters.
const MAX_QUOTE: usize = 60;

/// One findings file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// What the reviewer claims about the work as a whole.
    pub claim: ReviewClaim,
    /// What it says in general; may be empty.
    pub summary: String,
    /// What it found, in the order of the file.
    pub findings: Vec<Finding>,
    /// Rows of the ledger that it confirms to be settled.
    pub confirm: Vec<FindingId>,
    /// Rows of the ledger that it opens again.
    pub reopen: Vec<FindingId>,
    /// Rows of the ledger whose reproducer its author withdraws.
    pub retract: Vec<FindingId>,
}

/// What a reviewer says about the work: a claim, never a verdict.
///
/// The verdict is reached by the loop, from the ledger and the checks that pairflow ran itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReviewClaim {
    /// Nothing that was found keeps the work from being accepted.
    Approve,
    /// Something has to change first.
    RequestChanges,
    /// A person has to look at it.
    NeedsDiscussion,
}

/// A findings file in pairflow's own form, as an example to copy.
pub const EXAMPLE: &str = r#"{
  "summary": "The happy path works; a failed import loses data.",
  "findings": [
    {
      "severity": "P1",
      "title": "no rollback when the import fails half way",
      "detail": "import() commits every row on its own, so an error in row 7 leaves rows 1 to 6 behind.",
      "file": "src/import.rs",
      "line": 42,
      "class": "data_integrity",
      "suggestion": "Open one transaction around the loop.",
      "reproducer": "cargo test --test import half_way"
    },
    { "severity": "P3", "title": "the log message names the wrong file" }
  ],
  "confirm": ["F1"],
  "reopen": ["F2"]
}
"#;

impl Feedback {
    /// Whether it says explicitly that the work has to change. Reopened rows, which only pairflow's own form has, say what is
    /// wrong with those rows, and nothing about the work as a whole.
    pub fn insists(&self) -> bool {
        self.claim == ReviewClaim::RequestChanges && self.reopen.is_empty()
    }

    /// Puts together what was read; an approval beside a finding that blocks is none.
    fn of(claim: ReviewClaim, summary: String, findings: Vec<Finding>) -> Self {
        let blocked = findings.iter().any(|finding| finding.severity.blocks());
        let claim = if blocked && claim == ReviewClaim::Approve { ReviewClaim::RequestChanges } else { claim };
        Self { claim, summary, findings, confirm: Vec::new(), reopen: Vec::new(), retract: Vec::new() }
    }
}

/// Why a text is no findings file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {wrong}")]
pub struct BadFeedback {
    /// Where it is wrong: a line and column, or the path of a value such as `/issues/3/severity`.
    pub at: String,
    /// What is wrong there, with what to do.
    pub wrong: String,
}

impl BadFeedback {
    fn new(at: impl Into<String>, wrong: impl Into<String>) -> Self {
        Self { at: at.into(), wrong: wrong.into() }
    }

    fn line(line: usize, wrong: impl Into<String>) -> Self {
        Self::new(format!("line {line}, column 1"), wrong)
    }
}

/// Reads a findings file.
///
/// Nothing is guessed: what is not clearly one of the four forms is refused, with the place and the next step.
pub fn read(text: &str) -> Result<Feedback, BadFeedback> {
    if text.len() > MAX_FEEDBACK {
        let wrong = format!("is {} bytes; the limit is {MAX_FEEDBACK}: keep the most severe findings", text.len());
        return Err(BadFeedback::new("findings file", wrong));
    }
    let document = find_json(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let object = document.object()?;
    let mut found = forms::ALL.iter().filter_map(|(marks, read)| {
        let mark = marks.iter().copied().find(|mark| object.contains_key(*mark))?;
        Some((mark, read))
    });
    match (found.next(), found.next()) {
        (Some((_, read)), None) => read(object.into()),
        (Some((one, _)), Some((other, _))) => {
            Err(BadFeedback::new("/", format!("'{one}' and '{other}' belong to different forms; keep to one of them")))
        }
        (None, _) => Err(BadFeedback::new(
            "/",
            "none of 'findings', 'verdict', 'decision', 'challenger_approved' is there; a review that found nothing is \
             {\"findings\": []}",
        )),
    }
}

/// Reads one form; a mistake is named with the path of the value.
fn parse<T: DeserializeOwned>(object: Value) -> Result<T, BadFeedback> {
    serde_path_to_error::deserialize(object).map_err(|error| {
        let step = |segment: &Segment| match segment {
            Segment::Seq { index } => Some(format!("/{index}")),
            Segment::Map { key } => Some(format!("/{}", quoted(&key.replace('~', "~0").replace('/', "~1")))),
            Segment::Enum { .. } | Segment::Unknown => None,
        };
        let path: String = error.path().iter().filter_map(step).collect();
        BadFeedback::new(if path.is_empty() { "/" } else { &path }, message(error.inner()))
    })
}

/// Returns what the JSON reader says, without the position that it adds and with little of the text that it repeats.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&position).unwrap_or(&text);
    match text.rfind(", expected ") {
        Some(at) => format!("{}{}", quoted(&text[..at]), &text[at..]),
        None => text.to_owned(),
    }
}

/// Repeats a piece of the file in a message: short, on one line, with nothing that a terminal would obey.
fn quoted(text: &str) -> String {
    let escaped =
        |letter: char| if letter.is_control() { letter.escape_debug().to_string() } else { letter.to_string() };
    let mut shown: String = text.chars().take(MAX_QUOTE).map(escaped).collect();
    if text.chars().nth(MAX_QUOTE).is_some() {
        shown.push('…');
    }
    shown
}

/// The JSON of a findings file. Where two readings are possible the text is refused: a reader that picks one of two blocks would
/// sometimes pick the example instead of the review.
struct FeedbackDocument<'a> {
    /// Its text.
    text: &'a str,
    /// How many lines of the file are above it.
    above: usize,
}

/// A fenced block with its content, of lines counted from 0.
struct FencedBlock<'a> {
    ticks: usize,
    info: &'a str,
    opened_in: usize,
    content: Range<usize>,
    whole: Range<usize>,
}

impl FeedbackDocument<'_> {
    /// Reads the text, which has to be one JSON object.
    fn object(&self) -> Result<Map<String, Value>, BadFeedback> {
        let mut from = serde_json::Deserializer::from_str(self.text);
        let read = UniqueKeys::deserialize(&mut from).and_then(|read| from.end().map(|()| read.0));
        let value = read.map_err(|error| {
            let at = format!("line {}, column {}", error.line() + self.above, error.column());
            let next = if error.is_data() { "" } else { "; write one JSON object and nothing after it" };
            BadFeedback::new(at, format!("{}{next}", message(&error)))
        })?;
        match value {
            Value::Object(object) => Ok(object),
            _ => Err(BadFeedback::new("/", "this is not an object; write one JSON object")),
        }
    }
}

/// A JSON value in which no key hides another. `serde_json` keeps the last of two equal keys without a word, so a file could say
/// one thing to a person and another to us.
struct UniqueKeys(Value);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UniqueKeysVisitor).map(Self)
    }
}

struct UniqueKeysVisitor;

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<UniqueKeys>()? {
            list.push(item.0);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!(
                    "the key '{}' is there twice; keep one of the two",
                    quoted(&key)
                )));
            }
            object.insert(key, entries.next_value::<UniqueKeys>()?.0);
        }
        Ok(object.into())
    }
}

/// Returns the JSON of a findings file.
fn find_json(text: &str) -> Result<FeedbackDocument<'_>, BadFeedback> {
    let whole = FeedbackDocument { text, above: 0 };
    if text.trim_start().starts_with('{') {
        return Ok(whole);
    }
    let blocks = blocks(text)?;
    let Some(block) = blocks.first() else { return Ok(whole) };
    if let Some(second) = blocks.get(1) {
        return Err(BadFeedback::line(
            second.opened_in + 1,
            "there is more than one fenced block; leave only the one with the findings",
        ));
    }
    if !(block.info.is_empty() || block.info.eq_ignore_ascii_case("json")) {
        let wrong = format!("the fenced block is marked '{}'; mark it ```json", quoted(block.info));
        return Err(BadFeedback::line(block.opened_in + 1, wrong));
    }
    no_brace(&text[..block.whole.start], 0)?;
    no_brace(&text[block.whole.end..], text[..block.whole.end].matches('\n').count())?;
    Ok(FeedbackDocument { text: &text[block.content.clone()], above: block.opened_in + 1 })
}

/// Refuses prose that could hold a second document.
fn no_brace(prose: &str, above: usize) -> Result<(), BadFeedback> {
    let found = prose.lines().position(|line| line.contains(['{', '}']));
    let wrong = "there is a brace outside of the fenced block; write the JSON object alone, without prose around it";
    found.map_or(Ok(()), |line| Err(BadFeedback::line(above + line + 1, wrong)))
}

/// Returns the fenced blocks of a text, as Markdown sees them.
fn blocks(text: &str) -> Result<Vec<FencedBlock<'_>>, BadFeedback> {
    let (mut done, mut open, mut start) = (Vec::new(), None::<FencedBlock<'_>>, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let end = start + line.len();
        match (open.take(), fence(line)) {
            (None, Some((ticks, info))) => {
                open = Some(FencedBlock { ticks, info, opened_in: number, content: end..end, whole: start..end });
            }
            (Some(mut block), Some((ticks, ""))) if ticks >= block.ticks => {
                block.whole.end = end;
                done.push(block);
            }
            (Some(mut block), _) => {
                block.content.end = end;
                open = Some(block);
            }
            (None, None) => {}
        }
        start = end;
    }
    match open {
        Some(block) => {
            let wrong = "the fenced block is never closed; end it with a line of ``` or write the JSON without a fence";
            Err(BadFeedback::line(block.opened_in + 1, wrong))
        }
        None => Ok(done),
    }
}

/// Returns the length and the mark of a line that opens or closes a fenced block.
fn fence(line: &str) -> Option<(usize, &str)> {
    let from = line.trim_start_matches(' ');
    let info = from.trim_start_matches('`');
    let ticks = from.len() - info.len();
    let fits = line.len() - from.len() <= 3 && ticks >= 3 && !info.contains('`');
    fits.then(|| (ticks, info.trim()))
}
