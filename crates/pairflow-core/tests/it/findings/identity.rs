//! The corpus of pairs of findings against the rule that joins them: no wrong join, and what is said again is recognised.

use pairflow_core::facts::Finding;
use pairflow_core::findings::identity::{reversed, same_claim};
use serde::Deserialize;

use super::corpus::{SAME_LINES, THEMES};

/// With how many claims before it each claim is compared.
const NEIGHBOURS: usize = 25;

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

fn pairs_of(text: &str) -> Vec<Pair> {
    toml::from_str::<Theme>(text).unwrap().pair
}

fn pairs() -> Vec<Pair> {
    THEMES.iter().flat_map(|(_, text)| pairs_of(text)).collect()
}

#[test]
fn different_claims_are_never_joined() {
    let different: Vec<_> = pairs().into_iter().filter(|pair| !pair.same).collect();
    for pair in &different {
        assert!(!same_claim(&pair.a, &pair.b) && !same_claim(&pair.b, &pair.a), "{pair:#?}");
    }
    let same_lines = pairs_of(SAME_LINES).iter().filter(|pair| !pair.same && pair.a.anchor == pair.b.anchor).count();
    assert!(same_lines >= 60 && different.len() >= 300, "{same_lines} of {}", different.len());
}

#[test]
fn nearly_the_same_words_about_the_same_line_are_joined() {
    let again: Vec<_> = pairs_of(SAME_LINES).into_iter().filter(|pair| pair.same).collect();
    let missed: Vec<_> = again.iter().filter(|pair| !same_claim(&pair.a, &pair.b)).map(|pair| &pair.a.title).collect();
    // An article may be a name: "a is not freed" is not "the is not freed".
    assert_eq!(missed, ["The test passes with a wrong total"], "of {}", again.len());
}

#[test]
fn a_claim_filed_again_is_found_though_its_line_moved_and_not_in_another_file() {
    for finding in pairs().into_iter().flat_map(|pair| [pair.a, pair.b]).filter(|one| !one.anchor.is_empty()) {
        let again = Finding { line: finding.line.map(|line| line + 40), class: None, ..finding.clone() };
        assert!(same_claim(&finding, &again), "{finding:#?}");
        let moved = Finding { file: Some("elsewhere/entirely.rs".into()), ..again };
        assert!(!same_claim(&finding, &moved), "{finding:#?}");
    }
}

#[test]
fn claims_of_strangers_are_never_joined_when_nothing_but_words_is_known() {
    let strip = |finding: Finding| Finding { anchor: String::new(), line: None, file: None, ..finding };
    let claims: Vec<Finding> = pairs().into_iter().map(|pair| strip(pair.a)).collect();
    for (at, a) in claims.iter().enumerate() {
        let before = &claims[at.saturating_sub(NEIGHBOURS)..at];
        assert!(before.iter().all(|b| a.title == b.title || !same_claim(a, b)), "{a:#?}");
    }
}

#[test]
fn no_pair_of_the_corpus_asks_to_undo_the_other() {
    for Pair { a, b, .. } in pairs() {
        assert!(!reversed(&a, &b) && !reversed(&b, &a), "{a:#?} {b:#?}");
    }
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
        assert!(!reversed(one, one) && same_claim(one, one));
    }
}
