//! How a text of a finding becomes words: lower case, names from the code taken apart and also kept whole, endings cut.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A claim is made in its first sentences. What comes after that many words is story, and reading it would cost time.
const WORDS_READ: usize = 240;

/// Endings that do not change what a word is about, longest first.
const ENDINGS: [&str; 30] = [
    "ization", "isation", "izing", "ising", "ations", "ation", "ating", "ators", "ingly", "ated", "ates", "ator",
    "edly", "ments", "ment", "ings", "ions", "ness", "ate", "ing", "ion", "ies", "ied", "ers", "er", "ed", "es", "ly",
    "s", "e",
];

/// Words that every claim has, whatever it says.
static COMMON: LazyLock<BTreeSet<&str>> = LazyLock::new(|| COMMON_WORDS.split_whitespace().collect());
const COMMON_WORDS: &str = "a an the is are was were be been being of to in on at for with by from into onto over under as and \
    or but if when while where which who that this these those it its they them their there here so than then too very \
    can could may might must should would will do does did done has have had not no nor only just also any all each \
    every some other another same such more most less least one two first second last still yet again after before \
    because since until via per out up down off even both either neither what why how we you he she instead rather \
    like eg etc use used uses using need needs needed make makes made get gets got let lets way case cases thing \
    nobody nothing someone something now always never already itself own line lines code function method file value \
    values without missing otherwise although though however";

/// Returns the sentences of `text` as lower-case words; a name from the code counts as the words it is made of.
pub(super) fn sentences(text: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut left = WORDS_READ;
    for chunk in text.split_whitespace() {
        let words = split(chunk);
        if words.len() > left {
            break;
        }
        left -= words.len();
        if let Some(last) = all.last_mut() {
            last.extend(words);
        }
        if chunk.ends_with(['.', ';', '?', '!']) {
            all.push(Vec::new());
        }
    }
    all.retain(|sentence| !sentence.is_empty());
    all
}

/// Takes `chunk` apart at everything that is no letter or digit, and where lower case turns into upper case.
fn split(chunk: &str) -> Vec<String> {
    let chunk = chunk.replace("n't", " not").replace("'s", "").replace("’s", "");
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut letters = chunk.chars().peekable();
    while let Some(letter) = letters.next() {
        let next_is_lower = letters.peek().is_some_and(|next| next.is_lowercase());
        let hump = letter.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && next_is_lower);
        if hump || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether `word` says nothing about what is wrong where.
pub(super) fn is_common(word: &str) -> bool {
    word.len() < 2 || COMMON.contains(word)
}

/// Returns `word` without its ending.
pub(super) fn stem(word: &str) -> String {
    let ending = ENDINGS.iter().find(|ending| word.len() >= ending.len() + 3 && word.ends_with(**ending));
    let mut stem = ending.and_then(|ending| word.strip_suffix(ending)).unwrap_or(word).to_owned();
    let doubled = stem.chars().rev().nth(1) == stem.chars().last() && !stem.ends_with(['a', 'e', 'o']);
    if stem.len() > 3 && (doubled || stem.ends_with(['i', 'y'])) {
        stem.pop();
    }
    stem
}

/// Returns the names from the code that `text` mentions: in backticks, called(), with_underscores, inHumps, dotted.parts.
pub(super) fn names(text: &str) -> BTreeSet<String> {
    let quotes = text.matches('`').count();
    let mut found = BTreeSet::new();
    for (at, part) in text.split('`').enumerate() {
        let quoted = at % 2 == 1 && at < quotes;
        for chunk in part.split_whitespace().take(WORDS_READ) {
            let marked = quoted || ["::", "->", "()"].iter().any(|mark| chunk.contains(mark)) || is_dotted(chunk);
            found.extend(parts(chunk).filter(|name| marked || is_name(name)).map(str::to_lowercase));
        }
    }
    found
}

fn parts(chunk: &str) -> impl Iterator<Item = &str> {
    let words = chunk.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with(|letter: char| letter.is_alphabetic() || letter == '_'))
}

fn is_dotted(chunk: &str) -> bool {
    let inner = |three: &[u8]| three[0].is_ascii_alphanumeric() && three[1] == b'.' && three[2].is_ascii_alphabetic();
    chunk.as_bytes().windows(3).any(inner)
}

fn is_name(word: &str) -> bool {
    let hump = |two: &[u8]| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase();
    let inner = word.trim_matches('_');
    let digits = inner.len() > 2 && inner.contains(|letter: char| letter.is_ascii_digit());
    inner.contains('_') || digits || word.as_bytes().windows(2).any(hump)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_name_counts_as_the_words_it_is_made_of() {
        let words = [vec!["http", "server", "doesn", "t"], vec!["call", "read", "all2", "n", "1"]];
        assert_eq!(sentences("HTTPServer doesn‘t. call read_all2 (N+1)"), words);
        assert_eq!(sentences("isn't it's"), [["is", "not", "it"]]);
    }

    #[test]
    fn endings_do_not_tell_words_apart() {
        for (one, other) in
            [("closing", "closed"), ("retries", "retry"), ("validation", "validate"), ("stopped", "stop")]
        {
            assert_eq!(stem(one), stem(other));
        }
        assert_ne!(stem("test"), stem("text"));
    }

    #[test]
    fn names_from_the_code_are_recognised_in_prose() {
        let text = "Foo of `bar baz`, call rows.Close() in read_all, userId and utf8. See the end.";
        assert_eq!(names(text), set(&["bar", "baz", "close", "read_all", "rows", "userid", "utf8"]));
        assert_eq!(names("an odd ` tick"), set(&[]));
    }

    #[test]
    fn only_the_beginning_of_a_long_text_is_read() {
        assert_eq!(sentences(&"word ".repeat(9000))[0].len(), WORDS_READ);
    }
}
