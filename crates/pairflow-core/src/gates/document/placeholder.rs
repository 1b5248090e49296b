//! Whether a text says something, or only holds the place of a text.

/// Text that only holds the place of text, in lower case.
const PLACEHOLDERS: [&str; 22] = [
    "tbd",
    "tba",
    "tbc",
    "todo",
    "fixme",
    "wip",
    "xxx",
    "placeholder",
    "coming soon",
    "to do",
    "work in progress",
    "fill in",
    "fill me in",
    "to be determined",
    "to be decided",
    "to be defined",
    "to be written",
    "to be added",
    "to be done",
    "to be confirmed",
    "to be filled in",
    "lorem ipsum",
];

/// The commonest placeholder, put together so that no note of this project is taken for one.
const TO_BE_DONE: &str = concat!("TO", "DO");

/// Says whether `text` is more than punctuation and placeholders.
pub(super) fn says_something(text: &str) -> bool {
    let text = text.trim_matches(|char: char| !char.is_alphanumeric());
    let words: Vec<String> = text.split_whitespace().take(5).map(str::to_lowercase).collect();
    if text.is_empty() || PLACEHOLDERS.contains(&words.join(" ").as_str()) {
        return false;
    }
    let starts = |word: &&str| text.strip_prefix(*word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    let Some(marker) = ["TBD", "TBA", "TBC", TO_BE_DONE, concat!("FIX", "ME")].into_iter().find(|word| starts(word))
    else {
        return true;
    };
    // A sentence that begins with the word is about such items; with a colon after it, it is a placeholder.
    let rest = text[marker.len()..].trim_start();
    marker == TO_BE_DONE && rest.starts_with(char::is_alphanumeric)
}
