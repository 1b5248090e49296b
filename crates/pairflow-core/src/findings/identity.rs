//! Whether two findings say the same about the same place.
//!
//! The words have to be the same in the same order; only punctuation, capitals, "the" and contractions may differ. Letters
//! that are merely close do not count: "tried 3 times" and "tried 5 times" are two claims, and so are "upload" and
//! "unload".

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::facts::Finding;

/// Whether `a` and `b`, findings of different reviews, are almost certainly one claim.
pub fn same_claim(a: &Finding, b: &Finding) -> bool {
    same_place(a, b) && same_words(&a.title, &b.title) && same_words(&a.detail, &b.detail)
}

/// Whether both are about the same line of code, wherever it went; or about the same line number, or none, where its text
/// is not known.
fn same_place(a: &Finding, b: &Finding) -> bool {
    let known = !a.anchor.is_empty() || !b.anchor.is_empty();
    let same_line = if known { a.anchor.split_whitespace().eq(b.anchor.split_whitespace()) } else { a.line == b.line };
    a.file == b.file && same_line
}

/// Whether two texts have the same words in the same order.
pub(crate) fn same_words(a: &str, b: &str) -> bool {
    words(a).eq(words(b))
}

/// One word of a text.
struct Word {
    text: String,
    /// Whether it stands in backticks, where every letter counts.
    quoted: bool,
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        let plain = !self.quoted && !other.quoted && self.is_capitalised_at_most() && other.is_capitalised_at_most();
        self.text == other.text || plain && self.text.to_lowercase() == other.text.to_lowercase()
    }
}

impl Word {
    /// Whether all its letters are small but perhaps the first; `userId` and `ID` are names.
    fn is_capitalised_at_most(&self) -> bool {
        self.text.chars().skip(1).all(char::is_lowercase)
    }
}

fn words(text: &str) -> impl Iterator<Item = Word> {
    let quotes = text.matches('`').count();
    let parts = text.split('`').enumerate();
    parts.flat_map(move |(at, part)| {
        let quoted = at % 2 == 1 && at < quotes;
        if quoted {
            return vec![Word { text: part.split_whitespace().collect::<Vec<_>>().join(" "), quoted }];
        }
        let part = part.replace("can't", "cannot").replace("n't", " not");
        let words =
            part.split_whitespace().map(|word| word.trim_matches(['.', ',', ';', ':', '!', '?', '"', '(', ')']));
        let told = words.filter(|word| !matches!(*word, "" | "-" | "–" | "—" | "the" | "The"));
        told.map(|word| Word { text: word.to_owned(), quoted }).collect()
    })
}

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
fn sentences(text: &str) -> Vec<Vec<String>> {
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
fn is_common(word: &str) -> bool {
    word.len() < 2 || COMMON.contains(word)
}

/// Returns `word` without its ending.
fn stem(word: &str) -> String {
    let ending = ENDINGS.iter().find(|ending| word.len() >= ending.len() + 3 && word.ends_with(**ending));
    let mut stem = ending.and_then(|ending| word.strip_suffix(ending)).unwrap_or(word).to_owned();
    let doubled = stem.chars().rev().nth(1) == stem.chars().last() && !stem.ends_with(['a', 'e', 'o']);
    if stem.len() > 3 && (doubled || stem.ends_with(['i', 'y'])) {
        stem.pop();
    }
    stem
}

/// Returns the names from the code that `text` mentions: in backticks, called(), with_underscores, inHumps, dotted.parts.
fn names(text: &str) -> BTreeSet<String> {
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

/// What can be wished for, and its opposite. A verb counts where it is asked for: at the start, or after a modal verb.
const VERBS: [(&str, &str); 12] = [
    ("add introduce insert restore reintroduce use keep create", "remove delete drop avoid eliminate strip"),
    ("inline", "extract"),
    ("enable", "disable"),
    ("expose export publish", "hide unexport"),
    ("split separate", "merge combine unify"),
    ("raise increase lengthen extend", "lower reduce decrease shorten"),
    ("allow accept permit", "forbid reject deny refuse disallow"),
    ("wrap", "unwrap"),
    ("tighten", "loosen relax"),
    ("cache memoize memoise", "uncache"),
    ("sort", "unsort"),
    ("lock", "unlock"),
];

/// What something can be asked to be. These count wherever the title says "make" or "should be".
const STATES: [(&str, &str); 8] = [
    ("public exported", "private internal"),
    ("mutable", "immutable const readonly"),
    ("async asynchronous", "sync synchronous blocking"),
    ("strict", "lenient"),
    ("eager", "lazy"),
    ("optional", "required mandatory"),
    ("static", "dynamic"),
    ("before earlier", "after later"),
];

/// Words that say by themselves that something is to be added, or to be removed.
const WANTING: (&str, &str) =
    ("missing lacks lacking needed", "needless unnecessary redundant superfluous unneeded overkill pointless");

/// After these, a verb is a wish.
const MODALS: &str = "should must please just need needs";
/// Before a verb, these turn the wish round.
const REFUSALS: &str = "not never stop no";
/// Verbs that turn one thing into another, and what stands between the two.
const TURNS: (&str, &str) = ("rename change replace convert switch turn migrate", "to with by into");
/// Where the second thing of a turn ends.
const ENDS: &str = "because since so as for in when otherwise again";

/// One thing that a finding asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    /// To do something to an object, or its opposite.
    Act { kind: usize, forward: bool, object: BTreeSet<String> },
    /// To turn one thing into another.
    Turn { from: Vec<String>, into: Vec<String> },
}

/// Whether `newer` asks to undo what `older` asked for.
pub fn reversed(older: &Finding, newer: &Finding) -> bool {
    if older.file != newer.file {
        return false;
    }
    let code = |text: &str| text.split_whitespace().collect::<String>();
    let (blamed, wanted) = (code(&older.anchor), code(&newer.suggestion));
    let put_back = !blamed.is_empty() && blamed == wanted && code(&newer.anchor) != blamed;
    let (before, now) = (wishes(older), wishes(newer));
    let named: BTreeSet<String> = finding_names(older).intersection(&finding_names(newer)).cloned().collect();
    put_back || before.iter().any(|one| now.iter().any(|other| undo(one, other, &named)))
}

fn finding_names(finding: &Finding) -> BTreeSet<String> {
    names(&finding.title)
        .into_iter()
        .chain(names(&finding.suggestion))
        .flat_map(|name| name.split('_').map(stem).collect::<Vec<_>>())
        .collect()
}

fn undo(one: &Wish, other: &Wish, named: &BTreeSet<String>) -> bool {
    match (one, other) {
        (Wish::Act { kind, forward, object }, Wish::Act { kind: also, forward: onward, object: thing }) => {
            kind == also && forward != onward && same_object(object, thing, named)
        }
        (Wish::Turn { from, into }, Wish::Turn { from: now, into: then }) => from == then && into == now,
        _ => false,
    }
}

/// Whether two wishes are about one object: two words in common that are most of the shorter wish; or one, if that is
/// all that both say, or a name from the code.
fn same_object(a: &BTreeSet<String>, b: &BTreeSet<String>, named: &BTreeSet<String>) -> bool {
    let shared: Vec<_> = a.intersection(b).collect();
    let shorter = a.len().min(b.len());
    let most = shared.len() * 3 >= shorter * 2;
    let enough = shared.len() >= 2 || a == b || shared.iter().any(|word| named.contains(*word));
    !shared.is_empty() && most && enough
}

fn wishes(finding: &Finding) -> Vec<Wish> {
    let texts = [finding.title.as_str(), finding.suggestion.as_str()];
    let acts = texts.into_iter().flat_map(sentences).flat_map(|sentence| acts(&sentence));
    let clauses = texts.into_iter().flat_map(|text| text.split([',', ';', ':', '(']));
    let turns = clauses.flat_map(sentences).filter_map(|clause| turn(&clause));
    acts.chain(turns).collect()
}

/// Reads what `sentence` asks to be done. One that asks for both sides of a pair asks for neither.
fn acts(sentence: &[String]) -> Vec<Wish> {
    let mut found: Vec<(usize, bool, usize)> = Vec::new();
    for (at, word) in sentence.iter().enumerate() {
        let refused = sentence[..at].iter().rev().take(2).any(|one| has(REFUSALS, one));
        found.extend(side(at, word, sentence).map(|(kind, forward)| (kind, forward != refused, at)));
    }
    let clear = |kind: usize| found.iter().filter(|(one, ..)| *one == kind).count() == 1;
    let acts = found.iter().filter(|(kind, ..)| clear(*kind));
    let object = |at: usize| {
        let rest = sentence.iter().enumerate().filter(|(place, word)| *place != at && !is_common(word));
        rest.map(|(_, word)| stem(word)).collect()
    };
    acts.map(|(kind, forward, at)| Wish::Act { kind: *kind, forward: *forward, object: object(*at) }).collect()
}

/// Whether the word at `at` is asked for: it is the first, or a modal verb leads to it ("should not be ..."). That
/// something "does not" or "fails to" is no wish.
fn asked(at: usize, sentence: &[String]) -> bool {
    let linking = |word: &&String| has("be to not never do", word);
    let lead = sentence[..at].iter().rev().find(|word| !linking(word));
    lead.is_none_or(|word| has(MODALS, word))
}

/// Says which pair the word at `at` belongs to as a wish, and on which side it is.
fn side(at: usize, word: &str, sentence: &[String]) -> Option<(usize, bool)> {
    let asked = asked(at, sentence);
    let made = has("make move", &sentence[0]) || sentence.iter().any(|one| has("should must", one));
    let wanting = one_of(&WANTING, word).map(|forward| (0, forward));
    let verb = || VERBS.iter().enumerate().find_map(|(kind, pair)| Some((kind, one_of(pair, word)?)));
    let state = || STATES.iter().enumerate().find_map(|(kind, pair)| Some((VERBS.len() + kind, one_of(pair, word)?)));
    wanting.or_else(|| asked.then(verb).flatten()).or_else(|| made.then(state).flatten())
}

/// Says on which side of `pair` a word or its past participle is, if on one.
fn one_of((forward, back): &(&str, &str), word: &str) -> Option<bool> {
    let within =
        |list: &str| list.split(' ').any(|one| one == word || (word.ends_with("ed") && stem(one) == stem(word)));
    within(forward).then_some(true).or_else(|| within(back).then_some(false))
}

/// Reads `rename A to B`, `replace A by B`, `use A instead of B`.
fn turn(sentence: &[String]) -> Option<Wish> {
    let first = sentence.first()?;
    let rest = &sentence[1..];
    let ended = rest.iter().position(|word| has(ENDS, word)).map_or(rest, |end| &rest[..end]);
    let told =
        |words: &[String]| words.iter().filter(|word| !has("a an the from of", word)).cloned().collect::<Vec<_>>();
    let (from, into) = if has(TURNS.0, first) {
        let middle = ended.iter().position(|word| has(TURNS.1, word))?;
        (told(&ended[..middle]), told(&ended[middle + 1..]))
    } else if has("use prefer", first) {
        let middle = ended.iter().position(|word| has("instead rather over", word))?;
        (told(&ended[middle + 1..]), told(&ended[..middle]))
    } else {
        return None;
    };
    (!from.is_empty() && !into.is_empty()).then_some(Wish::Turn { from, into })
}

fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Severity;

    fn at(title: &str, anchor: &str) -> Finding {
        Finding { file: Some("a.rs".into()), anchor: anchor.into(), ..Finding::new(Severity::P1, title) }
    }

    fn same(a: &str, b: &str) -> bool {
        same_claim(&at(a, "x();"), &at(b, "x();"))
    }

    #[test]
    fn the_same_words_about_the_same_line_are_one_claim_wherever_the_line_went() {
        let moved = Finding { line: Some(80), severity: Severity::P0, ..at("the timeout is  missing.", " x();") };
        assert!(same_claim(&at("Timeout is missing", "x();"), &moved));
        assert!(same("`len` isn't checked", "len is not checked"));
        assert!(same("The Token Is Logged", "token is logged"));
    }

    #[test]
    fn another_place_is_another_claim() {
        assert!(!same_claim(&at("Timeout is missing", "x();"), &at("Timeout is missing", "y();")));
        assert!(!same_claim(&at("Timeout is missing", "x();"), &at("Timeout is missing", "")));
        let elsewhere = Finding { file: Some("b.rs".into()), ..at("Timeout is missing", "x();") };
        assert!(!same_claim(&at("Timeout is missing", "x();"), &elsewhere));
        let line = |line| Finding { line, ..at("Timeout is missing", "") };
        assert!(same_claim(&line(None), &line(None)) && same_claim(&line(Some(3)), &line(Some(3))));
        assert!(!same_claim(&line(Some(3)), &line(Some(4))) && !same_claim(&line(Some(3)), &line(None)));
    }

    #[test]
    fn a_letter_a_digit_a_name_or_the_detail_tells_claims_apart() {
        for (one, other) in [
            ("Retry is attempted 3 times", "Retry is attempted 5 times"),
            ("Upload is not limited", "Unload is not limited"),
            ("`Id` is not checked", "`id` is not checked"),
            ("userId is not checked", "userid is not checked"),
            ("the lock is released", "the lock is not released"),
            ("a is read before b", "b is read before a"),
        ] {
            assert!(!same(one, other), "{one} / {other}");
        }
        let told = |detail: &str| Finding { detail: detail.into(), ..at("Missing error handling", "x();") };
        assert!(!same_claim(&told("open can fail"), &told("close can fail")));
        assert!(!same_claim(&told("open can fail"), &told("")));
    }

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

    fn titled(title: &str) -> Finding {
        Finding::new(Severity::P2, title)
    }

    fn undone(older: &str, newer: &str) -> bool {
        reversed(&titled(older), &titled(newer))
    }

    #[test]
    fn opposite_actions_on_one_object_are_a_reversal() {
        for (older, newer) in [
            ("Add a null check for user", "Remove the null check for user"),
            ("Null check for user is missing", "The null check for user is redundant"),
            ("Inline parse_line", "Extract parse_line into a function of its own"),
            ("Enable keep-alive on the client", "Keep-alive on the client should be disabled"),
            ("Use a mutex around the counter", "Avoid the mutex around the counter"),
            ("Make `cache` public", "Make cache private"),
            ("Inline the retry helper", "Do not inline the retry helper"),
            ("Split the parser module", "Merge the parser module again"),
        ] {
            assert!(undone(older, newer), "{older} / {newer}");
            assert!(undone(newer, older), "{newer} / {older}");
        }
    }

    #[test]
    fn turning_something_back_is_a_reversal() {
        assert!(undone("Rename fetch_user to load_user", "Rename load_user to fetch_user, it is shorter"));
        assert!(undone("Use a Vec instead of a HashMap", "Use a HashMap instead of a Vec"));
        assert!(undone("Replace unwrap by expect", "Replace expect with unwrap"));
        assert!(!undone("Rename fetch_user to load_user", "Rename fetch_user to get_user"));
    }

    #[test]
    fn asking_for_the_blamed_line_again_is_a_reversal() {
        let older = Finding { anchor: "let n = items.len() + 1;".into(), ..titled("Off by one") };
        let newer = Finding {
            anchor: "let n = items.len();".into(),
            suggestion: "let n =  items.len() + 1;".into(),
            ..titled("The terminator is not counted")
        };
        assert!(reversed(&older, &newer));
        assert!(!reversed(&newer, &older));
    }

    #[test]
    fn other_objects_the_same_wish_and_other_files_are_no_reversal() {
        for (older, newer) in [
            ("Add a test for parse", "Remove the test for print"),
            ("Add a null check for user", "Add the missing null check for user"),
            ("Lock is not released", "Lock is not taken"),
            ("Remove the unused import", "Add a changelog entry"),
            ("", ""),
        ] {
            assert!(!undone(older, newer), "{older} / {newer}");
        }
        let elsewhere = Finding { file: Some("b.rs".into()), ..titled("Remove the null check for user") };
        assert!(!reversed(&titled("Add a null check for user"), &elsewhere));
    }
}
