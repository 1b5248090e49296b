//! The table of what reviews talk about, and how it is read and looked up. Its format is told at its top.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The table, read once. It is part of the program, so a mistake in it is caught by the tests.
pub(super) static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::read(include_str!("lexicon.txt")));

/// What code reviews talk about.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    /// The notions, in the order of the table.
    pub(super) notions: Vec<Notion>,
    terms: BTreeMap<String, usize>,
    /// The terms by their first word: those that are whole words, and those that are beginnings of words.
    whole: BTreeMap<String, Vec<usize>>,
    begun: BTreeMap<String, Vec<usize>>,
    classes: BTreeMap<String, Vec<usize>>,
    /// By term, the patterns worth a look when it occurs: notion and pattern.
    hints: Vec<Vec<(usize, usize)>>,
    spelled: Vec<String>,
}

/// One thing that reviews talk about.
#[derive(Debug)]
pub(super) struct Notion {
    /// Its name in the table.
    #[cfg(test)]
    name: String,
    /// How much it tells when two claims share it.
    pub(super) weight: i32,
    /// Any of them gives it away.
    patterns: Vec<Pattern>,
}

/// A row of places to fill; each lists the terms that do.
type Pattern = Vec<Vec<usize>>;

impl Lexicon {
    fn read(table: &str) -> Self {
        let mut lexicon = Self::default();
        for line in table.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (head, body) = line.split_once(':').expect("a line of the table has a colon after its head");
            match head.strip_prefix('@') {
                Some(class) => lexicon.add_class(class, body),
                None => lexicon.add_notion(head, body),
            }
        }
        lexicon
    }

    fn add_class(&mut self, class: &str, body: &str) {
        let terms = body.split_whitespace().map(|term| self.term(term)).collect();
        self.classes.insert(class.to_owned(), terms);
    }

    fn add_notion(&mut self, head: &str, body: &str) {
        let (_name, weight) = head.split_once(' ').expect("the head of a notion is a name and a weight");
        let weight = weight.trim().parse().expect("the weight of a notion is a number");
        let patterns = body.split(',').map(|pattern| pattern.split_whitespace().map(|slot| self.slot(slot)).collect());
        let patterns: Vec<Pattern> = patterns.collect();
        for (at, pattern) in patterns.iter().enumerate() {
            let choosiest = pattern.iter().min_by_key(|slot| slot.len()).expect("a pattern has words");
            choosiest.iter().for_each(|term| self.hints[*term].push((self.notions.len(), at)));
        }
        self.notions.push(Notion {
            #[cfg(test)]
            name: _name.to_owned(),
            weight,
            patterns,
        });
    }

    fn slot(&mut self, text: &str) -> Vec<usize> {
        let mut terms = Vec::new();
        for one in text.split('|') {
            match one.strip_prefix('@') {
                Some(class) => terms.extend(self.classes.get(class).expect("a class is defined before it is used")),
                None => terms.push(self.term(one)),
            }
        }
        terms
    }

    fn term(&mut self, text: &str) -> usize {
        if let Some(known) = self.terms.get(text) {
            return *known;
        }
        let id = self.spelled.len();
        let first = text.split('_').next().unwrap_or(text);
        let (map, first) = first.strip_suffix('*').map_or((&mut self.whole, first), |begin| (&mut self.begun, begin));
        map.entry(first.to_owned()).or_default().push(id);
        self.spelled.push(text.to_owned());
        self.hints.push(Vec::new());
        self.terms.insert(text.to_owned(), id);
        id
    }

    /// Returns the notions that `sentence` speaks of, as places in [`Self::notions`].
    pub(super) fn notions_in(&self, sentence: &[String]) -> BTreeSet<usize> {
        let terms = self.terms_in(sentence);
        let holds = |pattern: &Pattern| pattern.iter().all(|slot| slot.iter().any(|term| terms.contains(term)));
        let hinted = terms.iter().flat_map(|term| &self.hints[*term]);
        hinted.filter(|(notion, at)| holds(&self.notions[*notion].patterns[*at])).map(|(notion, _)| *notion).collect()
    }

    fn terms_in(&self, sentence: &[String]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for (at, word) in sentence.iter().enumerate() {
            let beginnings = word.char_indices().map(|(end, letter)| &word[..end + letter.len_utf8()]);
            let begun = beginnings.filter_map(|begin| self.begun.get(begin));
            let whole = self.whole.get(word);
            let terms = begun.chain(whole).flatten().copied();
            found.extend(terms.filter(|term| follows(&self.spelled[*term], &sentence[at..])));
        }
        found
    }
}

/// Whether the words from here on begin with `term`.
fn follows(term: &str, words: &[String]) -> bool {
    let mut parts = term.split('_').zip(words);
    let count = term.split('_').count();
    count <= words.len()
        && parts.all(|(part, word)| match part.strip_suffix('*') {
            Some(begin) => word.starts_with(begin),
            None => word == part,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::identity::words::sentences;

    fn spoken(text: &str) -> Vec<&'static str> {
        let found = sentences(text).iter().flat_map(|sentence| LEXICON.notions_in(sentence)).collect::<BTreeSet<_>>();
        found.into_iter().map(|at| LEXICON.notions[at].name.as_str()).collect()
    }

    #[test]
    fn the_table_names_each_notion_once_and_weighs_it() {
        let names: BTreeSet<_> = LEXICON.notions.iter().map(|notion| &notion.name).collect();
        assert_eq!(names.len(), LEXICON.notions.len());
        assert!(LEXICON.notions.iter().all(|notion| (1..=4).contains(&notion.weight)));
    }

    #[test]
    fn every_pattern_of_the_table_has_words() {
        let patterns = LEXICON.notions.iter().flat_map(|notion| &notion.patterns);
        assert!(patterns.clone().all(|pattern| !pattern.is_empty() && pattern.iter().all(|slot| !slot.is_empty())));
    }

    #[test]
    fn a_fault_and_its_repair_are_one_notion() {
        assert!(spoken("The stream is never closed").contains(&"leak"));
        assert!(spoken("Use try-with-resources here").contains(&"leak"));
    }

    #[test]
    fn a_pattern_does_not_reach_into_the_next_sentence() {
        assert!(spoken("The lock is held. We await rain.").is_empty());
    }
}
