//! The parts of a finding that all forms share, and how long each may be.

use crate::facts::{Finding, Severity};
use crate::ids::FindingId;
use crate::log::{MAX_DETAIL, MAX_FINDINGS, MAX_TEXT, MAX_TITLE};

use super::error::{BadFeedback, Wrong, quoted};
use super::json::{Fields, Spot};

/// The longest reproducer of a finding, in bytes.
pub const MAX_REPRODUCER: usize = 2 * 1024;
/// The longest path of a finding, in bytes.
pub const MAX_FILE: usize = 4096;

/// Starts a finding with a claim of any length: its first line is the title, the whole is the detail if that is more.
pub(super) fn claimed(severity: Severity, claim: &Spot<'_>) -> Result<Finding, BadFeedback> {
    let text = claim.text()?.trim();
    let title = title(text);
    if title.is_empty() {
        return Err(claim.bad(Wrong::Empty));
    }
    let detail = if title == text { String::new() } else { text.to_owned() };
    at_most(&claim.path, &detail, MAX_DETAIL)?;
    Ok(Finding { detail, ..Finding::new(severity, title) })
}

/// Returns the first line of a text, cut between two words where it is too long for a title.
pub(super) fn title(text: &str) -> &str {
    let line = text.trim().split(['\n', '\r']).next().unwrap_or_default().trim_end();
    let Some((end, next)) = line.char_indices().nth(MAX_TITLE) else { return line };
    let head = &line[..end];
    if next.is_whitespace() {
        return head.trim_end();
    }
    head.rfind(char::is_whitespace).map_or(head, |gap| head[..gap].trim_end())
}

/// Adds a paragraph to a text, if it says anything.
pub(super) fn add(text: &mut String, paragraph: &str) {
    if paragraph.trim().is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(paragraph.trim_end());
}

/// Returns a text that may be missing.
pub(super) fn some_text<'a>(fields: &Fields<'a>, key: &'static str) -> Result<&'a str, BadFeedback> {
    fields.maybe(key).map_or(Ok(""), |spot| spot.text())
}

/// Returns the general words of a review.
pub(super) fn summary(spot: &Spot<'_>) -> Result<String, BadFeedback> {
    let text = spot.text()?.trim();
    at_most(&spot.path, text, MAX_TEXT)?;
    Ok(text.to_owned())
}

/// Refuses a text that is too long.
pub(super) fn at_most(path: &str, text: &str, limit: usize) -> Result<(), BadFeedback> {
    let bytes = text.len();
    if bytes <= limit { Ok(()) } else { Err(BadFeedback::value(path, Wrong::TooLong { bytes, limit })) }
}

/// Returns a path inside the repository, without its idle parts.
pub(super) fn file(spot: &Spot<'_>) -> Result<String, BadFeedback> {
    let text = spot.text()?;
    at_most(&spot.path, text, MAX_FILE)?;
    let leads_out = text.starts_with('/') || text.contains('\0') || text.split('/').any(|part| part == "..");
    let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if leads_out || parts.concat().trim().is_empty() {
        return Err(spot.bad(Wrong::File { path: quoted(text) }));
    }
    Ok(parts.join("/"))
}

/// Returns a line number.
pub(super) fn line(spot: &Spot<'_>) -> Result<u32, BadFeedback> {
    let number = u32::try_from(spot.whole()?).ok().filter(|line| *line >= 1);
    number.ok_or_else(|| spot.bad(Wrong::Line))
}

/// Returns the name of a row of the ledger.
pub(super) fn id(spot: &Spot<'_>) -> Result<FindingId, BadFeedback> {
    let text = spot.text()?;
    let named = text.parse().ok().filter(|id: &FindingId| id.0 > 0 && id.to_string() == text);
    named.ok_or_else(|| spot.bad(Wrong::Id { found: quoted(text) }))
}

/// Returns the items of a list of findings, if they are not too many.
pub(super) fn items<'a>(spot: &Spot<'a>) -> Result<Vec<Spot<'a>>, BadFeedback> {
    let items = spot.list()?;
    not_too_many(&spot.path, items.len())?;
    Ok(items)
}

/// Refuses more findings than a review may have.
pub(super) fn not_too_many(path: &str, count: usize) -> Result<(), BadFeedback> {
    if count <= MAX_FINDINGS { Ok(()) } else { Err(BadFeedback::value(path, Wrong::TooMany { count })) }
}

/// Looks at values that mean nothing to pairflow, only to be sure that the file is what it seems to be.
pub(super) fn checked<'a, T>(
    fields: &Fields<'a>,
    keys: &[&'static str],
    look: impl Fn(&Spot<'a>) -> Result<T, BadFeedback>,
) -> Result<(), BadFeedback> {
    keys.iter().filter_map(|key| fields.maybe(key)).try_for_each(|spot| look(&spot).map(drop))
}
