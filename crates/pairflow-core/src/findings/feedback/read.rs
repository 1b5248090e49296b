//! Tells the forms apart by their keys and hands over to the reader of the one.

use super::error::{BadFeedback, Wrong};
use super::fence;
use super::json::{Fields, Node};
use super::{Feedback, challenge, decision, ours, review};

/// The longest findings file, in bytes.
pub const MAX_FEEDBACK: usize = 512 * 1024;

/// One form: the keys that only it has, and its reader.
struct Form {
    marks: &'static [&'static str],
    read: fn(&Fields<'_>) -> Result<Feedback, BadFeedback>,
}

const FORMS: [Form; 4] = [
    Form { marks: ours::MARKS, read: ours::read },
    Form { marks: review::MARKS, read: review::read },
    Form { marks: decision::MARKS, read: decision::read },
    Form { marks: challenge::MARKS, read: challenge::read },
];

/// Reads a findings file.
///
/// Nothing is guessed: what is not clearly one of the four forms is refused, with the place and the next step.
pub fn read(text: &str) -> Result<Feedback, BadFeedback> {
    if text.len() > MAX_FEEDBACK {
        return Err(BadFeedback::whole(Wrong::TooLarge { bytes: text.len(), limit: MAX_FEEDBACK }));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let node = Node::parse(&fence::find(text)?)?;
    let fields = node.top().fields()?;
    let present = |form: &Form| form.marks.iter().copied().find(|mark| fields.exactly(mark).is_some());
    let mut found = FORMS.iter().filter_map(|form| present(form).map(|mark| (form, mark)));
    match (found.next(), found.next()) {
        (None, _) => Err(BadFeedback::value("", Wrong::NoForm)),
        (Some((form, _)), None) => (form.read)(&fields),
        (Some((_, one)), Some((_, other))) => Err(BadFeedback::value("", Wrong::Mixed { one, other })),
    }
}
