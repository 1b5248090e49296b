//! How well the matcher of findings does on the identity corpus: the rates are printed, and they are held.

#![expect(clippy::print_stdout, reason = "the rates are what this test is for")]

use pairflow_core::rounds::Finding;
use pairflow_core::rounds::identity::{best_match, reversed};
use serde::Deserialize;

use super::corpus::THEMES;

/// The least percentage of reworded claims that have to be recognised.
const JOINED: usize = 80;

#[derive(Deserialize)]
struct Theme {
    pair: Vec<Pair>,
}

#[derive(Debug, Deserialize)]
struct Pair {
    same: bool,
    a: Finding,
    b: Finding,
}

impl Pair {
    fn joined(&self) -> bool {
        best_match(std::slice::from_ref(&self.a), &self.b).is_some()
    }

    fn grave(&self) -> bool {
        self.a.severity.blocks() && self.b.severity.blocks()
    }
}

/// How many of how many.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    joined: usize,
    of: usize,
}

impl Share {
    fn of<'a>(pairs: impl Iterator<Item = &'a Pair>) -> Self {
        pairs.fold(Self::default(), |share, pair| Self {
            joined: share.joined + usize::from(pair.joined()),
            of: share.of + 1,
        })
    }

    fn percent(self) -> usize {
        100 * self.joined / self.of.max(1)
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{} of {} ({} %)", self.joined, self.of, self.percent()))
    }
}

fn themes() -> Vec<(&'static str, Vec<Pair>)> {
    THEMES.iter().map(|(name, text)| (*name, toml::from_str::<Theme>(text).unwrap().pair)).collect()
}

fn pairs() -> Vec<Pair> {
    themes().into_iter().flat_map(|(_, pairs)| pairs).collect()
}

fn say(name: &str, pairs: &[Pair]) {
    let same = Share::of(pairs.iter().filter(|pair| pair.same));
    let different = Share::of(pairs.iter().filter(|pair| !pair.same));
    let grave = Share::of(pairs.iter().filter(|pair| !pair.same && pair.grave()));
    println!("{name:<16} {same:<20} {different:<20} {grave}");
}

#[test]
fn the_rates_on_the_corpus_are_printed_and_reworded_claims_are_recognised() {
    println!("{:<16} {:<20} {:<20} wrongly, both P0/P1", "theme", "same, joined", "wrongly joined");
    for (name, pairs) in themes() {
        say(name, &pairs);
    }
    let pairs = pairs();
    say("all", &pairs);
    let same = Share::of(pairs.iter().filter(|pair| pair.same));
    assert!(same.joined * 100 >= same.of * JOINED, "{same} of the reworded claims are recognised");
}

#[test]
fn different_grave_claims_are_never_joined() {
    for pair in pairs().iter().filter(|pair| !pair.same && pair.grave()) {
        assert!(!pair.joined(), "{pair:#?}");
    }
}

#[test]
fn findings_of_different_files_are_never_joined() {
    let pairs = pairs();
    for pair in &pairs {
        let moved = Finding { file: Some("elsewhere/entirely.rs".into()), ..pair.a.clone() };
        assert_eq!(best_match(std::slice::from_ref(&pair.a), &moved), None);
        assert!(pair.a.file == pair.b.file || !pair.joined(), "{pair:#?}");
    }
}

#[test]
fn a_minor_claim_is_seldom_taken_for_another() {
    let wrong = Share::of(pairs().iter().filter(|pair| !pair.same && !pair.grave()));
    assert!(wrong.percent() <= 25, "{wrong} different remarks are joined");
}

#[test]
fn it_does_not_matter_which_of_two_claims_came_first() {
    for Pair { a, b, .. } in pairs() {
        let forth = best_match(std::slice::from_ref(&a), &b);
        let back = best_match(std::slice::from_ref(&b), &a);
        assert_eq!(forth, back, "{a:#?} {b:#?}");
    }
}

#[test]
fn a_claim_filed_again_is_found_among_all_others_though_its_line_moved() {
    let known: Vec<Finding> = pairs().into_iter().map(|pair| pair.a).collect();
    for (at, finding) in known.iter().enumerate() {
        let again = Finding { line: finding.line.map(|line| line + 40), class: None, ..finding.clone() };
        let found = best_match(&known, &again).unwrap();
        assert_eq!(known[found].file, finding.file);
        assert!(found <= at && known[found].title.to_lowercase() == finding.title.to_lowercase(), "{finding:#?}");
    }
}

#[test]
fn no_pair_of_the_corpus_asks_to_undo_the_other() {
    for Pair { a, b, .. } in pairs() {
        assert!(!reversed(&a, &b) && !reversed(&b, &a), "{a:#?} {b:#?}");
    }
}

/// Claims of different files, put into one file and without their lines, as `--finding` files them.
#[test]
fn grave_claims_of_strangers_are_hardly_ever_joined_when_nothing_but_words_is_known() {
    let strip = |finding: Finding| Finding { anchor: String::new(), line: None, ..finding };
    let claims: Vec<Finding> =
        pairs().into_iter().filter(|pair| pair.same && pair.grave()).map(|pair| strip(pair.a)).collect();
    let mut strangers = Vec::new();
    for (at, a) in claims.iter().enumerate() {
        for b in claims[..at].iter().filter(|b| b.file != a.file) {
            strangers.push(Pair { same: false, a: a.clone(), b: Finding { file: a.file.clone(), ..b.clone() } });
        }
    }
    let wrong = Share::of(strangers.iter());
    println!("grave claims of strangers: {wrong}");
    assert!(wrong.joined * 1000 <= wrong.of, "{wrong}");
}

#[test]
fn any_text_can_be_compared() {
    let texts =
        ["", "´`'\"", "…—→", "a".repeat(8192).as_str(), "` `` ``` rename to", "ÄÖÜ ß İ ﬁ", "not not not", "\u{0}"].map(
            |text| Finding {
                anchor: text.into(),
                suggestion: text.into(),
                ..Finding::new(pairs()[0].a.severity, text)
            },
        );
    for one in &texts {
        assert!(!reversed(one, one));
        assert_eq!(best_match(std::slice::from_ref(one), one), Some(0));
    }
}
