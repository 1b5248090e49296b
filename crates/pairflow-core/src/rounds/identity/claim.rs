//! What the code takes out of a finding: what it is about, what it says is wrong, and where.

use std::collections::{BTreeMap, BTreeSet};

use crate::rounds::Finding;
use crate::rounds::identity::lexicon::LEXICON;
use crate::rounds::identity::words;

/// A finding, taken apart.
#[derive(Debug)]
pub(super) struct Claim {
    /// The title without regard to case, spaces and its last stop.
    pub(super) title: String,
    /// The telling words of the title in order, with its negations.
    pub(super) bones: Vec<String>,
    /// The telling words of title, detail and suggestion.
    pub(super) words: BTreeSet<String>,
    /// What it speaks of, as places in the lexicon, and whether the title does.
    pub(super) notions: BTreeMap<usize, bool>,
    /// The names from the code that it mentions.
    pub(super) names: BTreeSet<String>,
    /// The numbers in the title.
    pub(super) numbers: BTreeSet<String>,
    /// The line it is about.
    pub(super) place: Place,
}

/// The line of code that a claim is about, as it read when the claim was filed.
#[derive(Debug)]
pub(super) struct Place {
    /// The line without its spaces; empty if it is not known.
    pub(super) text: String,
    /// Its telling words.
    pub(super) words: BTreeSet<String>,
    /// Its names, whole.
    pub(super) names: BTreeSet<String>,
}

impl Claim {
    /// Takes `finding` apart.
    pub(super) fn of(finding: &Finding) -> Self {
        let story = format!("{} {}", finding.detail, finding.suggestion);
        let texts = [&story, &finding.title];
        let title = finding.title.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        Self {
            title: title.trim_end_matches(['.', '!']).to_owned(),
            bones: words::skeleton(&finding.title),
            words: texts.iter().flat_map(|text| words::stems(text)).collect(),
            notions: notions(&story, &finding.title),
            names: texts.iter().flat_map(|text| words::names(text)).collect(),
            numbers: words::numbers(&finding.title),
            place: Place {
                text: finding.anchor.split_whitespace().collect(),
                words: words::stems(&finding.anchor).into_iter().collect(),
                names: words::code_names(&finding.anchor),
            },
        }
    }
}

fn notions(story: &str, title: &str) -> BTreeMap<usize, bool> {
    let mut notions = BTreeMap::new();
    for (text, titled) in [(story, false), (title, true)] {
        for sentence in words::sentences(text) {
            notions.extend(LEXICON.notions_in(&sentence).into_iter().map(|notion| (notion, titled)));
        }
    }
    notions
}
