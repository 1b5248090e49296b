//! A set of documents as one: blocks in their sections, the requirements and criteria among them, and which criterion
//! is about which requirement. English titles tell which section a heading opens.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::markdown::{self, BlockKind, MarkdownBlock, MarkdownPage};
use super::words::{self, Mention, RequirementId, has_content, listed};

/// The documents, read.
pub(super) struct DocumentOutline<'a> {
    pub(super) pages: Vec<MarkdownPage>,
    pub(super) texts: Vec<&'a str>,
    pub(super) blocks: Vec<PlacedBlock>,
    /// Where the prefix of an id belongs: `R` to the requirements.
    pub(super) homes: BTreeMap<String, RequiredSection>,
    pub(super) entries: Vec<DocumentEntry>,
    /// The ids that have a definition.
    pub(super) defined: BTreeSet<RequirementId>,
    pub(super) links: EntryLinks,
}

/// A block, and where in the set it is.
#[derive(Debug, Clone)]
pub(super) struct PlacedBlock {
    pub(super) page: usize,
    pub(super) kind: BlockKind,
    pub(super) range: Range<usize>,
    pub(super) parent: Option<usize>,
    pub(super) sections: SectionSet,
    /// The sections that the block opens, if it is a heading.
    pub(super) opens: SectionSet,
    /// Whether it maps requirements to criteria.
    trace: bool,
    /// Whether it is a row that is a requirement or a criterion, even without an id.
    of_entries: bool,
    /// Whether it is a row that says how it is accepted.
    accepted: bool,
    /// The id that names the block.
    leading: Option<Mention>,
    pub(super) mentions: Vec<Mention>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryRole {
    Requirement,
    Criterion,
}

/// A requirement or a criterion.
#[derive(Debug, Clone)]
pub(super) struct DocumentEntry {
    pub(super) role: EntryRole,
    /// Its id, when it has one.
    pub(super) name: Option<Mention>,
    /// The block that it starts with.
    pub(super) block: usize,
    /// Every block that belongs to it, the first included.
    pub(super) blocks: Vec<usize>,
    /// The entry around it.
    pub(super) inside: Option<usize>,
    /// Whether its own row says how it is accepted.
    pub(super) accepted_in_row: bool,
}

/// Which entries belong together.
#[derive(Default)]
pub(super) struct EntryLinks {
    /// The requirement first, its criterion second. Of two requirements with one id, the first is used for both.
    pub(super) pairs: Vec<(usize, usize)>,
    /// The requirements that a table of the document maps to a criterion.
    traced: Vec<usize>,
    /// The first entry with the same id.
    first: Vec<usize>,
}

impl EntryLinks {
    /// Returns the entry that is used for `entry` in the pairs.
    pub(super) fn first(&self, entry: usize) -> usize {
        self.first[entry]
    }

    /// Returns whether a requirement has a criterion.
    pub(super) fn reaches(&self, requirement: usize) -> bool {
        let first = self.first(requirement);
        let nth = self.pairs.partition_point(|(one, _)| *one < first);
        self.pairs.get(nth).is_some_and(|(one, _)| *one == first) || self.traced.binary_search(&first).is_ok()
    }
}

impl<'a> DocumentOutline<'a> {
    /// Reads documents, pairs of path and text, as one.
    pub(super) fn read(documents: &'a [(String, String)]) -> Self {
        let (mut pages, mut blocks) = (Vec::new(), Vec::new());
        for (nth, (_, text)) in documents.iter().enumerate() {
            let mut page = markdown::read(text);
            let base = blocks.len();
            let mut columns = Columns::default();
            for block in std::mem::take(&mut page.blocks) {
                if block.kind == BlockKind::Header {
                    columns = Columns::read(text, &block.cells);
                }
                let mut placed = place(nth, block, text, &page.prose, columns);
                placed.parent = placed.parent.map(|parent| parent + base);
                blocks.push(placed);
            }
            assign_sections(&mut blocks[base..], text);
            pages.push(page);
        }
        let texts = documents.iter().map(|(_, text)| text.as_str()).collect();
        let homes = homes(&blocks);
        let (entries, defined, links) = (Vec::new(), BTreeSet::new(), EntryLinks::default());
        let mut outline = Self { pages, texts, blocks, homes, entries, defined, links };
        outline.entries = read_entries(&outline);
        outline.defined = outline.definitions().map(|(_, mention)| mention.id.clone()).collect();
        outline.links = link(&outline);
        outline
    }

    /// Returns the words of a block that are prose.
    pub(super) fn prose(&self, block: usize) -> &str {
        &self.pages[self.blocks[block].page].prose[self.blocks[block].range.clone()]
    }

    /// Returns the text of a block as written.
    pub(super) fn raw(&self, block: usize) -> &'a str {
        &self.texts[self.blocks[block].page][self.blocks[block].range.clone()]
    }

    /// Returns the blocks that define an id, with it: those in the section where its prefix is at home.
    pub(super) fn definitions(&self) -> impl Iterator<Item = (usize, &Mention)> {
        self.blocks.iter().enumerate().filter_map(|(nth, block)| {
            let mention = block.leading.as_ref()?;
            let home = *self.homes.get(&mention.id.prefix)?;
            let inside = is_criterion_prefix(&mention.id.prefix) && block.sections.has(RequiredSection::Requirements);
            (inside || block.sections.has(home)).then_some((nth, mention))
        })
    }
}

/// Returns whether ids with this prefix name criteria wherever they are.
pub(super) fn is_criterion_prefix(prefix: &str) -> bool {
    prefix == "AC" || prefix.starts_with("AC-") || prefix.ends_with("-AC")
}

fn place(page: usize, block: MarkdownBlock, text: &str, prose: &str, columns: Columns) -> PlacedBlock {
    let (kind, range) = bold_heading(&block, text, prose).unwrap_or((block.kind, block.range.clone()));
    let row = kind == BlockKind::Row;
    let leading = match kind {
        BlockKind::Code | BlockKind::Header | BlockKind::Quote => None,
        BlockKind::Row => {
            block.cells.get(columns.ids.unwrap_or(0)).and_then(|cell| words::leading(prose, cell.clone()))
        }
        BlockKind::Heading(_) | BlockKind::Item => words::leading(prose, range.clone()),
        BlockKind::Paragraph => {
            words::leading(prose, range.clone()).filter(|mention| words::set_apart(prose, range.clone(), mention))
        }
    };
    // An id in the cell is a reference, which has to hold.
    let cell = columns.acceptance.filter(|_| row).and_then(|nth| block.cells.get(nth).cloned());
    let accepted =
        cell.is_some_and(|cell| has_content(&prose[cell.clone()]) && words::mentions(prose, cell).is_empty());
    let mentions = if kind == BlockKind::Code { Vec::new() } else { words::mentions(prose, range.clone()) };
    let (sections, opens, parent) = (SectionSet::default(), SectionSet::default(), block.parent);
    let of_entries = row && columns.of_entries;
    PlacedBlock { page, kind, range, parent, sections, opens, trace: false, of_entries, accepted, leading, mentions }
}

/// Takes a bold line that opens a section or names an id for the heading that it is meant to be.
fn bold_heading(block: &MarkdownBlock, text: &str, prose: &str) -> Option<(BlockKind, Range<usize>)> {
    let line = &text[block.range.clone()];
    let alone = block.kind == BlockKind::Paragraph && block.parent.is_none() && line.len() <= 120;
    let bare = line.trim_end().trim_end_matches(':');
    let title = bare.strip_prefix("**").and_then(|rest| rest.strip_suffix("**")).filter(|_| alone)?;
    let range = block.range.start + 2..block.range.start + 2 + title.len();
    let heads = matches!(opens(title), Opens::Sections(_)) || words::leading(prose, range.clone()).is_some();
    (heads && !title.contains("**") && !title.contains('\n')).then_some((BlockKind::Heading(7), range))
}

/// The columns of a table that matter, by their titles.
#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    /// The one with ids, if its title names them.
    ids: Option<usize>,
    /// The one that says how a row is accepted.
    acceptance: Option<usize>,
    /// Whether the rows are requirements or criteria, with or without ids.
    of_entries: bool,
}

impl Columns {
    fn read(text: &str, cells: &[Range<usize>]) -> Self {
        let mut columns = Self::default();
        for (nth, cell) in cells.iter().enumerate() {
            let title = text[cell.clone()].trim_matches([' ', '*', '_', '.', '\t']).to_lowercase();
            let accepts = match opens(&title) {
                Opens::Sections(sections) => sections.has(RequiredSection::Acceptance),
                _ => listed("criterion criteria", &title),
            };
            if accepts {
                columns.acceptance.get_or_insert(nth);
            }
            if listed("id # no nr req", &title) {
                columns.ids.get_or_insert(nth);
            }
            columns.of_entries |=
                listed("id # no nr req requirement requirements description criterion criteria", &title)
                    || matches!(title.as_str(), "acceptance criterion" | "acceptance criteria");
        }
        columns
    }
}

/// Gives the blocks of one page the sections of the headings above them.
fn assign_sections(blocks: &mut [PlacedBlock], text: &str) {
    let top = blocks.iter().filter(|block| block.kind == BlockKind::Heading(1)).count();
    let mut above: Vec<(u8, SectionSet, bool)> = Vec::new();
    for block in blocks {
        if let BlockKind::Heading(level) = block.kind {
            while above.pop_if(|(other, ..)| *other >= level).is_some() {}
            let inherited =
                above.last().map_or((SectionSet::default(), false), |(_, sections, trace)| (*sections, *trace));
            let title = &text[block.range.clone()];
            let opened = if level == 1 && top == 1 { opens_as_title(title) } else { opens(title) };
            let (sections, trace) = match opened {
                Opens::Sections(sections) => {
                    block.opens = sections;
                    (sections, false)
                }
                Opens::Trace => (SectionSet::default(), true),
                Opens::Aside => (SectionSet::default(), false),
                Opens::Nothing => inherited,
            };
            above.push((level, sections, trace));
        }
        if let Some((_, sections, trace)) = above.last() {
            (block.sections, block.trace) = (*sections, *trace);
        }
    }
}

/// Returns for each prefix the first section, in order of rank, that has an item named with it.
fn homes(blocks: &[PlacedBlock]) -> BTreeMap<String, RequiredSection> {
    let mut homes: BTreeMap<String, RequiredSection> = BTreeMap::new();
    for block in blocks {
        let Some(mention) = &block.leading else { continue };
        let prefix = &mention.id.prefix;
        let ranked = RequiredSection::ALL.into_iter().filter(|section| *section != RequiredSection::Rollout);
        let Some(mut section) = ranked.filter(|section| block.sections.has(*section)).min() else { continue };
        if is_criterion_prefix(prefix) {
            section = RequiredSection::Acceptance;
        }
        let home = homes.entry(prefix.clone()).or_insert(section);
        *home = section.min(*home);
    }
    homes
}

/// Returns the entries, in the order of the text.
fn read_entries(outline: &DocumentOutline<'_>) -> Vec<DocumentEntry> {
    let mut reader = EntryReader { outline, entries: Vec::new(), owners: Vec::new(), above: Vec::new() };
    for block in 0..outline.blocks.len() {
        let owner = reader.read(block);
        reader.owners.push(owner);
    }
    reader.entries
}

struct EntryReader<'a> {
    outline: &'a DocumentOutline<'a>,
    entries: Vec<DocumentEntry>,
    /// The entry that each block read so far belongs to.
    owners: Vec<Option<usize>>,
    /// The headings above: page, level, and the entry that each starts or belongs to.
    above: Vec<(usize, u8, Option<usize>)>,
}

impl EntryReader<'_> {
    fn read(&mut self, block: usize) -> Option<usize> {
        let placed = &self.outline.blocks[block];
        let level = if let BlockKind::Heading(level) = placed.kind { level } else { u8::MAX };
        while self.above.pop_if(|(page, other, _)| *page != placed.page || *other >= level).is_some() {}
        // The entry of the item around the block, or of the heading above it.
        let item = placed.parent.and_then(|parent| self.owners[parent]);
        let around = item.or_else(|| self.above.last().and_then(|(.., owner)| *owner));
        let around = around.filter(|_| !placed.sections.is_empty());
        let owner = match self.role(placed, around) {
            Some((role, name)) => {
                let accepted_in_row = role == EntryRole::Requirement && placed.accepted;
                self.entries.push(DocumentEntry {
                    role,
                    name,
                    block,
                    blocks: vec![block],
                    inside: around,
                    accepted_in_row,
                });
                Some(self.entries.len() - 1)
            }
            None => around,
        };
        if let Some(owner) = owner.filter(|owner| self.entries[*owner].block != block) {
            self.entries[owner].blocks.push(block);
        }
        if level < u8::MAX {
            self.above.push((placed.page, level, owner));
        }
        owner
    }

    /// Returns what the block starts, if it starts an entry, and its id.
    fn role(&self, placed: &PlacedBlock, around: Option<usize>) -> Option<(EntryRole, Option<Mention>)> {
        let required = placed.sections.has(RequiredSection::Requirements);
        let accepted = placed.sections.has(RequiredSection::Acceptance);
        if !required && !accepted {
            return None;
        }
        let is_requirement =
            |mention: &Mention| self.outline.homes.get(&mention.id.prefix) == Some(&RequiredSection::Requirements);
        if let Some(name) = placed.leading.clone() {
            let criterion = is_criterion_prefix(&name.id.prefix);
            let role = if required && !criterion { EntryRole::Requirement } else { EntryRole::Criterion };
            // A criterion that starts with the id of its requirement has no id of its own.
            let own = required || criterion || !is_requirement(&name);
            return Some((role, own.then_some(name)));
        }
        let starts = placed.kind == BlockKind::Item || placed.of_entries;
        let names_requirement = placed.mentions.iter().any(is_requirement);
        let group = matches!(placed.kind, BlockKind::Heading(_)) && !required && names_requirement;
        let inside = around.map(|entry| self.entries[entry].role);
        match (required && !(accepted && names_requirement), inside) {
            (false, None | Some(EntryRole::Requirement)) if starts || group => Some((EntryRole::Criterion, None)),
            (true, None) if starts => Some((EntryRole::Requirement, None)),
            _ => None,
        }
    }
}

/// A heading that names more requirements than this names a group, not what each criterion under it is about.
const FEW: usize = 8;

type IdIndex<'a> = BTreeMap<&'a RequirementId, usize>;

/// Finds which criterion is about which requirement: by id, in either direction, or because it is inside of it.
fn link(outline: &DocumentOutline<'_>) -> EntryLinks {
    let entries = &outline.entries;
    let by_role = |role: EntryRole| -> IdIndex<'_> {
        // The first of two with the same id counts.
        let named = entries.iter().enumerate().rev().filter(move |(_, entry)| entry.role == role);
        named.filter_map(|(nth, entry)| Some((&entry.name.as_ref()?.id, nth))).collect()
    };
    let (requirements, criteria) = (by_role(EntryRole::Requirement), by_role(EntryRole::Criterion));
    let first = |(nth, entry): (usize, &DocumentEntry)| {
        let names = if entry.role == EntryRole::Requirement { &requirements } else { &criteria };
        entry.name.as_ref().and_then(|name| names.get(&name.id).copied()).unwrap_or(nth)
    };
    let first: Vec<usize> = entries.iter().enumerate().map(first).collect();
    let mut pairs = Vec::new();
    for (nth, entry) in entries.iter().enumerate() {
        let named = |names| entry.blocks.iter().flat_map(move |block| mentioned(outline, *block, names));
        if entry.role == EntryRole::Requirement {
            pairs.extend(named(&criteria).map(|other| (first[nth], other)));
            continue;
        }
        pairs.extend(named(&requirements).map(|other| (other, nth)));
        match entry.inside {
            Some(inside) if entries[inside].role == EntryRole::Requirement => pairs.push((first[inside], nth)),
            Some(inside) => {
                let above = mentioned(outline, entries[inside].block, &requirements).take(FEW);
                pairs.extend(above.map(|other| (other, nth)));
            }
            None => {}
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    // Tables such as `| R1 | AC1 |` in a section on traceability.
    let traces = |nth: &usize| outline.blocks[*nth].trace && mentioned(outline, *nth, &criteria).next().is_some();
    let traced = (0..outline.blocks.len()).filter(traces).flat_map(|nth| mentioned(outline, nth, &requirements));
    let mut traced: Vec<usize> = traced.collect();
    traced.sort_unstable();
    EntryLinks { pairs, traced, first }
}

fn mentioned(outline: &DocumentOutline<'_>, block: usize, names: &IdIndex<'_>) -> impl Iterator<Item = usize> {
    outline.blocks[block].mentions.iter().flat_map(Mention::ids).filter_map(move |id| names.get(&id).copied())
}

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
enum Opens {
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

/// Words of headings whose text is not binding.
const ASIDES: &str = "notes note assumptions dependencies background context rationale motivation questions glossary \
    definitions terminology references appendix examples example history changelog conventions legend";

/// No title has more words than this.
const LONGEST: usize = 40;

/// Returns what the heading `title` opens.
fn opens(title: &str) -> Opens {
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
fn opens_as_title(title: &str) -> Opens {
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
    let title = without_numbering(title).to_lowercase();
    let title = [" -", " –", " —"].iter().fold(title, |title, dash| title.replace(dash, "|"));
    if title.split_whitespace().nth(LONGEST).is_some() {
        return Vec::new();
    }
    let mut parts: Vec<Vec<String>> = Vec::new();
    for part in title.split(['&', '/', ',', '+', ':', ';', '(', ')', '|']) {
        let words = part.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(str::to_owned).collect();
        parts.extend(words.split(|word| matches!(word.as_str(), "and" | "vs")).map(<[String]>::to_vec));
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
