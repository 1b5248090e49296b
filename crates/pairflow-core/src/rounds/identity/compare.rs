//! What speaks for two claims of one file being the same, and what against it, in points.
//!
//! The weights were fitted on the identity corpus and rounded; 100 points multiply the odds by about 2.7. That of claims
//! without a line was set by hand: in the corpus they are mostly the same, in a review they are mostly strangers. Each
//! names its reason. Severity, class and line are left out: they change from round to round while the claim stays.

use std::collections::BTreeSet;

use crate::rounds::identity::claim::{Claim, Place};
use crate::rounds::identity::lexicon::LEXICON;
use crate::rounds::identity::opposites;

/// Two claims of one file are different unless something speaks for them.
const PRIOR: i32 = -105;
/// Both titles speak of the same fault: for each point of that notion's weight.
const NOTION_IN_TITLES: i32 = 12;
/// One title speaks of the fault, the other claim tells it at length.
const NOTION_IN_STORY: i32 = 24;
/// The most telling notion that both speak of: for each point of its weight.
const BEST_NOTION: i32 = 25;
/// Each title speaks of a fault that the other claim does not know.
const NOTION_APART: i32 = -22;
/// A word of both claims that neither line of code has: it was chosen, not copied.
const SHARED_WORD: i32 = 34;
/// A word of both claims that stands in the code as well: every claim about that line has it.
const SHARED_CODE_WORD: i32 = 10;
/// A name from the code that both claims mention.
const SHARED_NAME: i32 = 80;
/// A name that one claim mentions and the other's line has.
const NAME_IN_PLACE: i32 = 65;
/// A word of one claim in the other's line.
const WORD_IN_PLACE: i32 = 28;
/// The same line of code; weak, because a line can have several faults.
const SAME_PLACE: i32 = 60;
/// Lines of code that have little in common.
const OTHER_PLACE: i32 = -110;
/// Neither names a line: nothing ties two claims about a whole file or change together but what they say.
const NO_PLACE: i32 = -30;
/// The titles are built alike and differ in a word: reviewers write so of sister faults.
const HALF_PARALLEL: i32 = -115;
/// As before, and the difference is small.
const PARALLEL: i32 = -180;
/// Each title names a number that the other does not.
const OTHER_NUMBER: i32 = -80;
/// One says read where the other says write.
const OPPOSED: i32 = -30;

/// Points of notions beyond this tell nothing new.
const NOTIONS_COUNTED: i32 = 16;
/// Shared words beyond this tell nothing new.
const WORDS_COUNTED: usize = 16;
/// Names, and words found in the other's line, beyond this tell nothing new.
const NAMES_COUNTED: usize = 3;
/// Notions below this weight are talk, not faults, and do not speak against a claim.
const FAULT: i32 = 3;
/// Titles of which this percentage is the same words in the same order are built alike.
const HALF_SISTER: usize = 45;
/// From this percentage on, they tell of sister faults.
const SISTER: usize = 60;
/// Lines that share less than this percentage of their words are different lines.
const ALIKE: usize = 34;

/// What was weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Evidence {
    /// The sum; the higher, the likelier the same.
    pub(super) points: i32,
    /// Whether something says outright that two faults are meant.
    pub(super) apart: bool,
    /// Whether both speak of the same fault.
    pub(super) same_fault: bool,
    /// Whether the titles are the same words.
    pub(super) verbatim: bool,
    /// Whether both name a line and the lines have little in common.
    pub(super) elsewhere: bool,
}

/// Weighs what `a` and `b` have in common.
pub(super) fn weigh(a: &Claim, b: &Claim) -> Evidence {
    let verbatim = a.title == b.title;
    let parallel = parallel(&a.bones, &b.bones);
    let opposed = opposites::opposed(&a.words, &b.words);
    let moved = known(a) && known(b) && a.place.text != b.place.text;
    let elsewhere = moved && likeness(&a.place, &b.place) < ALIKE;
    let other_number = !a.numbers.is_subset(&b.numbers) && !b.numbers.is_subset(&a.numbers);
    let (told, best) = notions(a, b);
    let mut points = PRIOR + told + words(a, b) + names(a, b) + places(a, b, elsewhere);
    let against = [
        (parallel >= HALF_SISTER, HALF_PARALLEL),
        (parallel >= SISTER, PARALLEL),
        (other_number, OTHER_NUMBER),
        (opposed, OPPOSED),
    ];
    points += against.iter().filter(|(holds, _)| *holds).map(|(_, weight)| weight).sum::<i32>();
    Evidence {
        points,
        apart: parallel >= SISTER || opposed || other_number,
        verbatim,
        elsewhere,
        same_fault: best >= FAULT,
    }
}

fn notions(a: &Claim, b: &Claim) -> (i32, i32) {
    let weight = |notion: &usize| LEXICON.notions[*notion].weight;
    let (mut titles, mut story, mut best) = (0, 0, 0);
    for (notion, titled) in &a.notions {
        let Some(also) = b.notions.get(notion) else { continue };
        best = best.max(weight(notion));
        match (*titled, *also) {
            (true, true) => titles += weight(notion),
            (false, false) => {}
            _ => story += weight(notion),
        }
    }
    let alone = |one: &Claim, other: &Claim| {
        let own = one.notions.iter().filter(|(notion, titled)| **titled && !other.notions.contains_key(notion));
        own.map(|(notion, _)| weight(notion)).filter(|weight| *weight >= FAULT).sum::<i32>()
    };
    let apart = alone(a, b).min(alone(b, a));
    let points = NOTION_IN_TITLES * titles.min(NOTIONS_COUNTED)
        + NOTION_IN_STORY * story.min(NOTIONS_COUNTED)
        + BEST_NOTION * best
        + NOTION_APART * apart.min(NOTIONS_COUNTED);
    (points, best)
}

fn words(a: &Claim, b: &Claim) -> i32 {
    let in_code = |word: &&String| a.place.words.contains(*word) || b.place.words.contains(*word);
    let (copied, chosen): (Vec<_>, Vec<_>) = a.words.intersection(&b.words).partition(in_code);
    SHARED_WORD * count(chosen.len(), WORDS_COUNTED) + SHARED_CODE_WORD * count(copied.len(), WORDS_COUNTED)
}

fn names(a: &Claim, b: &Claim) -> i32 {
    let shared = a.names.intersection(&b.names).count();
    let placed = |one: &Claim, other: &Claim| {
        one.names.iter().filter(|name| other.place.names.contains(*name) && !other.names.contains(*name)).count()
    };
    SHARED_NAME * count(shared, NAMES_COUNTED) + NAME_IN_PLACE * count(placed(a, b) + placed(b, a), NAMES_COUNTED)
}

fn places(a: &Claim, b: &Claim, elsewhere: bool) -> i32 {
    let crossing = |one: &Claim, other: &Claim| count(shared(&one.words, &other.place.words), NAMES_COUNTED);
    let standing = match (known(a), known(b)) {
        (true, true) if a.place.text == b.place.text => SAME_PLACE,
        (true, true) if elsewhere => OTHER_PLACE,
        (false, false) => NO_PLACE,
        _ => 0,
    };
    standing + WORD_IN_PLACE * (crossing(a, b) + crossing(b, a))
}

fn known(claim: &Claim) -> bool {
    !claim.place.text.is_empty()
}

fn likeness(a: &Place, b: &Place) -> usize {
    100 * shared(&a.words, &b.words) / a.words.union(&b.words).count().max(1)
}

fn shared(a: &BTreeSet<String>, b: &BTreeSet<String>) -> usize {
    a.intersection(b).count()
}

fn count(found: usize, most: usize) -> i32 {
    i32::try_from(found.min(most)).unwrap_or(i32::MAX)
}

/// How much of two titles is the same words in the same order, in percent, if each also says something of its own; 0
/// otherwise.
fn parallel(a: &[String], b: &[String]) -> usize {
    let common = common_row(a, b);
    if common == 0 || common == a.len().min(b.len()) { 0 } else { 200 * common / (a.len() + b.len()) }
}

/// Returns the length of the longest row of words that both have in the same order.
fn common_row(a: &[String], b: &[String]) -> usize {
    let mut row = vec![0; b.len() + 1];
    for word in a {
        let mut diagonal = 0;
        for (at, other) in b.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if word == other { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[b.len()]
}
