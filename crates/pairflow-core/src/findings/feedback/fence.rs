//! Finds the JSON in what a model wrote: the whole text, or the one fenced block in its prose.
//!
//! Where two readings are possible the text is refused, because a reader that picks one of two blocks would sometimes
//! pick the example instead of the review.

use super::error::{BadFeedback, Wrong, quoted};

/// The JSON of a findings file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Document<'a> {
    /// Its text.
    pub(super) text: &'a str,
    /// How many lines of the file are above it.
    pub(super) above: usize,
}

/// A fenced block with its content, of lines counted from 0.
struct Block<'a> {
    ticks: usize,
    info: &'a str,
    opened_in: usize,
    content: std::ops::Range<usize>,
    whole: std::ops::Range<usize>,
}

/// Returns the JSON of a findings file.
pub(super) fn find(text: &str) -> Result<Document<'_>, BadFeedback> {
    let whole = Document { text, above: 0 };
    if text.trim_start().starts_with('{') {
        return Ok(whole);
    }
    let blocks = blocks(text)?;
    let Some(block) = blocks.first() else { return Ok(whole) };
    if let Some(second) = blocks.get(1) {
        return Err(BadFeedback::line(second.opened_in + 1, Wrong::ManyBlocks));
    }
    if !(block.info.is_empty() || block.info.eq_ignore_ascii_case("json")) {
        let wrong = Wrong::OtherBlock { info: quoted(block.info) };
        return Err(BadFeedback::line(block.opened_in + 1, wrong));
    }
    no_brace(&text[..block.whole.start], 0)?;
    no_brace(&text[block.whole.end..], text[..block.whole.end].matches('\n').count())?;
    Ok(Document { text: &text[block.content.clone()], above: block.opened_in + 1 })
}

/// Refuses prose that could hold a second document.
fn no_brace(prose: &str, above: usize) -> Result<(), BadFeedback> {
    let found = prose.lines().position(|line| line.contains(['{', '}']));
    found.map_or(Ok(()), |line| Err(BadFeedback::line(above + line + 1, Wrong::BraceOutside)))
}

/// Returns the fenced blocks of a text, as Markdown sees them.
fn blocks(text: &str) -> Result<Vec<Block<'_>>, BadFeedback> {
    let (mut done, mut open, mut start) = (Vec::new(), None::<Block<'_>>, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let end = start + line.len();
        match (open.take(), fence(line)) {
            (None, Some((ticks, info))) => {
                open = Some(Block { ticks, info, opened_in: number, content: end..end, whole: start..end });
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
        Some(block) => Err(BadFeedback::line(block.opened_in + 1, Wrong::OpenBlock)),
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
