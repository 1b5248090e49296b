//! Whether a finding asks to undo what an earlier one asked for.
//!
//! A finding is read as a wish: to do something to an object, or to turn one thing into another. Two wishes are each
//! other's reverse when they do opposite things to the same object, or swap the two things. What is no clear wish is
//! none: a reversal goes to the person, so it has to be certain.

use std::collections::BTreeSet;

use crate::facts::Finding;
use crate::findings::identity::words::{is_common, names, sentences, stem};

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
    names(&finding.title).into_iter().chain(names(&finding.suggestion)).flat_map(|name| parts(&name)).collect()
}

fn parts(name: &str) -> Vec<String> {
    name.split('_').map(stem).collect()
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
