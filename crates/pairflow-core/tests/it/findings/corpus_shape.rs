//! The identity corpus is what it claims to be: large enough, well formed, with no pair counted twice.
//!
//! The pairs under `tests/identity/` say when two findings are one claim. This file only checks the corpus itself;
//! how well a matcher does on it is asked elsewhere.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::corpus::THEMES;

const CLASSES: [&str; 8] =
    ["core_logic", "security", "data_integrity", "performance", "tests", "docs", "style", "other"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Theme {
    pair: Vec<Pair>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    same: bool,
    source: Source,
    #[serde(rename = "ref")]
    thread: Option<String>,
    a: Claim,
    b: Claim,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Source {
    Published,
    Own,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    P0,
    P1,
    P2,
    P3,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
struct Claim {
    severity: Severity,
    file: Option<String>,
    line: Option<u32>,
    class: Option<String>,
    title: String,
    detail: Option<String>,
    anchor: Option<String>,
}

fn pairs_of(theme: &str, text: &str) -> Vec<Pair> {
    toml::from_str::<Theme>(text).unwrap_or_else(|error| panic!("{theme}: {error}")).pair
}

fn pairs() -> Vec<Pair> {
    THEMES.iter().flat_map(|(theme, text)| pairs_of(theme, text)).collect()
}

fn count(pairs: &[Pair], wanted: impl Fn(&Pair) -> bool) -> usize {
    pairs.iter().filter(|pair| wanted(pair)).count()
}

#[test]
fn the_corpus_holds_enough_pairs_of_every_kind() {
    let pairs = pairs();
    assert!(count(&pairs, |pair| pair.same) >= 220);
    assert!(count(&pairs, |pair| !pair.same) >= 220);
    assert!(count(&pairs, |pair| pair.source == Source::Published) >= 110);
    let both_block = |pair: &Pair| pair.a.severity <= Severity::P1 && pair.b.severity <= Severity::P1;
    assert!(count(&pairs, |pair| !pair.same && both_block(pair)) >= 100);
    assert!(count(&pairs, |pair| !pair.same && pair.a.file != pair.b.file) >= 20);
    assert!(count(&pairs, |pair| pair.same && pair.a.file.is_none()) >= 20);
}

#[test]
fn the_two_findings_of_a_same_pair_name_the_same_file() {
    for pair in pairs().iter().filter(|pair| pair.same) {
        assert_eq!(pair.a.file, pair.b.file, "{pair:?}");
    }
}

#[test]
fn every_published_pair_names_its_thread_and_no_other_pair_does() {
    for pair in pairs() {
        let named = pair.thread.as_deref().is_some_and(is_thread);
        assert_eq!(named, pair.source == Source::Published, "{pair:?}");
    }
}

fn is_thread(text: &str) -> bool {
    let Some((repository, number)) = text.split_once('#') else { return false };
    let Some((owner, name)) = repository.split_once('/') else { return false };
    !owner.is_empty() && !name.is_empty() && number.parse::<u32>().is_ok()
}

#[test]
fn no_pair_occurs_twice_in_either_order() {
    let mut seen = BTreeSet::new();
    for pair in pairs() {
        assert_ne!(pair.a, pair.b, "a pair has to hold two wordings");
        let ordered = if pair.a < pair.b { (pair.a, pair.b) } else { (pair.b, pair.a) };
        let shown = format!("{ordered:?}");
        assert!(seen.insert(ordered), "twice: {shown}");
    }
}

#[test]
fn every_finding_is_well_formed() {
    for claim in pairs().into_iter().flat_map(|pair| [pair.a, pair.b]) {
        let class_known = claim.class.as_deref().is_none_or(|class| CLASSES.contains(&class));
        let texts = [Some(&claim.title), claim.detail.as_ref(), claim.anchor.as_ref(), claim.file.as_ref()];
        let filled = texts.into_iter().flatten().all(|text| !text.trim().is_empty() && text.trim() == text);
        let placed = claim.file.is_some() || (claim.line.is_none() && claim.anchor.is_none());
        assert!(class_known && filled && placed && claim.line != Some(0), "{claim:?}");
    }
}

#[test]
fn each_file_of_the_corpus_stays_readable() {
    for (theme, text) in THEMES {
        assert!(text.starts_with("# "), "{theme} has no header");
        assert!(text.lines().count() < 2_000, "{theme} is too long");
    }
}
