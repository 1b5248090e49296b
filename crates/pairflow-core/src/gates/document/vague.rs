//! English words that promise something nobody can check, and the uses in which they are precise.

use std::collections::BTreeMap;

use super::token::{Form, Token};

/// Phrases that need a measure next to them, between commas. A hyphen counts as a space.
const VAGUE: &str = "
    fast, faster, fastest, quick, quickly, quicker, rapid, rapidly, slow, slowly, speedy, soon, promptly, instantly,
    timely, in a timely manner, snappy, performant, high performance, low latency, high throughput, near real time,
    responsive, scalable, scales well, robust, robustly, reliable, reliably, resilient, stable, maintainable,
    extensible, flexible, flexibly, lightweight, efficient, efficiently, optimal, optimally, optimized,
    user friendly, friendly, easy, easier, easily, effortless, effortlessly, simple to, intuitive, intuitively,
    convenient, conveniently, seamless, seamlessly, smooth, smoothly, graceful, gracefully, clearly, nice, nicely,
    better, best effort, best possible, state of the art, world class, cutting edge, high quality, modern,
    appropriate, appropriately, suitable, suitably, adequate, adequately, sufficient, sufficiently, enough,
    reasonable, reasonably, acceptable, proper, properly, as needed, as required, as necessary, as appropriate,
    as applicable, if needed, if necessary, if possible, when needed, when necessary, when possible, where needed,
    where necessary, where possible, where applicable, whenever possible, as far as possible, as much as possible,
    as soon as possible, as soon as practical, to the extent possible, etc, and so on, and so forth, and the like,
    several, some, many, few, various, numerous, a lot of, lots of, a number of, plenty of, most of, a couple of,
    often, frequently, usually, sometimes, occasionally, generally, typically, mostly, periodically, regularly,
    rarely, significant, significantly, considerable, considerably, substantially, noticeably, roughly,
    approximately, minimally, huge";

/// What no measure can settle: the decision is still open.
const OPEN: &str = "tbd, tba, tbc, to be determined, to be decided, to be defined, to be confirmed, to be specified";

/// Uses in which a word of the list is precise. Taken before the list is looked at.
const PRECISE: &str = "
    as soon as, fast forward, fast path, fast track, fail fast, slow path, slow query, slow queries, slow start,
    quick start, quick reply, many to many, many to one, one to many, too many, how many, how fast, how quickly,
    how often, how soon, how easily, as many as, generally available, is enough, are enough, is sufficient,
    are sufficient, necessary and sufficient, responsive layout, responsive design, stable sort, stable release,
    stable id, stable identifier, acceptable values, acceptable use, proper subset";

/// A vague phrase in a text.
pub(super) struct Vague<'a> {
    pub(super) at: usize,
    /// As it is in the list.
    pub(super) phrase: &'a str,
    /// Whether a measure next to it gives it a meaning.
    pub(super) mendable: bool,
}

/// The lists, by first word.
pub(super) struct Lexicon {
    phrases: BTreeMap<&'static str, Vec<(Vec<&'static str>, Sense)>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    Vague(&'static str),
    Open(&'static str),
    Precise,
}

impl Lexicon {
    /// Returns the English lexicon.
    pub(super) fn english() -> Self {
        let vague = listed(VAGUE).map(|phrase| (phrase, Sense::Vague(phrase)));
        let open = listed(OPEN).map(|phrase| (phrase, Sense::Open(phrase)));
        let precise = listed(PRECISE).map(|phrase| (phrase, Sense::Precise));
        let mut lexicon = Self { phrases: BTreeMap::new() };
        for (phrase, sense) in vague.chain(open).chain(precise) {
            let words: Vec<&str> = phrase.split(' ').collect();
            lexicon.phrases.entry(words[0]).or_default().push((words, sense));
        }
        // The longest phrase wins: "as soon as possible" is vague, "as soon as" is not.
        lexicon.phrases.values_mut().for_each(|entries| entries.sort_by_key(|(words, _)| usize::MAX - words.len()));
        lexicon
    }

    /// Returns the vague phrases among the words of a text.
    pub(super) fn find(&self, text: &str, tokens: &[Token<'_>]) -> Vec<Vague<'static>> {
        let words: Vec<&Token<'_>> = tokens.iter().filter(|token| !token.is("-")).collect();
        let mut found = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let entry = self.entry(&words[at..]);
            match entry {
                Some((_, Sense::Vague(phrase))) if !is_name(text, words[at]) => {
                    found.push(Vague { at: words[at].at, phrase, mendable: true });
                }
                Some((_, Sense::Open(phrase))) => found.push(Vague { at: words[at].at, phrase, mendable: false }),
                _ => {}
            }
            // "one to many" ends with a word of the list, so a precise use takes all of its words.
            at += entry.map_or(1, |(len, _)| len);
        }
        found
    }

    fn entry(&self, words: &[&Token<'_>]) -> Option<(usize, Sense)> {
        let first = words[0];
        if first.form != Form::Word || first.text.len() > 16 {
            return None;
        }
        let entries = self.phrases.get(first.text.to_ascii_lowercase().as_str())?;
        let fits = |phrase: &[&str]| {
            phrase.len() <= words.len() && phrase.iter().zip(words).all(|(wanted, word)| word.is(wanted))
        };
        entries.iter().find(|(phrase, _)| fits(phrase)).map(|(phrase, sense)| (phrase.len(), *sense))
    }
}

fn listed(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(',').map(str::trim)
}

/// Says whether the word is part of a path, an address or an identifier: `/etc`, `fast.com`, `is_fast`.
fn is_name(text: &str, word: &Token<'_>) -> bool {
    let (before, after) = (&text.as_bytes()[..word.at], &text.as_bytes()[word.end()..]);
    let inner = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let left = match before.last() {
        Some(b'/') => word.is("etc"),
        Some(b'_' | b'.' | b'@') => inner(before[..before.len() - 1].last()),
        Some(b'$' | b'#') => true,
        _ => false,
    };
    let right = match after.first() {
        Some(b'/') => word.is("etc"),
        Some(b'_' | b'.' | b'@' | b'=') => inner(after.get(1)),
        Some(b'(') => after.get(1) == Some(&b')'),
        _ => false,
    };
    left || right
}
