//! Which section a heading opens, by its English title.

use std::cmp::Reverse;

use super::words::listed;

/// A part that a document must have. The order is the rank of those that share the prefix of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RequiredSection {
    Requirements,
    Acceptance,
    Risks,
    Scope,
    NonGoals,
    Rollout,
}

impl RequiredSection {
    /// Every section, in the order in which a document is read.
    pub(super) const ALL: [Self; 6] =
        [Self::Scope, Self::NonGoals, Self::Requirements, Self::Acceptance, Self::Risks, Self::Rollout];

    /// Returns the section as a heading would say it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Scope => "Scope",
            Self::NonGoals => "Non-goals",
            Self::Requirements => "Requirements",
            Self::Acceptance => "Acceptance criteria",
            Self::Risks => "Risks",
            Self::Rollout => "Rollout",
        }
    }
}

/// A set of sections: a heading such as "Scope and non-goals" opens two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SectionSet(u8);

impl SectionSet {
    /// Returns whether `section` is among them.
    pub(super) fn has(self, section: RequiredSection) -> bool {
        self.0 & (1 << section as u8) != 0
    }

    /// Returns whether there is none.
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn add(&mut self, section: RequiredSection) {
        self.0 |= 1 << section as u8;
    }
}

/// What a heading does to the text under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opens {
    /// It is of these sections.
    Sections(SectionSet),
    /// It maps requirements to criteria and defines neither.
    Trace,
    /// It is of no section, even inside one.
    Aside,
    /// It belongs to what the heading above it belongs to.
    Nothing,
}

/// Titles by section. The longest title that fits counts, so that "out of scope" is not taken for "scope".
const TITLES: [(&str, RequiredSection); 6] = [
    (
        "what we are not building, out of scope, not in scope, outside the scope, outside of scope, non goals, non goal, \
         not goals, anti goals, non requirements, non objectives, nongoals, exclusions",
        RequiredSection::NonGoals,
    ),
    (
        "definition of done, criteria for acceptance, acceptance criteria, acceptance criterion, acceptance tests, \
         success criteria, acceptance",
        RequiredSection::Acceptance,
    ),
    ("in scope, scope", RequiredSection::Scope),
    ("requirements, requirement", RequiredSection::Requirements),
    ("risks, risk", RequiredSection::Risks),
    (
        "roll out, release plan, release strategy, launch plan, delivery plan, deployment plan, deployment strategy, \
         go live, rollout, deployment, launch",
        RequiredSection::Rollout,
    ),
];

/// What may stand behind a title without changing what the section is.
const AFTER: &str = "of for in on to by per from plan plans strategy list register assessment analysis statement overview \
    summary details section items phases mvp v1 v2 matrix this";

/// Words of headings whose text binds nobody.
const ASIDES: &str = "notes note assumptions dependencies background context rationale motivation questions glossary \
    definitions terminology references appendix examples example history changelog conventions legend";

/// No title has more words than this.
const LONGEST: usize = 40;

/// Returns what the heading `title` opens.
pub(super) fn opens(title: &str) -> Opens {
    let parts = parts(title);
    let mut sections = SectionSet::default();
    for part in &parts {
        if let Some(section) = section_of(part) {
            sections.add(section);
        }
    }
    let words: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
    if words == ["in", "out", "of", "scope"] {
        sections.add(RequiredSection::Scope);
    }
    if words.contains(&"traceability") {
        Opens::Trace
    } else if !sections.is_empty() {
        Opens::Sections(sections)
    } else if words.iter().any(|word| listed(ASIDES, word)) {
        Opens::Aside
    } else {
        Opens::Nothing
    }
}

/// Like [`opens`] for the one title of a file, which names a section only when it says nothing else: "Requirements"
/// does, "Checkout requirements" is the name of the whole document.
pub(super) fn opens_as_title(title: &str) -> Opens {
    let parts = parts(title);
    let [part] = parts.as_slice() else { return Opens::Nothing };
    let title_words = part.join(" ");
    let bare = title_words.trim_start_matches("non ").trim_start_matches("functional ");
    if titles().any(|(phrase, _)| phrase == bare || phrase == title_words) { opens(title) } else { Opens::Nothing }
}

fn titles() -> impl Iterator<Item = (&'static str, RequiredSection)> {
    TITLES.iter().flat_map(|(titles, section)| titles.split(", ").map(|title| (title, *section)))
}

fn section_of(part: &[String]) -> Option<RequiredSection> {
    let fits = |phrase: &str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        (0..=3).any(|skip| {
            let Some((before, here)) = part.split_at_checked(skip) else { return false };
            let negated = before.last().is_some_and(|word| listed("no not without", word));
            let follows = |word: &String| listed(AFTER, word) || word.bytes().all(|byte| byte.is_ascii_digit());
            here.len() >= phrase.len()
                && here.iter().zip(&phrase).all(|(word, wanted)| word == wanted)
                && here.get(phrase.len()).is_none_or(follows)
                && !negated
        })
    };
    let longest =
        titles().filter(|(phrase, _)| fits(phrase)).min_by_key(|(phrase, _)| Reverse(phrase.split(' ').count()));
    longest.map(|(_, section)| section)
}

/// Splits a title where it names two things, and drops its numbering.
fn parts(title: &str) -> Vec<Vec<String>> {
    let title = without_numbering(title);
    let mut parts: Vec<Vec<String>> = vec![Vec::new()];
    let mut word = String::new();
    let mut before = ' ';
    let mut words = 0;
    for char in title.chars().chain([' ']) {
        if char.is_alphanumeric() {
            word.extend(char.to_lowercase());
        } else {
            let ended = std::mem::take(&mut word);
            let splits = matches!(ended.as_str(), "and" | "vs") || (before == ' ' && matches!(char, '-' | '–' | '—'));
            if !ended.is_empty() && !splits {
                words += 1;
                parts.last_mut().expect("there is always a last part").push(ended);
            }
            if splits || matches!(char, '&' | '/' | ',' | '+' | ':' | ';' | '(' | ')' | '|') {
                parts.push(Vec::new());
            }
        }
        if words > LONGEST {
            return Vec::new();
        }
        before = char;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn without_numbering(title: &str) -> &str {
    let title = title.trim_start_matches(|char: char| !char.is_alphanumeric());
    let (first, rest) = title.split_once(char::is_whitespace).unwrap_or((title, ""));
    let bare = first.trim_end_matches(['.', ')', ':']);
    let digits = bare.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    let letter = bare.len() < first.len() && bare.len() <= 4 && bare.bytes().all(|byte| b"ABCDEFGIVX".contains(&byte));
    if !rest.is_empty() && (digits || letter) {
        rest
    } else if ["Section", "Chapter", "Part"].contains(&first) {
        rest.trim_start_matches(|char: char| char.is_ascii_digit() || matches!(char, '.' | ':' | ' '))
    } else {
        title
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(title: &str) -> String {
        let Opens::Sections(sections) = opens(title) else { return String::new() };
        let found: Vec<&str> =
            RequiredSection::ALL.into_iter().filter(|one| sections.has(*one)).map(RequiredSection::title).collect();
        found.join(", ")
    }

    #[test]
    fn titles_open_the_sections_that_a_reader_would_expect() {
        let cases = [
            ("Scope", "Scope"),
            ("1.2 Scope", "Scope"),
            ("2) In scope", "Scope"),
            ("A. Project Scope", "Scope"),
            ("Scope: what we build", "Scope"),
            ("Out of scope", "Non-goals"),
            ("What is out of scope for v1", "Non-goals"),
            ("Non goals", "Non-goals"),
            ("Goals and Non-Goals", "Non-goals"),
            ("Scope & non-goals", "Scope, Non-goals"),
            ("In and out of scope", "Scope, Non-goals"),
            ("Functional Requirements", "Requirements"),
            ("Non-functional requirements", "Requirements"),
            ("Non-requirements", "Non-goals"),
            ("Requirements / Acceptance Criteria", "Requirements, Acceptance criteria"),
            ("Acceptance criteria for the requirements", "Acceptance criteria"),
            ("**Acceptance**", "Acceptance criteria"),
            ("Risks and mitigations", "Risks"),
            ("Roll-out plan", "Rollout"),
            ("Section 7: Rollout", "Rollout"),
            ("Risks – Rollout", "Risks, Rollout"),
            ("Requirements gathering", ""),
            ("Scope creep", ""),
            ("Release notes", ""),
            ("🚀 Rollout", "Rollout"),
            ("", ""),
        ];
        for (title, wanted) in cases {
            assert_eq!(titles(title), wanted, "{title}");
        }
    }

    #[test]
    fn the_title_of_a_file_is_a_section_only_when_it_says_nothing_else() {
        for (title, section) in [
            ("Requirements", true),
            ("Functional requirements", true),
            ("Acceptance criteria", true),
            ("Non-functional requirements", true),
            ("Product requirements: Checkout", false),
            ("Checkout rollout", false),
        ] {
            assert_eq!(matches!(opens_as_title(title), Opens::Sections(_)), section, "{title}");
        }
    }
}
