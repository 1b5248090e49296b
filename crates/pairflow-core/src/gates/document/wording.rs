//! Checks of words: vague words need a measure, and the same quantity has the same number everywhere.
//!
//! A measure is a number with a unit, a comparison or an exact count. The word lists are English.

use std::collections::BTreeMap;
use std::ops::Range;

use super::markdown::BlockKind;
use super::outline::{DocumentEntry, DocumentOutline, EntryRole, PlacedBlock, RequiredSection};
use super::remark::{DocumentCheck, PendingRemark};
use super::words::{TextToken, TokenForm, tokens};

/// Reports vague words without a measure, and numbers that differ between a requirement and its criterion.
pub(super) fn check(outline: &DocumentOutline<'_>) -> Vec<PendingRemark> {
    let mut remarks = vague_words(outline);
    remarks.extend(differing_numbers(outline));
    remarks
}

fn vague_words(outline: &DocumentOutline<'_>) -> Vec<PendingRemark> {
    let lexicon = VagueLexicon::english();
    let measured = Measured::of(outline);
    let mut remarks = Vec::new();
    for (nth, block) in outline.blocks.iter().enumerate().filter(|(_, block)| is_binding(block)) {
        let tied = measured.around[nth];
        let whole = block.kind != BlockKind::Paragraph && measured.blocks[nth];
        for sentence in sentences(outline, block) {
            let prose = &outline.pages[block.page].prose;
            let has_measure = tied || whole || is_measured_in(outline, block.page, sentence.clone());
            for vague in lexicon.find(prose, &tokens(prose, sentence)) {
                if !(has_measure && vague.measurable) {
                    remarks.push(mark(block.page, &vague));
                }
            }
        }
    }
    remarks
}

fn is_binding(block: &PlacedBlock) -> bool {
    let sections = [RequiredSection::Scope, RequiredSection::Requirements, RequiredSection::Acceptance];
    let kinds = matches!(block.kind, BlockKind::Paragraph | BlockKind::Item | BlockKind::Row);
    kinds && sections.into_iter().any(|section| block.sections.has(section))
}

/// Where the measures are.
struct Measured {
    /// The blocks that carry one, in themselves or in the items under them.
    blocks: Vec<bool>,
    /// The blocks whose requirement has a criterion that carries one, or that announce a list that does.
    around: Vec<bool>,
}

impl Measured {
    fn of(outline: &DocumentOutline<'_>) -> Self {
        let own = |block: &PlacedBlock| is_measured_in(outline, block.page, block.range.clone());
        let mut blocks: Vec<bool> = outline.blocks.iter().map(own).collect();
        for nth in (0..blocks.len()).rev() {
            if let Some(parent) = outline.blocks[nth].parent {
                blocks[parent] |= blocks[nth];
            }
        }
        let mut entries: Vec<bool> =
            outline.entries.iter().map(|entry| entry.blocks.iter().any(|block| blocks[*block])).collect();
        for nth in (0..entries.len()).rev() {
            if let Some(inside) = outline.entries[nth].inside {
                entries[inside] |= entries[nth];
            }
        }
        let mut around = announced(outline, &blocks);
        let mut tied = vec![false; entries.len()];
        for (requirement, criterion) in &outline.links.pairs {
            tied[*requirement] |= entries[*criterion];
        }
        for (nth, entry) in outline.entries.iter().enumerate().filter(|(_, entry)| entry.role == EntryRole::Requirement)
        {
            if tied[outline.links.first(nth)] {
                entry.blocks.iter().for_each(|block| around[*block] = true);
            }
        }
        Self { blocks, around }
    }
}

/// Returns the paragraphs that end with a colon before a list that carries a measure.
fn announced(outline: &DocumentOutline<'_>, measured: &[bool]) -> Vec<bool> {
    let mut around = vec![false; outline.blocks.len()];
    let mut list = false;
    for (nth, block) in outline.blocks.iter().enumerate().rev() {
        let announces = block.kind == BlockKind::Paragraph && outline.raw(nth).trim_end().ends_with(':');
        around[nth] = announces && list;
        list = matches!(block.kind, BlockKind::Item | BlockKind::Row | BlockKind::Header) && (list || measured[nth]);
    }
    around
}

fn is_measured_in(outline: &DocumentOutline<'_>, page: usize, range: Range<usize>) -> bool {
    is_measured(&tokens(&outline.pages[page].measures, range))
}

/// Returns the sentences of a paragraph; an item and a row are taken as one.
fn sentences(outline: &DocumentOutline<'_>, block: &PlacedBlock) -> Vec<Range<usize>> {
    let range = block.range.clone();
    if block.kind != BlockKind::Paragraph {
        return vec![range];
    }
    let words = tokens(&outline.pages[block.page].measures, range.clone());
    let mut found = Vec::new();
    let mut start = range.start;
    for three in words.windows(3) {
        let [before, stop, next] = three else { continue };
        let capital = next.form != TokenForm::Word || next.text.starts_with(char::is_uppercase);
        // The stop of "e.g." ends nothing.
        let ends = stop.among(". ! ?") && stop.end() < next.at && before.text.len() > 1;
        if ends && capital {
            found.push(start..stop.end());
            start = stop.end();
        }
    }
    found.push(start..range.end);
    found
}

fn mark(page: usize, vague: &VaguePhrase<'_>) -> PendingRemark {
    let phrase = vague.phrase;
    let what = if vague.measurable {
        format!("\"{phrase}\" cannot be checked: add a measure (a number with a unit, a limit, a count)")
    } else {
        format!("\"{phrase}\" leaves the decision open: decide it, or move it to the open questions")
    };
    PendingRemark { check: DocumentCheck::Ambiguity, page, at: vague.at, what }
}

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
struct VaguePhrase<'a> {
    at: usize,
    /// As it is in the list.
    phrase: &'a str,
    /// Whether a measure next to it gives it a meaning.
    measurable: bool,
}

/// The lists, by first word.
struct VagueLexicon {
    phrases: BTreeMap<&'static str, Vec<(Vec<&'static str>, Sense)>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    Vague(&'static str),
    Open(&'static str),
    Precise,
}

impl VagueLexicon {
    /// Returns the English lexicon.
    fn english() -> Self {
        let vague = phrases(VAGUE).map(|phrase| (phrase, Sense::Vague(phrase)));
        let open = phrases(OPEN).map(|phrase| (phrase, Sense::Open(phrase)));
        let precise = phrases(PRECISE).map(|phrase| (phrase, Sense::Precise));
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
    fn find(&self, text: &str, tokens: &[TextToken<'_>]) -> Vec<VaguePhrase<'static>> {
        let words: Vec<&TextToken<'_>> = tokens.iter().filter(|token| !token.is("-")).collect();
        let mut found = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let entry = self.entry(&words[at..]);
            match entry {
                Some((_, Sense::Vague(phrase))) if !is_name(text, words[at]) => {
                    found.push(VaguePhrase { at: words[at].at, phrase, measurable: true });
                }
                Some((_, Sense::Open(phrase))) => {
                    found.push(VaguePhrase { at: words[at].at, phrase, measurable: false })
                }
                _ => {}
            }
            // "one to many" ends with a word of the list, so a precise use takes all of its words.
            at += entry.map_or(1, |(len, _)| len);
        }
        found
    }

    fn entry(&self, words: &[&TextToken<'_>]) -> Option<(usize, Sense)> {
        let first = words[0];
        if first.form != TokenForm::Word || first.text.len() > 16 {
            return None;
        }
        let entries = self.phrases.get(first.text.to_ascii_lowercase().as_str())?;
        let fits = |phrase: &[&str]| {
            phrase.len() <= words.len() && phrase.iter().zip(words).all(|(wanted, word)| word.is(wanted))
        };
        entries.iter().find(|(phrase, _)| fits(phrase)).map(|(phrase, sense)| (phrase.len(), *sense))
    }
}

fn phrases(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(',').map(str::trim)
}

/// Returns whether the word is part of a path, an address or an identifier: `/etc`, `fast.com`, `is_fast`.
fn is_name(text: &str, word: &TextToken<'_>) -> bool {
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

/// Units: their names, what they measure, and how many milliseconds, bytes or percent they are.
const UNITS: [(&str, Dimension, f64); 19] = [
    ("% percent", Dimension::Percent, 1.0),
    ("ms msec millisecond milliseconds", Dimension::Time, 1.0),
    ("s sec secs second seconds", Dimension::Time, 1e3),
    ("min mins minute minutes", Dimension::Time, 6e4),
    ("h hr hrs hour hours", Dimension::Time, 3.6e6),
    ("d day days", Dimension::Time, 8.64e7),
    ("week weeks", Dimension::Time, 6.048e8),
    ("month months", Dimension::Time, 2.6298e9),
    ("years", Dimension::Time, 3.155_76e10),
    ("byte bytes b", Dimension::Size, 1.0),
    ("kb", Dimension::Size, 1e3),
    ("kib", Dimension::Size, 1024.0),
    ("mb", Dimension::Size, 1e6),
    ("mib", Dimension::Size, 1_048_576.0),
    ("gb", Dimension::Size, 1e9),
    ("gib", Dimension::Size, 1_073_741_824.0),
    ("tb", Dimension::Size, 1e12),
    ("tib", Dimension::Size, 1_099_511_627_776.0),
    ("pb", Dimension::Size, 1e15),
];

const SPELLED: &str = "zero two three four five six seven eight nine ten eleven twelve fifteen twenty thirty fifty sixty \
    hundred thousand million";

/// Words before a number that make it a name: "version 2" measures nothing.
const NAMING: &str = "version section phase step level chapter figure table page release http status code number item \
    requirement criterion criteria appendix stage iteration sprint milestone priority tier part year since \
    scenario case option story epic ticket issue see";

/// Words before a number that compare with it.
const COMPARING: &str = "most least than within under below above over exceed exceeds exceeding exactly maximum minimum max min \
    between every equals is are be reaches limit";

/// Words behind a number that are not what is counted.
const NOT_COUNTED: &str = "and or is are in of the to for with on at by from as but that this when if must shall should will can \
    may st nd rd th a an has was";

/// What kind of thing a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dimension {
    Time,
    Size,
    Percent,
}

/// Returns what `unit` measures, and how much one of it is.
fn unit(unit: &TextToken<'_>) -> Option<(Dimension, f64)> {
    let known = UNITS.iter().find(|(names, ..)| unit.among(names));
    known.map(|(_, dimension, size)| (*dimension, *size))
}

/// Returns whether the number at `nth` is part of a name such as `REQ-12`, `v2` or "version 2".
fn is_part_of_name(tokens: &[TextToken<'_>], nth: usize) -> bool {
    let token = &tokens[nth];
    let Some(before) = nth.checked_sub(1).map(|before| &tokens[before]) else { return false };
    let glued = before.end() == token.at;
    let joined = glued && before.among("- _ # §") && {
        let word = nth.checked_sub(2).map(|word| &tokens[word]);
        before.is("#")
            || before.is("§")
            || word.is_some_and(|word| word.form == TokenForm::Word && word.end() == before.at)
    };
    joined || before.among(NAMING)
}

/// Returns whether the tokens carry a measure.
fn is_measured(tokens: &[TextToken<'_>]) -> bool {
    (0..tokens.len()).any(|nth| match tokens[nth].form {
        TokenForm::Date => true,
        TokenForm::Number => !is_part_of_name(tokens, nth) && is_target(tokens, nth, false),
        TokenForm::Word if tokens[nth].among("once twice") => true,
        TokenForm::Word if tokens[nth].is("one") => {
            compared(tokens, nth) && !tokens.get(nth + 1).is_some_and(|t| t.is("of"))
        }
        TokenForm::Word => tokens[nth].among(SPELLED) && is_target(tokens, nth, true),
        TokenForm::Sign => false,
    })
}

fn is_target(tokens: &[TextToken<'_>], nth: usize, spelled: bool) -> bool {
    let next = tokens.get(nth + 1);
    let currency = nth > 0 && tokens[nth - 1].among("$ € £ ¥");
    let open_ended = next.is_some_and(|next| next.is("or"))
        && tokens.get(nth + 2).is_some_and(|word| word.among("more fewer less higher lower"));
    let clock =
        next.is_some_and(|next| next.is(":")) && tokens.get(nth + 2).is_some_and(|t| t.form == TokenForm::Number);
    currency || open_ended || clock || compared(tokens, nth) || counts(tokens, nth, spelled)
}

fn compared(tokens: &[TextToken<'_>], nth: usize) -> bool {
    let near = &tokens[nth.saturating_sub(2)..nth];
    let up_to = matches!(near, [up, to] if up.is("up") && to.is("to"));
    let worded = near.last().is_some_and(|before| before.among(COMPARING))
        || matches!(near, [first, middle] if first.among(COMPARING) && middle.among("of a the ="));
    let signed = near.iter().any(|token| token.among("< > ≤ ≥ = ±"));
    (up_to || worded || signed) && !is_year(tokens, nth)
}

fn counts(tokens: &[TextToken<'_>], nth: usize, spelled: bool) -> bool {
    // "30-second" and "30 seconds" count alike.
    let behind = tokens[nth + 1..].iter().take(2).find(|token| !token.is("-"));
    let Some(next) = behind else { return false };
    let measured = unit(next).is_some() || next.among("‰ ° ×");
    let counted = next.form == TokenForm::Word && !next.among(NOT_COUNTED) && !is_year(tokens, nth);
    measured || (counted && !(spelled && next.among("ways kinds types sorts")))
}

fn is_year(tokens: &[TextToken<'_>], nth: usize) -> bool {
    let year =
        tokens[nth].text.len() == 4 && (tokens[nth].text.starts_with("19") || tokens[nth].text.starts_with("20"));
    year && tokens.get(nth + 1).is_none_or(|next| unit(next).is_none())
}

/// A named amount, such as "timeout of 30 s" or "at most 5 attempts".
#[derive(Debug, Clone)]
struct Quantity {
    page: usize,
    at: usize,
    /// The word that the number is about.
    noun: String,
    /// The word before it, when it narrows it down: "session timeout".
    narrowed: Option<String>,
    measures: QuantityKind,
    amount: f64,
    /// Number and unit as written.
    written: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuantityKind {
    Unit(Dimension),
    AtMost,
    AtLeast,
}

/// An entry with more quantities than this is compared by its first ones.
const MOST: usize = 64;

/// Between a noun and its number.
const JOINING: &str = "of is are be must shall should will equal equals set to than at most least less more under below within \
    above over exactly a an the not exceed exceeds no stay stays remain remains = : ( < ≤ *";

/// Words that narrow nothing down, and that no number is about.
const PLAIN: &str = "a an the has have with uses use and or its their this that each every any all for in on by after before \
    it they user users system when if then given as per from until does do can may default maximum minimum \
    max min total about";

/// What a number may stand in front of: "a 30-second timeout".
const NOUNS: &str = "timeout limit delay retention window interval period budget threshold quota cap deadline expiry \
    lifetime ttl latency grace cooldown pause maximum minimum rate buffer size";

fn differing_numbers(outline: &DocumentOutline<'_>) -> Vec<PendingRemark> {
    let all: Vec<Vec<Quantity>> = outline.entries.iter().map(|entry| quantities(outline, entry)).collect();
    let mut remarks = Vec::new();
    for (requirement, criterion) in &outline.links.pairs {
        for other in &all[*criterion] {
            let same: Vec<&Quantity> = all[*requirement].iter().filter(|one| one.is_same(other)).collect();
            if !same.is_empty() && !same.iter().any(|one| one.agrees(other)) {
                remarks.push(differs(outline, &outline.entries[*requirement], same[0], other));
            }
        }
    }
    remarks
}

impl Quantity {
    fn is_same(&self, other: &Self) -> bool {
        let narrowed = match (&self.narrowed, &other.narrowed) {
            (Some(one), Some(other)) => one == other,
            // A verb such as "takes" is about the word before it.
            (None, None) | (Some(_), None) | (None, Some(_)) => !self.noun.ends_with('s') || self.counts(),
        };
        self.noun == other.noun && self.measures == other.measures && narrowed
    }

    fn counts(&self) -> bool {
        matches!(self.measures, QuantityKind::AtMost | QuantityKind::AtLeast)
    }

    fn agrees(&self, other: &Self) -> bool {
        // A megabyte may be 1000 or 1024 kilobytes.
        let slack = if self.measures == QuantityKind::Unit(Dimension::Size) { 0.1 } else { 1e-9 };
        (self.amount - other.amount).abs() <= slack * self.amount.abs().max(other.amount.abs())
    }
}

fn differs(
    outline: &DocumentOutline<'_>,
    requirement: &DocumentEntry,
    one: &Quantity,
    other: &Quantity,
) -> PendingRemark {
    let text = &outline.texts[outline.blocks[requirement.block].page];
    let name = requirement.name.as_ref().map_or("its requirement", |name| &text[name.at..name.end]);
    let limit = match other.measures {
        QuantityKind::Unit(_) => "",
        QuantityKind::AtMost => "at most ",
        QuantityKind::AtLeast => "at least ",
    };
    let Quantity { noun, written, .. } = other;
    let what = format!("{limit}{written} for \"{noun}\" here, but {limit}{} in {name}: make them agree", one.written);
    PendingRemark { check: DocumentCheck::Consistency, page: other.page, at: other.at, what }
}

fn quantities(outline: &DocumentOutline<'_>, entry: &DocumentEntry) -> Vec<Quantity> {
    let mut found = Vec::new();
    for block in &entry.blocks {
        let placed = &outline.blocks[*block];
        let words = tokens(&outline.pages[placed.page].measures, placed.range.clone());
        for nth in 0..words.len() {
            if words[nth].form == TokenForm::Number && !is_part_of_name(&words, nth) && found.len() < MOST {
                found.extend(quantity(&words, nth, placed.page));
            }
        }
    }
    found
}

fn quantity(words: &[TextToken<'_>], nth: usize, page: usize) -> Option<Quantity> {
    let number = words[nth];
    let amount: f64 = number.text.replace(',', "").parse().ok()?;
    let behind = if words.get(nth + 1).is_some_and(|next| next.is("-")) { nth + 2 } else { nth + 1 };
    let next = words.get(behind)?;
    let written = |end: &str| format!("{} {end}", number.text);
    if let Some((dimension, size)) = unit(next) {
        let (noun, narrowed) = noun_behind(words, behind + 1).or_else(|| noun_before(words, nth))?;
        let (measures, amount) = (QuantityKind::Unit(dimension), amount * size);
        return Some(Quantity { page, at: number.at, noun, narrowed, measures, amount, written: written(next.text) });
    }
    let counted = next.form == TokenForm::Word && next.text.len() > 2 && !next.among(PLAIN) && !next.among(JOINING);
    let measures = limit(&words[..nth]).filter(|_| counted)?;
    let noun = next.text.to_lowercase();
    Some(Quantity { page, at: number.at, noun, narrowed: None, measures, amount, written: number.text.to_owned() })
}

fn noun_behind(words: &[TextToken<'_>], nth: usize) -> Option<(String, Option<String>)> {
    let noun = words.get(nth).filter(|word| word.among(NOUNS))?;
    Some((noun.text.to_lowercase(), None))
}

fn noun_before(words: &[TextToken<'_>], nth: usize) -> Option<(String, Option<String>)> {
    let start = nth.saturating_sub(8);
    let at = (start..nth).rev().find(|at| !words[*at].among(JOINING))?;
    let usable = |word: &TextToken<'_>| word.form == TokenForm::Word && word.text.len() > 2 && !word.among(PLAIN);
    // A number right behind a word, with nothing between, is not said of it.
    if at + 1 == nth || !usable(&words[at]) {
        return None;
    }
    let narrowed = at.checked_sub(1).map(|at| words[at]).filter(usable).map(|word| word.text.to_lowercase());
    Some((words[at].text.to_lowercase(), narrowed))
}

/// Returns which way the words before a number limit it.
fn limit(before: &[TextToken<'_>]) -> Option<QuantityKind> {
    let ends = |phrase: &[&str]| {
        before.len() >= phrase.len() && before[before.len() - phrase.len()..].iter().zip(phrase).all(|(a, b)| a.is(b))
    };
    let most: [&[&str]; 5] =
        [&["at", "most"], &["maximum", "of"], &["no", "more", "than"], &["up", "to"], &["limit", "of"]];
    let least: [&[&str]; 4] = [&["at", "least"], &["minimum", "of"], &["no", "fewer", "than"], &["no", "less", "than"]];
    if most.iter().any(|phrase| ends(phrase)) {
        Some(QuantityKind::AtMost)
    } else {
        least.iter().any(|phrase| ends(phrase)).then_some(QuantityKind::AtLeast)
    }
}
